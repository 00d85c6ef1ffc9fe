"""What a person is asked in a deliberation, phase by phase: the fields of `answer_table`, in an order that people like."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from moothall.domain.answer_table import ask_person
from moothall.domain.context import Utterance, clip_utterance
from moothall.domain.ids import USER
from moothall.domain.person import PersonAsk, PersonCommand
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import COUNCIL_REPORT, PERSON_STEPS
from moothall.protocols.council.answer_table import ABSTAIN, FORMS, MAX_NEWS, CouncilAsk, Row
from moothall.protocols.council.ballots import find_discussed_motion
from moothall.protocols.council.state import CouncilLine, list_own_challenges
from moothall.reports import person_steps


def build_person_ask(asked: CouncilAsk) -> PersonAsk:
    text, news, has_options = asked.text, _build_news(asked), bool(asked.options)
    pass_command = (person_steps.offer_pass(asked.language, {"type": "pass"}),)
    resolution = ("type", *(("choice", "text") if has_options else ("text", "choice")), "confidence")
    match asked.phase:
        case "propose":
            intro = text.blind if asked.state.is_sealed else ""
            return ask_person(FORMS["propose"].pick_fields(*resolution), asked, intro=intro, news=news)
        case "synthesize":
            intro, rows = text.synthesize if has_options else "", FORMS["synthesize"].pick_fields(*resolution)
            return ask_person(rows, asked, intro=intro, news=news, commands=pass_command)
        case "argue":
            rows = FORMS["argue"].pick_fields("type", "refers_to", "text")
            return ask_person(rows, asked, news=news, commands=pass_command)
        case "answer":
            about = "\n".join([text.challenged, *_quote(asked, list_own_challenges(asked.state, asked.ask.seat))])
            return ask_person(FORMS["answer"].fields, asked, about=about, news=news, commands=pass_command)
        case "decide":
            intro, rows = text.decide if has_options else "", FORMS["decide"].pick_fields(*resolution, "taken")
            return ask_person(rows, asked, intro=intro, news=news)
        case _:
            rows = [row for row in FORMS["vote"].fields if row.name != "choice"]
            approval = ask_person(rows, asked, about=_describe_motion(asked), news=news)
            if not has_options:
                return approval
            # A command, not a choice: "I choose Postgres" must not be weighed against a word for no side.
            abstain = PersonCommand(
                word="/abstain",
                text=PERSON_STEPS[asked.language].verdicts[ABSTAIN],
                answer={"type": "vote", "choice": ABSTAIN},
                words=(ABSTAIN, "弃权"),
            )
            chosen = ask_person(_list_choice_rows(), asked, about=approval.about, news=news, commands=(abstain,))
            # Whoever writes "yes, if we have backups" means the motion, and is understood.
            return replace(chosen, otherwise=approval)


def _list_choice_rows() -> list[Row]:
    """Return the fields of a vote for an option: one question covers the choice, its condition and the reason."""
    rows = FORMS["vote"].pick_fields("type", "choice", "confidence", "text", "condition", "moved_by")
    asked_before = {"confidence": None, "condition": None}
    return [replace(row, when=lambda _: True, ask=asked_before.get(row.name, row.ask)) for row in rows]


def _describe_motion(asked: CouncilAsk) -> str:
    if asked.candidates:
        return "\n".join(_quote(asked, asked.candidates))
    motion = find_discussed_motion(asked.variant, asked.state)
    if motion is None:
        return ""
    return f"{asked.text.motion.format(number=motion.id, seat=motion.seat)}\n{quote_lines(motion.said.text)}"


def _quote(asked: CouncilAsk, numbers: Sequence[int]) -> list[str]:
    return [f"#{line.id} {line.seat}:\n{quote_lines(line.said.text)}" for line in asked.list_lines(numbers)]


def _build_news(asked: CouncilAsk) -> tuple[Utterance, ...]:
    """Return the latest lines that the seat may read; while proposals are blind, only its own and the user's."""
    words = COUNCIL_REPORT[asked.language]
    return tuple(
        clip_utterance(Utterance(id=line.id, speaker=line.seat, text=_format_line(words.types, words.verdicts, line)))
        for line in asked.visible[-MAX_NEWS:]
    )


def _format_line(types: Mapping[str, str], verdicts: Mapping[str, str], line: CouncilLine) -> str:
    said = line.said
    what = types[said.type] if said.position is None else verdicts[said.position]
    about = f" #{said.refers_to}" if said.refers_to else ""
    choice = f" ({said.choice})" if said.choice else ""
    text = said.text or said.condition
    # The user's input is stored as a pass with a text: it is neither a proposal nor a vote.
    return said.text if line.seat == USER else f"{what}{about}{choice}: {text}"

"""What a person is asked in a persona meeting. A person speaks or listens; the bid that the rules need follows from that."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final, get_args

from moothall.domain.effects import Ask
from moothall.domain.person import CONDITION, WHY, Answers, PersonAsk, PersonCommand, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.protocols.persona.facts import StandVerdict
from moothall.protocols.persona.state import Meeting
from moothall.reports.person_steps import (
    POSITION,
    ask_confidence,
    ask_moved_by,
    ask_position,
    compute_confidence,
    join_long_choice,
    offer_choice,
    read_choice,
    read_moved_by,
)
from moothall.reports.two_languages import TwoLanguages, both, in_each_language

WORDS: Final = "words"
SPEAKS: Final = 1.0
"""The reaction of a person who says something: it wants the floor now."""
LISTENS: Final = 0.0
LONGEST_REASON: Final = 2_000
LONGEST_CLAIM: Final = 20_000
MOST_CLAIMS: Final = 20

_ENTRY = re.compile(r"[#＃](\d{1,9})")
_CLAIMS: Final = ("reasons", "dissent", "open_questions")


class PersonaPersonText(TwoLanguages):
    """Every text, in one language."""

    position = both(
        "Before anyone speaks: where do you stand on the question? A sentence or two.",
        "在任何人发言之前：你对这个议题怎么看？一两句话即可。",
    )
    bid = both("Say something, or press Enter to listen.", "说点什么，或直接按回车旁听。")
    listen = both("listen", "旁听")
    enough = both("enough has been said to decide", "已经谈够，可以作出决定")
    speech = both("You have the floor. What do you say?", "轮到你发言。你想说什么？")
    wanted = both("(These are the words with which you asked for the floor.)", "（这是你请求发言时写下的话。）")
    draft = both("The talk is over, and you write the conclusion. What is decided?", "讨论结束，由你来写结论。决定是什么？")
    reasons = both("For which reasons? One on each line. (Enter for none)", "理由是什么？每行一条。（直接回车：没有）")
    dissent = both(
        "Who disagrees, and with what? One on each line. (Enter for none)", "谁有异议？异议是什么？每行一条。（直接回车：没有）"
    )
    open_questions = both(
        "Which questions stay open? One on each line. (Enter for none)", "还有哪些问题悬而未决？每行一条。（直接回车：没有）"
    )
    naming = both("Name the entries that you build on as #2.", "可用 #2 的形式注明所依据的条目。")
    stand = both("Where do you stand on this decision?", "你对这个决定持什么态度？")
    decision = both("{author} has written this decision:", "{author} 写下了这个决定：")


PERSON_TEXT = in_each_language(PersonaPersonText)


def build_person_ask(state: Meeting, ask: Ask) -> PersonAsk:
    """Build what a person is asked."""
    language = state.opened.language
    words = PERSON_TEXT[language]
    news = () if ask.kind == "position" else state.memory.recent
    match ask.kind:
        case "position":
            step = PersonStep(name=WORDS, text=words.position, is_needed=True, is_long=True)
            choice = offer_choice(language, state.opened.subject.options)
            return PersonAsk(steps=(step, choice, ask_confidence(language)), build=_build_position)
        case "intent":
            return _build_bid_ask(state, ask, words)
        case "speech":
            intent = state.intents.get(ask.seat)
            wanted = "" if intent is None else intent.reason
            step = PersonStep(name=WORDS, text=words.speech, is_needed=True, is_long=True, default=wanted)
            return PersonAsk(steps=(step,), intro=words.wanted if wanted else "", news=news, build=lambda answers: answers[WORDS])
        case "draft":
            return _build_draft_ask(state, words)
        case _:
            draft = "" if state.draft is None else quote_lines(state.draft.decision.text)
            about = f"{words.decision.format(author=state.author)}\n{draft}"
            verdicts = get_args(StandVerdict)
            sides = tuple(verdict for verdict in verdicts if verdict != "abstain")
            steps = (
                *ask_position(language, verdicts, text=words.stand),
                ask_confidence(language, only_after=(POSITION, sides)),
                # Only a mind that was made up before can have been changed.
                *([ask_moved_by(language, range(1, state.last_id + 1))] if state.positions.get(ask.seat) else []),
            )
            return PersonAsk(steps=steps, about=about, news=news, build=_build_stand)


def _build_bid_ask(state: Meeting, ask: Ask, words: PersonaPersonText) -> PersonAsk:
    latest = state.memory.latest
    # Nobody is asked about its own words: whoever has just spoken listens.
    if latest is not None and latest.speaker == ask.seat:
        return PersonAsk(build=_build_bid)
    commands = [PersonCommand(word="/listen", text=words.listen, answer=_build_bid({}), words=("listen", "旁听"))]
    if state.decider == ask.seat:
        enough = {**_build_bid({}), "sufficient": True}
        commands.append(PersonCommand(word="/enough", text=words.enough, answer=enough, words=("enough", "谈够了")))
    step = PersonStep(name=WORDS, text=words.bid, is_long=True)
    return PersonAsk(steps=(step,), news=state.memory.recent, build=_build_bid, commands=tuple(commands), keeps_for="speech")


def _build_bid(answers: Answers) -> dict[str, object]:
    said = answers.get(WORDS, "")
    score = SPEAKS if said else LISTENS
    return {"reaction_score": score, "intent_to_speak": bool(said), "reason": said[:LONGEST_REASON]}


def _build_position(answers: Answers) -> Mapping[str, object]:
    position = join_long_choice(answers[WORDS], answers)
    return {"position": position, "choice": read_choice(answers), "confidence": compute_confidence(answers)}


def _build_stand(answers: Answers) -> Mapping[str, object]:
    return {
        "verdict": answers[POSITION],
        "confidence": compute_confidence(answers),
        "position": answers.get(WHY, "")[:LONGEST_REASON],
        "condition": answers.get(CONDITION, "")[:LONGEST_REASON],
        "moved_by": read_moved_by(answers),
    }


def _build_draft_ask(state: Meeting, words: PersonaPersonText) -> PersonAsk:
    steps = (
        PersonStep(name=WORDS, text=f"{words.draft} {words.naming}", is_needed=True, is_long=True),
        *(PersonStep(name=name, text=getattr(words, name), is_long=True) for name in _CLAIMS),
        offer_choice(state.opened.language, state.opened.subject.options),
        ask_confidence(state.opened.language),
    )
    return PersonAsk(steps=steps, news=state.memory.recent, build=partial(_build_draft, state.last_id))


def _build_draft(newest: int, answers: Answers) -> Mapping[str, object]:
    def build_claim(text: str) -> Mapping[str, object]:
        named = [int(number) for number in _ENTRY.findall(text)]
        known = dict.fromkeys(number for number in named if 1 <= number <= newest)
        return {"text": text[:LONGEST_CLAIM], "entries": list(known)}

    lists = {
        name: [build_claim(line.strip()) for line in answers.get(name, "").splitlines() if line.strip()][:MOST_CLAIMS]
        for name in _CLAIMS
    }
    decision = build_claim(join_long_choice(answers[WORDS], answers))
    return {"decision": decision, "choice": read_choice(answers), "confidence": compute_confidence(answers), **lists}

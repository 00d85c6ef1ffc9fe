"""The prompts of a persona meeting: pure functions of what the seat may see.

All seats share the first part, word for word (system, question, table, summary, last turns); the seat's own part comes last, so
that a provider's prefix cache hits.
"""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, TypeVar, get_args

from moothall.domain.claims import extract_claim
from moothall.domain.prompt_parts import (
    describe_choice,
    describe_listed_choice,
    describe_seat,
    join_choices,
)
from moothall.domain.safe_text import FENCE, USER_MARK
from moothall.domain.session_state import is_judge_ask
from moothall.domain.topic import list_input_numbers
from moothall.features.persona.answer_table import FORMS, MeetingAsk, build_person_ask
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    InputReply,
    JointBids,
    PersonaSpeech,
    Stand,
    StandVerdict,
    View,
)
from moothall.features.persona.state import Meeting, compute_confidence, list_joint_bidders
from moothall.features.persona.words import PERSONA_PROMPT, PersonaPromptText
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.plugins import (
    USER,
    AnswerRules,
    Ask,
    Brief,
    ContextWindow,
    Language,
    Perception,
    Seat,
    SeatId,
    Utterance,
    build_table_schema,
    cut_text,
    fill_brief,
    format_percent,
    one_line,
    quote_lines,
    quote_user,
    settle_own_choice,
)
from moothall.protocols.answer_judge import build_judge_brief, list_wanted_pairs
from moothall.protocols.facts_first import build_facts_brief, build_facts_rules, is_facts_ask
from moothall.scoring.positions import compute_weight

QUESTION: Final = 1
"""The number of the question among the entries."""
Notes = tuple[str, ...]
C = TypeVar("C", DraftClaim, InputReply)


def drop_unknown_references(state: Meeting, said: object) -> tuple[object, Notes]:
    """Return an answer without references to what its seat was not shown, and with its own words for its choice."""
    said = settle_own_choice(said)
    match said:
        case PersonaSpeech(refers_to=int(entry)) if entry > state.last_id:
            return replace(said, refers_to=None, view="none"), (f"left_out refers_to {entry}",)
        case JointBids():
            seated = {seat.id for group in list_joint_bidders(state) for seat in group}
            notes: list[str] = []
            for bid in said.bids:
                if bid.node_id not in seated:
                    notes.append(f"left_out bids {one_line(bid.node_id)!r}")
            bids = tuple(bid for bid in said.bids if bid.node_id in seated)
            return replace(said, bids=bids), tuple(notes)
        case Draft():
            return _normalize_draft(state, said)
        case Stand(moved_by=int(entry)) if entry > state.last_id:
            return replace(said, moved_by=None), (f"left_out moved_by {entry}",)
        case _:
            return said, ()


def _normalize_draft(state: Meeting, said: Draft) -> tuple[Draft, Notes]:
    notes: list[str] = []
    shown, inputs = state.record.shown, {each.number for each in state.user_inputs}

    def normalize(name: str, claims: tuple[C, ...]) -> tuple[C, ...]:
        return tuple(_normalize_claim(claim, name, shown, notes) for claim in claims)

    draft = replace(
        said,
        decision=_normalize_claim(said.decision, "decision", shown, notes),
        reasons=normalize("reasons", said.reasons),
        dissent=normalize("dissent", said.dissent),
        open_questions=normalize("open_questions", said.open_questions),
    )
    answers = normalize("answers", said.answers)
    known = tuple(reply for reply in answers if reply.input in inputs)
    for reply in answers:
        if reply.input not in inputs:
            notes.append(f"left_out answers #{reply.input}")
    return replace(draft, answers=known), tuple(notes)


def _normalize_claim(claim: C, name: str, shown: frozenset[int], notes: list[str]) -> C:
    unknown = [entry for entry in claim.entries if entry not in shown]
    if not unknown:
        return claim
    notes.append(f"left_out {name}.entries {', '.join(str(entry) for entry in unknown)}")
    return replace(claim, entries=tuple(entry for entry in claim.entries if entry in shown))


MAX_LABEL_SHOWN = 60
"""How much of an answer before the talk stands beside its weight."""


def build_answer_rules(state: Meeting, ask: Ask) -> AnswerRules:
    if is_judge_ask(ask.id):
        return build_judge_brief(state, ask, list_wanted_pairs(state, state.open_answers))
    if is_facts_ask(ask.id):
        return build_facts_rules(state, ask)
    return _build_rules(MeetingAsk(state=state, ask=ask))


def _build_rules(asked: MeetingAsk) -> AnswerRules:
    form = FORMS[asked.ask.kind]
    return AnswerRules(
        form=form,
        fills=form.find_fills(asked),
        normalize=partial(drop_unknown_references, asked.state),
        options=asked.state.opened.subject.options,
        is_open=asked.is_open,
        alternatives=asked.alternatives,
        person=partial(build_person_ask, asked),
    )


def build_brief(state: Meeting, ask: Ask) -> Brief:
    if is_judge_ask(ask.id):
        return build_judge_brief(state, ask, list_wanted_pairs(state, state.open_answers))
    if is_facts_ask(ask.id):
        unheard = ContextWindow(window=state.memory.window)
        question = build_shared_prompt(state.opened.language, state.opened.topic, unheard)
        return build_facts_brief(state, ask, question)
    words = PERSONA_PROMPT[state.opened.language]
    form, asked = FORMS[ask.kind], MeetingAsk(state=state, ask=ask)
    memory = _choose_memory(state, ask.kind)
    before = state.positions.get(ask.seat)
    own_words = state.own_words.get(ask.seat, "" if before is None else before.position)
    probe = ""
    # The decider's bid also says whether enough was said, which a yes-or-no probe cannot express.
    if ask.kind == "intent" and ask.seat != state.decider:
        probe = words.probe.format(newest=state.about)
    return fill_brief(
        state,
        ask,
        _build_rules(asked),
        nth=_count_ask(state, ask),
        perception=Perception(goal=state.opened.topic, memory=memory, own_words=own_words),
        shared=build_shared_prompt(state.opened.language, state.opened.topic, memory),
        own=build_own_prompt(asked),
        subject=_find_subject(state, ask.kind),
        probe=probe,
        schema=build_table_schema(form.shape, form.fields, asked),
        explains_fields=True,
    )


def _choose_memory(state: Meeting, kind: str) -> ContextWindow:
    match kind:
        case "position":
            return ContextWindow(window=state.memory.window)
        case "draft":
            return state.record
        case _:
            return state.memory


@lru_cache(maxsize=32)
def build_shared_prompt(language: Language, goal: str, memory: ContextWindow) -> str:
    """Return what every seat reads, in the same words: built once per turn, not once per seat."""
    words = PERSONA_PROMPT[language]
    heads = PARTICIPANT_PROMPT[language].heads
    parts = [f"{heads['question']} (#{QUESTION})\n{quote_user(goal)}"]
    if memory.older:
        lines = [words.earlier]
        for line in memory.older:
            mark = USER_MARK if line.speaker == USER else FENCE
            lines.append(f"[#{line.id} {line.speaker}]\n{mark}{one_line(line.text)}")
        if memory.left_out:
            lines.append(words.left_out.format(count=memory.left_out))
        parts.append("\n".join(lines))
    # The question stands above.
    recent = [each for each in memory.recent if each.id != QUESTION]
    if recent:
        lines = [heads["said"]]
        lines += [_format_utterance(words, utterance) for utterance in recent]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def build_own_prompt(asked: MeetingAsk) -> str:
    """Return what only these seats read (one, but for joint bids): who it is, what it stands for, and what it is asked for."""
    state, kind = asked.state, asked.ask.kind
    words = PERSONA_PROMPT[asked.language]
    heads = PARTICIPANT_PROMPT[asked.language].heads
    lines = [heads["you"]]
    for each in asked.seats:
        lines += _format_self(words, state, each, kind)
    lines += _format_context(words, state, kind)
    return "\n".join([*lines, "", heads["now"], _format_request(words, asked)])


def _format_self(words: PersonaPromptText, state: Meeting, seat: Seat, kind: str) -> list[str]:
    """Return who a seat is, and what it has said and thought so far."""
    lines = describe_seat(state.opened.language, seat)
    before, spoken = state.positions.get(seat.id), state.last_spoke.get(seat.id)
    if before is not None:
        lines += [words.before, FENCE + one_line(extract_claim(before.position))]
    if spoken is not None and _choose_memory(state, kind).holds(spoken):
        lines.append(words.own_entry.format(entry=spoken))
    elif spoken is not None:
        own = state.own_words[seat.id]
        if kind != "speech":
            own = extract_claim(own)
        lines += [words.own_words.format(entry=spoken), quote_lines(own)]
    return lines


def _format_context(words: PersonaPromptText, state: Meeting, kind: str) -> list[str]:
    match kind:
        case "intent" | "bids":
            return _format_turns_left(words, state)
        case "speech":
            return [*_format_won_bid(words, state), *_format_turns_left(words, state)]
        case "draft":
            return [*_format_consensus(words, state), *_format_weights(words, state)]
        case "stand" if state.draft is not None:
            return [words.decision, quote_lines(state.draft.decision.text)]
        case _:
            return []


def _format_turns_left(words: PersonaPromptText, state: Meeting) -> list[str]:
    turns = state.opened.budget.turns
    if turns is None or not state.is_talking:
        return []
    return [words.turns_left.format(turns=turns - state.turn + 1)]


def _format_won_bid(words: PersonaPromptText, state: Meeting) -> list[str]:
    """Return why the one who has the floor wanted to speak."""
    if state.floor is None:
        return []
    bid = state.intents.get(state.floor)
    if bid is None or not bid.reason.strip():
        return []
    return [words.won_by, FENCE + one_line(bid.reason)]


def _format_consensus(words: PersonaPromptText, state: Meeting) -> list[str]:
    lines: list[str] = []
    for point in state.points:
        status = point.compute_status(len(state.seats))
        if status != "open":
            title = words.agreed
            if status != "agreed":
                title = words.contested.format(by=", ".join(point.contested))
            lines += [f"[#{point.entry} {point.speaker}, {title}]", FENCE + one_line(point.claim)]
    return lines


def _format_weights(words: PersonaPromptText, state: Meeting) -> list[str]:
    """Return where the weight stands before the last words: an answer a line, in its own words, and who held it.

    Who never spoke left no entry: its position is quoted.
    """
    shares, holders = _compute_shares(state), _group_holders(state)
    lines: list[str] = []
    for label, seats in holders.items():
        share = sum(shares[seat] for seat in seats)
        named = cut_text(label, MAX_LABEL_SHOWN)
        lines.append(quote_lines(f"{named}: {', '.join(seats)} ({format_percent(share)})"))
    grouped = {seat for seats in holders.values() for seat in seats}
    for name, share in shares.items():
        if name not in grouped:
            lines.append(quote_lines(f"{name} ({format_percent(share)})"))
    for seat in state.seats:
        if seat.id in state.own_words:
            continue
        before = state.positions.get(seat.id)
        if before is None or not before.position:
            lines.append(f"{seat.id} {words.unheard}")
        else:
            lines += [f"{seat.id}:", FENCE + one_line(extract_claim(before.position))]
    return [words.weight, *lines]


def _compute_shares(state: Meeting) -> dict[SeatId, float]:
    """Return the share of the weight that each seat has."""
    weights: dict[SeatId, float] = {}
    for seat in state.seats:
        stated: float | None = None
        before = state.positions.get(seat.id)
        if before is not None:
            stated = before.confidence
        weights[seat.id] = compute_weight(seat.weight, compute_confidence(stated), seat.trust)
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0.0)
    return {seat: weight / total for seat, weight in weights.items()}


def _group_holders(state: Meeting) -> dict[str, list[SeatId]]:
    """Return who held each answer before the talk, by its words: answers that are one count as one (Q-3)."""
    groups = state.groups
    named: dict[str, str] = {}
    holders: dict[str, list[SeatId]] = {}
    for seat in state.seats:
        choice = one_line(state.choices.get(seat.id, ""))
        if choice:
            label = named.setdefault(groups.find(choice), one_line(groups.name(choice)))
            holders.setdefault(label, []).append(seat.id)
    return holders


def _format_request(words: PersonaPromptText, asked: MeetingAsk) -> str:
    state, ask = asked.state, asked.ask
    shared = PARTICIPANT_PROMPT[asked.language]
    match ask.kind:
        case "position":
            choice = describe_choice(state, ask)
            return words.position.format(choice=choice, confidence=shared.confidence)
        case "intent":
            lines = [words.intent.format(about=_format_about(words, state)), *_list_fields(asked)]
            if state.has_blind_bids:
                lines.append(describe_listed_choice(state, ask))
            return "\n".join(lines)
        case "bids":
            names = ", ".join(seat.id for seat in asked.seats)
            about = _format_about_of_all(words, state)
            head = words.bids.format(seats=names, about=about)
            return "\n".join([head, words.seat, *_list_fields(asked)])
        case "speech":
            question = ""
            if state.new_input:
                question = words.input.format(input=state.new_input)
            return words.speech.format(input=question)
        case "draft":
            answers = ""
            if state.open_inputs:
                answers = words.draft_answers.format(inputs=list_input_numbers(state.open_inputs))
            return words.draft.format(
                answers=answers,
                headline=shared.headline,
                choice=describe_choice(state, ask),
                confidence=shared.confidence,
            )
        case _:
            verdicts = join_choices(state, ask, get_args(StandVerdict))
            return words.stand.format(author=state.author, verdicts=verdicts)


def _format_about(words: PersonaPromptText, state: Meeting) -> str:
    if state.about == state.heard:
        return words.about_newest
    return words.about_input.format(entry=state.about)


def _format_about_of_all(words: PersonaPromptText, state: Meeting) -> str:
    if state.about == state.heard:
        return words.about_newest_of_all
    return words.about_input_of_all.format(entry=state.about)


def _list_fields(asked: MeetingAsk) -> list[str]:
    """Return the lines on the fields of a bid; the decider has one more."""
    words, state = PERSONA_PROMPT[asked.language], asked.state
    views = join_choices(state, asked.ask, get_args(View))
    lines = [words.fields.format(viewed=state.viewed, views=views)]
    if state.decider in [seat.id for seat in asked.seats]:
        seat = ""
        if len(asked.seats) > 1:
            seat = f" ({state.decider})"
        lines.append(words.sufficient.format(seat=seat))
    return lines


def _format_utterance(words: PersonaPromptText, utterance: Utterance) -> str:
    answers = ""
    if utterance.refers_to:
        answers = f", {words.answering} #{utterance.refers_to}"
    quote = quote_user if utterance.speaker == USER else quote_lines
    return f"[#{utterance.id} {utterance.speaker}{answers}]\n{quote(utterance.text)}"


def _find_subject(state: Meeting, kind: str) -> str:
    """Return the text that the answer is about: a bid is on the entry `about`, which need not be the newest."""
    if kind == "stand" and state.draft is not None:
        return state.draft.decision.text
    if kind in {"intent", "bids"}:
        for each in state.memory.recent:
            if each.id == state.about:
                return each.text
        return state.opened.topic
    latest = state.memory.latest
    if latest is None or kind in {"position", "draft"}:
        return state.opened.topic
    return latest.text


def _count_ask(state: Meeting, ask: Ask) -> int:
    if ask.kind in {"intent", "bids"}:
        return state.turn
    if ask.kind == "speech":
        return state.speeches.get(SeatId(ask.seat), 0) + 1
    return max(1, state.endings)

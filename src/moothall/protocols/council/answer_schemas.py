"""The schema of each ask of a deliberation: the types and fields of its phase, the options, and the lines that can be named."""

from collections.abc import Mapping
from typing import Any, Final

from moothall.codec.schemas import allow_list, allow_text, allow_values, narrow_schema
from moothall.domain.effects import Schema
from moothall.domain.ids import USER, SeatId
from moothall.protocols.council.ballots import find_candidate_ids, is_by_candidates
from moothall.protocols.council.facts import AdviceResponse, CandidateVote, Contribution, ContributionType
from moothall.protocols.council.state import Council, Course
from moothall.protocols.council.validation import PHASE_TYPES, list_advice, list_allowed_types

LONGEST_TEXT: Final = 20_000
LONGEST_CHOICE: Final = 100
LONGEST_LINE: Final = 2_000
MOST_NAMED: Final = 200
MOST_EVIDENCE: Final = 50
POSITIONS: Final = ("support", "conditional_support", "oppose", "abstain")


def build_answer_schema(course: Course, state: Council, seat: SeatId, kind: str) -> Schema:
    """Return the schema of what a seat may answer to an ask of this kind.

    A seat that Moot asks gives what the phase is for, and no more. One from outside may speak ahead: it names the type.
    """
    fields = _Fields(course, state, seat)
    if not state.seat(seat).is_outside:
        return _build_phase_schema(state, fields, kind)
    branches = [
        branch for kind_of in list_allowed_types(course, state, seat) for branch in _build_type_schemas(state, fields, kind_of)
    ]
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def find_fills(state: Council, seat: SeatId, kind: str) -> Mapping[str, object]:
    """Return what code knows of the answer: its type, where the phase has one, and that a pass needs no text."""
    if state.seat(seat).is_outside:
        return {}
    match kind:
        case "propose":
            return {"type": "propose"}
        case "argue":
            return {"text": ""}
        case "answer":
            return {"type": "support", "text": ""}
        case "synthesize":
            return {"type": "synthesize", "text": ""}
        case "decide":
            return {"type": "synthesize"}
        case _:
            return {"type": "vote"}


def _build_phase_schema(state: Council, fields: "_Fields", kind: str) -> Schema:
    match kind:
        case "propose":
            return fields.narrow(("text", *fields.choice), *fields.no_choice, "confidence", "evidence")
        case "argue":
            types = allow_values([*PHASE_TYPES["argue"], "pass"])
            return fields.narrow(("type", "text"), "refers_to", "confidence", "evidence", *fields.challenges, type=types)
        case "answer":
            types = allow_values([*PHASE_TYPES["answer"], "pass"])
            return fields.narrow(("text",), *fields.challenges, "evidence", "type", type=types)
        case "synthesize":
            types = allow_values([*PHASE_TYPES["synthesize"], "pass"])
            return fields.narrow(
                ("text", *fields.choice), *fields.no_choice, "confidence", *fields.challenges, "type", type=types
            )
        case "decide":
            advice = ("taken",) if list_advice(state) else ()
            return fields.narrow(("text", *fields.choice), *fields.no_choice, "confidence", *advice)
        case _:
            accepts = [each for each in fields.challenges if each == "accepts"]
            own = ("ballot",) if fields.has_choice_of_candidates else ("position",)
            conditions = () if fields.has_choice_of_candidates else ("condition", "due")
            return fields.narrow(own, "confidence", "text", *conditions, *fields.movers, *accepts)


def _build_type_schemas(state: Council, fields: "_Fields", kind_of: ContributionType) -> list[Schema]:
    """Return the forms of one type from outside; a conditional vote has one of its own, because it needs its condition."""
    named = {"type": allow_values([kind_of])}
    common = ("refers_to", "confidence", "evidence", *fields.challenges, *fields.movers)
    if kind_of == "pass":
        return [fields.narrow(("type",), "text", text={"type": "string", "maxLength": LONGEST_TEXT}, **named)]
    if kind_of == "vote":
        plain = allow_values([each for each in POSITIONS if each != "conditional_support"])
        conditional = allow_values(["conditional_support"])
        text = {"type": "string", "maxLength": LONGEST_TEXT}
        own = ("text", *common)
        if fields.has_choice_of_candidates:
            candidates = allow_values(fields.candidates)
            bare: dict[str, Schema] = {"refers_to": candidates, "text": text, **named}
            return [
                fields.narrow(("type", "ballot"), *own, text=text, ballot=fields.build_ballot(needs_condition=True), **named),
                fields.narrow(("type", "position", "refers_to"), *own, position=plain, **bare),
                fields.narrow(("type", "position", "refers_to", "condition"), *own, "due", position=conditional, **bare),
            ]
        return [
            fields.narrow(("type", "position"), *own, position=plain, text=text, **named),
            fields.narrow(("type", "position", "condition"), *own, "due", position=conditional, text=text, **named),
        ]
    choices = (fields.choice, fields.no_choice) if kind_of in {"propose", "synthesize"} else ((), ())
    if kind_of == "synthesize" and state.phase == "decide" and list_advice(state):
        every = {**fields.known["taken"], "allOf": [_contain_entry(number) for number in list_advice(state)]}
        return [fields.narrow(("type", "text", "taken", *choices[0]), *choices[1], *common, taken=every, **named)]
    return [fields.narrow(("type", "text", *choices[0]), *choices[1], *common, **named)]


def _contain_entry(number: int) -> dict[str, Any]:
    return {"contains": {"type": "object", "properties": {"entry": {"const": number}}, "required": ["entry"]}}


class _Fields:
    """The schemas of the fields in one state, for one seat."""

    def __init__(self, course: Course, state: Council, seat: SeatId) -> None:
        options = state.opened.subject.options
        visible = state.list_visible_lines(seat)
        self.candidates = find_candidate_ids(course, state) if is_by_candidates(course, state) else ()
        self.has_choice_of_candidates = len(self.candidates) > 1
        raised = [line.id for line in visible if line.said.type == "challenge" and line.seat != USER]
        others = [line.id for line in visible if line.seat not in {seat, USER}]
        advice = list_advice(state)
        taken = narrow_schema(AdviceResponse, ("entry", "how"), ("why",), entry=allow_values(advice)) if advice else {}
        self.choice = ("choice",) if options else ()
        self.no_choice = () if options else ("choice",)
        self.challenges = ("answers", "accepts") if raised else ()
        self.movers = ("moved_by",) if others else ()
        self.known: dict[str, dict[str, Any]] = {
            "text": allow_text(LONGEST_TEXT),
            "choice": allow_values(options) if options else {"type": "string", "maxLength": LONGEST_CHOICE},
            "condition": allow_text(LONGEST_LINE),
            "refers_to": allow_values([1, *(line.id for line in visible)]),
            "evidence": allow_list(allow_text(LONGEST_LINE), MOST_EVIDENCE),
            "answers": allow_list(allow_values(raised), MOST_NAMED),
            "accepts": allow_list(allow_values(raised), MOST_NAMED),
            "position": allow_values(POSITIONS),
            "moved_by": allow_values(others),
            "taken": allow_list(taken, MOST_NAMED),
            "ballot": self.build_ballot(needs_condition=False),
        }

    def build_ballot(self, *, needs_condition: bool) -> dict[str, Any]:
        """Return the schema of a position on each candidate."""
        if not self.has_choice_of_candidates:
            return {}
        own: dict[str, Schema] = {"candidate": allow_values(self.candidates), "condition": allow_text(LONGEST_LINE)}
        rest = ("confidence", "due") if needs_condition else ()
        if not needs_condition:
            vote = narrow_schema(CandidateVote, ("candidate", "position"), ("condition",), **own)
            return {**allow_list(vote, len(self.candidates)), "minItems": 1}
        plain = allow_values([each for each in POSITIONS if each != "conditional_support"])
        forms = [
            narrow_schema(CandidateVote, ("candidate", "position"), ("condition", *rest), position=plain, **own),
            narrow_schema(
                CandidateVote,
                ("candidate", "position", "condition"),
                rest,
                position=allow_values(["conditional_support"]),
                **own,
            ),
        ]
        return {**allow_list({"anyOf": forms}, len(self.candidates)), "minItems": 1}

    def narrow(self, required: tuple[str, ...], *optional: str, **changes: Schema) -> dict[str, Any]:
        known = {name: self.known[name] for name in (*required, *optional) if name in self.known}
        return narrow_schema(Contribution, required, optional, **{**known, **changes})

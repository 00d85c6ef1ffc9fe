"""The JSON schema of each ask: the fields that count there, and the entries and seats that can be named."""

from functools import cache

from moothall.codec.schemas import allow_list, allow_values, narrow_schema
from moothall.domain.effects import Schema
from moothall.domain.roster import Seat
from moothall.domain.topic import LONGEST_LABEL
from moothall.protocols.persona.facts import (
    Draft,
    DraftClaim,
    InputReply,
    Intent,
    JointBids,
    NamedIntent,
    PersonaSpeech,
    Position,
    Stand,
)
from moothall.protocols.persona.state import MOST_INPUTS, Meeting

_CLAIMS = ("reasons", "dissent", "open_questions")


def build_answer_schema(state: Meeting, kind: str, seats: tuple[Seat, ...]) -> Schema | None:
    """Return the schema of the answer to an ask of these seats; None where the shape says it all."""
    match kind:
        case "position":
            return narrow_schema(Position, ["position"], ["choice", "confidence"], choice=_allow_choice(state))
        case "intent":
            extras = tuple(_list_extras(state, seats))
            return _build_first_bid_schema(state, extras) if state.has_blind_bids else _build_bid_schema(extras)
        case "bids":
            node = allow_values(seat.id for seat in seats)
            needed = ["node_id", "reaction_score", "intent_to_speak"]
            bid = narrow_schema(NamedIntent, needed, _list_extras(state, seats), node_id=node)
            return narrow_schema(JointBids, ["bids"], bids={**allow_list(bid, len(seats)), "minItems": 1})
        case "speech":
            return narrow_schema(PersonaSpeech, ["content"], ["refers_to", "view"], refers_to=_allow_entry(state))
        case "draft":
            return _build_draft_schema(state)
        case "stand":
            return narrow_schema(
                Stand, ["verdict"], ["confidence", "position", "condition", "moved_by"], moved_by=_allow_entry(state)
            )
        case _:
            return None


@cache
def _build_bid_schema(extras: tuple[str, ...]) -> Schema:
    return narrow_schema(Intent, ["reaction_score", "intent_to_speak"], extras)


def _build_first_bid_schema(state: Meeting, extras: tuple[str, ...]) -> Schema:
    needed = ["reaction_score", "intent_to_speak"]
    return narrow_schema(Intent, needed, ["choice", *extras], choice=_allow_choice(state))


def _allow_choice(state: Meeting) -> Schema:
    options = state.opened.subject.options
    return allow_values(options) if options else {"type": "string", "maxLength": LONGEST_LABEL}


def _list_extras(state: Meeting, seats: tuple[Seat, ...]) -> list[str]:
    """Only the decider says whether enough was said."""
    return ["reason", "view", *(["sufficient"] if any(seat.id == state.decider for seat in seats) else [])]


def _build_draft_schema(state: Meeting) -> Schema:
    # A range, not a list of numbers: what lies in it and was not shown is left out when the answer is read.
    entries = allow_list(_allow_entry(state), 500)
    claim = narrow_schema(DraftClaim, ["text"], ["entries"], entries=entries)
    changes: dict[str, Schema] = {"decision": claim, **{name: allow_list(claim, 20) for name in _CLAIMS}}
    changes["choice"] = _allow_choice(state)
    if state.inputs:
        named = allow_values(each.id for each in state.inputs)
        reply = narrow_schema(InputReply, ["input", "text"], ["entries"], input=named, entries=entries)
        changes["answers"] = allow_list(reply, MOST_INPUTS)
    rest = ["choice", "confidence", *_CLAIMS, *(["answers"] if state.inputs else [])]
    return narrow_schema(Draft, ["decision"], rest, **changes)


def _allow_entry(state: Meeting) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": state.last_id}

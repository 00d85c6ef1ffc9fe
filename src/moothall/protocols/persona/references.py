"""Leaves references to what a seat was not shown out of its answer, and notes each.

Pure functions of the meeting and an answer of the right shape; each returns the answer that counts and its notes, in the form of
`moothall.codec.field_values`. A claim that names no entry is taken; reports mark it.
"""

from dataclasses import replace
from typing import TypeVar

from moothall.domain.safe_text import one_line
from moothall.protocols.persona.facts import Draft, DraftClaim, InputReply, JointBids, PersonaSpeech, Stand
from moothall.protocols.persona.state import Meeting, list_joint_bidders

Notes = tuple[str, ...]
C = TypeVar("C", DraftClaim, InputReply)


def drop_unknown_references(state: Meeting, said: object) -> tuple[object, Notes]:
    """Return an answer without references to what its seat was not shown."""
    match said:
        case PersonaSpeech():
            return _normalize_speech(state, said)
        case JointBids():
            return _normalize_bids(state, said)
        case Draft():
            return _normalize_draft(state, said)
        case Stand():
            return _normalize_stand(state, said)
        case _:
            return said, ()


def _normalize_speech(state: Meeting, said: PersonaSpeech) -> tuple[PersonaSpeech, Notes]:
    if said.refers_to is None or said.refers_to <= state.last_id:
        return said, ()
    return replace(said, refers_to=None, view="none"), (f"left_out refers_to {said.refers_to}",)


def _normalize_bids(state: Meeting, said: JointBids) -> tuple[JointBids, Notes]:
    seated = {seat.id for group in list_joint_bidders(state) for seat in group}
    unknown = [bid.node_id for bid in said.bids if bid.node_id not in seated]
    notes = tuple(f"left_out bids {one_line(name)!r}" for name in unknown)
    return replace(said, bids=tuple(bid for bid in said.bids if bid.node_id in seated)), notes


def _normalize_stand(state: Meeting, said: Stand) -> tuple[Stand, Notes]:
    if said.moved_by is None or said.moved_by <= state.last_id:
        return said, ()
    return replace(said, moved_by=None), (f"left_out moved_by {said.moved_by}",)


def _normalize_draft(state: Meeting, said: Draft) -> tuple[Draft, Notes]:
    notes: list[str] = []
    shown, inputs = state.record.shown, {each.id for each in state.inputs}

    def normalize(name: str, claims: tuple[C, ...]) -> tuple[C, ...]:
        return tuple(_normalize_claim(claim, name, shown, notes) for claim in claims)

    draft = replace(
        said,
        decision=_normalize_claim(said.decision, "decision", shown, notes),
        reasons=normalize("reasons", said.reasons),
        dissent=normalize("dissent", said.dissent),
        open_questions=normalize("open_questions", said.open_questions),
        answers=tuple(reply for reply in normalize("answers", said.answers) if reply.input in inputs),
    )
    notes += [f"left_out answers #{reply.input}" for reply in said.answers if reply.input not in inputs]
    return draft, tuple(notes)


def _normalize_claim(claim: C, name: str, shown: frozenset[int], notes: list[str]) -> C:
    unknown = [entry for entry in claim.entries if entry not in shown]
    if unknown:
        notes.append(f"left_out {name}.entries {', '.join(str(entry) for entry in unknown)}")
    return replace(claim, entries=tuple(entry for entry in claim.entries if entry in shown)) if unknown else claim

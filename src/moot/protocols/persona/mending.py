"""What is mended in an answer that has its substance: what it refers to and was not shown is left out, and noted.

Pure functions of the meeting and the answer; each returns the answer that counts and a note for each change.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from moot.protocols.persona.facts import Draft, DraftClaim, InputReply, JointBids, PersonaSpeech, Stand
from moot.protocols.persona.state import Meeting, list_joint_bidders

Notes = tuple[str, ...]
C = TypeVar("C", DraftClaim, InputReply)


def mend_answer(state: Meeting, said: object) -> tuple[object, Notes]:
    """Return an answer without references to what its seat was not shown."""
    match said:
        case PersonaSpeech():
            return _mend_speech(state, said)
        case JointBids():
            return _mend_bids(state, said)
        case Draft():
            return _mend_draft(state, said)
        case Stand():
            return _mend_stand(state, said)
        case _:
            return said, ()


def bind_mending(state: Meeting) -> Callable[[object], tuple[object, Notes]]:
    """Return the mending of answers to an ask in this state."""
    return lambda said: mend_answer(state, said)


def _mend_speech(state: Meeting, said: PersonaSpeech) -> tuple[PersonaSpeech, Notes]:
    if said.refers_to is None or said.refers_to <= state.last_id:
        return said, ()
    return replace(said, refers_to=None, view="none"), (f"refers_to: there is no entry {said.refers_to}; left out",)


def _mend_bids(state: Meeting, said: JointBids) -> tuple[JointBids, Notes]:
    seated = {seat.id for group in list_joint_bidders(state) for seat in group}
    unknown = [bid.node_id for bid in said.bids if bid.node_id not in seated]
    notes = tuple(f"bids: {name[:64]!r} was not asked; left out" for name in unknown)
    return replace(said, bids=tuple(bid for bid in said.bids if bid.node_id in seated)), notes


def _mend_stand(state: Meeting, said: Stand) -> tuple[Stand, Notes]:
    if said.moved_by is None or said.moved_by <= state.last_id:
        return said, ()
    return replace(said, moved_by=None), (f"moved_by: there is no entry {said.moved_by}; left out",)


def _mend_draft(state: Meeting, said: Draft) -> tuple[Draft, Notes]:
    notes: list[str] = []
    shown, inputs = state.record.shown, {each.id for each in state.inputs}

    def mend(name: str, claims: tuple[C, ...]) -> tuple[C, ...]:
        return tuple(_mend_claim(claim, name, shown, notes) for claim in claims)

    mended = Draft(
        decision=_mend_claim(said.decision, "decision", shown, notes),
        confidence=said.confidence,
        reasons=mend("reasons", said.reasons),
        dissent=mend("dissent", said.dissent),
        open_questions=mend("open_questions", said.open_questions),
        answers=tuple(reply for reply in mend("answers", said.answers) if reply.input in inputs),
    )
    notes += [
        f"answers: #{reply.input} is not an input of the user; left out" for reply in said.answers if reply.input not in inputs
    ]
    return mended, tuple(notes)


def _mend_claim(claim: C, name: str, shown: frozenset[int], notes: list[str]) -> C:
    unknown = [entry for entry in claim.entries if entry not in shown]
    if unknown:
        notes.append(f"{name}: {', '.join(f'#{entry}' for entry in unknown)} was not shown; left out")
    kept = tuple(entry for entry in claim.entries if entry in shown)
    if not kept:
        notes.append(f"{name}: {claim.text[:60]!r} names no entry")
    return replace(claim, entries=kept) if unknown else claim

"""A session as a page shows it, in one value: what `moot.getView` answers and what the stream sends changes of (W-2, W-3, W-4).

Everything comes from the same report blocks and projections as the terminal and the export. A view is the same for everybody who
may see the session; what differs by caller (`may`, `mine`) is added at the end.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Final

from moothall.app.session_reader import FoldedSession
from moothall.codec.adapters import get_adapter
from moothall.domain.budget import Budget, Spent
from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Language, Opened
from moothall.domain.ids import find_asked_seat, parse_ask_kind
from moothall.domain.roster import MAILBOX, parse_kind
from moothall.domain.safe_text import encode_fields
from moothall.engine.snapshot import Snapshot
from moothall.locale.catalogues import SESSION_VIEW, SHARED_REPORT
from moothall.ports.plugin import AnyPlugin
from moothall.reports.blocks import Block, Fields, Line, Report
from moothall.reports.decision import Decision
from moothall.reports.json_blocks import Json, clean, encode_block, encode_blocks
from moothall.reports.memo import build_memo, encode_memo
from moothall.reports.outline import Lens, TimelineItem, build_outline
from moothall.reports.sections import describe_confidence, name_confidence
from moothall.reports.timeline import LossLine, SessionTimeline
from moothall.reports.wording import explain_cause, format_percent
from moothall.surfaces.api import views
from moothall.surfaces.api.entries import has_sealed_words, is_sealed
from moothall.surfaces.api.fields import spell_fields
from moothall.surfaces.api.method import Caller, encode_json

HUES: Final = 8
_KINDS: Final = {
    "human": "person",
    MAILBOX: "outside",
    "command": "agent",
    "acp": "agent",
    "script": "script",
    "embedded": "model",
}
VOTE_LENSES: Final = ("vote_table", "votes", "candidates", "positions")


@dataclass(frozen=True, slots=True)
class SessionView:
    """A view after an entry that everybody may see: the fields but for the timeline, and the items of the timeline."""

    fields: Json
    items: tuple[TimelineItem, ...]
    changed: tuple[int, ...] = ()
    """At which entry each item was last seen to change."""
    since: int = 0
    """The entry at which it was first built: what changed before is not known."""

    @property
    def seq(self) -> int:
        return int(self.fields["at"])


def build_view(folded: FoldedSession, report: Report | None = None) -> SessionView:
    """The view of a session after the entry up to which it is folded. No await happens in here: `folded` may change.

    `report` is that of the same entry, where the caller has it already.
    """
    timeline, snapshot = folded.timeline, folded.snapshot
    state, opened = snapshot.session_state, snapshot.session_state.opened
    report, decision = report or folded.plugin.report(timeline), folded.plugin.decision(timeline)
    outline = build_outline(report, timeline, folded.outline)
    is_closed_to_readers = has_sealed_words(snapshot.state) and state.closed is None
    fields: Json = {
        "sessionId": snapshot.session,
        "protocol": folded.plugin.name,
        "language": opened.language,
        "topic": clean(opened.topic),
        "status": timeline.status,
        "parked": clean(timeline.parked),
        "choice": decision.short_choice,
        "strength": decision.strength,
        "at": snapshot.seq,
        "openedAt": timeline.opened_at.isoformat(),
        "lastAt": timeline.last_at.isoformat(),
    }
    if timeline.forked is not None:
        fields["forkedFrom"] = {"sessionId": timeline.forked.source, "at": timeline.forked.entry}
    if opened.demo:
        fields["demo"] = True
    numbers: list[Json] = []
    if not is_closed_to_readers:
        numbers = _build_numbers(decision, outline.lenses, opened)
    lenses = [
        {"id": lens.id, "title": clean(lens.title), "blocks": encode_blocks(lens.blocks)}
        for lens in outline.lenses
    ]
    context = [
        {"name": clean(each.name), "size": each.size, "sha256": each.original or each.sha256}
        for each in opened.subject.given
    ]
    fields |= {
        "seats": build_seats(timeline, snapshot),
        "phases": [
            {"name": clean(each.name), "state": each.state} for each in timeline.list_phases()
        ],
        "waiting": _build_waiting(timeline, snapshot),
        "memo": _clean_all(encode_memo(build_memo(decision, opened.language))),
        "decisionBlocks": encode_blocks(report.decision),
        "argumentBlocks": encode_blocks(report.argument),
        "lenses": lenses,
        "numbers": numbers,
        "budget": _build_budget(state.spent, opened.budget, decision.turns),
        "settings": _build_settings(opened),
        "options": [clean(each) for each in opened.subject.options],
        "frame": encode_fields(opened.frame),
        "context": context,
        "sealed": is_closed_to_readers,
        "deadlines": [
            each.model_dump(mode="json", by_alias=True) for each in views.build_deadlines(snapshot)
        ],
        "obligations": [encode_json(each) for each in views.build_obligations_out(decision)],
        **_build_ballot(folded.plugin, timeline),
        "may": list_allowed(snapshot),
    }
    return SessionView(fields, outline.items)


def _clean_all(value: Any) -> Any:
    """Return a value of a view with every text in it clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_all(each) for each in value]
    if isinstance(value, dict):
        return {name: _clean_all(each) for name, each in value.items()}
    return value


def encode_item(item: TimelineItem) -> Json:
    encoded: Json = {"seq": item.seq, "at": item.at, "blocks": [encode_block(item.block)]}
    if item.seat is not None:
        encoded["seat"] = item.seat
    if item.entry is not None:
        encoded["entry"] = item.entry
    return encoded


def list_allowed(snapshot: Snapshot) -> list[str]:
    """What can be done with a session now, by a caller who has the right to it (`select_allowed`)."""
    state = snapshot.session_state
    if state.closed is not None:
        return ["fork"]
    allowed = ["input", "close", "cancel"]
    if state.parked is not None:
        allowed.append("resume")
    allowed.append("fork")
    if any(seat.is_outside for seat in state.seats):
        allowed.append("invite")
    answers = set()
    for ask, pending in state.pending.items():
        if pending.outside:
            answers.add(f"answer:{find_asked_seat(ask)}")
    return [*allowed, *sorted(answers)]


def select_allowed(allowed: Sequence[str], caller: Caller) -> list[str]:
    """What of that this caller may do: who runs sessions everything, a seat and an agent answer for itself, an observer nothing."""
    if caller.may("run"):
        refused = set()
        if caller.session:
            refused.add("fork")
        if not caller.may("own"):
            refused.add("invite")
        return [each for each in allowed if each not in refused]
    return [each for each in allowed if caller.is_named and each == f"answer:{caller.seat}"]


def _describe_ask(kind: str, timeline: SessionTimeline) -> str:
    return SHARED_REPORT[timeline.language].asked_for.get(kind.rpartition("/")[2], kind)


def _build_waiting(timeline: SessionTimeline, snapshot: Snapshot) -> list[Json]:
    waiting = []
    for ask, pending in snapshot.session_state.pending.items():
        kind, seat = parse_ask_kind(ask), find_asked_seat(ask)
        about: Json = {
            "ask": ask,
            "seat": seat,
            "kind": kind,
            "what": _describe_ask(kind, timeline),
            "outside": pending.outside,
        }
        asked_at = timeline.asked_at.get(ask)
        if asked_at is not None:
            about["since"] = asked_at.isoformat()
        if pending.deadline is not None:
            about["deadline"] = pending.deadline.isoformat()
        waiting.append(about)
    return waiting


def build_seats(
    timeline: SessionTimeline, snapshot: Snapshot, held_up: Collection[str] = ()
) -> list[Json]:
    """The seats, and what each does now; those that are `held_up` wait for their turn at a provider."""
    silences, state = timeline.list_silences(), snapshot.session_state
    asked = group_pairs(
        (find_asked_seat(ask), (_describe_ask(parse_ask_kind(ask), timeline), pending.outside))
        for ask, pending in state.pending.items()
    )
    losses = {loss.seat: loss for loss in timeline.losses}
    seats = []
    for at, seat in enumerate(state.seats):
        words, own = SESSION_VIEW[timeline.language], asked.get(seat.id)
        loss = losses.get(seat.id)
        now, why = "listening", ""
        if (
            loss is not None
            and loss.seq > timeline.answered_at.get(seat.id, 0)
            and not _is_hidden(loss.seq, snapshot, seals_losses=timeline.seals_losses)
        ):
            now, why = "lost", _describe_loss(loss, snapshot, timeline.language)
        elif seat.id in silences:
            now, why = "silent", silences[seat.id]
        if state.closed is not None and now != "lost":
            now, why = "done", ""
        elif own is not None:
            what = ", ".join(what for what, _ in own)
            now, why = "writing", words.writing.format(what=what)
            if any(outside for _, outside in own):
                now, why = "asked", words.asked.format(what=what)
            if seat.id in held_up:
                now, why = "held_up", SHARED_REPORT[timeline.language].held_up
        kind = parse_kind(seat.platform)
        seats.append(
            {
                "id": seat.id,
                "stance": clean(seat.stance),
                "platform": clean(seat.platform),
                "kind": _KINDS.get(kind, "model" if ":" in seat.platform else kind),
                "family": clean(seat.family),
                "weight": seat.weight,
                "hue": at % HUES,
                "state": now,
                "why": clean(why),
            }
        )
    return seats


def _describe_loss(loss: LossLine, snapshot: Snapshot, language: Language) -> str:
    """Why a seat was lost; while seats write blind, not what it wrote."""
    reason = SHARED_REPORT[language].losses[loss.reason]
    detail = explain_cause(loss.cause, loss.reason, language)
    if not detail or (is_sealed(snapshot.state) and loss.reason == "malformed"):
        return reason
    return f"{reason} ({detail})"


def _is_hidden(seq: int, snapshot: Snapshot, *, seals_losses: bool) -> bool:
    """Whether nobody may know of a loss yet: while all write at once in a swarm, it would say who failed."""
    after = getattr(snapshot.state, "sealed_after", None)
    return seals_losses and is_sealed(snapshot.state) and seq > (after or 0)


def _build_budget(spent: Spent, budget: Budget, turns: int) -> Json:
    usd: float | None = spent.cost / 1e6
    if spent.calls and spent.unpriced == spent.calls:
        usd = None
    most_usd = None
    if budget.money is not None:
        most_usd = budget.money / 1e6
    limits = {
        "turns": budget.turns,
        "tokens": budget.tokens,
        "usd": most_usd,
        "seconds": budget.seconds,
    }
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "usd": usd,
        "unpriced": spent.unpriced,
        "seconds": round(spent.seconds, 3),
        "turns": turns,
        "limits": spell_fields(limits),
    }


def _build_settings(opened: Opened) -> Json:
    settings: Any = getattr(opened, "settings", None)
    if not is_dataclass(type(settings)):
        return {}
    shape: type = type(settings)
    plain = get_adapter(shape).dump_python(settings, mode="json")
    return spell_fields(plain)


def _build_ballot(plugin: AnyPlugin, timeline: SessionTimeline) -> Json:
    """What is voted on: the candidates, the motion and, once it is unsealed, the tally."""
    if plugin.ballot is None:
        return {}
    ballot = plugin.ballot(timeline, None)
    if ballot is None:
        return {}
    tally = views.build_tallies(ballot.tally)
    fields: dict[str, Any] = {
        "candidates": [encode_json(each) for each in views.build_candidates(ballot)],
        "tally": [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in tally],
    }
    if ballot.motion is not None:
        fields["motion"] = ballot.motion
    return fields


def _find_votes(lenses: Sequence[Lens]) -> tuple[Block, ...]:
    """The blocks of the votes, or of what comes closest to them; empty where there are none."""
    for name in VOTE_LENSES:
        for lens in lenses:
            if lens.id == name:
                return lens.blocks
    return ()


def _build_numbers(decision: Decision, lenses: Sequence[Lens], opened: Opened) -> list[Json]:
    """The figures of a decision, each with how it came about."""
    words = SESSION_VIEW[opened.language]
    votes = _find_votes(lenses)
    figures: list[tuple[str, str, str, tuple[Block, ...]]] = []
    if decision.support is not None:
        figures.append((words.support, format_percent(decision.support), words.support_how, votes))
    if decision.turnout is not None:
        figures.append((words.turnout, format_percent(decision.turnout), words.turnout_how, votes))
    shared = SHARED_REPORT[opened.language]
    has_chance = decision.confidence is not None or decision.no_confidence is not None
    if has_chance and not decision.chance_hidden:
        name, why = name_confidence(decision, shared), describe_confidence(decision, shared)
        figures.append((name, format_percent(decision.confidence), why, ()))
    if decision.author_confidence is not None:
        figures.append(
            (
                shared.author_confidence,
                format_percent(decision.author_confidence),
                words.stated_how,
                (),
            )
        )
    if decision.effective is not None:
        families = tuple((f"{seat.id}", seat.family or seat.platform) for seat in opened.seats)
        how = words.effective_how.format(heads=decision.voters)
        figures.append((words.effective, f"{decision.effective:.1f}", how, (Fields(families),)))
    if decision.backing is not None:
        how = words.backing_how.format(heads=decision.backers)
        figures.append((words.backing, format_percent(decision.backing), how, ()))
    return [
        {"name": name, "value": value, "how": encode_blocks((Line(how), *blocks))}
        for name, value, how, blocks in figures
    ]

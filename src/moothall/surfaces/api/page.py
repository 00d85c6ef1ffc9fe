"""The calls of the page (`docs/web-api.md`), the views of sessions, each built once for everybody who looks at it (W-9), and the
page as one file that works from disk (W-11): with what it shows inside, and the report for readers without script.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from itertools import chain, zip_longest
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from moothall.app.moot import Moot
from moothall.app.session_list import Standing, describe_status
from moothall.app.session_reader import FoldedSession, FoldedSessions
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.ids import SessionId, parse_session_id
from moothall.domain.safe_text import strip_control
from moothall.errors import BadSetting, NotAllowed
from moothall.reports.json_blocks import Json, clean, render_quote
from moothall.reports.outline import TimelineItem
from moothall.reports.page import iterate_document, iterate_report
from moothall.surfaces.api.entries import list_sealed_entries
from moothall.surfaces.api.fields import MAX_ENTRIES, SessionRef
from moothall.surfaces.api.method import ApiModel, Call, Operations, ServerContext
from moothall.surfaces.api.session_view import (
    SessionView,
    build_seats,
    build_view,
    encode_item,
    select_allowed,
)

METHODS = Operations()

MAX_VIEWS: Final = 64
MAX_PAST: Final = 64


class ViewStore:
    """Builds and keeps views: the current one of each session, and some of earlier entries."""

    def __init__(self, context: ServerContext) -> None:
        self._moot = context.moot
        self.folded = context.folded
        self._views: BoundedDict[SessionId, SessionView] = BoundedDict(MAX_VIEWS)
        self._past: BoundedDict[tuple[SessionId, int], SessionView] = BoundedDict(MAX_PAST)
        self._imports: BoundedDict[SessionId, Json] = BoundedDict(MAX_VIEWS)

    async def load(self, session: SessionId) -> SessionView:
        """Return the view of a session as it stands; one read of the ledger. Raises UnknownSession when there is none."""
        folded = await self.folded.load(session)
        known = self._views.get(session)
        if known is None or known.seq != folded.seq:
            known = advance_view(known, build_view(folded))
        shown = {
            **await self._find_standing(folded),
            **self._find_held_up(folded, known),
            **await self._find_import(session),
        }
        if any(known.fields.get(name) != value for name, value in shown.items()):
            known = replace(known, fields={**known.fields, **shown})
        held = self._views.get(session)
        # Another caller may have built a later one while this one asked where the session stands.
        self._views[session] = known if held is None or held.seq <= known.seq else held
        return known

    async def load_at(self, session: SessionId, at: int) -> SessionView:
        """Return the view of a session as it stood after an entry. Raises BadSetting when there is no such entry."""
        past = self._past.get((session, at))
        if past is None:
            folded = await self.folded.load_at(session, at)
            view = build_view(folded)
            may = ["fork"] if folded.snapshot.session_state.closed is None else []
            standing = describe_status(
                view.fields["status"], is_decided=bool(view.fields["choice"]), is_running=True
            )
            shown = {
                **view.fields,
                "standing": standing,
                "may": may,
                **await self._find_import(session),
            }
            past = SessionView(shown, view.items)
        self._past[session, at] = past
        return past

    def _find_held_up(self, folded: FoldedSession, known: SessionView) -> Json:
        """The seats anew where some wait for a provider, or did so in the view that is known; nothing else."""
        held_up = self._moot.engine.context.hub.list_waiting(folded.snapshot.session)
        if not held_up and not any(seat["state"] == "held_up" for seat in known.fields["seats"]):
            return {}
        return {"seats": build_seats(folded.timeline, folded.snapshot, held_up)}

    async def _find_import(self, session: SessionId) -> Json:
        """When and from where a session was imported, which was noted before it was written; nothing for one of this ledger."""
        if session not in self._imports:
            note = await self._moot.memory.get_import(session)
            shown = (
                {}
                if note is None
                else {"imported": {"at": note.at.isoformat(), "source": clean(note.source)}}
            )
            self._imports[session] = shown
        return self._imports[session]

    async def _find_standing(self, folded: FoldedSession) -> Json:
        """What the entries do not say: whether a process runs it, and how the decision turned out."""
        session, status = folded.snapshot.session, folded.timeline.status
        is_waiting = folded.snapshot.session_state.is_waiting_outside
        is_running = (
            status == "thinking" and not is_waiting and await self._moot.is_running(session)
        )
        fields: Json = {"standing": _describe_standing(folded, is_running=is_running)}
        decision = await self._moot.memory.get(session) if status == "concluded" else None
        return (
            fields
            if decision is None or decision.outcome is None
            else {**fields, "outcome": decision.outcome}
        )


def _describe_standing(folded: FoldedSession, *, is_running: bool = False) -> Standing:
    state, timeline = folded.snapshot.session_state, folded.timeline
    is_decided = (
        timeline.closed is not None and folded.plugin.decision(timeline).decision is not None
    )
    return describe_status(
        timeline.status,
        is_decided=is_decided,
        is_waiting=state.is_waiting_outside,
        is_running=is_running,
    )


def build_changes(before: SessionView, after: SessionView) -> Json:
    """The fields that differ, and the items of the timeline that changed; empty where nothing did."""
    fields = {
        name: value
        for name, value in after.fields.items()
        if before.fields.get(name) != value and name != "at"
    }
    items = encode_items(after.items, list_changed_places(after, before.seq))
    if items or len(after.items) != len(before.items):
        fields["timeline"] = {"total": len(after.items), "items": items}
    if not fields and after.seq == before.seq:
        return {}
    return {
        "sessionId": after.fields["sessionId"],
        "seq": after.seq,
        "head": after.seq,
        "at": after.seq,
        **fields,
    }


def list_changed_places(view: SessionView, since: int = 0) -> Sequence[int]:
    """The places of the items that changed after an entry; of all where that is not known."""
    if since < view.since:
        return range(len(view.items))
    return [place for place, changed in enumerate(view.changed) if changed > since]


def encode_items(items: Sequence[TimelineItem], places: Iterable[int]) -> list[list[object]]:
    """The items at these places as JSON, each with its place."""
    return [[place, encode_item(items[place])] for place in places]


def advance_view(known: SessionView | None, view: SessionView) -> SessionView:
    """The view after further entries, with what it knows of when each item changed."""
    if known is None:
        return replace(view, changed=tuple(view.seq for _ in view.items), since=view.seq)
    count = len(view.items)
    changed = []
    for old, item, before in zip_longest(known.items[:count], view.items, known.changed[:count]):
        changed.append(before if old is item or old == item else view.seq)
    return replace(view, changed=tuple(changed), since=known.since)


MAX_ITEMS: Final = 500


class ViewOut(ApiModel):
    """A session in one value; docs/web-api.md has all fields."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    head: int = Field(description="The newest entry.")
    at: int = Field(description="The entry that is shown.")
    timeline: dict[str, Any]
    may: list[str]


class ItemsOut(ApiModel):
    session_id: str
    at: int = Field(description="The entry that is shown.")
    total: int
    items: list[Any] = Field(
        description="[place, item] each, as `timeline` of `moot.getView` has them."
    )


class TextOut(ApiModel):
    session_id: str
    entry: int
    text: str
    html: str


@METHODS.add("moot.getView", "read")
async def get_view(
    call: Call,
    session_id: SessionRef,
    *,
    at: Annotated[
        int | None,
        Field(ge=1, le=MAX_ENTRIES, description="The state after this entry. Default: now."),
    ] = None,
    since: Annotated[
        int,
        Field(ge=0, le=MAX_ENTRIES, description="Only the timeline's items that changed after it."),
    ] = 0,
    limit: Annotated[
        int | None,
        Field(ge=1, le=MAX_ITEMS, description="At most so many items; default: all of them."),
    ] = None,
    near: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_ENTRIES,
            description="With limit: those round this card. Default: the newest of a session that goes on, the first of one that is over.",
        ),
    ] = None,
) -> ViewOut:
    """A session in one value, as a page shows it: decision, timeline item by item, seats, phases, figures; with `at` as it stood
    then.
    """
    store, caller = call.context.get_or_create(ViewStore), call.caller
    live = await store.load(session_id)
    if at is None:
        fields, items, places = live.fields, live.items, list_changed_places(live, since)
    else:
        past = await store.load_at(session_id, at)
        fields, items, places = past.fields, past.items, range(len(past.items))
    if limit is not None and len(places) > limit:
        # At an earlier entry, what had just been said is what somebody wants to see.
        is_over = at is None and fields["status"] in {"concluded", "cancelled"}
        begin = _find_begin(items, places, near, limit, is_over=is_over)
        places = places[begin : begin + limit]
    # A seat or an agent is asked for itself, nobody else.
    waiting = [
        {**each, "mine": caller.is_named and each["seat"] == caller.seat}
        for each in fields["waiting"]
    ]
    shown = {
        **fields,
        "sessionId": session_id,
        "head": live.seq,
        "waiting": waiting,
        "may": select_allowed(fields["may"], caller),
        "timeline": {"total": len(items), "items": encode_items(items, places)},
    }
    return ViewOut.model_validate(shown)


def _find_begin(
    items: Sequence[TimelineItem],
    places: Sequence[int],
    near: int | None,
    limit: int,
    *,
    is_over: bool,
) -> int:
    """Where in `places` a part of so many items begins."""
    at = (
        None
        if near is None
        else next((index for index, place in enumerate(places) if items[place].entry == near), None)
    )
    if at is None:
        return 0 if is_over else len(places) - limit
    return max(0, min(at - limit // 2, len(places) - limit))


@METHODS.add("moot.getItems", "read")
async def get_items(
    call: Call,
    session_id: SessionRef,
    at: Annotated[
        int | None,
        Field(ge=1, le=MAX_ENTRIES, description="The timeline after this entry. Default: now."),
    ] = None,
    begin: Annotated[
        int,
        Field(
            ge=0, le=MAX_ENTRIES, description="The place of the first item; 0 is the first of all."
        ),
    ] = 0,
    limit: Annotated[
        int, Field(ge=1, le=MAX_ITEMS, description="At most so many items.")
    ] = MAX_ITEMS,
) -> ItemsOut:
    """A part of a session's timeline, as `moot.getView` with `limit` leaves it out."""
    store = call.context.get_or_create(ViewStore)
    live = await store.load(session_id)
    items = live.items if at is None else (await store.load_at(session_id, at)).items
    places = range(begin, min(begin + limit, len(items)))
    return ItemsOut(
        session_id=session_id,
        at=at or live.seq,
        total=len(items),
        items=encode_items(items, places),
    )


@METHODS.add("moot.getText", "read")
async def get_text(
    call: Call,
    session_id: SessionRef,
    entry: Annotated[
        int, Field(ge=1, le=MAX_ENTRIES, description="The number of a card, as references have it.")
    ],
) -> TextOut:
    """The whole of a text that was cut in a view."""
    folded = await call.context.get_or_create(ViewStore).folded.load(session_id)
    timeline = folded.timeline
    line = next((line for line in timeline.lines if line.id == entry), None)
    if line is None:
        raise BadSetting(
            f"entry: #{entry} does not exist in {session_id!r}; it has #1 to #{len(timeline.lines)}"
        )
    if line.seq in list_sealed_entries(folded.snapshot.state) and line.speaker != call.caller.seat:
        raise NotAllowed(f"#{entry} is sealed until all seats have written")
    text = strip_control(line.content)
    return TextOut(session_id=session_id, entry=entry, text=text, html=render_quote(text))


HTML: Final = "html"
MAX_STOPS: Final = 200
"""At how many entries a file can be looked at as it stood: of a longer session every n-th entry."""
MAX_HISTORY: Final = 4_000_000
PARTS_AT_ONCE: Final = 50
"""After how many parts a server looks after its other callers."""


async def export_text(moot: Moot, session: str, form: str) -> str:
    """A session in one of its forms; `html` is the page. Raises BadSetting for a form that it does not have."""
    return "".join([part async for part in stream_text(moot, session, form)])


def stream_text(moot: Moot, session: str, form: str) -> AsyncIterator[str]:
    """Yield what `export_text` returns, in parts."""
    return stream_page(moot, session) if form == HTML else moot.stream_export(session, form)


async def stream_page(moot: Moot, session: str) -> AsyncIterator[str]:
    """Yield the page of a session as one file, in parts: that of a long session is never in memory as a whole."""
    name, sessions = parse_session_id(session), FoldedSessions(moot)
    live = await sessions.load(name)
    head, report = live.seq, live.plugin.report(live.timeline)
    view = build_view(live, report)
    shown = {**view.fields, "head": head, "standing": _describe_standing(live), "may": []}
    history = (
        await _build_history(sessions, name, head) if _has_room_for_history(view.items) else []
    )
    # Everything is built by now: the file shows one moment, however long whoever writes it takes, and the session can go.
    del live, sessions
    data = _iterate_data(shown, view.items, history)
    for number, part in enumerate(
        _iterate_file(data, report.language, report.topic[:80], iterate_report(report))
    ):
        yield part
        if number % PARTS_AT_ONCE == 0:
            await asyncio.sleep(0)


def _has_room_for_history(items: Sequence[TimelineItem]) -> bool:
    """Whether a history can be small enough: it tells every item at least once."""
    size = 0
    for place, item in enumerate(items):
        size += len(json.dumps([place, encode_item(item)]))
        if size > MAX_HISTORY:
            return False
    return True


async def _build_history(sessions: FoldedSessions, session: SessionId, head: int) -> list[Json]:
    """What differs at each stop from the one before: the fields, and the items of the timeline."""
    history: list[Json] = []
    before = SessionView({}, ())
    step = -(-head // MAX_STOPS)
    for at in (*range(1, head, step), head):
        folded = await sessions.load_at(session, at)
        # Who looks back in a file does not take part: what was given would stand in it once for each stop.
        folded.timeline.shows_all_given = False
        view = build_view(folded)
        fields = {
            name: value
            for name, value in view.fields.items()
            if name not in before.fields or before.fields[name] != value
        }
        known = before.items
        changed = [
            place
            for place, item in enumerate(view.items)
            if place >= len(known) or known[place] != item
        ]
        timeline = {"total": len(view.items), "items": encode_items(view.items, changed)}
        history.append({**fields, "at": at, "timeline": timeline})
        before = view
    return _thin_out(history)


def _thin_out(history: list[Json]) -> list[Json]:
    """Join every two stops until the history is small enough for a file that is sent around."""
    while len(history) > 2 and len(json.dumps(history)) > MAX_HISTORY:
        pairs = [history[at : at + 2] for at in range(0, len(history), 2)]
        history = [_join_changes(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return history if len(json.dumps(history)) <= MAX_HISTORY else []


def _join_changes(first: Json, then: Json) -> Json:
    items = {place: item for change in (first, then) for place, item in change["timeline"]["items"]}
    total = then["timeline"]["total"]
    rest = [[place, item] for place, item in sorted(items.items()) if place < total]
    return {**first, **then, "timeline": {"total": total, "items": rest}}


def _iterate_file(
    data: Iterable[str], language: str, title: str, body: Iterable[str]
) -> Iterator[str]:
    script, style = (
        (files("moothall.surfaces.http") / "page" / name).read_text("utf-8")
        for name in ("app.js", "app.css")
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return iterate_document(
        language,
        title,
        body,
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "require-trusted-types-for 'script'; trusted-types moot-quote",
        # The style is switched on by the script: without it, the report has its own.
        head=f'<style id="app-style" media="not all">{style}</style>\n',
        after=chain(
            ('<div id="app"></div>\n<script type="application/json" id="moot-view">',),
            data,
            (f"</script>\n<script>{script}</script>\n",),
        ),
    )


def _iterate_data(shown: Json, items: Sequence[TimelineItem], history: list[Json]) -> Iterator[str]:
    """What the page shows as JSON: `{"view": {…, "timeline": …}, "history": […]}`, the timeline item by item."""
    yield f'{{"view":{_escape_json(shown)[:-1]},"timeline":{{"total":{len(items)},"items":['
    for place, item in enumerate(items):
        yield f"{',' if place else ''}{_escape_json([place, encode_item(item)])}"
    yield f']}}}},"history":{_escape_json(history)}}}'


def _escape_json(data: object) -> str:
    """JSON that ends no element and begins no comment, whatever was said."""
    return (
        json.dumps(data, ensure_ascii=True, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
    )

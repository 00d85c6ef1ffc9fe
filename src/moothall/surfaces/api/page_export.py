"""A session as one file (W-11): the page with what it shows inside, which works from disk, and the report for readers without script."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import Final

from moothall.app.moot import Moot
from moothall.app.session_list import describe_status
from moothall.app.session_reader import FoldedSession, FoldedSessions
from moothall.domain.ids import SessionId, parse_session_id
from moothall.reports.json_blocks import Json
from moothall.reports.outline import TimelineItem
from moothall.reports.page import iterate_document, iterate_report
from moothall.surfaces.api.session_view import SessionView, build_view, encode_item

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
    shown = {**view.fields, "head": head, "standing": _find_standing(live), "may": []}
    history = await _build_history(sessions, name, head) if _has_room_for_history(view.items) else []
    # Everything is built by now: the file shows one moment, however long whoever writes it takes, and the session can go.
    del live, sessions
    data = _iterate_data(shown, view.items, history)
    for number, part in enumerate(_iterate_file(data, report.language, report.topic[:80], iterate_report(report))):
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
    history: list[Json] = []
    before: SessionView | None = None
    for at in _list_stops(head):
        view = build_view(await sessions.load_at(session, at))
        history.append(_build_change(before, view, at))
        before = view
    return _thin_out(history)


def _list_stops(head: int) -> list[int]:
    step = -(-head // MAX_STOPS)
    return [*range(1, head, step), head]


def _find_standing(live: FoldedSession) -> str:
    timeline = live.timeline
    is_decided = timeline.closed is not None and live.plugin.decision(timeline).decision is not None
    is_waiting = live.snapshot.session_state.is_waiting_outside
    return describe_status(timeline.status, is_decided=is_decided, is_waiting=is_waiting)


def _build_change(before: SessionView | None, after: SessionView, at: int) -> Json:
    """What differs from the stop before: the fields, and the items of the timeline."""
    fields = {name: value for name, value in after.fields.items() if before is None or before.fields.get(name) != value}
    return {**fields, "at": at, "timeline": _encode_items(after.items, before.items if before is not None else ())}


def _encode_items(items: Sequence[TimelineItem], known: Sequence[TimelineItem]) -> Json:
    changed = [(place, item) for place, item in enumerate(items) if place >= len(known) or known[place] != item]
    return {"total": len(items), "items": [[place, encode_item(item)] for place, item in changed]}


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


def _iterate_file(data: Iterable[str], language: str, title: str, body: Iterable[str]) -> Iterator[str]:
    script, style = ((files("moothall.surfaces.http") / "page" / name).read_text("utf-8") for name in ("app.js", "app.css"))
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
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")

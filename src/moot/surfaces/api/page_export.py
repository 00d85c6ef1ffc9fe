"""A session as one file (W-11): the page with what it shows inside, which works from disk, and the report for readers without script."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final

from moot.app.folded_sessions import FoldedSession, FoldedSessions
from moot.app.moot import Moot
from moot.app.session_list import describe_status
from moot.domain.ids import SessionId, parse_session_id
from moot.reports.json_blocks import Json
from moot.reports.outline import TimelineItem
from moot.reports.page import render_document, render_report
from moot.surfaces.api.session_view import SessionView, build_view, encode_item

HTML: Final = "html"
MOST_STOPS: Final = 200
"""At how many entries a file can be looked at as it stood: of a longer session every n-th entry."""
LARGEST_HISTORY: Final = 4_000_000


async def export_text(moot: Moot, session: str, form: str) -> str:
    """A session in one of its forms; `html` is the page. Raises BadSetting for a form that it does not have."""
    return await export_page(moot, session) if form == HTML else await moot.export(session, form)


async def export_page(moot: Moot, session: str) -> str:
    """The page of a session as one file."""
    name, sessions = parse_session_id(session), FoldedSessions(moot)
    live = await sessions.load(name)
    head, view, report = live.seq, build_view(live), live.plugin.report(live.timeline)
    timeline = _encode_items(view.items, ())
    shown = {**view.fields, "head": head, "standing": _find_standing(live), "may": [], "timeline": timeline}
    # The history tells every item at least once, so that a long session's could not be small enough.
    history = await _build_history(sessions, name, head) if len(json.dumps(timeline)) <= LARGEST_HISTORY else []
    return _render_file({"view": shown, "history": history}, report.language, report.topic[:80], render_report(report))


async def _build_history(sessions: FoldedSessions, session: SessionId, head: int) -> list[Json]:
    history: list[Json] = []
    before: SessionView | None = None
    for at in _list_stops(head):
        view = build_view(await sessions.load_at(session, at))
        history.append(_build_change(before, view, at))
        before = view
    return _thin_out(history)


def _list_stops(head: int) -> list[int]:
    step = -(-head // MOST_STOPS)
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
    while len(history) > 2 and len(json.dumps(history)) > LARGEST_HISTORY:
        pairs = [history[at : at + 2] for at in range(0, len(history), 2)]
        history = [_join_changes(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return history if len(json.dumps(history)) <= LARGEST_HISTORY else []


def _join_changes(first: Json, then: Json) -> Json:
    items = {place: item for change in (first, then) for place, item in change["timeline"]["items"]}
    total = then["timeline"]["total"]
    kept = [[place, item] for place, item in sorted(items.items()) if place < total]
    return {**first, **then, "timeline": {"total": total, "items": kept}}


def _render_file(data: Json, language: str, title: str, body: list[str]) -> str:
    folder = files("moot.surfaces.http") / "page"
    script, style = ((folder / name).read_text(encoding="utf-8") for name in ("app.js", "app.css"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return render_document(
        "zh" if language == "zh" else "en",
        title,
        body,
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "require-trusted-types-for 'script'; trusted-types moot-quote",
        # The style is switched on by the script: without it, the report has its own.
        head=f'<style id="app-style" media="not all">{style}</style>\n',
        after=(
            f'<div id="app"></div>\n<script type="application/json" id="moot-view">{_escape_json(data)}</script>\n'
            f"<script>{script}</script>\n"
        ),
    )


def _escape_json(data: Json) -> str:
    """JSON that ends no element and begins no comment, whatever was said."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")

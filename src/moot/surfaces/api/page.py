"""The calls of the page: a session in one value, whole texts (`docs/web-api.md`)."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from moot.domain.ids import parse_session_id
from moot.domain.safe_text import strip_control
from moot.errors import BadSetting, NotAllowed
from moot.protocols.consultation.timeline import unwrap_timeline
from moot.protocols.council.timeline import CouncilTimeline
from moot.reports.json_blocks import render_quote
from moot.surfaces.api.method import Call, Method, Wire, build_method
from moot.surfaces.api.session_view import encode_item, is_mine, select_allowed
from moot.surfaces.api.sessions import SessionParams
from moot.surfaces.api.shapes import MOST_ENTRIES
from moot.surfaces.api.view_store import ViewStore, list_changed_items


class ViewParams(SessionParams):
    at: Annotated[int | None, Field(ge=1, le=MOST_ENTRIES, description="The state after this entry. Default: now.")] = None
    since: Annotated[int, Field(ge=0, le=MOST_ENTRIES, description="Only the timeline's items that changed after it.")] = 0


class ViewOut(Wire):
    """A session in one value; docs/web-api.md has all fields."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    head: int = Field(description="The newest entry.")
    at: int = Field(description="The entry that is shown.")
    timeline: dict[str, Any]
    may: list[str]


class TextParams(SessionParams):
    entry: Annotated[int, Field(ge=1, le=MOST_ENTRIES, description="The number of a card, as references have it.")]


class TextOut(Wire):
    session_id: str
    entry: int
    text: str
    html: str


async def get_view(call: Call, params: ViewParams) -> ViewOut:
    call.caller.check_session(params.session_id)
    session, store = parse_session_id(params.session_id), call.context.get_part(ViewStore)
    live = await store.load(session)
    if params.at is None:
        fields, total, items = live.fields, len(live.items), list_changed_items(live, params.since)
    else:
        past = await store.load_at(session, params.at)
        fields, total = past.fields, len(past.items)
        items = [[place, encode_item(item)] for place, item in enumerate(past.items)]
    shown = {
        **fields,
        "sessionId": session,
        "head": live.seq,
        "waiting": [{**each, "mine": is_mine(each, call.caller)} for each in fields["waiting"]],
        "may": select_allowed(fields["may"], call.caller),
        "timeline": {"total": total, "items": items},
    }
    return ViewOut.model_validate(shown)


async def get_text(call: Call, params: TextParams) -> TextOut:
    call.caller.check_session(params.session_id)
    folded = await call.context.get_part(ViewStore).folded.load(parse_session_id(params.session_id))
    timeline = unwrap_timeline(folded.timeline)
    line = next((line for line in timeline.lines if line.id == params.entry), None)
    if line is None:
        raise BadSetting(f"entry: #{params.entry} does not exist in {params.session_id!r}; it has #1 to #{len(timeline.lines)}")
    if isinstance(timeline, CouncilTimeline) and line.id in timeline.state.sealed and line.speaker != call.caller.seat:
        raise NotAllowed(f"#{params.entry} is sealed until all seats have written")
    text = strip_control(line.content)
    return TextOut(session_id=params.session_id, entry=params.entry, text=text, html=render_quote(text))


PAGE_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "moot.getView",
        "A session in one value, as a page shows it: decision, timeline item by item, seats, phases, figures; with `at` as it stood then.",
        get_view,
    ),
    build_method("moot.getText", "The whole of a text that was cut in a view.", get_text),
)

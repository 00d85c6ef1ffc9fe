"""The calls of the page: a session in one value, parts of its timeline, whole texts (`docs/web-api.md`)."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import strip_control
from moothall.errors import BadSetting, NotAllowed
from moothall.protocols.consultation.timeline import unwrap_timeline
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.reports.json_blocks import render_quote
from moothall.reports.outline import TimelineItem
from moothall.surfaces.api.method import ApiModel, Call, Method, build_method
from moothall.surfaces.api.session_shapes import SessionParams
from moothall.surfaces.api.session_view import is_mine, select_allowed
from moothall.surfaces.api.shapes import MAX_ENTRIES
from moothall.surfaces.api.view_store import ViewStore, encode_items, list_changed_places

MAX_ITEMS: Final = 500


class ViewParams(SessionParams):
    at: Annotated[int | None, Field(ge=1, le=MAX_ENTRIES, description="The state after this entry. Default: now.")] = None
    since: Annotated[int, Field(ge=0, le=MAX_ENTRIES, description="Only the timeline's items that changed after it.")] = 0
    limit: Annotated[int | None, Field(ge=1, le=MAX_ITEMS, description="At most so many items; default: all of them.")] = None
    near: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_ENTRIES,
            description="With limit: those round this card. Default: the newest of a session that goes on, the first of one that is over.",
        ),
    ] = None


class ViewOut(ApiModel):
    """A session in one value; docs/web-api.md has all fields."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    head: int = Field(description="The newest entry.")
    at: int = Field(description="The entry that is shown.")
    timeline: dict[str, Any]
    may: list[str]


class ItemsParams(SessionParams):
    at: Annotated[int | None, Field(ge=1, le=MAX_ENTRIES, description="The timeline after this entry. Default: now.")] = None
    begin: Annotated[int, Field(ge=0, le=MAX_ENTRIES, description="The place of the first item; 0 is the first of all.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS, description="At most so many items.")] = MAX_ITEMS


class ItemsOut(ApiModel):
    session_id: str
    at: int = Field(description="The entry that is shown.")
    total: int
    items: list[Any] = Field(description="[place, item] each, as `timeline` of `moot.getView` has them.")


class TextParams(SessionParams):
    entry: Annotated[int, Field(ge=1, le=MAX_ENTRIES, description="The number of a card, as references have it.")]


class TextOut(ApiModel):
    session_id: str
    entry: int
    text: str
    html: str


async def get_view(call: Call, params: ViewParams) -> ViewOut:
    call.caller.check_session(params.session_id)
    session, store = parse_session_id(params.session_id), call.context.get_or_create(ViewStore)
    live = await store.load(session)
    if params.at is None:
        fields, items, places = live.fields, live.items, list_changed_places(live, params.since)
    else:
        past = await store.load_at(session, params.at)
        fields, items, places = past.fields, past.items, range(len(past.items))
    if params.limit is not None and len(places) > params.limit:
        # At an earlier entry, what had just been said is what somebody wants to see.
        is_over = params.at is None and fields["status"] in {"concluded", "cancelled"}
        begin = _find_begin(items, places, params.near, params.limit, is_over=is_over)
        places = places[begin : begin + params.limit]
    shown = {
        **fields,
        "sessionId": session,
        "head": live.seq,
        "waiting": [{**each, "mine": is_mine(each, call.caller)} for each in fields["waiting"]],
        "may": select_allowed(fields["may"], call.caller),
        "timeline": {"total": len(items), "items": encode_items(items, places)},
    }
    return ViewOut.model_validate(shown)


def _find_begin(items: Sequence[TimelineItem], places: Sequence[int], near: int | None, limit: int, *, is_over: bool) -> int:
    """Where in `places` a part of so many items begins."""
    at = None if near is None else next((index for index, place in enumerate(places) if items[place].entry == near), None)
    if at is None:
        return 0 if is_over else len(places) - limit
    return max(0, min(at - limit // 2, len(places) - limit))


async def get_items(call: Call, params: ItemsParams) -> ItemsOut:
    call.caller.check_session(params.session_id)
    session, store = parse_session_id(params.session_id), call.context.get_or_create(ViewStore)
    live = await store.load(session)
    items = live.items if params.at is None else (await store.load_at(session, params.at)).items
    places = range(params.begin, min(params.begin + params.limit, len(items)))
    return ItemsOut(session_id=session, at=params.at or live.seq, total=len(items), items=encode_items(items, places))


async def get_text(call: Call, params: TextParams) -> TextOut:
    call.caller.check_session(params.session_id)
    folded = await call.context.get_or_create(ViewStore).folded.load(parse_session_id(params.session_id))
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
    build_method("moot.getItems", "A part of a session's timeline, as `moot.getView` with `limit` leaves it out.", get_items),
    build_method("moot.getText", "The whole of a text that was cut in a view.", get_text),
)

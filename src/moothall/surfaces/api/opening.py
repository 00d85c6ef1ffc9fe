"""The calls that open a session, fork one or invite a participant: what there is to choose, and what it would cost (W-1)."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from math import ceil
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter
from pydantic.alias_generators import to_camel

from moothall.app import session_options as kinds
from moothall.app.discovery import discover_platforms
from moothall.app.environment import load_server_url
from moothall.app.estimates import Range, SessionEstimate, estimate_session
from moothall.app.opening import PlannedSession, check_invitation, frame_planned
from moothall.app.panels import list_presets, load_preset
from moothall.app.protocols import find_plugin, load_protocols
from moothall.app.session_options import describe_option, find_refusal, list_public_options
from moothall.codec.settings import KnownLanguage
from moothall.domain.facts import Language
from moothall.domain.ids import MAX_SEAT_LENGTH, parse_session_id
from moothall.engine.snapshot import Snapshot
from moothall.errors import NotAllowed, describe_install
from moothall.locale.catalogues import OPENING
from moothall.memory.tokens import AccessDenied, Token, parse_code
from moothall.participants.platforms import MODEL_VARIABLE
from moothall.ports.plugin import AnyPlugin
from moothall.surfaces.api.fields import (
    MAX_ENTRIES,
    FamilyRef,
    SessionRef,
    SwapsRef,
)
from moothall.surfaces.api.method import ApiModel, Call, Operations
from moothall.surfaces.api.session_options import (
    collect_options,
)
from moothall.surfaces.api.sessions import OpenSessionParams, check_swaps
from moothall.surfaces.api.shapes import FrameOut, build_frame_out
from moothall.surfaces.api.views import build_seat_prompt, find_join_guide
from moothall.surfaces.invitations.agent_clients import (
    ALL_CLIENTS,
    INVITE_TICKET,
    Door,
    build_login_link,
    parse_server_url,
    render_entry,
)

METHODS = Operations()

INVITE_HOURS: Final = 168.0
Hours = Annotated[float, Field(gt=0, le=87_840, description="How long the token is valid.")]
UrlRef = Annotated[
    str,
    Field(
        max_length=500,
        description="The address of this server as the invited one reaches it. Default: where it listens.",
    ),
]
_FIELD_TYPES: Final[Mapping[type, str]] = {
    kinds.SwitchKind: "boolean",
    kinds.CountKind: "integer",
    kinds.AmountKind: "number",
    kinds.DurationKind: "duration",
    kinds.ChoiceKind: "choice",
    kinds.LanguageKind: "choice",
    kinds.TextKind: "text",
    kinds.ToolsKind: "text",
    kinds.TextsKind: "texts",
}
"""How a form asks for an option; seats, files and settings have a part of the form to themselves."""


class SettingOut(ApiModel):
    name: str
    type: str
    default: Any = None
    help: str = ""
    choices: list[str] = []


class OptionOut(SettingOut):
    refused_by: dict[str, str] = Field(
        default={}, description="The protocols that cannot honour it, and why."
    )


class ProtocolOut(ApiModel):
    name: str
    title: str
    summary: str
    settings: list[SettingOut]


class PanelSeatOut(ApiModel):
    id: str
    stance: str = ""


class PanelOut(ApiModel):
    name: str
    title: str
    summary: str
    seats: list[PanelSeatOut]


class PlatformOut(ApiModel):
    platform: str
    title: str
    found: bool = Field(
        description="Whether it takes seats that name nobody; the embedded model only where it is named."
    )
    note: str = ""


class OpeningOut(ApiModel):
    protocols: list[ProtocolOut]
    options: list[OptionOut] = Field(
        description="What every session can be opened with, beside topic, protocol, seats and files."
    )
    panels: list[PanelOut]
    participants: list[PlatformOut]


class PlannedSeatOut(PanelSeatOut):
    platform: str


class PlannedFileOut(ApiModel):
    name: str
    size: int = Field(description="Bytes of its text.")


class PlanOut(ApiModel):
    protocol: str
    language: Language
    seats: list[PlannedSeatOut]
    calls: Range = Field(description="Calls to models.")
    path: Range = Field(description="How many of them wait for one another: the longest chain.")
    tokens: Range
    usd: Range | None = Field(
        default=None, description="US dollars; missing where a price is not known."
    )
    notes: list[str]
    files: list[PlannedFileOut] = []
    frame: FrameOut | None = Field(
        default=None, description="The question as its words say it: its kind and its answers."
    )
    framed_by: str = Field(
        default="",
        description="The platform whose model is asked once for the answers before the session opens; its price is counted.",
    )


class FramedOut(ApiModel):
    frame: FrameOut | None = Field(default=None, description="None where nothing plain is known.")
    asked: str = Field(default="", description="The model that was asked; empty where none was.")
    tokens: int = 0
    fault: str = Field(default="", description="Why what it said is not used.")


class DryRunOut(PlanOut):
    """A plan with the id that was asked for, and the fact that would open the session."""

    session_id: str | None = None
    opened: Any


class ForkOut(ApiModel):
    session_id: str


class PasteOut(ApiModel):
    client: str
    title: str
    text: str


class InviteOut(ApiModel):
    token_id: str
    token: str = Field(description="Shown once.")
    link: str = Field(description="Opens the seat in a browser, once, within a day.")
    prompt: str = Field(description="What to tell a coding agent once it is connected.")
    paste: list[PasteOut] = Field(description="How each coding agent is connected.")


@METHODS.add("moot.getOpening", "read", unbound=True)
async def get_opening(call: Call, language: KnownLanguage = "en") -> OpeningOut:
    """What a new session can be made of: protocols with their settings, panels, the participants that were discovered."""
    words, platforms = (
        OPENING[language],
        await discover_platforms(call.moot.environ, call.moot.seating),
    )
    embedded = (
        words.embedded
        if platforms.embedded
        else words.no_embedded.format(install=describe_install("embedded"))
    )
    participants = [
        *((each, each, True, MODEL_VARIABLE) for each in filter(None, (platforms.named,))),
        *((each, each, True, words.discovered_key) for each in platforms.models),
        *((each, each, True, words.discovered) for each in platforms.servers),
        ("embedded", "embedded", False, embedded),
        ("mailbox", words.mailbox, True, words.mailbox_note),
    ]
    # What MOOT_MODEL names may have been discovered, too.
    rows = {row[0]: row for row in reversed(participants)}
    panels = {name: load_preset(name, language) for name in list_presets()}
    options = _build_options(language)
    protocols = []
    for plugin in load_protocols().values():
        described = " ".join((plugin.settings.__doc__ or "").split()).partition(". ")[0]
        protocols.append(
            ProtocolOut(
                name=plugin.name,
                title=words.titles.get(plugin.name, plugin.name),
                summary=words.summaries.get(plugin.name, described),
                settings=_build_settings(plugin, words.settings),
            )
        )
    return OpeningOut(
        options=options,
        protocols=protocols,
        panels=[
            PanelOut.collect(panel, name=panel.name or name, summary=panel.description)
            for name, panel in panels.items()
        ],
        participants=[
            PlatformOut(platform=platform, title=title, found=is_there, note=note)
            for platform, title, is_there, note in reversed(rows.values())
        ],
    )


def _build_options(language: Language) -> list[OptionOut]:
    """Return the options that a form can offer as a field of its own."""
    protocols = load_protocols().values()
    rows = []
    for name, option in list_public_options().items():
        type_name = _FIELD_TYPES.get(type(option.kind))
        if not type_name or name == "protocol" or find_refusal(name, "run", is_server=True):
            continue
        refused_by = {
            plugin.name: plugin.refuses[name] for plugin in protocols if name in plugin.refuses
        }
        rows.append(
            OptionOut(
                name=to_camel(name),
                type=type_name,
                help=describe_option(name, language),
                choices=_list_choices(option.kind),
                refused_by=refused_by,
            )
        )
    return rows


def _list_choices(kind: kinds.OptionKind) -> list[str]:
    if isinstance(kind, kinds.ChoiceKind | kinds.LanguageKind):
        return list(kind.values)
    return []


def _build_settings(plugin: AnyPlugin, descriptions: Mapping[str, str]) -> list[SettingOut]:
    """The settings of a protocol from their class; those of a plugin with the sentence of its description that names them."""
    settings = plugin.settings
    shape = TypeAdapter(settings).json_schema()["properties"]
    sentences = re.split(r"(?<=[.;])\s+", " ".join((settings.__doc__ or "").split()))
    rows = []
    for each in fields(settings):
        schema = shape.get(each.name, {})
        schemas = [schema, *schema.get("anyOf", ())]
        choices = next(
            ([str(one) for one in kind["enum"]] for kind in schemas if "enum" in kind), []
        )
        types = [kind["type"] for kind in schemas if kind.get("type") not in {None, "null"}]
        type_name = "choice" if choices else next(iter(types), "any")
        value = plugin.defaults.get(each.name, each.default)
        default = None if value is MISSING else TypeAdapter(Any).dump_python(value, mode="json")
        text = descriptions.get(each.name)
        if not text:
            sentence = next((one for one in sentences if f"`{each.name}`" in one), "")
            text = sentence.replace("`", "")
        rows.append(
            SettingOut(
                name=to_camel(each.name),
                type=type_name,
                default=default,
                help=text,
                choices=choices,
            )
        )
    return rows


@METHODS.add("moot.planSession", "run", unbound=True)
async def plan_session(call: Call, params: OpenSessionParams) -> PlanOut:
    """What moot.openSession with the same parameters would seat, ask and cost, at least and at most; records nothing."""
    options = await collect_options(call, params)
    options["check"] = False
    planned = await call.moot.plan_session(params.topic, **options)
    opened, kinds = planned.opened, call.moot.seating.kinds
    return build_plan(planned, estimate_session(opened, kinds, planned.framer))


@METHODS.add("moot.frameQuestion", "run", unbound=True)
async def frame_question(call: Call, params: OpenSessionParams) -> FramedOut:
    """Which answers the question of moot.openSession with the same parameters has: where its words do not say it, one model that
    would sit there is asked now, once. Opening the session does not ask it again, and counts what this cost. Opens nothing.
    """
    options = await collect_options(call, params)
    options["check"] = False
    planned = await frame_planned(call.moot, await call.moot.plan_session(params.topic, **options))
    opened = planned.opened
    framing = opened.framing
    if framing is None:
        return FramedOut(frame=build_frame_out(opened))
    return FramedOut(
        frame=build_frame_out(opened),
        asked=framing.model or framing.platform,
        tokens=framing.usage.tokens_in + framing.usage.tokens_out,
        fault=framing.fault or "",
    )


def build_plan(planned: PlannedSession, estimate: SessionEstimate) -> PlanOut:
    opened, framer = planned.opened, planned.framer
    return PlanOut.collect(
        estimate,
        opened,
        protocol=find_plugin(opened).name,
        files=opened.subject.given,
        frame=build_frame_out(opened),
        framed_by="" if framer is None else framer.platform,
    )


@METHODS.add("moot.forkSession", "run", unbound=True)
async def fork_session(
    call: Call,
    session_id: SessionRef,
    at: Annotated[
        int | None,
        Field(ge=1, le=MAX_ENTRIES, description="Go on after this entry. Default: before its end."),
    ] = None,
    swaps: SwapsRef = None,
) -> ForkOut:
    """Go on from an earlier entry of a session, in a copy."""
    session = await call.moot.fork(session_id, at=at, swaps=check_swaps(call, swaps))
    call.context.runner.wake(session)
    return ForkOut(session_id=session)


@METHODS.add("moot.inviteSeat", "own")
async def invite_seat(
    call: Call,
    session_id: SessionRef,
    *,
    seat: Annotated[str, Field(max_length=MAX_SEAT_LENGTH)],
    family: FamilyRef = "",
    lasts_hours: Hours = INVITE_HOURS,
    url: UrlRef = "",
) -> InviteOut:
    """A token for a seat from outside, a link that opens it in a browser, and what to paste into each coding agent."""
    address = parse_server_url(url or load_server_url(call.moot.environ))
    snapshot = await call.moot.engine.load_snapshot(session_id)
    check_invitation(snapshot, seat)
    lasts = timedelta(hours=lasts_hours)
    issued = await call.moot.access.issue(
        "seat",
        session=session_id,
        seat=seat,
        lasts=lasts,
        family=family,
        note=f"by {call.caller.name}",
    )
    ticket = await call.moot.access.issue_ticket(issued.id, INVITE_TICKET)
    door = Door.over_http(address, issued.secret)
    return InviteOut(
        token_id=issued.id,
        token=issued.secret,
        link=build_login_link(address, ticket.secret, f"/seat/{session_id}/{seat}"),
        prompt=build_seat_prompt(snapshot, seat),
        paste=[
            PasteOut(client=key, title=client.title, text=render_entry(key, client, door))
            for key, client in ALL_CLIENTS.items()
        ],
    )


class JoinOut(ApiModel):
    session_id: str
    seat: str
    prompt: str = Field(
        description="What to do to take the seat, with the tools of this connection."
    )


@METHODS.add("moot.joinByCode", "speak", tool="join_by_code", unbound=True)
async def join_by_code(
    call: Call, code: Annotated[str, Field(max_length=40, description="Such as 7K3Q-9XRA.")]
) -> JoinOut:
    """Take the seat that a code is for; the code is used up. Next: what `prompt` says."""
    secret, caller, tries = parse_code(code), call.caller, call.context.secret_tries
    token = await tries.find_token(call.moot.access, secret, caller.door)
    if token is None:
        wait = ceil(tries.count_wait(caller.door))
        raise NotAllowed(f"too many wrong codes were tried; wait {wait} seconds")
    if isinstance(token, Token):
        if token.role != "seat":
            raise NotAllowed(
                "the code is not for a seat; a person uses it in a browser",
                command="or with `moot join`",
            )
        snapshot = await call.moot.engine.load_snapshot(parse_session_id(token.session))
        await _check_may_sit(call, snapshot, token.seat)
        login = await call.moot.access.log_in(
            secret, caller.name, holder=caller.token if caller.role == "agent" else ""
        )
        if not isinstance(login, AccessDenied):
            prompt = build_seat_prompt(snapshot, token.seat, has_token=False)
            return JoinOut(session_id=token.session, seat=token.seat, prompt=prompt)
        token = login
    raise NotAllowed(
        f"the code is {token.reason}; a code works once and for a short time: ask for another one"
    )


async def _check_may_sit(call: Call, snapshot: Snapshot, seat: str) -> None:
    """Raises NotAllowed, before the code is used up, where the caller could not speak, or would have two voices as an agent."""
    if find_join_guide(snapshot.session_state.opened).session:
        raise NotAllowed(
            "the code is for a role of a conference in files, which has tools of its own; it is still valid for a client that joins "
            "with it",
            command="`moot join` does",
        )
    if call.caller.role != "agent":
        return
    seats: set[str] = {
        each.id for each in snapshot.session_state.opened.seats if each.id == call.caller.seat
    }
    if (own := await call.moot.access.find_seat(call.caller.token, snapshot.session)) is not None:
        seats.add(own.seat)
    if seats - {seat}:
        raise NotAllowed(
            f"you have the seat {min(seats - {seat})!r} in this session, and nobody has two; the code is still valid"
        )


class ShareOut(ApiModel):
    token_id: str
    link: str


@METHODS.add("moot.shareSession", "own")
async def share_session(
    call: Call, session_id: SessionRef, *, lasts_hours: Hours = INVITE_HOURS, url: UrlRef = ""
) -> ShareOut:
    """A link with which everybody who has it reads this session and nothing else, until it expires or moot.revokeToken."""
    address, note = (
        parse_server_url(url or load_server_url(call.moot.environ)),
        f"link by {call.caller.name}",
    )
    await call.moot.engine.load_snapshot(session_id)
    issued = await call.moot.access.issue(
        "observer", session=session_id, lasts=timedelta(hours=lasts_hours), note=note
    )
    return ShareOut(
        token_id=issued.id, link=build_login_link(address, issued.secret, f"/s/{session_id}")
    )


class TokensOut(ApiModel):
    tokens: list[Token]


@METHODS.add("moot.listTokens", "own", unbound=True)
async def list_tokens(call: Call) -> TokensOut:
    """The tokens that were issued, without their secrets."""
    return TokensOut(tokens=await call.moot.access.tokens())


@METHODS.add("moot.revokeToken", "own", unbound=True)
async def revoke_token(call: Call, token_id: Annotated[str, Field(max_length=100)]) -> TokensOut:
    """Revoke a token: who holds it, or a link or a login of it, is refused from now on."""
    return TokensOut(tokens=[await call.moot.access.revoke(token_id)])

"""The calls on conferences in plain files: those below the folder in which the server was started, by their names alone."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Annotated, Any, Final

from pydantic import Field

from moothall.domain.facts import RequiredInput
from moothall.domain.ids import MAX_SEAT_LENGTH
from moothall.domain.roster import MAILBOX
from moothall.domain.topic import MAX_TOPIC_LENGTH
from moothall.features.roundtable.facts import MAX_ROUNDS, MODERATOR
from moothall.features.roundtable.files import format_input_file_name
from moothall.features.roundtable.folder_scan import Damage
from moothall.features.roundtable.project import DEFAULT_ROUNDS, ConferenceProject
from moothall.features.roundtable.sections import (
    describe_role,
    find_missing_sections,
    name_minutes_sections,
)
from moothall.features.roundtable.state import SkippedTurn, Status
from moothall.features.roundtable.status import ConferenceStatus
from moothall.features.roundtable.unattended import Relay, watch_changes
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT
from moothall.plugins import ApiModel, Call, IdempotencyKey, MootError, Operations
from moothall.surfaces.api.fields import ParticipantIn
from moothall.surfaces.api.method import Source
from moothall.surfaces.api.session_options import RoundtableParams, build_seat, collect_options

METHODS = Operations()

log = logging.getLogger("moot")

MAX_WAIT_SECONDS: Final = 45.0

ConferenceRef = Annotated[str, Field(max_length=64, description="The conference's name.")]
RoleRef = Annotated[
    str | None,
    Field(
        max_length=MAX_SEAT_LENGTH, description="Who speaks; may be omitted with a seat's token."
    ),
]


class RoleIn(ParticipantIn):
    """A speaker. Without a platform a participant comes from outside and speaks for it; with one (`openai:gpt-5-mini`) Moot asks the model."""

    description: Annotated[
        str, Field(max_length=8_000, description="What the role is for; the agenda shows it.")
    ] = ""


class NewConferenceParams(RoundtableParams):
    conference: ConferenceRef
    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC_LENGTH)]
    roles: Annotated[
        list[str | RoleIn],
        Field(min_length=1, max_length=63, description="The speakers, in their order."),
    ]
    moderator: Annotated[
        str, Field(max_length=500, description="The platform of who writes the minutes.")
    ] = MAILBOX
    agenda: Annotated[
        str, Field(max_length=50_000, description="The background that every speaker reads.")
    ] = ""
    prompt: Annotated[
        str, Field(max_length=2_000, description="Instructions for the first speaker.")
    ] = ""
    max_rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = DEFAULT_ROUNDS


class ConferenceOut(ApiModel):
    conference: str
    session_id: str
    turn: Annotated[
        dict[str, Any],
        Field(description="turn.json, to the letter: whose turn it is, and what is expected."),
    ]
    turns_taken: int
    skipped: list[SkippedTurn]
    roles: Annotated[dict[str, str], Field(description="Each role's platform.")]
    descriptions: Annotated[
        dict[str, str], Field(description="What a role is for, where that is said.")
    ]
    consensus_declared: Annotated[
        list[str], Field(description="Roles whose last speech declares consensus.")
    ]
    inputs: Annotated[list[str], Field(description="The files of the user's inputs.")]
    missing_sections: Annotated[list[str], Field(description="Sections that the minutes lack.")]
    writing: Annotated[
        str, Field(description="The role that has begun to write its files and is not done.")
    ]
    damage: Annotated[
        list[Damage],
        Field(description="What is wrong with the folder: file, line, and what was expected."),
    ]
    is_relayed: Annotated[
        bool, Field(description="Whether this server drives the roles that have a platform.")
    ]
    state: Source


class ConferencesOut(ApiModel):
    conferences: list[ConferenceOut]
    unreadable: Annotated[
        dict[str, str], Field(description="Those that cannot be read, and why.")
    ] = {}


class SpeechOut(ApiModel):
    file: str
    text: str


class JoinedOut(ApiModel):
    is_your_turn: bool
    message: Annotated[str, Field(description="What to answer and do, where it is not.")]
    status: Status
    round: int
    current_speaker: str
    prompt_for_speaker: str
    agenda: str
    speeches: list[SpeechOut]
    earlier: Annotated[int, Field(description="Speeches before those; they stand in the folder.")]
    kept: Annotated[list[str], Field(description="Texts of yours that were out of turn.")]
    inputs: Annotated[
        list[SpeechOut], Field(description="What the user said since your last speech.")
    ]
    shortened: Annotated[
        list[str], Field(description="Files of which the speeches show only a part.")
    ]
    briefing: Source


class SaidOut(ApiModel):
    file: str
    status: Status
    next_speaker: str
    is_repeated: bool
    missing_sections: Annotated[
        list[str], Field(description="Sections that the speech lacks; it counts all the same.")
    ]
    message: Annotated[
        str, Field(description="What to do if minutes came back because sections were missing.")
    ] = ""
    accepted: Source


class CheckedOut(ApiModel):
    conference: str
    damage: list[Damage]


class RepairedOut(ApiModel):
    conference: str
    done: list[str]


class MinutesOut(ApiModel):
    conference: str
    status: Status
    minutes: str | None = None
    missing_sections: Annotated[
        list[str],
        Field(description="Sections that the minutes lack, also after they were sent back."),
    ] = []
    state: Source


class ConferenceInputOut(ApiModel):
    conference: str
    file: str | None
    is_repeated: bool


def build_conference_out(call: Call, name: str, status: ConferenceStatus) -> ConferenceOut:
    """The state of a conference as programs get it."""
    conference = status.conference
    described = {seat.id: describe_role(seat) for seat in conference.seats}
    return ConferenceOut(
        conference=name,
        session_id=status.session,
        turn=asdict(status.turn),
        turns_taken=conference.taken,
        skipped=list(conference.absences),
        roles={seat.id: seat.platform for seat in conference.seats},
        descriptions={seat: text for seat, text in described.items() if text},
        consensus_declared=sorted(conference.agreeing),
        inputs=[format_input_file_name(given.number) for given in conference.inputs],
        missing_sections=list(conference.missing),
        writing=status.writing,
        damage=list(status.damage),
        is_relayed=name in call.context.relays,
        state=status,
    )


async def _authorize_reader(call: Call, name: str) -> ConferenceProject:
    """The project, if this caller may read the conference."""
    project = ConferenceProject(call.moot, call.context.root)
    if call.caller.session:
        call.caller.check_session(await project.find_session(name) or name)
    return project


@METHODS.add("moot.newConference", "run", tool="new_conference", unbound=True)
async def new_conference(call: Call, params: NewConferenceParams) -> ConferenceOut:
    """Start a conference in plain files: roles speak in turn, a moderator writes the minutes. Roles without a platform are
    agents from outside, which join with join_conference or by the files themselves. Next: relay_conference, or each role
    joins.
    """
    moderator = build_seat(call, ParticipantIn(id=MODERATOR, platform=params.moderator))
    options = await collect_options(call, params)
    # A conference is run by its roles and relays, not by the server as such.
    options["hosted"] = False
    roles = []
    for each in params.roles:
        seat, described = (
            build_seat(call, each),
            "" if isinstance(each, str) else each.description.strip(),
        )
        roles.append(
            replace(seat, instructions="\n".join(filter(None, (described, seat.instructions))))
        )
    status = await ConferenceProject(call.moot, call.context.root).create_conference(
        params.conference,
        params.topic,
        roles=roles,
        moderator=moderator.platform,
        agenda=params.agenda,
        prompt=params.prompt,
        max_rounds=params.max_rounds,
        **options,
    )
    return build_conference_out(call, params.conference, status)


@METHODS.add("moot.listConferences", "read")
async def list_conferences(call: Call) -> ConferencesOut:
    """The conferences of the server's folder and their states."""
    project, listed, unreadable = ConferenceProject(call.moot, call.context.root), [], {}
    for name in project.names():
        if call.caller.session and call.caller.session != await project.find_session(name):
            continue
        try:
            listed.append(build_conference_out(call, name, await project.status(name)))
        except MootError as error:
            unreadable[name] = str(error)
    return ConferencesOut(conferences=listed, unreadable=unreadable)


@METHODS.add("moot.conferenceStatus", "read", tool="conference_status")
async def get_conference_status(call: Call, conference: ConferenceRef) -> ConferenceOut:
    """The state of a conference: whose turn it is, what is expected, what is wrong with its folder."""
    project = await _authorize_reader(call, conference)
    return build_conference_out(call, conference, await project.status(conference))


@METHODS.add("moot.joinConference", "speak", tool="join_conference", waits=True)
async def join_conference(
    call: Call,
    conference: ConferenceRef,
    role: RoleRef = None,
    timeout_seconds: Annotated[
        float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for the role's turn.")
    ] = 0.0,
) -> JoinedOut:
    """What a role should read now: the agenda, what is expected of it, the last three speeches. With timeoutSeconds it waits for
    the role's turn. Next: say_in_conference when it is your turn, else call again.
    """
    project, speaker = (
        await _authorize_reader(call, conference),
        call.caller.resolve_speaker(role, "role"),
    )
    briefing = await project.join(conference, speaker)
    if timeout_seconds:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                async for _ in watch_changes(project.table / conference):
                    briefing = await project.join(conference, speaker)
                    if (
                        briefing.is_turn
                        or briefing.turn.status == "closed"
                        or call.deliberations.stopping.is_set()
                    ):
                        break
    return JoinedOut.collect(
        briefing,
        briefing.turn,
        is_your_turn=briefing.is_turn,
        message=briefing.message or "Give your speech with say_in_conference.",
        speeches=[SpeechOut(file=name, text=text) for name, text in briefing.speeches],
        inputs=[SpeechOut(file=name, text=text) for name, text in briefing.inputs],
        briefing=briefing,
    )


@METHODS.add("moot.sayInConference", "speak", tool="say_in_conference")
async def say_in_conference(
    call: Call,
    conference: ConferenceRef,
    *,
    role: RoleRef = None,
    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=50_000,
            description="The speech, or the moderator's minutes, in Markdown.",
        ),
    ],
    idempotency_key: IdempotencyKey = "",
) -> SaidOut:
    """Give a role's speech (Markdown with the sections stance, analysis, response and questions), or the moderator's minutes.
    Out of turn it is refused and quarantined.
    """
    project, speaker = (
        await _authorize_reader(call, conference),
        call.caller.resolve_speaker(role, "role"),
    )
    given = await project.say(conference, speaker, text, idempotency_key, via=call.caller.door)
    returned = name_minutes_sections(given.returned, given.language)
    note = ""
    if returned:
        words = ROUNDTABLE_PROMPT[given.language]
        note = words.minutes_returned.format(sections=returned, file=given.file)
    return SaidOut(
        file=given.file,
        status=given.turn.status,
        next_speaker=given.turn.current_speaker,
        is_repeated=given.is_repeated,
        missing_sections=list(
            given.returned if speaker == MODERATOR else find_missing_sections(text, given.language)
        ),
        message=note,
        accepted=given,
    )


@METHODS.add("moot.giveConferenceInput", "run")
async def give_conference_input(
    call: Call,
    conference: ConferenceRef,
    text: Annotated[
        RequiredInput, Field(description="What everyone in the conference should hear.")
    ],
    idempotency_key: IdempotencyKey = "",
) -> ConferenceInputOut:
    """Say something to everyone in a conference: it becomes a file of the conference, which the next speakers are asked to read."""
    project = await _authorize_reader(call, conference)
    file = await project.give_input(conference, text, idempotency_key)
    return ConferenceInputOut(conference=conference, file=file or None, is_repeated=not file)


@METHODS.add("moot.skipSpeaker", "run")
async def skip_turn(
    call: Call,
    conference: ConferenceRef,
    role: Annotated[str, Field(max_length=MAX_SEAT_LENGTH)],
    why: Annotated[str, Field(max_length=2_000)] = "",
) -> ConferenceOut:
    """Skip the turn of the role whose turn it is; the turn is recorded as skipped."""
    project = await _authorize_reader(call, conference)
    return build_conference_out(call, conference, await project.skip(conference, role, why))


@METHODS.add("moot.relayConference", "run", tool="relay_conference")
async def relay_conference(call: Call, conference: ConferenceRef) -> ConferenceOut:
    """Let this server drive the roles that have a platform, in the background, until the minutes are written."""
    project = await _authorize_reader(call, conference)
    status = await project.status(conference)
    if conference not in call.context.relays and status.turn.status != "closed":
        task = asyncio.create_task(_run_relay(call, project, conference))
        call.context.relays[conference] = task
        task.add_done_callback(lambda _: call.context.relays.pop(conference, None))
    return build_conference_out(call, conference, status)


async def _run_relay(call: Call, project: ConferenceProject, name: str) -> None:
    try:
        await Relay(
            call.moot, project, name, lambda line: log.warning("conference %s: %s", name, line)
        ).run()
    except MootError as error:
        log.warning("conference %s is no longer relayed: %s", name, error)


@METHODS.add("moot.checkConference", "read", tool="check_conference")
async def check_conference(call: Call, conference: ConferenceRef) -> CheckedOut:
    """Compare a conference's whole folder with its record."""
    project = await _authorize_reader(call, conference)
    return CheckedOut(conference=conference, damage=list(await project.check(conference)))


@METHODS.add("moot.repairConference", "run", tool="repair_conference")
async def repair_conference(call: Call, conference: ConferenceRef) -> RepairedOut:
    """Repair a conference's folder; files in the way are moved aside, nothing is deleted."""
    project = await _authorize_reader(call, conference)
    return RepairedOut(conference=conference, done=await project.repair(conference))


@METHODS.add("moot.conferenceMinutes", "read", tool="conference_minutes")
async def get_minutes(call: Call, conference: ConferenceRef) -> MinutesOut:
    """A conference's minutes, once they are written."""
    project = await _authorize_reader(call, conference)
    status = await project.status(conference)
    return MinutesOut(
        conference=conference,
        status=status.turn.status,
        minutes=await project.minutes(conference),
        missing_sections=list(status.conference.missing),
        state=status,
    )

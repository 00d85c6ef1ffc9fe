"""Plans a session: who sits, by which rules, what memory tells them. Nothing is recorded here."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from moothall.app.consultations import Consult, build_consult_rules, select_asked_kinds
from moothall.app.panels import Panel, assign_seats, load_panel, parse_seat_word, resolve_platform_path
from moothall.app.precedents import collect_precedents
from moothall.app.protocols import find_plugin, get_protocol
from moothall.app.remember import load_error_correlations, with_recorded_trust
from moothall.app.session_options import Options, SeatFiller, refuse_by_protocol, validate_options
from moothall.app.validation import validate_settings, validate_topic
from moothall.domain.budget import DEFAULT_TURNS, Budget
from moothall.domain.durations import parse_duration
from moothall.domain.facts import Language, Opened
from moothall.domain.ids import SessionId, parse_seat_id, parse_session_id
from moothall.domain.language import detect_language
from moothall.domain.roster import DEMO, HELPING_SEATS, MAX_SEATS, WEEK_SECONDS, Seat, parse_kind, validate_seats
from moothall.domain.topic import MAX_FILE_LENGTH, ContextFile, Topic, build_context, build_topic
from moothall.errors import BadRoster, BadSetting, SessionExists, UnknownDecision
from moothall.ports.plugin import AnyPlugin, Plan

if TYPE_CHECKING:
    from moothall.app.moot import Moot


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """A session that could be opened: its opening, and its intended id, if any."""

    opened: Opened
    session: SessionId | None


async def plan_session(moot: "Moot", topic: str, options: Options) -> PlannedSession:
    """Return what `Moot.open` would record, after all of its checks.

    Raises CallerError when an option is wrong or cannot be honoured, ProviderRefused when a seat cannot answer.
    """
    given = validate_options(options)
    plugin = get_protocol(given.get("protocol") or "persona")
    refuse_by_protocol(given, plugin.name, plugin.refuses)
    question = validate_topic(topic)
    language = given.get("language") or detect_language(question)
    roster, panel = await _build_roster(moot, language, given)
    demo = given.get("demo", "")
    seed = given.get("seed")
    opened = plugin.open(
        Plan(
            topic=question,
            language=language,
            seed=secrets.randbits(31) if seed is None else seed,
            seats=roster if demo else await with_recorded_trust(moot.memory, roster, given.get("category") or ""),
            budget=_build_budget(plugin, given),
            outside_patience=parse_duration(given.get("patience") or WEEK_SECONDS),
            settings=validate_settings(plugin, {**panel.settings, **(given.get("settings") or {})}, roster),
            subject=await _build_subject(moot, question, roster, given),
            hosted=given.get("hosted", False),
        )
    )
    consult = _build_consult(plugin, given)
    if consult is not None:
        opened = replace(opened, consult=build_consult_rules(consult))
    if demo:
        opened = replace(opened, demo=demo)
    session = given.get("session")
    wanted = None if session is None else parse_session_id(session)
    # Checked early for a clear message; `Engine.open` decides in case of a race.
    if wanted is not None and await moot.engine.entries(wanted, 0, 1):
        raise SessionExists(f"session {session!r} exists already; choose another id")
    # Asked last: it may call providers, and everything that can be refused without them is refused by now.
    moot.seating.check_scripts(roster, select_asked_kinds(find_plugin(opened).rules.forms))
    if given.get("check", True):
        await moot.seating.check(roster, language)
        await moot.seating.check_search(find_plugin(opened).rules.forms)
    return PlannedSession(opened=opened, session=wanted)


async def open_planned(moot: "Moot", planned: PlannedSession) -> SessionId:
    """Record the opening of a session that was planned, and add it to its thread, if it has one."""
    session = await moot.engine.open(planned.opened, planned.session)
    thread = planned.opened.subject.thread
    if thread and not planned.opened.demo:
        await moot.memory.join_thread(thread, session)
    return session


def _build_budget(plugin: AnyPlugin, options: Options) -> Budget:
    money, time = options.get("money"), options.get("time")
    return Budget(
        turns=None if "turns" in plugin.refuses else options.get("turns") or DEFAULT_TURNS,
        tokens=options.get("tokens"),
        # The smallest amount is a limit as well, and not none at all.
        money=None if money is None else max(1, round(money * 1e6)),
        seconds=None if time is None else parse_duration(time),
    )


async def _build_subject(moot: "Moot", question: str, roster: Sequence[Seat], options: Options) -> Topic:
    """Return where the question belongs, with what is remembered of such questions. Raises UnknownThread, UnknownDecision."""
    subject = replace(
        build_topic(
            category=options.get("category") or "",
            stakes=options.get("stakes") or "medium",
            tags=options.get("tags") or (),
            options=options.get("options") or (),
            thread=options.get("thread") or "",
            built_on=options.get("built_on") or (),
        ),
        context=build_context((file.name, file.text) for file in map(read_context_file, options.get("files") or ())),
    )
    # A demo neither reads nor writes what this machine has learned: it plays the same everywhere.
    if options.get("demo"):
        return subject
    refuse_demo_seats(seat.platform for seat in roster)
    if subject.thread:
        await moot.memory.thread_status(subject.thread)
    for decision in subject.built_on:
        if not await (await moot.recall()).has(decision):
            raise UnknownDecision(f"built_on: no decision {decision!r} is stored")
    # Searched before the opening is recorded: every seat of the session reads the same precedents, also after a restart.
    has_memory = options.get("memory", moot.environ.get("MOOT_MEMORY") != "off")
    return replace(
        subject,
        error_correlations=await load_error_correlations(moot.memory, roster),
        precedents=await collect_precedents(moot.memory, question, subject) if has_memory else (),
    )


def _build_consult(plugin: AnyPlugin, options: Options) -> Consult | None:
    """Return how seats may consult each other; None for a session without.

    Raises BadSetting when consultations are switched off where the protocol lives on them.
    """
    limit, total, patience = options.get("consult_limit"), options.get("consult_total"), options.get("consult_patience")
    is_wanted = options.get("consult", plugin.consults)
    if not is_wanted and plugin.consults:
        raise BadSetting(f"consult: the seats of a {plugin.name} may always consult; limit them with consult_limit")
    if not is_wanted and not {"consult_limit", "consult_total", "consult_patience", "gate", "project"} & options.keys():
        return None
    usual = Consult()
    return Consult(
        per_seat=usual.per_seat if limit is None else limit,
        per_session=usual.per_session if total is None else total,
        gate=options.get("gate") or False,
        folder=options.get("project"),
        patience=usual.patience if patience is None else parse_duration(patience),
    )


def read_context_file(given: str | Path | ContextFile) -> ContextFile:
    """Return the text of a file that is given with a question. Raises BadSetting when it is not a text file."""
    if isinstance(given, ContextFile):
        return given
    path = Path(given)
    try:
        if path.stat().st_size > 4 * MAX_FILE_LENGTH:
            raise BadSetting(f"{path} is too large; at most {MAX_FILE_LENGTH} characters of a file are taken")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise BadSetting(f"{path} is not a text file in UTF-8") from cause
    except OSError as cause:
        raise BadSetting(f"{path} cannot be read: {cause.strerror}") from cause
    if "\0" in text:
        raise BadSetting(f"{path} is not a text file")
    return ContextFile(name=path.name, text=text)


async def _build_roster(moot: "Moot", language: Language, options: Options) -> tuple[tuple[Seat, ...], Panel]:
    seats, panel = options.get("seats", ()), options.get("panel")
    if isinstance(seats, Mapping):
        seats = [_build_seat(moot, name, filled) for name, filled in seats.items()]
    words = [seat if isinstance(seat, Seat) else parse_seat_word(seat) for seat in seats]
    chosen = panel if isinstance(panel, Panel) else Panel()
    if isinstance(panel, str) or (panel is None and not words):
        chosen = load_panel(panel or "default", language)
    known = {seat.id for seat in words if seat.platform}
    missing = any(not seat.platform and seat.id not in known for seat in (*chosen.seats, *words))
    platforms = tuple(resolve_platform_path(each, Path()) for each in options.get("models") or ()) or (
        (await moot.discover()).best if missing else ()
    )
    # The protocol has the last word on how many sit there; some seat helpers beside a full table.
    return validate_seats(assign_seats(chosen, words, platforms, moot.seating.kinds), most=MAX_SEATS + HELPING_SEATS), chosen


def _build_seat(moot: "Moot", name: str, filled: SeatFiller) -> Seat:
    """The seat of a name, from its platform, a `Seat`, or a function that answers for it."""
    if isinstance(filled, str):
        return parse_seat_word(f"{name}={filled}")
    if isinstance(filled, Seat):
        return replace(filled, id=parse_seat_id(name))
    if not callable(filled):
        raise BadRoster(
            f"seat {name!r} is filled by a {type(filled).__name__}; expected a platform such as 'openai:gpt-5-mini', a Seat, "
            "or a function that takes a brief and returns the answer"
        )
    return Seat(id=parse_seat_id(name), platform=moot.seating.add_function(name, filled))


def refuse_demo_seats(platforms: Iterable[str]) -> None:
    """Raise BadRoster if a seat would play a demo's part in a real meeting."""
    for platform in platforms:
        if parse_kind(platform) == DEMO:
            raise BadRoster(f"{platform!r} plays its part in a demo only: moot demo")

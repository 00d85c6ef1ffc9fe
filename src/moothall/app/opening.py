"""Plans a session: who sits, by which rules, what memory tells them. Nothing is recorded here."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from moothall.app.consultations import Consult, build_consult_rules, select_asked_kinds
from moothall.app.panels import Panel, assign_seats, load_panel, parse_seat_word, resolve_platform_path
from moothall.app.precedents import collect_precedents
from moothall.app.protocols import find_plugin, get_protocol
from moothall.app.remember import load_error_correlations, with_recorded_trust
from moothall.app.validation import check_limits, validate_options, validate_settings, validate_topic
from moothall.domain.budget import DEFAULT_TURNS, Budget
from moothall.domain.facts import Language, Opened
from moothall.domain.ids import SessionId, parse_seat_id, parse_session_id
from moothall.domain.language import detect_language
from moothall.domain.roster import DEMO, HELPING_SEATS, MOST_SEATS, WEEK_SECONDS, Seat, parse_kind, validate_seats
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.errors import BadRoster, SessionExists
from moothall.ports.plugin import Plan

if TYPE_CHECKING:
    from moothall.app.moot import Moot, Options, SeatFiller


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """A session that could be opened: its opening, and its intended id, if any."""

    opened: Opened
    session: SessionId | None


async def plan_session(moot: "Moot", topic: str, options: "Options") -> PlannedSession:
    """What `Moot.open` would record, after all of its checks. Raises CallerError or ProviderRefused."""
    from moothall.app.moot import Options

    validate_options(options, Options.__annotations__)
    plugin = get_protocol(options.get("protocol") or options.get("name", "persona"))
    question = validate_topic(topic)
    spoken = options.get("language") or detect_language(question)
    roster, chosen = await _build_roster(moot, spoken, options)
    about = options.get("subject", Topic())
    demo = options.get("demo", "")
    bonds: tuple[ErrorCorrelation, ...] = ()
    # A demo neither reads nor writes what this machine has learned: it plays the same everywhere.
    if not demo:
        refuse_demo_seats(seat.platform for seat in roster)
        roster = await with_recorded_trust(moot.memory, roster, about.category)
        bonds = await load_error_correlations(moot.memory, roster)
    # Searched before the opening is recorded: every seat of the session reads the same precedents, also after a restart.
    has_memory = not demo and options.get("memory", moot.environ.get("MOOT_MEMORY") != "off")
    precedents = await collect_precedents(moot.memory, question, about) if has_memory else ()
    patience = options.get("outside_patience", WEEK_SECONDS)
    seed = options.get("seed")
    opened = plugin.open(
        Plan(
            topic=question,
            language=spoken,
            seed=secrets.randbits(31) if seed is None else seed,
            seats=roster,
            budget=options.get("budget") or Budget(turns=DEFAULT_TURNS),
            outside_patience=patience,
            settings=validate_settings(plugin, {**chosen.settings, **(options.get("settings") or {})}, roster),
            subject=replace(about, bonds=bonds, precedents=precedents),
            hosted=options.get("hosted", False),
        )
    )
    consult = options.get("consult") or (Consult() if plugin.consults else None)
    if consult is not None:
        opened = replace(opened, consult=build_consult_rules(consult))
    if demo:
        opened = replace(opened, demo=demo)
    check_limits(opened.budget, patience)
    session = options.get("session")
    wanted = None if session is None else parse_session_id(session)
    # Checked early for a clear message; `Engine.open` decides in case of a race.
    if wanted is not None and await moot.engine.entries(wanted, 0, 1):
        raise SessionExists(f"session {session!r} exists already; choose another id")
    # Asked last: it may call providers, and everything that can be refused without them is refused by now.
    moot.seating.check_scripts(roster, select_asked_kinds(find_plugin(opened).rules.forms))
    if options.get("check", True):
        await moot.seating.check(roster, spoken)
        await moot.seating.check_search(find_plugin(opened).rules.forms)
    return PlannedSession(opened=opened, session=wanted)


async def _build_roster(moot: "Moot", language: Language, options: "Options") -> tuple[tuple[Seat, ...], Panel]:
    seats, panel = options.get("seats", ()), options.get("panel")
    if isinstance(seats, Mapping):
        seats = [_build_seat(moot, name, filled) for name, filled in seats.items()]
    words = [seat if isinstance(seat, Seat) else parse_seat_word(seat) for seat in seats]
    chosen = panel if isinstance(panel, Panel) else Panel()
    if isinstance(panel, str) or (panel is None and not words):
        chosen = load_panel(panel or "default", language)
    known = {seat.id for seat in words if seat.platform}
    missing = any(not seat.platform and seat.id not in known for seat in (*chosen.seats, *words))
    platforms = tuple(resolve_platform_path(each, Path()) for each in options.get("models", ())) or (
        (await moot.discover()).best if missing else ()
    )
    # The protocol has the last word on how many sit there; some seat helpers beside a full table.
    return validate_seats(assign_seats(chosen, words, platforms, moot.seating.kinds), most=MOST_SEATS + HELPING_SEATS), chosen


def _build_seat(moot: "Moot", name: str, filled: "SeatFiller") -> Seat:
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

"""Opens sessions: plans new ones (who sits, by which rules, what memory says), imports others, and prepares to resume them."""

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from moothall import errors
from moothall.app.decision_records import (
    collect_precedents,
    load_error_correlations,
    load_extremity,
    load_reviewed_kinds,
    with_recorded_trust,
)
from moothall.app.default_judge import JudgedQuestion, choose_judge, is_blind_by_default
from moothall.app.discovery import ChosenPlatforms, choose_platforms, name_models
from moothall.app.environment import resolve_home
from moothall.app.framing import (
    apply_earlier_frame,
    ask_for_frame,
    find_framer,
    frame_question,
    is_framed,
)
from moothall.app.given_files import GivenFiles, read_given_files
from moothall.app.given_secrets import refuse_secrets
from moothall.app.panels import (
    Panel,
    assign_seats,
    find_longest_patience,
    load_panel,
    merge_seats,
    parse_seat_word,
    parse_seat_words,
    resolve_platform_path,
)
from moothall.app.plugins import find_measure
from moothall.app.protocols import find_plugin, get_protocol
from moothall.app.reading_threads import run_on_own_thread
from moothall.app.remembering import Remembering
from moothall.app.resources import Resources
from moothall.app.seats import Seating
from moothall.app.session_options import (
    SESSION_OPTIONS,
    Options,
    SeatFiller,
    refuse_by_protocol,
    validate_options,
)
from moothall.codec.adapters import get_adapter
from moothall.codec.settings import explain_validation_error
from moothall.domain.budget import (
    DEFAULT_TOOL_RULES,
    DEFAULT_TURNS,
    GIVEN_TOOLS,
    Budget,
    ToolRules,
    ToolSwitch,
    parse_duration,
)
from moothall.domain.consult import ConsultRules
from moothall.domain.facts import Entry, Language, Opened, SessionImported
from moothall.domain.given_search import select_visible
from moothall.domain.ids import SessionId, parse_seat_id, parse_session_id
from moothall.domain.roster import (
    DEMO,
    UNREMEMBERED,
    WEEK_SECONDS,
    Seat,
    Swap,
    find_stand_in,
    name_platform,
    parse_kind,
    swap_seats,
    validate_swaps,
)
from moothall.domain.stated_facts import FactsReason, FactsSwitch, find_difference
from moothall.domain.topic import (
    ContextFile,
    Precedent,
    Topic,
    build_context,
    build_pictures,
    build_topic,
    validate_topic,
)
from moothall.engine.snapshot import Snapshot
from moothall.locale.texts import detect_language
from moothall.memory.facts import DAY
from moothall.participants.kinds import ADDRESS, MODEL, KindTable
from moothall.participants.record_writer import validate_project
from moothall.ports.plugin import AnyPlugin, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """A session that could be opened: its opening, and its intended id, if any."""

    opened: Opened
    session: SessionId | None
    left_out: tuple[str, ...] = ()
    """A line for each model that was discovered for its seats and cannot be asked now."""
    framer: Seat | None = None
    """The seat whose model is asked for the frame before the session opens; None where nobody is asked, or it was."""


async def plan_session(
    resources: Resources, remembering: Remembering, topic: str, options: Options
) -> PlannedSession:
    """Return what `Moot.open` would record, after all of its checks.

    Raises CallerError when an option is wrong or cannot be honoured, ProviderRefused when a seat cannot answer.
    """
    given = validate_options(options)
    protocol = given.get("protocol")
    if not protocol:
        protocol = _choose_protocol(given)
    plugin = get_protocol(protocol)
    refuse_by_protocol(given, plugin.name, plugin.refuses)
    question = validate_topic(topic)
    language = given.get("language") or detect_language(question)
    roster, panel, discovered = await _build_roster(resources, language, given, plugin)
    merged = _merge_settings(plugin, panel, given)
    facts = _take_facts_switch(plugin, merged, given)
    judged = JudgedQuestion(question, roster, given)
    judge, settings = choose_judge(plugin, merged, judged, resources.seating)
    demo = given.get("demo", "")
    seats = roster
    if not demo:
        category = given.get("category") or ""
        seats = await with_recorded_trust(resources.memory, roster, category)
    if judge is not None:
        seats = (*seats, judge)
    plan = Plan(
        topic=question,
        language=language,
        seed=_choose_seed(given),
        seats=seats,
        budget=_build_budget(plugin, given),
        outside_patience=parse_duration(given.get("patience") or WEEK_SECONDS),
        settings=_validate_settings(plugin, settings, roster),
        subject=await _build_subject(resources, remembering, question, roster, given),
        hosted=given.get("hosted", False),
    )
    opened = plugin.open(plan)
    if settings.get("depth") and not demo:
        reviewed = await load_reviewed_kinds(resources.memory, plugin.name)
        opened = replace(opened, subject=replace(opened.subject, reviewed=reviewed))
    recorded: dict[str, Any] = {
        name: value for name, value in given.items() if SESSION_OPTIONS[name].is_recorded
    }
    opened = frame_question(opened, plugin, given)
    opened = replace(
        opened,
        facts_first=_choose_facts(opened, plan.settings, facts),
        consult=_build_consult_rules(plugin, given),
        tools=build_tool_rules(given),
        **recorded,
    )
    _check_visible(opened)
    session = given.get("session")
    wanted = None
    if session is not None:
        wanted = parse_session_id(session)
    # Checked early for a clear message; `Engine.open` decides in case of a race.
    if wanted is not None and await resources.engine.entries(wanted, 0, 1):
        raise errors.SessionExists(f"session {session!r} exists already; choose another id")
    # Asked last: it may call providers, and everything that can be refused without them is refused by now.
    resources.seating.check_scripts(roster, find_plugin(opened).rules.forms)
    if given.get("check", True):
        await resources.seating.check(roster, language, discovered.ready)
        await resources.seating.check_search(find_plugin(opened).rules.forms)
    names = _list_foreign_tools(opened.tools, roster)
    await resources.seating.check_tools(names, language, is_tried=given.get("check") is not False)
    # Whoever opens the session asks that seat's model; a plan asks nobody.
    framer = find_framer(opened, plugin, given, resources.seating)
    if is_framed(plugin) and not demo:
        opened = apply_earlier_frame(opened, framer, resources.framed_questions)
    if opened.framing is not None:
        framer = None
    return PlannedSession(
        opened=opened, session=wanted, left_out=discovered.left_out, framer=framer
    )


def _choose_seed(given: Options) -> int:
    seed = given.get("seed")
    if seed is None:
        return secrets.randbits(31)
    return seed


def _choose_protocol(given: Options) -> str:
    """Return the protocol of a session that names none: a meeting has no blind vote to start with, so depth means a debate."""
    if given.get("depth"):
        return "debate"
    return "persona"


def _list_foreign_tools(rules: ToolRules, roster: Sequence[Seat]) -> list[str]:
    """Return the tools that the session and its seats name, each once, without those that Moot has itself."""
    if rules.switch == "off":
        return []
    names = list(rules.names)
    for seat in roster:
        names += seat.tools
    return [name for name in dict.fromkeys(names) if name not in GIVEN_TOOLS]


async def frame_planned(resources: Resources, planned: PlannedSession) -> PlannedSession:
    """Return a plan whose question is framed: where its words do not say it, by one call to a model that sits there (Q-1)."""
    if planned.framer is None:
        return planned
    opened = await ask_for_frame(resources.seating, planned.opened, planned.framer)
    resources.framed_questions.add(opened, planned.framer)
    return replace(planned, opened=opened, framer=None)


async def open_planned(resources: Resources, planned: PlannedSession) -> SessionId:
    """Frame a session that was planned, record its opening, and add it to its thread, if it has one."""
    planned = await frame_planned(resources, planned)
    session = await resources.engine.open(planned.opened, planned.session)
    resources.framed_questions.forget(planned.opened)
    thread = planned.opened.subject.thread
    stand_in = find_stand_in(planned.opened.seats, planned.opened.demo)
    # What is never remembered would stay in its thread as a session that goes on.
    if thread and stand_in not in UNREMEMBERED:
        await resources.memory.join_thread(thread, session)
    return session


def _merge_settings(plugin: AnyPlugin, panel: Panel, given: Options) -> dict[str, Any]:
    """Return the settings of the panel, of the opener, and its depth, which is a setting too; raises BadSetting."""
    settings = {**panel.settings, **(given.get("settings") or {})}
    if depth := given.get("depth"):
        if "depth" not in {field.name for field in fields(plugin.settings)}:
            raise errors.BadSetting(
                f"depth: the protocol {plugin.name} does not start with one mind; use the protocol debate"
            )
        settings["depth"] = depth
        if depth != "full":
            settings.setdefault("blind", True)
    return settings


def _take_facts_switch(plugin: AnyPlugin, settings: dict[str, Any], given: Options) -> FactsSwitch:
    """Take from the settings whether seats state facts first, as panels and `--set facts=on` say it; raises BadSetting."""
    wanted: Any = settings.pop("facts", None) or "auto"
    kinds = get_args(FactsSwitch)
    if wanted not in kinds:
        raise errors.BadSetting(f"facts = {wanted!r} is not one of: {', '.join(kinds)}")
    switch: FactsSwitch = given.get("facts") or wanted
    if given.get("demo"):
        return "off"
    if plugin.states_facts:
        return switch
    if switch == "on":
        raise errors.BadSetting(
            f"facts: the protocol {plugin.name} asks nobody for facts first; expected auto or off, "
            "or one of the protocols debate, advisory, consensus, persona and swarm"
        )
    return "off"


def _choose_facts(opened: Opened, settings: object, switch: FactsSwitch) -> FactsReason:
    """Return why seats state facts first; "" where they do not (Q-4)."""
    if switch == "off":
        return ""
    if switch == "on":
        return "on"
    # Who asks no more seats than needed must not ask all of them for facts.
    is_sparing = getattr(settings, "depth", "full") != "full"
    if is_sparing or getattr(settings, "panel", "") == "adaptive":
        return ""
    return find_difference(seat for seat in opened.seats if seat.id not in opened.neutral)


def _validate_settings(plugin: AnyPlugin, given: Mapping[str, Any], seats: Sequence[Seat]) -> Any:
    """Validate the protocol's settings; positions are blind by default from the protocol's number of seats on."""
    names = [field.name for field in fields(plugin.settings)]
    for name in given:
        if name not in names:
            raise errors.BadSetting(f"unknown setting {name!r}; known: {', '.join(names)}")
    values = {**plugin.defaults, **given}
    if "blind" in names:
        values.setdefault("blind", is_blind_by_default(plugin, seats))
    try:
        settings: Any = get_adapter(plugin.settings).validate_python(values)
    except ValidationError as cause:
        raise errors.BadSetting(
            f"setting {explain_validation_error(cause, 'the settings')}"
        ) from cause
    if plugin.measure_setting:
        find_measure(getattr(settings, plugin.measure_setting))
    return settings


def _build_budget(plugin: AnyPlugin, options: Options) -> Budget:
    turns = None
    if "turns" not in plugin.refuses:
        turns = options.get("turns") or DEFAULT_TURNS
    dollars, millionths = options.get("money"), None
    if dollars is not None:
        # The smallest amount is a limit as well, and not none at all.
        millionths = max(1, round(dollars * 1e6))
    seconds = None
    time = options.get("time")
    if time is not None:
        seconds = parse_duration(time)
    return Budget(turns=turns, tokens=options.get("tokens"), money=millionths, seconds=seconds)


async def _build_subject(
    resources: Resources,
    remembering: Remembering,
    question: str,
    roster: Sequence[Seat],
    options: Options,
) -> Topic:
    """Return where the question belongs, with what is remembered of such questions. Raises UnknownThread, UnknownDecision."""
    # On a thread: a folder or a PDF takes its time.
    files = options.get("files") or ()
    allows_secrets = bool(options.get("allow_secrets") or options.get("demo"))

    def read() -> GivenFiles:
        given = read_given_files(files, resources.environ, allows_secrets=allows_secrets)
        if not allows_secrets:
            refuse_secrets(question, given.files)
        return given

    given = await run_on_own_thread(read)
    subject = build_topic(
        category=options.get("category") or "",
        stakes=options.get("stakes") or "medium",
        tags=options.get("tags") or (),
        options=options.get("options") or (),
        thread=options.get("thread") or "",
        built_on=options.get("built_on") or (),
    )
    subject = replace(
        subject,
        review_days=_count_review_days(options),
        context=build_context(given.files),
        pictures=build_pictures(given.files),
        left_out=given.left_out,
    )
    if subject.pictures:
        sightless = _list_sightless(resources.seating.kinds, subject, roster)
        subject = replace(subject, unseen_by=sightless)
    # A demo neither reads nor writes what this machine has learned: it plays the same everywhere.
    if options.get("demo"):
        return subject
    refuse_demo_seats(roster)
    if subject.thread:
        await resources.memory.thread_status(subject.thread)
    for decision in subject.built_on:
        if await (await remembering.recall()).get(decision) is None:
            raise errors.UnknownDecision(f"built_on: no decision {decision!r} is stored")
    # Searched before the opening is recorded: every seat of the session reads the same precedents, also after a restart.
    has_memory = options.get("memory", resources.environ.get("MOOT_MEMORY") != "off")
    correlations = await load_error_correlations(resources.memory, roster)
    precedents: tuple[Precedent, ...] = ()
    if has_memory:
        precedents = await collect_precedents(
            resources.memory, question, subject, tells_unreviewed=bool(options.get("memory"))
        )
    extremity = await load_extremity(resources.memory, subject.category)
    if not subject.review_days and subject.category:
        habit = await resources.memory.find_review_habit(subject.category)
        subject = replace(subject, review_days=habit)
    return replace(
        subject, error_correlations=correlations, precedents=precedents, extremity=extremity
    )


def _count_review_days(options: Options) -> int:
    """Return after how many days a review is wanted, rounded up; 0 where the opener says nothing."""
    given = options.get("review_in")
    if given is None:
        return 0
    return math.ceil(parse_duration(given) / DAY)


def _list_sightless(kinds: KindTable, subject: Topic, roster: Sequence[Seat]) -> tuple[str, ...]:
    """Return the seats that are sent no pictures; raises BadSetting where that is all of them."""
    names = tuple(
        seat.id for seat in roster if kinds.find(seat.platform).name not in {MODEL, ADDRESS}
    )
    if len(names) == len(roster):
        raise errors.BadSetting(
            f"{subject.pictures[0].name} is a picture, and no seat is a model that could be sent it; describe it in words, "
            "or seat a model that takes pictures: --seat ada=PROVIDER:MODEL"
        )
    return names


def build_tool_rules(options: Options) -> ToolRules:
    """Return which tools seats have: `auto`, `on` and `off` are about those over given files; a list names all of them."""
    words = [each.strip() for each in (options.get("tools") or "auto").split(",") if each.strip()]
    switches = [each for each in get_args(ToolSwitch) if each in words]
    names = tuple(dict.fromkeys(each for each in words if each not in switches))
    if len(switches) > 1 or (names and "off" in switches):
        raise errors.BadSetting(
            f"tools: {options.get('tools')!r} contradicts itself; expected auto, on, off, or names of tools"
        )
    # With a switch the tools over the files are meant as well; a list without one is all that there is.
    switch: ToolSwitch = "auto"
    if switches:
        switch = switches[0]
        names = tuple(dict.fromkeys((*GIVEN_TOOLS, *names)))
    elif set(GIVEN_TOOLS) & set(names):
        switch = "on"
    calls = options.get("tool_calls") or DEFAULT_TOOL_RULES.calls
    rules = ToolRules(switch=switch, names=names, calls=calls)
    for key, value in (options.get("tool_budget") or {}).items():
        rules = _limit_tools(rules, key, value)
    return rules


def _limit_tools(rules: ToolRules, key: str, value: Any) -> ToolRules:
    """Return the rules with one more limit, such as `seat.calls`; raises BadSetting."""
    scope, _, kind = key.partition(".")
    try:
        amount = float(value)
    except (TypeError, ValueError):
        amount = 0.0
    if (
        scope not in {"ask", "seat", "session"}
        or kind not in {"calls", "seconds", "tokens", "money"}
        or not 0 < amount <= 1e9
    ):
        raise errors.BadSetting(
            f"tool_budget: {key}={value} was given; expected ask, seat or session, then .calls, .seconds, .tokens or .money, and "
            "an amount: seat.calls=20"
        )
    # The smallest amount is a limit as well, and not none at all.
    if kind == "money":
        amount *= 1e6
    if kind != "seconds":
        amount = max(1, round(amount))
    limit: dict[str, Any] = {kind: amount}
    if scope == "ask":
        return replace(rules, **limit)
    scoped: dict[str, Any] = {scope: replace(getattr(rules, scope), **limit)}
    return replace(rules, **scoped)


def _check_visible(opened: Opened) -> None:
    """Raise BadRoster for a seat that sees none of the files: a pattern that fits nothing is a mistake."""
    context = opened.subject.given
    for seat in opened.seats:
        if context and not select_visible(context, seat.sees):
            names = ", ".join(each.name for each in context[:10])
            if len(context) > 10:
                names += " …"
            raise errors.BadRoster(
                f"seat {seat.id!r} sees {', '.join(seat.sees)}, no given file is called so: {names}"
            )


def _build_consult_rules(plugin: AnyPlugin, options: Options) -> ConsultRules | None:
    """Return how seats may consult each other; None for a session without.

    Raises BadSetting when consultations are switched off where the protocol lives on them, or when records cannot be written.
    """
    is_wanted = options.get("consult", plugin.consults)
    if not is_wanted and plugin.consults:
        raise errors.BadSetting(
            f"consult: the seats of a {plugin.name} may always consult; limit them with consult_limit"
        )
    if (
        not is_wanted
        and not {"consult_limit", "consult_total", "consult_patience", "gate", "project"}
        & options.keys()
    ):
        return None
    try:
        folder = validate_project(Path(options.get("project") or Path.cwd()))
    except (OSError, ValueError) as cause:
        reason = str(cause)
        if isinstance(cause, OSError) and cause.filename:
            reason = f"{cause.filename}: {cause.strerror}"
        raise errors.BadSetting(
            f"consultation records cannot be written in the project: {reason}; choose another folder"
        ) from cause
    rules = ConsultRules(
        folder=str(folder), token=secrets.token_hex(8), gate=options.get("gate") or False
    )
    return _limit_consultations(rules, options)


def _limit_consultations(rules: ConsultRules, options: Options) -> ConsultRules:
    """Return the rules with the limits that were given."""
    limits: dict[str, Any] = {}
    limit = options.get("consult_limit")
    if limit is not None:
        limits["per_seat"] = limit
    total = options.get("consult_total")
    if total is not None:
        limits["per_session"] = total
    patience = options.get("consult_patience")
    if patience is not None:
        limits["patience"] = parse_duration(patience)
    return replace(rules, **limits)


async def _build_roster(
    resources: Resources, language: Language, options: Options, plugin: AnyPlugin
) -> tuple[tuple[Seat, ...], Panel, ChosenPlatforms]:
    panel = options.get("panel")
    words = _read_seats(resources, options)
    if isinstance(panel, Panel):
        chosen = panel
    elif panel is not None or not words:
        chosen = load_panel(panel or "default", language, resources.environ)
    else:
        chosen = Panel()
    # Before a key is asked for.
    missing = any(not seat.platform for seat in merge_seats(chosen, words))
    is_checked = options.get("check") is not False
    named = _resolve_platforms(options.get("models") or ())
    shared = ChosenPlatforms(platforms=named)
    if missing and not named:
        shared = await choose_platforms(
            resources.environ, resources.seating, language, is_checked=is_checked
        )
    settings = {**chosen.settings, **(options.get("settings") or {})}
    roster = assign_seats(
        chosen,
        words,
        _resolve_platforms(shared.platforms),
        resources.seating.kinds,
        environ=resources.environ,
        patience=find_longest_patience(settings),
    )
    _refuse_unfit(plugin, roster)
    if is_checked:
        roster = await name_models(roster, resources.seating)
    return roster, chosen, shared


def _read_seats(resources: Resources, options: Options) -> list[Seat]:
    """Return the seats that the options name, each built or parsed from what fills it."""
    seats = options.get("seats", ())
    if isinstance(seats, Mapping):
        return [_build_seat(resources, name, filled) for name, filled in seats.items()]
    return parse_seat_words(seats)


def _resolve_platforms(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(resolve_platform_path(name, Path()) for name in names)


def _refuse_unfit(plugin: AnyPlugin, seats: Iterable[Seat]) -> None:
    """Raise BadRoster for a seat whose platform is not fit for the protocol."""
    for seat in seats:
        if reason := plugin.unfit.get(name_platform(seat.platform)):
            raise errors.BadRoster(
                f"seat {seat.id!r}: {reason}; seat another model: --model PROVIDER:MODEL"
            )


def _build_seat(resources: Resources, name: str, filled: SeatFiller) -> Seat:
    """The seat of a name, from its platform, a `Seat`, or a function that answers for it."""
    if isinstance(filled, str):
        return parse_seat_word(f"{name}={filled}")
    if isinstance(filled, Seat):
        return replace(filled, id=parse_seat_id(name))
    if not callable(filled):
        raise errors.BadRoster(
            f"seat {name!r} is filled by a value of the type {type(filled).__name__}; expected a platform such as "
            "'openai:gpt-5-mini', a Seat, or a function that takes a brief and returns the answer"
        )
    return Seat(id=parse_seat_id(name), platform=resources.seating.add_function(name, filled))


def refuse_demo_seats(seats: Iterable[Seat]) -> None:
    """Raise BadRoster if a seat would play a demo's part in a real meeting."""
    for seat in seats:
        if parse_kind(seat.platform) == DEMO:
            raise errors.BadRoster(f"{seat.platform!r} plays its part in a demo only: moot demo")


async def prepare_resume(
    resources: Resources, session: str, swaps: Mapping[str, str], *, check: bool
) -> None:
    """Make the checks of an opening for a session that is to be resumed, then record the swaps of seats.

    Raises CallerError or ProviderRefused before anything is recorded.
    """
    name = parse_session_id(session)
    snapshot = await resources.engine.load_snapshot(name)
    changes = build_swaps(resources.seating, swaps)
    if snapshot.is_closed:
        if changes:
            raise errors.SessionClosed(
                f"session {session!r} has ended; continue a copy: moot fork {session} --swap SEAT=PLATFORM"
            )
        return
    seats = swap_seats(
        snapshot.session_state.seats, validate_swaps(snapshot.session_state.seats, changes)
    )
    opened = snapshot.session_state.opened
    _refuse_unfit(find_plugin(opened), seats)
    forms = find_plugin(opened).rules.forms
    resources.seating.check_scripts(seats, forms)
    if check:
        try:
            await resources.seating.check(seats, opened.language)
            await resources.seating.check_search(forms)
        except errors.ProviderRefused as cause:
            raise errors.ProviderRefused(
                f"{cause}; or seat another participant: --swap SEAT=PLATFORM"
            ) from cause
    if changes:
        await resources.engine.swap(name, changes)


def build_swaps(seating: Seating, swaps: Mapping[str, str]) -> list[Swap]:
    """The swaps of seats to other platforms; raises CallerError for one that does not exist."""
    seats = [parse_seat_word(f"{seat}={platform}") for seat, platform in swaps.items()]
    refuse_demo_seats(seats)
    for seat in seats:
        # Fails for an unknown platform before anything is recorded.
        seating(seat)
    return [Swap(seat=seat.id, platform=seat.platform) for seat in seats]


async def read_back(
    resources: Resources,
    text: str,
    seats: Sequence[Seat],
    protocol: str,
    session: str | None,
    *,
    is_adopted: bool = False,
) -> SessionId:
    """Import an export: `jsonl` under its own id, a context ledger as a new session; raises BadImport.

    What a `jsonl` decided counts as a precedent and in track records only if it `is_adopted`.
    """
    if text.lstrip().startswith('{"moot":'):
        from moothall.app.verification import describe_export_signer
        from moothall.codec.chain import parse_export, parse_export_texts

        head, records = parse_export(text)
        texts = parse_export_texts(text)
        source = describe_export_signer(resolve_home(resources.environ), head)

        async def note() -> None:
            await resources.memory.note_import(head.session, source, is_adopted=is_adopted)
            files = []
            for digest, each in texts.items():
                size = len(each.encode())
                files.append(ContextFile(name="", text=each, sha256=digest, size=size))
            await resources.engine.texts.store(files)

        # Noted first: should this be cut short, nothing is taken for a record of this ledger's own.
        await resources.engine.restore(head.session, records, note)
        return head.session
    plugin = get_protocol(protocol)
    if plugin.read_back is None:
        raise errors.BadImport(f"the protocol {plugin.name!r} can import only jsonl")
    imported = plugin.read_back(text, tuple(seats), Budget(turns=DEFAULT_TURNS))
    then = []
    if imported.conclusion is None:
        for seat in imported.opened.seats:
            try:
                resources.seating(seat)
            except errors.CallerError as cause:
                raise errors.BadImport(
                    f"{cause}; name a participant for every seat: --seat {seat.id}=PLATFORM"
                ) from cause
    else:
        then = [
            Entry(seq=2, at=datetime.now(UTC), fact=SessionImported(conclusion=imported.conclusion))
        ]
    wanted = None
    if session:
        wanted = parse_session_id(session)
    return await resources.engine.open(imported.opened, wanted, then)


def check_invitation(snapshot: Snapshot, seat: str | None) -> None:
    """Raise SessionClosed if a session has ended, UnknownSeat if the seat is not free for a participant from outside."""
    session = snapshot.session
    if snapshot.is_closed:
        raise errors.SessionClosed(f"session {session!r} has ended; nobody can take part any more")
    free = [known.id for known in snapshot.session_state.seats if known.is_outside]
    if seat is not None and seat not in free:
        raise errors.UnknownSeat(
            f"{seat!r} is not a free seat of {session!r}; free seats: {', '.join(free) or 'none'} "
            "(a seat for somebody from outside is opened with --seat NAME=mailbox)"
        )

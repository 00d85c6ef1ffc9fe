"""The options of sessions that are opened in a way of their own: swarms, consultations, and reviews with what they are given (a
diff from a file, standard input or git, or whole files).
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from moothall.app.given_files import STDIN, read_given_files
from moothall.app.panels import Panel, load_panel, parse_seat_word
from moothall.app.session_options import Options
from moothall.domain.facts import Language, Opened
from moothall.domain.ids import SeatId, parse_seat_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.safe_text import one_line, shorten_text
from moothall.domain.topic import ContextFile
from moothall.errors import BadRoster, BadSetting
from moothall.locale.catalogues import REVIEW_PROMPT
from moothall.locale.texts import detect_language
from moothall.protocols.review.change import is_diff, read_change, split_parts
from moothall.protocols.review.facts import ReviewOpened
from moothall.protocols.swarm.facts import MAX_AGENTS, MIN_AGENTS, VALIDATOR
from moothall.protocols.swarm.json_fields import agent_name

DEFAULT_AGENTS: Final = 5
DEFAULT_TIME: Final = "60m"


def parse_seats(options: Options) -> list[Seat]:
    """Return the seats that a list of `Seat`s and `name=platform` words names; raises BadRoster, BadName."""
    return [
        seat if isinstance(seat, Seat) else parse_seat_word(seat)
        for seat in options.get("seats") or ()
    ]


def build_swarm_seats(
    given: Sequence[Seat], count: int | None, *, has_panel: bool, judge: str = ""
) -> list[Seat]:
    """Return the seats of a swarm: those given, then explorers by their own names up to `count`.

    Raises BadRoster when a panel or the seats themselves contradict the count.
    """
    explorers = [seat.id for seat in given if seat.id not in {VALIDATOR, judge}]
    if has_panel and count is not None:
        raise BadRoster("a panel sets the number of explorers; give agents or panel, not both")
    if has_panel:
        return list(given)
    wanted = count or (len(explorers) if len(explorers) >= MIN_AGENTS else DEFAULT_AGENTS)
    if len(explorers) > wanted:
        raise BadRoster(
            f"{len(explorers)} explorers are seated, but the number of agents is {wanted}"
        )
    names = [SeatId(agent_name(number)) for number in range(1, MAX_AGENTS * 2)]
    free = [name for name in names if name not in explorers][: wanted - len(explorers)]
    filled = [Seat(id=name, platform="") for name in free]
    # The usual order of names, whichever of them was given a platform.
    rank = {name: at for at, name in enumerate(names)}
    return sorted([*given, *filled], key=lambda seat: rank.get(seat.id, len(names)))


def build_swarm_options(
    options: Options, count: int | None, settings: Mapping[str, Any]
) -> Options:
    """Return the options of a swarm: its explorers seated, and those of its settings that were given. Raises BadRoster."""
    given = {name: value for name, value in settings.items() if value is not None and value != ()}
    if given.get("directions"):
        given.setdefault("mode", "hybrid")
    given.update(options.get("settings") or {})
    seats = build_swarm_seats(
        parse_seats(options), count, has_panel="panel" in options, judge=str(given.get("judge", ""))
    )
    return {
        **options,
        "protocol": "swarm",
        "seats": seats,
        "settings": given,
        "time": options.get("time") or DEFAULT_TIME,
    }


def build_consultation_options(
    asker: str,
    to: str,
    question: str,
    options: Options,
    settings: Mapping[str, str],
    *,
    environ: Mapping[str, str],
) -> Options:
    """Return the options of a consultation: both sides are seated, and the asker needs no participant behind it.

    Raises BadSetting when a seat would consult itself, BadPanel, BadRoster.
    """
    if parse_seat_id(asker) == parse_seat_id(to):
        raise BadSetting(f"{asker!r} cannot consult itself; name another seat to ask")
    panel = options.get("panel")
    if isinstance(panel, str):
        panel = load_panel(panel, options.get("language") or detect_language(question), environ)
    seats = parse_seats(options)
    named = {seat.id for seat in (*seats, *(panel or Panel()).seats)}
    if parse_seat_id(asker) not in named:
        seats.append(Seat(id=parse_seat_id(asker), platform=MAILBOX))
    if parse_seat_id(to) not in named:
        seats.append(Seat(id=parse_seat_id(to), platform=""))
    own = {**settings, "asker": asker, "to": to, **(options.get("settings") or {})}
    return {**options, "protocol": "consultation", "panel": panel, "seats": seats, "settings": own}


PANEL: Final = "reviewers"
GIT_SECONDS: Final = 60.0
DIFF_NAME: Final = "change.diff"


def read_reviewed(
    sources: Sequence[str], diff: str | None, span: str | None, environ: Mapping[str, str]
) -> list[ContextFile]:
    """Read what is to be reviewed: files, or one diff. Raises BadSetting when it is nothing, two things, or no diff."""
    given = [bool(sources), diff is not None, span is not None]
    if sum(given) != 1:
        raise BadSetting(
            "give one thing to review: files, - for a diff on standard input, --diff FILE, or --range A..B"
        )
    if span is not None:
        return [_check_diff(ContextFile(name=DIFF_NAME, text=_read_range(span)), f"--range {span}")]
    if diff is not None or STDIN in sources:
        if len(sources) > 1:
            raise BadSetting("- is a diff on standard input; files are reviewed without it")
        [file] = read_given_files([STDIN if diff is None else diff], environ).files
        return [
            _check_diff(replace(file, name=DIFF_NAME), "standard input" if diff is None else diff)
        ]
    return read_given_files(sources, environ).files


def _check_diff(file: ContextFile, label: str) -> ContextFile:
    if not is_diff(file.text):
        raise BadSetting(
            f"{label} is not a diff with changed lines; expected what `git diff` writes"
        )
    return file


def _read_range(span: str) -> str:
    """Return the diff of a range of commits here. Raises BadSetting with what git says."""
    if span.startswith("-") or not span.strip():
        raise BadSetting(f"--range {span!r}: expected commits such as main..HEAD")
    command = [
        "git",
        "-c",
        "core.quotepath=off",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--end-of-options",
        span,
        "--",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)  # noqa: S603 - git, and no shell
    except FileNotFoundError as cause:
        raise BadSetting(
            "--range needs git, which is not installed here; give the diff with --diff FILE"
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise BadSetting(
            f"--range {span}: git did not answer within {GIT_SECONDS:.0f} s"
        ) from cause
    if done.returncode:
        raise BadSetting(f"--range {span}: {one_line(done.stderr.decode(errors='replace'))}")
    text = done.stdout.decode(errors="replace")
    if not text.strip():
        raise BadSetting(f"--range {span} changes nothing; there is nothing to review")
    return text


def build_review_options(
    files: Sequence[ContextFile], about: str | None, options: Options
) -> tuple[str, Options]:
    """Return the question and the options of a review of these files, before the shipped panel where none is named."""
    language = options.get("language") or "en"
    own: Options = {} if options.get("panel") or options.get("seats") else {"panel": PANEL}
    # Earlier decisions are on other changes: a reviewer who reads them looks less at this one.
    fixed: Options = {
        "protocol": "review",
        "files": list(files),
        "memory": options.get("memory", False),
    }
    return about or describe_change(files, language), {**own, **options, **fixed}


def describe_change(files: Iterable[ContextFile], language: Language) -> str:
    """The question of a review for which none was written: the files, and how many lines were added and removed."""
    change = read_change(tuple(each for each in files if not each.media))
    added, removed = (
        sum(line.mark == mark for file in change for line in file.lines) for mark in "+-"
    )
    names = shorten_text(", ".join(one_line(file.name) for file in change), 300)
    return REVIEW_PROMPT[language].topic.format(
        files=f"{names} (+{added} −{removed})" if added or removed else names
    )


def describe_parts(opened: Opened) -> list[str]:
    """How much there is to read, in one line."""
    assert isinstance(opened, ReviewOpened)
    parts = split_parts(opened.subject.context, opened.settings.part_size)
    names = {file.name for part in parts for file in part}
    lines = sum(len(file.lines) for part in parts for file in part)
    size = opened.settings.part_size
    return [
        f"files: {len(names)}, lines: {lines}, parts: {len(parts)} (at most {size} characters of the change each)"
    ]

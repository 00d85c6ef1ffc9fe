"""The options of sessions that are opened in a way of their own: swarms and consultations."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from moothall.app.panels import Panel, load_panel, parse_seat_words
from moothall.app.session_options import Options
from moothall.domain.ids import SeatId, parse_seat_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.errors import BadRoster, BadSetting
from moothall.locale.texts import detect_language
from moothall.protocols.swarm.facts import MAX_AGENTS, MIN_AGENTS, VALIDATOR
from moothall.protocols.swarm.json_fields import agent_name

DEFAULT_AGENTS: Final = 5
DEFAULT_TIME: Final = "60m"


def parse_seats(options: Options) -> list[Seat]:
    """Return the seats that a list of `Seat`s and `name=platform` words names; raises BadRoster, BadName."""
    return parse_seat_words(options.get("seats") or ())


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
    wanted = count
    if not wanted:
        wanted = DEFAULT_AGENTS
        if len(explorers) >= MIN_AGENTS:
            wanted = len(explorers)
    if len(explorers) > wanted:
        raise BadRoster(
            f"{len(explorers)} explorers are seated, but the number of agents is {wanted}"
        )
    seats, left = list(given), wanted - len(explorers)
    # The usual order of names, whichever of them was given a platform.
    rank: dict[SeatId, int] = {}
    for number in range(1, MAX_AGENTS * 2):
        name = SeatId(agent_name(number))
        rank[name] = number
        if left and name not in explorers:
            seats.append(Seat(id=name, platform=""))
            left -= 1
    return sorted(seats, key=lambda seat: rank.get(seat.id, MAX_AGENTS * 2))


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

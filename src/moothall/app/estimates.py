"""What a session is expected to cost before it is held: calls, tokens and money, at least and at most (W-1)."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from moothall.app.protocols import find_plugin
from moothall.domain.budget import PICTURE_TOKENS, Budget, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat, parse_kind
from moothall.errors import UnknownPlatform
from moothall.locale.catalogues import ESTIMATE
from moothall.participants.kinds import ADDRESS, MODEL, KindTable
from moothall.participants.platforms import parse_platform
from moothall.protocols.facts_first import expect_facts_calls
from moothall.reports.given import count_shown, list_tool_names

SHORT_PROMPT: Final = 900
LONG_PROMPT: Final = 4_500
"""Tokens of a prompt at the beginning of a session, and of a long one: prompts are bounded."""
CHARACTERS_PER_TOKEN: Final = 3.5
ASKED_KINDS: Final = frozenset({MODEL, ADDRESS, "embedded", "command", "acp"})
"""The kinds of participants that Moot calls itself."""
_FREE: Final = frozenset({"embedded", "script"})


@dataclass(frozen=True, slots=True)
class Range:
    """At least, and at most."""

    least: float
    most: float

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,.0f}"
        return f"{self.least:,.0f} – {self.most:,.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEstimate:
    """Calls to models, their tokens, and their price in US dollars; None where a price is not known."""

    calls: Range
    path: Range
    """How many of the calls wait for one another: the longest chain."""
    tokens: Range
    usd: Range | None
    notes: tuple[str, ...]


FRAMING_IN: Final = 330
FRAMING_OUT: Final = 120
"""Tokens of the call that frames a question, beside the question itself."""


def estimate_session(
    opened: Opened, kinds: KindTable, framer: Seat | None = None
) -> SessionEstimate:
    """Return what a session of this opening is expected to cost, and with a `framer` the call that frames its question."""
    plugin, words = find_plugin(opened), ESTIMATE[opened.language]
    notes = [words.rough]
    seats = {seat.id: seat for seat in opened.seats}
    asked = {name for name, seat in seats.items() if kinds.find(seat.platform).name in ASKED_KINDS}
    expected = _list_expected(opened, framer)
    if plugin.expect is None:
        notes.append(words.unknown.format(name=plugin.name))
    given = (len(opened.topic) + count_shown(opened.subject.context)) / CHARACTERS_PER_TOKEN
    given += PICTURE_TOKENS * len(opened.subject.pictures)
    calls, tokens, usd = [0.0, 0.0], [0.0, 0.0], [Decimal(0), Decimal(0)]
    unpriced: set[str] = set()
    for name, each in _list_askings(expected):
        if name not in asked:
            continue
        # A seat that looks something up sends its prompt again with each result; at least it looks up nothing.
        looks = _count_looks(opened, seats[name], each, kinds)
        cases = (
            (each.least, SHORT_PROMPT, 0.0),
            (each.most * (1 + looks), LONG_PROMPT, _estimate_looked_up(opened, looks)),
        )
        for at, (count, prompt, looked_up) in enumerate(cases):
            size: float | None = each.tokens_in
            if size is None:
                size = prompt + given + looked_up
            sent, written = count * size, count * each.tokens_out
            calls[at] += count
            tokens[at] += sent + written
            cost = find_price(seats[name], round(sent), round(written))
            if cost is None:
                unpriced.add(seats[name].platform)
            else:
                usd[at] += cost
    outside = _list_outside(opened.seats, asked)
    if outside:
        notes.append(words.outside.format(seats=", ".join(outside)))
    if unpriced:
        notes.append(words.no_price.format(platforms=", ".join(sorted(unpriced))))
    if warning := warn_unpriced(opened, kinds):
        notes.append(warning)
    max_tokens, max_usd = opened.budget.tokens, _find_max_usd(opened.budget)
    is_over_tokens = max_tokens is not None and tokens[1] > max_tokens
    is_over_usd = max_usd is not None and float(usd[1]) > max_usd
    if is_over_tokens or is_over_usd:
        notes.append(words.capped)
        if max_tokens is not None:
            tokens[1] = min(tokens[1], max_tokens)
        if max_usd is not None:
            usd[1] = min(usd[1], Decimal(str(max_usd)))
    price = None
    if not unpriced:
        price = Range(round(float(min(usd)), 4), round(float(usd[1]), 4))
    expected_calls = Range(_round_up(calls[0]), _round_up(calls[1]))
    return SessionEstimate(
        calls=expected_calls,
        path=_measure_path(expected, asked),
        tokens=Range(_round_figures(min(tokens)), _round_figures(tokens[1])),
        usd=price,
        notes=tuple(notes),
    )


def _list_expected(opened: Opened, framer: Seat | None) -> list[ExpectedCalls]:
    """Return the calls that a protocol expects, one for each seat where it does not say, and the one that frames the question."""
    plugin, calls = find_plugin(opened), list[ExpectedCalls]()
    if framer is not None:
        size = FRAMING_IN + len(opened.topic) / CHARACTERS_PER_TOKEN
        calls.append(
            ExpectedCalls(
                seats=(framer.id,),
                least=1.0,
                most=1.0,
                tokens_out=FRAMING_OUT,
                tokens_in=round(size),
            )
        )
    calls += expect_facts_calls(opened)
    if plugin.expect is not None:
        return [*calls, *plugin.expect(opened)]
    everyone = tuple(seat.id for seat in opened.seats)
    return [*calls, ExpectedCalls(seats=everyone, least=1.0, most=1.0, tokens_out=500)]


def _find_max_usd(budget: Budget) -> float | None:
    if budget.money is None:
        return None
    return budget.money / 1e6


def _list_askings(expected: Sequence[ExpectedCalls]) -> list[tuple[SeatId, ExpectedCalls]]:
    """Return the expected calls, each with every seat that answers it."""
    rows = []
    for each in expected:
        for seat in each.seats:
            rows.append((seat, each))
    return rows


def _list_outside(seats: Sequence[Seat], asked: Set[SeatId]) -> list[str]:
    """Return the seats that answer from outside at a price that Moot does not see."""
    outside: list[str] = []
    for seat in seats:
        if seat.id not in asked and parse_kind(seat.platform) not in _FREE:
            outside.append(seat.id)
    return sorted(outside)


def _estimate_looked_up(opened: Opened, looks: int) -> float:
    """Return about how many tokens a seat reads of what it looked up for one answer."""
    if not looks:
        return 0.0
    return opened.tools.tokens / 2


def _count_looks(opened: Opened, seat: Seat, expected: ExpectedCalls, kinds: KindTable) -> int:
    """Return how often a seat may look something up for one answer."""
    if expected.tokens_in is not None:
        return 0
    has_tools = list_tool_names(opened, seat, opened.subject.context)
    is_model = kinds.find(seat.platform).name in {MODEL, ADDRESS}
    if has_tools and is_model:
        return opened.tools.calls
    return 0


def warn_unpriced(opened: Opened, kinds: KindTable) -> str | None:
    """Return the sentence that a limit in money cannot stop a session, where the price of a model is not known; else None."""
    if opened.budget.money is None:
        return None
    unpriced = list_unpriced(opened.seats, kinds)
    if not unpriced:
        return None
    return ESTIMATE[opened.language].no_limit.format(platforms=", ".join(unpriced))


def list_unpriced(seats: Iterable[Seat], kinds: KindTable) -> list[str]:
    """Return the platforms of these seats whose price is not known."""
    unpriced: dict[str, None] = {}
    for seat in seats:
        is_asked = kinds.find(seat.platform).name in ASKED_KINDS
        if is_asked and find_price(seat, 1_000, 1_000) is None:
            unpriced[seat.platform] = None
    return list(unpriced)


def _measure_path(expected: Sequence[ExpectedCalls], asked: Set[str]) -> Range:
    """Return how long the longest chain of calls is: of seats that are asked at once, one counts."""
    steps = [0, 0]
    for each in expected:
        heads = len(asked & set[str](each.seats))
        if not heads:
            continue
        for at, count in enumerate((each.least, each.most)):
            chain: float = count
            if each.is_in_turn:
                chain = count * heads
            elif each.steps is not None:
                chain = each.steps[at]
            steps[at] += _round_up(chain)
    return Range(*steps)


def find_price(seat: Seat, tokens_in: int, tokens_out: int) -> Decimal | None:
    """The price in US dollars of what a seat's model is sent and writes; None where the price table does not have it."""
    if parse_kind(seat.platform) in _FREE:
        return Decimal(0)
    try:
        platform = parse_platform(seat.platform)
    except UnknownPlatform:
        return None
    # Who answers at an address of this machine may pass the question on, at a price.
    if platform.is_local and "://" not in seat.platform:
        return Decimal(0)
    if platform.model is None:
        return None
    # Imported here: the table of prices takes longer to load than the rest of a command.
    from genai_prices import Usage, calc_price

    used = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    try:
        return calc_price(
            used,
            platform.model,
            provider_id=platform.provider.removesuffix("-chat").removesuffix("-responses"),
        ).total_price
    except LookupError:
        return None


def _round_figures(value: float) -> int:
    """Two figures: more would look exact."""
    return int(float(f"{value:.2g}"))


def _round_up(value: float) -> int:
    return int(value) + (value > int(value) + 1e-9)

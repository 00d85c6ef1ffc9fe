"""M-5, M-6, M-7: an outage parks a session of any protocol; nothing is concluded, lost or asked twice."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.outages import DEADLINE, SCENES, Provider, Scene, Switchboard, open_moot

from moot.app.moot import Moot
from moot.app.parking import FIRST_SECONDS, JITTER, LONGEST_SECONDS, iterate_delays
from moot.domain.budget import Spent
from moot.domain.facts import Closed, Reply, SeatLost, SeatsSwapped, SessionParked
from moot.domain.ids import SessionId
from moot.errors import ProviderRefused, SessionClosed
from moot.reports.decision import Decision

T = TypeVar("T")
S = SessionId("s")
each_protocol = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.protocol)


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(bounded())


async def hold(moot: Moot, scene: Scene) -> Decision:
    return await moot.hold("Should we adopt it?", **scene.build_options())


async def list_facts(moot: Moot, kind: type[T]) -> list[T]:
    return [entry.fact for entry in await moot.engine.entries(S) if isinstance(entry.fact, kind)]


def without_costs(decision: Decision) -> Decision:
    return replace(decision, spent=Spent())


async def hold_undisturbed(scene: Scene, home: Path) -> tuple[Decision, list[str]]:
    board = Switchboard()
    async with open_moot(home, board.seat_all(scene.build_scripts(home))) as moot:
        return await hold(moot, scene), board.answered


async def check_parked(moot: Moot, decision: Decision) -> None:
    """Nothing is concluded, nothing is lost, and the session says so wherever it is shown."""
    assert (decision.status, decision.decision) == ("parked", None)
    assert decision.parked
    assert await list_facts(moot, Closed) == []
    assert await list_facts(moot, SeatLost) == []
    (line,) = await moot.sessions()
    assert (line.status, line.parked) == ("parked", decision.parked)
    for form in ("minutes", "html"):
        assert "moot resume s" in await moot.export("s", form)
    await moot.replay("s")


@each_protocol
def test_a_provider_that_is_killed_in_mid_session_and_comes_back_costs_nothing_but_time(scene: Scene, tmp_path: Path) -> None:
    """M-5: through a real server; no call that succeeded is repeated, and the end is as if nothing had happened."""

    async def work() -> None:
        expected, asks = await hold_undisturbed(scene, tmp_path / "calm")
        provider = Provider()
        await provider.start()
        provider.dies_after = len(asks) // 2
        async with open_moot(tmp_path / "storm", provider.seat_all(scene.build_scripts(tmp_path))) as moot:
            await check_parked(moot, await hold(moot, scene))
            before = list(provider.answered)
            with pytest.raises(ProviderRefused, match=r"is the server running.*--swap SEAT=PLATFORM"):
                await moot.resume("s")
            assert len(await list_facts(moot, SessionParked)) == 1
            provider.dies_after = 10**9
            await provider.start()
            decision = await moot.resume("s")
            await provider.kill()
        assert provider.answered[: len(before)] == before
        assert sorted(provider.answered) == sorted(asks)
        assert without_costs(decision) == without_costs(expected)

    run(work())


@each_protocol
def test_half_of_the_weight_out_parks_and_one_seat_of_several_does_not(scene: Scene, tmp_path: Path) -> None:
    """M-5: the answers of the others are kept; a seat below half of the weight is a loss, as before."""
    few, many = scene.seats[-1:], scene.seats[: (len(scene.seats) + 1) // 2]

    async def work(home: Path, out: tuple[str, ...], *, is_parked: bool) -> None:
        board = Switchboard(is_out=lambda seat: seat in out)
        async with open_moot(home, board.seat_all(scene.build_scripts(home))) as moot:
            session = await moot.open("Should we adopt it?", **scene.build_options(check=False))
            decision = await moot.run(session)
            if is_parked:
                await check_parked(moot, decision)
                return
            assert decision.status == "concluded"
            outages = {fact.seat for fact in await list_facts(moot, SeatLost) if fact.reason == "unreachable"}
            assert outages == set(out)
            assert await list_facts(moot, SessionParked) == []

    run(work(tmp_path / "many", many, is_parked=True))
    run(work(tmp_path / "few", few, is_parked=False))


def test_seats_that_go_out_one_after_the_other_park_once_half_of_the_weight_is_out(tmp_path: Path) -> None:
    """M-5: the first is a loss; the second, in a later turn, is one too many."""
    scene = SCENES[0]
    board = Switchboard()
    board.is_out = lambda seat: (seat == "cem" and board.calls > 3) or (seat == "bob" and board.calls > 7)

    async def work() -> None:
        async with open_moot(tmp_path, board.seat_all(scene.build_scripts(tmp_path))) as moot:
            decision = await hold(moot, scene)
            assert decision.status == "parked"
            assert {fact.seat for fact in await list_facts(moot, SeatLost)} == {"cem"}
            (parked,) = await list_facts(moot, SessionParked)
            assert "bob" in parked.seats
            board.is_out = lambda seat: False
            assert (await moot.resume("s")).status == "concluded"
            assert {fact.seat for fact in await list_facts(moot, SeatLost)} == {"cem"}

    run(work())


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scene=st.sampled_from(SCENES), data=st.data())
def test_whatever_goes_out_and_when_a_parked_session_has_no_end_and_ends_as_without_outages(
    scene: Scene, data: st.DataObject
) -> None:
    """M-5: everybody goes out at drawn calls, again and again; answers are never repeated, and none is missing at the end."""
    outages = sorted(data.draw(st.sets(st.integers(0, 30), min_size=1, max_size=4)))

    async def work(home: Path) -> None:
        expected, asks = await hold_undisturbed(scene, home / "calm")
        board = Switchboard()
        left = list(outages)
        board.is_out = lambda seat: bool(left) and len(board.answered) >= left[0]
        async with open_moot(home / "storm", board.seat_all(scene.build_scripts(home))) as moot:
            session = await moot.open("Should we adopt it?", **scene.build_options(check=False))
            decision = await moot.run(session)
            while decision.status == "parked":
                await check_parked(moot, decision)
                del left[0]
                decision = await moot.run(session)
        assert sorted(board.answered) == sorted(asks)
        assert without_costs(decision) == without_costs(expected)

    with tempfile.TemporaryDirectory() as home:
        run(work(Path(home)))


@each_protocol
def test_resume_seats_somebody_else_in_place_of_whoever_is_gone_for_good(scene: Scene, tmp_path: Path) -> None:
    """M-6: with `--swap`, after the checks; what the new participant is asked is what the old one was asked."""
    scripts = scene.build_scripts(tmp_path)
    board = Switchboard()
    board.is_out = lambda seat: len(board.answered) >= 2
    spare = Switchboard()
    participants = {**board.seat_all(scripts), **{f"spare-{seat}": each for seat, each in spare.seat_all(scripts).items()}}

    async def work() -> None:
        async with open_moot(tmp_path / "home", participants) as moot:
            assert (await hold(moot, scene)).status == "parked"
            roster = (await moot.engine.load_snapshot(S)).session_state.seats
            swaps = {str(seat.id): seat.platform.replace("x-", "x-spare-") for seat in roster if seat.platform.startswith("x-")}
            with pytest.raises(ProviderRefused, match="the line is dead; or seat another participant: --swap SEAT=PLATFORM"):
                await moot.resume("s", swaps={scene.seats[0]: swaps[scene.seats[0]]})
            assert await list_facts(moot, SeatsSwapped) == []
            decision = await moot.resume("s", swaps=swaps)
            assert (decision.status, decision.lost) == ("concluded", ())
            assert set(board.answered).isdisjoint(spare.answered)
            await moot.replay("s")
            with pytest.raises(SessionClosed, match="moot fork s --swap"):
                await moot.prepare_resume("s", swaps=swaps)

    run(work())


@each_protocol
def test_a_fork_of_a_session_that_lost_its_seats_begins_before_the_losses(scene: Scene, tmp_path: Path) -> None:
    """M-7: seats that answer badly end the session; it says so and names the command, and the fork asks them again."""
    board = Switchboard(is_out=lambda seat: True, reason="refused")

    async def work() -> None:
        async with open_moot(tmp_path / "home", board.seat_all(scene.build_scripts(tmp_path))) as moot:
            decision = await hold(moot, scene)
            assert (decision.status, decision.decision) == ("concluded", None)
            assert "moot fork s" in await moot.export("s", "minutes")
            first = next(entry.seq for entry in await moot.engine.entries(S) if isinstance(entry.fact, SeatLost))
            fork = await moot.fork("s", name="again")
            entries = await moot.engine.entries(fork)
            assert entries[-1].seq == first
            board.is_out = lambda seat: False
            decision = await moot.resume("again")
            assert (decision.status, decision.lost) == ("concluded", ())
            assert any(isinstance(entry.fact, Reply) for entry in await moot.engine.entries(fork))

    run(work())


def test_the_pauses_double_up_to_five_minutes_and_differ_between_sessions() -> None:
    """M-5: the same session waits the same way each time."""
    found = [delay for delay, _ in zip(iterate_delays(1), range(9), strict=False)]
    plain = [min(FIRST_SECONDS * 2**number, LONGEST_SECONDS) for number in range(9)]
    assert all(abs(delay - each) <= JITTER / 2 * each for delay, each in zip(found, plain, strict=True))
    assert found == [delay for delay, _ in zip(iterate_delays(1), range(9), strict=False)]
    assert found != [delay for delay, _ in zip(iterate_delays(2), range(9), strict=False)]

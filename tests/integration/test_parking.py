"""M-5, M-6, M-7: an outage parks a session of any protocol; nothing is concluded, lost or asked twice."""

import asyncio
import tempfile
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.outages import (
    CAUSES,
    CONSULTING,
    DEADLINE,
    FAST,
    PIPELINE,
    SCENES,
    Provider,
    Scene,
    Switchboard,
    open_moot,
)
from tests.support.typing_person import TypingPerson

from moothall.app.moot import Moot
from moothall.app.outages import FIRST_SECONDS, JITTER, MAX_SECONDS, iterate_delays
from moothall.domain.budget import Spent
from moothall.domain.facts import (
    AsksSent,
    AsksWithdrawn,
    Closed,
    Fact,
    Reply,
    SeatLost,
    SeatsSwapped,
    SessionParked,
)
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.errors import ProviderRefused, SessionClosed
from moothall.participants.human import AskPerson, PersonQuestion
from moothall.reports.decision import Decision
from moothall_testkit.stub_server import Hang

T = TypeVar("T")
S = SessionId("s")
each_protocol = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(bounded())


async def hold(moot: Moot, scene: Scene) -> Decision:
    return await moot.hold("Should we adopt it?", **scene.build_options(moot))


async def list_facts(moot: Moot, kind: type[T]) -> list[T]:
    return [entry.fact for entry in await moot.engine.entries(S) if isinstance(entry.fact, kind)]


def without_costs(decision: Decision) -> Decision:
    return replace(decision, spent=Spent())


UNDISTURBED: dict[str, tuple[Decision, list[str]]] = {}
"""How each scene ends without an outage, and what is asked in it: held once."""


async def hold_undisturbed(scene: Scene, home: Path) -> tuple[Decision, list[str]]:
    if scene.name not in UNDISTURBED:
        board = Switchboard()
        async with open_moot(home, board.seat_all(scene.build_scripts(home))) as moot:
            UNDISTURBED[scene.name] = await hold(moot, scene), board.answered
    return UNDISTURBED[scene.name]


async def check_parked(moot: Moot, decision: Decision, *, lost: int | None = 0) -> None:
    """Nothing is concluded, nothing is lost, and the session says so wherever it is shown."""
    assert (decision.status, decision.decision) == ("parked", None)
    assert decision.parked
    assert await list_facts(moot, Closed) == []
    assert lost is None or len(await list_facts(moot, SeatLost)) == lost
    (line,) = await moot.sessions()
    assert (line.status, line.parked) == ("parked", decision.parked)
    for form in ("minutes", "html"):
        assert "moot resume s" in await moot.export("s", form)
    await moot.replay("s")


@pytest.mark.parametrize("scene", [*SCENES, PIPELINE, *CONSULTING], ids=lambda scene: scene.name)
def test_a_provider_that_is_killed_in_mid_session_and_comes_back_costs_nothing_but_time(
    scene: Scene, tmp_path: Path
) -> None:
    """M-5: through a real server; no call that succeeded is repeated, and the end is as if nothing had happened."""

    async def work() -> None:
        expected, asks = await hold_undisturbed(scene, tmp_path / "calm")
        provider = Provider()
        await provider.start()
        # In the middle, or while somebody is consulted.
        provider.dies_after = next(
            (at for at, ask in enumerate(asks) if ".consult." in ask), len(asks) // 2
        )
        async with open_moot(
            tmp_path / "storm", provider.seat_all(scene.build_scripts(tmp_path))
        ) as moot:
            await check_parked(moot, await hold(moot, scene))
            before = list(provider.answered)
            with pytest.raises(
                ProviderRefused, match=r"is the server running.*--swap SEAT=PLATFORM"
            ):
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


_SCENE = {scene.protocol: scene for scene in SCENES}
TOTAL = [
    *((_SCENE["roundtable"], cause) for cause in CAUSES),
    *(
        (_SCENE[protocol], cause)
        for protocol in ("debate", "swarm")
        for cause in ("402", "503", "a page")
    ),
    *((_SCENE[protocol], "quota") for protocol in ("persona", "advisory", "consensus")),
]


@pytest.mark.parametrize(
    ("scene", "cause"), TOTAL, ids=lambda each: each.name if isinstance(each, Scene) else each
)
def test_a_total_outage_costs_nobody_a_turn_whatever_its_cause(
    scene: Scene, cause: str, tmp_path: Path
) -> None:
    """M-5: also where its list of models is still there, and where seats are asked one by one."""

    async def work() -> None:
        provider = Provider()
        await provider.start()
        provider.dies_after, provider.fails_with = 3, CAUSES[cause]
        async with open_moot(tmp_path, provider.seat_all(scene.build_scripts(tmp_path))) as moot:
            await check_parked(moot, await hold(moot, scene))
            assert len(provider.answered) >= 3
            provider.dies_after = 10**9
            decision = await moot.resume("s")
            assert decision.status == "concluded"
            assert await list_facts(moot, SeatLost) == []
            await provider.kill()
        assert len(provider.answered) == len(set(provider.answered))

    run(work())


@pytest.mark.parametrize("protocol", ["debate", "roundtable"])
def test_a_server_that_hangs_for_everybody_parks_and_one_seat_that_is_slow_is_lost(
    protocol: str, tmp_path: Path
) -> None:
    """M-5: a wave of silences beside a probe that is not answered either is an outage; a silence alone is a loss."""
    scene = replace(_SCENE[protocol], settings={**_SCENE[protocol].settings, "patience": 1.5})

    async def work() -> None:
        provider = Provider(pace=replace(FAST, preflight=1.0))
        await provider.start()
        provider.dies_after, provider.fails_with = 2, Hang()
        async with open_moot(tmp_path, provider.seat_all(scene.build_scripts(tmp_path))) as moot:
            await check_parked(moot, await hold(moot, scene))
            provider.dies_after = 10**9
            # From now on it is slow for one seat alone.
            provider.hangs_for = scene.seats[0]
            decision = await moot.resume("s")
            lost = await list_facts(moot, SeatLost)
            await provider.kill()
        assert decision.status == "concluded"
        assert {(fact.seat, fact.reason) for fact in lost} <= {(SeatId(scene.seats[0]), "timeout")}
        assert len(provider.answered) == len(set(provider.answered))

    run(work())


@each_protocol
def test_half_of_the_weight_out_parks_and_one_seat_of_several_does_not(
    scene: Scene, tmp_path: Path
) -> None:
    """M-5: the answers of the others are kept; a seat below half of the weight is a loss, as before."""
    few, many = scene.seats[-1:], scene.seats[: (len(scene.seats) + 1) // 2]

    async def work(home: Path, out: tuple[str, ...], *, is_parked: bool) -> None:
        board = Switchboard(is_out=lambda seat: seat in out)
        async with open_moot(home, board.seat_all(scene.build_scripts(home))) as moot:
            session = await moot.open(
                "Should we adopt it?", **scene.build_options(moot, check=False)
            )
            decision = await moot.run(session)
            if is_parked:
                await check_parked(moot, decision)
                return
            assert decision.status == "concluded"
            outages = {
                fact.seat
                for fact in await list_facts(moot, SeatLost)
                if fact.reason == "unreachable"
            }
            assert outages == set(out)
            assert await list_facts(moot, SessionParked) == []

    run(work(tmp_path / "many", many, is_parked=True))
    run(work(tmp_path / "last", scene.seats[-len(many) :], is_parked=True))
    run(work(tmp_path / "few", few, is_parked=False))


def test_seats_that_go_out_one_after_the_other_park_once_half_of_the_weight_is_out(
    tmp_path: Path,
) -> None:
    """M-5: the first is a loss; the second, in a later turn, is one too many."""
    scene = SCENES[0]
    board = Switchboard()
    board.is_out = lambda seat: (
        (seat == "cem" and board.calls > 3) or (seat == "bob" and board.calls > 7)
    )

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
            session = await moot.open(
                "Should we adopt it?", **scene.build_options(moot, check=False)
            )
            decision = await moot.run(session)
            while decision.status == "parked":
                await check_parked(moot, decision)
                del left[0]
                decision = await moot.run(session)
        assert sorted(board.answered) == sorted(asks)
        assert without_costs(decision) == without_costs(expected)

    with tempfile.TemporaryDirectory() as home:
        run(work(Path(home)))


@pytest.mark.parametrize("seat", PIPELINE.seats)
def test_a_pipeline_waits_for_an_agent_that_is_out_alone(seat: str, tmp_path: Path) -> None:
    """M-5: nobody else does its step, so that its second try would end the pipeline; neither of the two is used up."""

    async def work() -> None:
        expected, asks = await hold_undisturbed(PIPELINE, tmp_path / "calm")
        board = Switchboard(is_out=lambda each: each == seat)
        async with open_moot(
            tmp_path / "storm", board.seat_all(PIPELINE.build_scripts(tmp_path))
        ) as moot:
            decision = await moot.run(
                await moot.open("Should we adopt it?", **PIPELINE.build_options(moot, check=False))
            )
            await check_parked(moot, decision)
            board.is_out = lambda each: False
            decision = await moot.resume("s")
        assert board.answered == asks
        assert without_costs(decision) == without_costs(expected)

    run(work())


@pytest.mark.parametrize("scene", CONSULTING[:-1], ids=lambda scene: scene.name)
def test_whoever_is_out_alone_when_consulted_is_a_loss_and_the_one_who_asked_goes_on(
    scene: Scene, tmp_path: Path
) -> None:
    """M-5, C-2: the record says that the consulted seat was not reached; nobody else is asked less for it."""

    async def work() -> None:
        _, asks = await hold_undisturbed(scene, tmp_path / "calm")
        moment = asks.index("1.consult.bob")
        board = Switchboard()
        board.is_out = lambda seat: seat == "bob" and len(board.answered) == moment
        async with open_moot(
            tmp_path / "storm", board.seat_all(scene.build_scripts(tmp_path))
        ) as moot:
            assert (await hold(moot, scene)).status == "concluded"
            (lost,) = await list_facts(moot, SeatLost)
            assert (lost.ask, lost.reason) == ("1.consult.bob", "unreachable")
            assert await list_facts(moot, SessionParked) == []
            record = (tmp_path / "storm" / "docs" / "consultation" / "1_ada_bob.md").read_text(
                encoding="utf-8"
            )
            assert "| Status | FAILED |" in record
            assert "The consultation of @bob failed: an outage." in record
            assert "1_ada_bob.md" in await moot.export("s", "minutes")
        assert board.answered[moment:] == asks[moment + 1 :]

    run(work())


def test_a_parked_session_names_nobody_who_was_out_for_a_moment_before(tmp_path: Path) -> None:
    """M-5: eve is not ready when ada and then bob are lost, and is when cem, who weighs two, is one too many."""
    scene = Scene(
        protocol="roundtable",
        seats=("ada", "bob", "cem", "eve", "fay", "moderator"),
        settings={"max_rounds": 1},
    )
    board = Switchboard()
    # Each speaker is asked twice before the next one has the floor.
    out = (("ada", "eve"), ("ada", "eve"), ("bob", "eve"), ("bob", "eve"), ("cem",))
    board.is_out = lambda seat: seat in out[board.calls - 1]

    async def work() -> None:
        async with open_moot(
            tmp_path / "home", board.seat_all(scene.build_scripts(tmp_path))
        ) as moot:
            options = scene.build_options(moot, check=False, weights={"cem": 2})
            decision = await moot.run(await moot.open("Should we adopt it?", **options))
            assert decision.parked == "cem: the line is dead"
            assert {fact.seat for fact in await list_facts(moot, SeatLost)} == {"ada", "bob"}

    run(work())


@dataclass
class Wave:
    """A fold of a ledger: who was asked at once, from the moment when nobody was asked to the next such moment, and how it ended.

    It holds the ledger to M-5 on the way: an outage is a loss only if less than half of the weight was out, and somebody who was
    asked beside it has answered or the session goes on without it.
    """

    board: Switchboard
    roster: Sequence[Seat]
    pending: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    is_answered: bool = False

    def add(self, fact: Fact) -> None:
        match fact:
            case AsksSent(asks=asks):
                if not self.pending:
                    self.lost, self.is_answered = set(), False
                self.pending |= set(asks)
            case Reply(ask=ask):
                self.pending -= {ask}
                self.is_answered = True
            case SeatLost(ask=ask, seat=seat, reason="unreachable"):
                assert not self.is_half(self.board.failed[ask]), (fact, self.board.failed[ask])
                self.pending -= {ask}
                self.lost.add(seat)
            case AsksWithdrawn(asks=asks):
                self.pending -= set(asks)
            case SessionParked():
                self.pending = set()
            case Closed():
                assert self.is_answered or not self.lost, fact
            case _:
                pass
        if not self.pending:
            assert self.is_answered or len(self.lost) < 2, self.lost

    def find_out(self, names: Iterable[str]) -> set[str]:
        """The seats that those fill who are out: a swarm seats one of them twice."""
        platforms = {f"x-{name}" for name in names}
        return {seat.id for seat in self.roster if seat.platform in platforms}

    def is_half(self, names: Iterable[str]) -> bool:
        weights = {seat.id: seat.weight for seat in self.roster if seat.id in self.board.seats}
        return 2 * sum(weights.get(SeatId(name), 0) for name in set(names)) >= sum(weights.values())


async def fold_waves(moot: Moot, board: Switchboard) -> Wave:
    wave = Wave(board, (await moot.engine.load_snapshot(S)).session_state.seats)
    for entry in await moot.engine.entries(S):
        wave.add(entry.fact)
    return wave


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scene=st.sampled_from([*SCENES, PIPELINE, *CONSULTING]), data=st.data())
def test_whichever_seats_go_out_the_session_parks_if_the_others_could_not_decide_and_names_them_if_they_can(
    scene: Scene, data: st.DataObject
) -> None:
    """M-5: drawn seats with drawn weights go out at drawn calls; a parked session has all of them back and goes on."""
    weights = {seat: data.draw(st.integers(1, 3), seat) for seat in scene.seats}
    outage = st.tuples(st.integers(0, 20), st.sets(st.sampled_from(scene.seats), min_size=1))
    coming = data.draw(st.lists(outage, min_size=1, max_size=4), "outages")

    async def work(home: Path) -> None:
        board = Switchboard()
        board.is_out = lambda seat: any(
            seat in seats for start, seats in coming if start <= len(board.answered)
        )
        async with open_moot(home / "home", board.seat_all(scene.build_scripts(home))) as moot:
            options = scene.build_options(moot, check=False, weights=weights)
            decision = await moot.run(await moot.open("Should we adopt it?", **options))
            while decision.status == "parked":
                await check_parked(moot, decision, lost=None)
                wave, state = (
                    await fold_waves(moot, board),
                    (await moot.engine.load_snapshot(S)).session_state,
                )
                assert state.parked is not None
                assert set(state.parked.seats) <= wave.find_out(board.list_out())
                assert wave.is_half(board.list_out() | state.unavailable) or not wave.is_answered
                coming[:] = [
                    (start, seats) for start, seats in coming if start > len(board.answered)
                ]
                decision = await moot.run("s")
            await fold_waves(moot, board)
            # A consultation that is a session of its own is lost with who was consulted; within another it costs no turn.
            is_whole = scene.protocol == "consultation"
            lost = {
                fact.seat
                for fact in await list_facts(moot, SeatLost)
                if is_whole or ".consult." not in fact.ask
            }
        assert decision.status == "concluded"
        assert {loss.seat for loss in decision.lost} == lost
        assert len(board.answered) == len(set(board.answered))

    with tempfile.TemporaryDirectory() as home:
        run(work(Path(home)))


@each_protocol
def test_a_key_that_is_missing_when_a_session_is_resumed_costs_nothing(
    scene: Scene, tmp_path: Path
) -> None:
    """M-5, M-6: refused with the remedy before anything is recorded; unchecked, it is parked again; with the key it goes on."""

    async def work() -> None:
        expected, asks = await hold_undisturbed(scene, tmp_path / "calm")
        provider = Provider(key="the-key-of-the-server")
        await provider.start()
        provider.dies_after = len(asks) // 2
        scripts = scene.build_scripts(tmp_path)
        async with open_moot(
            tmp_path / "storm", provider.seat_all(scripts, key="the-key-of-the-server")
        ) as moot:
            await check_parked(moot, await hold(moot, scene))
        provider.dies_after = 10**9
        await provider.start()
        before = list(provider.answered)
        for key, told in (("", "set SERVER_KEY"), ("the-wrong-key", "rejected")):
            async with open_moot(tmp_path / "storm", provider.seat_all(scripts, key=key)) as moot:
                entries = await moot.engine.entries(S)
                with pytest.raises(ProviderRefused, match=f"{told}.*--swap SEAT=PLATFORM"):
                    await moot.resume("s")
                assert await moot.engine.entries(S) == entries
                decision = await moot.resume("s", check=False)
                await check_parked(moot, decision)
                assert "SERVER_KEY" in decision.parked
        assert provider.answered == before
        async with open_moot(
            tmp_path / "storm", provider.seat_all(scripts, key="the-key-of-the-server")
        ) as moot:
            decision = await moot.resume("s")
            await moot.replay("s")
        await provider.kill()
        assert sorted(provider.answered) == sorted(asks)
        assert without_costs(decision) == without_costs(expected)

    run(work())


class OneWriter(TypingPerson):
    """People of whom one writes the resolution: the scripts beside them vote on one, without naming it."""

    async def __call__(self, question: PersonQuestion) -> str | None:
        typed = await super().__call__(question)
        return "/pass" if ".synthesize.minski" in question.ask else typed


@each_protocol
def test_a_terminal_that_is_gone_when_a_session_is_resumed_costs_nothing(
    scene: Scene, tmp_path: Path
) -> None:
    """M-5, M-6: the person's process ends between two of their answers; nobody is asked again for what they have said."""
    people = scene.seats[: (len(scene.seats) + 1) // 2]
    board, left = Switchboard(), asyncio.Event()
    first, second = OneWriter(), OneWriter()

    async def leave_after_three(question: PersonQuestion) -> str | None:
        if len(first.asked) == 3:
            left.set()
            await asyncio.Event().wait()
        return await first(question)

    def sit(ask: AskPerson | None) -> Moot:
        return open_moot(tmp_path / "home", board.seat_all(scene.build_scripts(tmp_path)), ask)

    async def work() -> None:
        async with sit(leave_after_three) as moot:
            options = scene.build_options(moot, people=people)
            holding = asyncio.create_task(moot.hold("Should we adopt it?", **options))
            await left.wait()
            # An answer that is not on record when the process ends is rightly asked for again.
            while not {fact.ask for fact in await list_facts(moot, Reply)} >= set(board.answered):  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.01)
            holding.cancel()
            await asyncio.wait([holding])
        async with sit(None) as moot:
            entries = await moot.engine.entries(S)
            with pytest.raises(
                ProviderRefused, match=r"a human seat needs a terminal.*--swap SEAT=PLATFORM"
            ):
                await moot.resume("s")
            assert await moot.engine.entries(S) == entries
            decision = await moot.resume("s", check=False)
            await check_parked(moot, decision)
            assert "there is no terminal to ask a person at" in decision.parked
            with pytest.raises(ProviderRefused, match="a human seat needs a terminal"):
                await moot.resume("s")
            given = {fact.ask for fact in await list_facts(moot, Reply)}
        async with sit(second) as moot:
            decision = await moot.resume("s")
            await moot.replay("s")
            assert await list_facts(moot, SeatLost) == []
        assert (decision.status, decision.lost) == ("concluded", ())
        assert given & {question.ask for question, _ in first.asked}
        assert given.isdisjoint(question.ask for question, _ in second.asked)
        assert len(board.answered) == len(set(board.answered))

    run(work())


@each_protocol
def test_resume_seats_somebody_else_in_place_of_whoever_is_gone_for_good(
    scene: Scene, tmp_path: Path
) -> None:
    """M-6: with `--swap`, after the checks; what the new participant is asked is what the old one was asked."""
    scripts = scene.build_scripts(tmp_path)
    board = Switchboard()
    board.is_out = lambda seat: len(board.answered) >= 2
    spare = Switchboard()
    participants = {
        **board.seat_all(scripts),
        **{f"spare-{seat}": each for seat, each in spare.seat_all(scripts).items()},
    }

    async def work() -> None:
        async with open_moot(tmp_path / "home", participants) as moot:
            assert (await hold(moot, scene)).status == "parked"
            roster = (await moot.engine.load_snapshot(S)).session_state.seats
            swaps = {
                str(seat.id): seat.platform.replace("x-", "x-spare-")
                for seat in roster
                if seat.platform.startswith("x-")
            }
            with pytest.raises(
                ProviderRefused,
                match="the line is dead; or seat another participant: --swap SEAT=PLATFORM",
            ):
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
def test_a_fork_of_a_session_that_lost_its_seats_begins_before_the_losses(
    scene: Scene, tmp_path: Path
) -> None:
    """M-7: seats that answer badly end the session; it says so and names the command, and the fork asks them again."""
    board = Switchboard(is_out=lambda seat: True, reason="refused")

    async def work() -> None:
        async with open_moot(
            tmp_path / "home", board.seat_all(scene.build_scripts(tmp_path))
        ) as moot:
            decision = await hold(moot, scene)
            assert (decision.status, decision.decision) == ("concluded", None)
            assert "moot fork s" in await moot.export("s", "minutes")
            first = next(
                entry.seq
                for entry in await moot.engine.entries(S)
                if isinstance(entry.fact, SeatLost)
            )
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
    plain = [min(FIRST_SECONDS * 2**number, MAX_SECONDS) for number in range(9)]
    assert all(
        abs(delay - each) <= JITTER / 2 * each for delay, each in zip(found, plain, strict=True)
    )
    assert found == [delay for delay, _ in zip(iterate_delays(1), range(9), strict=False)]
    assert found != [delay for delay, _ in zip(iterate_delays(2), range(9), strict=False)]

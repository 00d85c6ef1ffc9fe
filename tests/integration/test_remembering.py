"""What sessions leave behind and what the next ones begin with: decisions, trust, shared records (D-13, D-14, D-20)."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.acceptance.doors import write_script

from moothall import Moot
from moothall.app.recurring import open_again
from moothall.app.upkeep import archive_sessions
from moothall.codec.chain import decode_entry
from moothall.codec.stored import FactCodec
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.errors import BadSetting, SessionExists
from moothall.memory.facts import MEMORY_KINDS, DecisionRecorded, Member, Outcome
from moothall.protocols.council.facts import CouncilOpened

T = TypeVar("T")
DEADLINE = 120.0
MEMORY = SessionId("_memory")


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


class House:
    """Moot with a home of its own, and scripts of debates in which everyone proposes, the first sums up, and all vote."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    def moot(self) -> Moot:
        """A process of its own, as far as what it remembers goes."""
        return Moot(environ={"MOOT_HOME": str(self._folder / "home")})

    def seats(self, votes: Mapping[str, tuple[str, float]], choice: str = "yes") -> list[str]:
        """Seats that propose the choice and vote like this."""
        self._number += 1
        script: dict[str, dict[str, list[dict[str, Any]]]] = {
            seat: {
                "propose": [
                    {
                        "type": "propose",
                        "text": f"{seat} says {choice}",
                        "choice": choice,
                        "confidence": sure,
                    }
                ],
                "synthesize": [{"type": "pass"}],
                "vote": [
                    {
                        "type": "vote",
                        "position": position,
                        "confidence": sure,
                        "text": f"{seat} votes",
                    }
                ],
            }
            for seat, (position, sure) in votes.items()
        }
        first = next(iter(votes))
        script[first]["synthesize"] = [
            {"type": "synthesize", "text": f"{first} says {choice}", "choice": choice}
        ]
        # A file for each: seats of one file are one mind.
        return [
            f"{seat}={write_script(self.file(seat), {seat: answers})}"
            for seat, answers in script.items()
        ]

    def file(self, seat: str) -> Path:
        """The answers of a seat in the last session."""
        return self._folder / f"{self._number}-{seat}.toml"

    async def decided(
        self,
        moot: Moot,
        votes: Mapping[str, tuple[str, float]],
        outcome: Outcome | None = None,
        category: str = "arch",
    ) -> str:
        """A debate that was held, and reviewed if there is an outcome; its id."""
        session = await self.opened(moot, self.seats(votes), category)
        await moot.run(session)
        if outcome is not None:
            await moot.memory.review(session, outcome)
        return session

    async def opened(
        self, moot: Moot, seats: Sequence[Seat | str], category: str = "arch"
    ) -> SessionId:
        return await moot.open(
            "Which database?", seats=seats, protocol="debate", category=category, stakes="high"
        )


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


BOTH = {"ada": ("support", 0.9), "bob": ("support", 0.6)}
SPLIT = {"ada": ("support", 0.9), "bob": ("oppose", 0.6), "dee": ("support", 0.8)}


async def opening(moot: Moot, session: SessionId) -> CouncilOpened:
    opened = (await moot.engine.load_snapshot(session)).session_state.opened
    assert isinstance(opened, CouncilOpened)
    return opened


def trust_of(opened: CouncilOpened) -> dict[str, float]:
    return {str(seat.id): seat.trust for seat in opened.seats}


# What is kept.


def test_what_is_remembered_of_a_debate_is_all_that_later_questions_need(house: House) -> None:
    """D-13, D-15: topic, options, who stood where before and after, the dissent, the words, and where the record lies."""

    async def work() -> None:
        async with house.moot() as moot:
            session = await moot.open(
                "Which database?",
                seats=house.seats(SPLIT),
                protocol="debate",
                category="arch",
                stakes="high",
                tags=["db"],
                options=["yes", "no"],
            )
            decision = await moot.run(session)
            (written,) = await moot.engine.records(MEMORY)
            entries = await moot.engine.entries(session)
            kept = decode_entry(FactCodec(MEMORY_KINDS), written).fact
            assert kept == DecisionRecorded(
                session=session,
                protocol="debate",
                topic="Which database?",
                category="arch",
                stakes="high",
                tags=("db",),
                text="ada says yes",
                choice="yes",
                options=("yes", "no"),
                confidence=decision.confidence,
                consensus_type="majority",
                members=(
                    Member(
                        source="ada",
                        seat="ada",
                        family=f"script:{house.file('ada')}",
                        first_choice="yes",
                        first_confidence=0.9,
                        position="support",
                        confidence=0.9,
                    ),
                    Member(
                        source="bob",
                        seat="bob",
                        family=f"script:{house.file('bob')}",
                        first_choice="yes",
                        first_confidence=0.6,
                        position="oppose",
                        confidence=0.6,
                    ),
                    Member(
                        source="dee",
                        seat="dee",
                        family=f"script:{house.file('dee')}",
                        first_choice="yes",
                        first_confidence=0.8,
                        position="support",
                        confidence=0.8,
                    ),
                ),
                dissent=("bob votes",),
                search_text="Which database?\nada says yes\nbob says yes\ndee says yes\nada says yes\nada votes\nbob votes\n"
                "dee votes",
                opened_at=entries[0].at,
                closed_at=entries[-1].at,
                head=(await moot.engine.records(session))[-1].hash.hex(),
                strength="fair",
                badge="2 of 3",
                what="yes, to “Which database?”",
            )
            # A process holds all but the words and the hash, which are read from the ledger where they are wanted.
            held = await moot.memory.get(session)
            assert held is not None
            assert held.record == replace(kept, search_text="", head="")
            assert [each.record for each in await moot.memory.load_whole([held])] == [kept]

    bounded(work())


def test_a_decision_is_kept_once_however_often_it_is_run_remembered_and_recalled(
    house: House,
) -> None:
    """D-13: also by two processes at once."""

    async def work() -> None:
        async with house.moot() as moot, house.moot() as other:
            session = await house.decided(moot, BOTH)
            often = [each.remembering for each in (moot, other) for _ in range(3)]
            await asyncio.gather(moot.run(session), *(each.remember(session) for each in often))
            await asyncio.gather(moot.recall(), other.recall())
            assert [kept.decision for kept in await other.memory.list_decisions()] == [session]
            assert len(await moot.engine.records(MEMORY)) == 1

    bounded(work())


@pytest.mark.parametrize("protocol", ["persona", "debate", "advisory", "consensus"])
def test_a_session_whose_process_died_before_it_was_remembered_is_recalled(
    house: House, tmp_path: Path, protocol: str
) -> None:
    """D-13, D-16: the ledger has the end, memory has not; the next process that looks finds it."""

    async def work() -> None:
        async with house.moot() as moot:
            words = write_script(tmp_path / "quiet.toml", {"ada": {}, "bob": {}})
            session = await moot.open(
                "Anything?", seats={"ada": words, "bob": words}, protocol=protocol
            )
            assert (await moot.engine.run(session, moot.seating)).is_closed
            assert await moot.memory.get(session) is None
        async with house.moot() as moot, house.moot() as other:
            await asyncio.gather(moot.recall(), other.recall())
            assert await moot.memory.list_decisions() == []
            kept = await moot.memory.get(session)
            assert kept is not None
            assert (kept.record.protocol, kept.record.text) == (protocol, None)
            assert len(await moot.engine.records(MEMORY)) == 1

    bounded(work())


def test_what_is_cancelled_goes_on_or_came_in_as_a_report_is_not_remembered(house: House) -> None:
    """D-13: only what was decided here."""

    async def work() -> None:
        async with house.moot() as moot:
            cancelled = await house.opened(moot, house.seats(BOTH))
            await moot.cancel(cancelled)
            await moot.remembering.remember(cancelled)
            await house.opened(moot, ["ada=mailbox", "bob=mailbox"])
        async with house.moot() as moot:
            memory = await moot.recall()
            assert await memory.list_decisions() == []

    bounded(work())


def test_a_session_that_came_in_by_import_is_recalled_only_if_it_was_adopted(
    house: House, tmp_path: Path
) -> None:
    """D-13: a whole record is a record, of another ledger: its owner says whether it is a precedent here, and it stays marked."""

    async def work() -> None:
        async with house.moot() as moot:
            session = await house.decided(moot, BOTH)
            text = await moot.export(session, "jsonl")
            here = await moot.memory.get(session)
            assert here is not None
        for is_adopted in (False, True):
            folder = tmp_path / f"elsewhere-{is_adopted}"
            folder.mkdir()
            async with House(folder).moot() as moot:
                await moot.read_back(text, is_adopted=is_adopted)
                there = await (await moot.recall()).get(session)
                assert [
                    line.is_imported
                    for line in await moot.session_list.add_outcomes(await moot.sessions())
                ] == [True]
                assert (await moot.export(session, "minutes")).startswith("> Imported on 20")
                if not is_adopted:
                    assert there is None
                    assert await moot.memory.find_similar(here.record.topic) == []
        assert there is not None
        assert there.record == replace(here.record, tags=(*here.record.tags, "imported"))

    bounded(work())


def test_an_import_that_is_refused_leaves_no_mark_and_the_last_one_counts(
    house: House, tmp_path: Path
) -> None:
    """D-13: an own session that was archived stays an own one; a note whose import was cut short does not count."""

    def later(days: int) -> Moot:
        moot = house.moot()
        moot.clock.now = lambda: datetime.now(UTC) + timedelta(days=days)  # type: ignore[method-assign]
        return moot

    async def work() -> None:
        async with house.moot() as moot:
            session = await house.decided(moot, BOTH)
            text = await moot.export(session, "jsonl")
        async with later(3) as moot:
            # A question that is asked again is archived with the last of its sessions.
            again = (await open_again(moot, session)).session
            assert (await archive_sessions(moot, timedelta(days=1))).sessions == ()
            await moot.cancel(again)
        async with later(6) as moot:
            assert (await archive_sessions(moot, timedelta(days=1))).sessions == (session, again)
            with pytest.raises(SessionExists):
                await moot.read_back(text)
            assert await moot.memory.get_import(session) is None
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        async with House(elsewhere).moot() as moot:
            await moot.memory.note_import(session, "unsigned", is_adopted=False)
            await moot.read_back(text, is_adopted=True)
            assert await (await moot.recall()).get(session)

    bounded(work())


def test_who_takes_a_seat_after_the_last_word_has_not_said_it(house: House) -> None:
    """D-14: a vote is the forecast of the mind that gave it, also where a fork or a swap fills its seat with another one."""

    async def work() -> None:
        async with house.moot() as moot:
            session = await house.decided(moot, SPLIT)
            fork = await moot.fork(session, swaps={"bob": "ollama:llama3"})
            # The seats' words are all there: nobody is asked again.
            await moot.run(await moot.fork(fork, swaps={"dee": "ollama:qwen3"}, name="twice"))
            remembered = await moot.memory.get("twice")
            assert remembered is not None
            assert remembered.sources == ("ada", "bob", "dee")

    bounded(work())


# What the next session begins with.


def test_trust_flows_into_the_next_session_by_category(house: House) -> None:
    """D-14: who was right is trusted more there, who was wrong less; a newcomer and another category are neutral or near it."""

    async def work() -> None:
        async with house.moot() as moot:
            first = await opening(moot, await house.opened(moot, house.seats(SPLIT)))
            assert [seat.trust for seat in first.seats] == [NEUTRAL_TRUST] * 3
            for _ in range(3):
                await house.decided(moot, SPLIT, "success")
        async with house.moot() as moot:
            seats = [*house.seats(SPLIT), "cem=mailbox"]
            here = trust_of(await opening(moot, await house.opened(moot, seats)))
            there = trust_of(await opening(moot, await house.opened(moot, seats, "food")))
            standings = await moot.memory.compute_standings(["ada", "bob", "cem", "dee"], "arch")
            assert here == {name: standing.trust for name, standing in standings.items()}
            assert here["ada"] > NEUTRAL_TRUST > here["bob"]
            assert here["cem"] == NEUTRAL_TRUST
            assert here["ada"] >= there["ada"] > NEUTRAL_TRUST > there["bob"] >= here["bob"]

    bounded(work())


def test_trust_that_was_given_by_hand_stays(house: House) -> None:
    async def work() -> None:
        async with house.moot() as moot:
            await house.decided(moot, SPLIT, "success")
            seats = [
                Seat(id=SeatId("ada"), platform="mailbox", trust=0.2),
                Seat(id=SeatId("bob"), platform="mailbox"),
            ]
            opened = await opening(moot, await house.opened(moot, seats))
            assert opened.seats[0].trust == 0.2
            assert opened.seats[1].trust < NEUTRAL_TRUST

    bounded(work())


def test_a_trusted_seat_weighs_more_in_the_vote(house: House) -> None:
    """D-12, D-14: the same votes, another support."""

    async def work() -> None:
        async with house.moot() as moot:
            before = await moot.decision(await house.decided(moot, SPLIT, "success"))
            after = await moot.decision(await house.decided(moot, SPLIT))
            assert before.support is not None
            assert after.support is not None
            assert after.support > before.support
            weights = {str(position.seat): position.weight for position in after.positions}
            # Without a record each of the three weighs 0.41.
            assert weights["ada"] > 0.45
            assert weights["bob"] < 0.35

    bounded(work())


def test_a_shared_record_of_errors_makes_two_votes_worth_less(house: House) -> None:
    """D-20: from three shared cases on; both were wrong on the same one, so that they are less than strangers."""

    async def work() -> None:
        async with house.moot() as moot:
            first = await moot.decision(await house.decided(moot, BOTH, "success"))
            await house.decided(moot, BOTH, "failure")
            assert (
                await opening(moot, await house.opened(moot, house.seats(BOTH)))
            ).subject.error_correlations == ()
            await house.decided(moot, BOTH, "success")
            opened = await opening(
                moot, await house.opened(moot, [*house.seats(BOTH), "cem=mailbox"])
            )
            # The prior of strangers, 0.25, weighs 30 cases; the three they share go together entirely.
            together = round((0.25 * 30 + 1.0 * 3) / 33, 4)
            assert replace(opened.subject, precedents=()) == Topic(
                category="arch",
                stakes="high",
                error_correlations=(
                    ErrorCorrelation(one=SeatId("ada"), other=SeatId("bob"), correlation=together),
                ),
            )
            last = await moot.decision(await house.decided(moot, BOTH))
            assert first.effective is not None
            assert last.effective is not None
            assert last.effective < first.effective

    bounded(work())


def test_a_review_changes_nothing_of_a_session_that_is_open(house: House) -> None:
    """D-13: what it began with is on the record; a replay comes to the same."""

    async def work() -> None:
        async with house.moot() as moot:
            session = await house.opened(moot, house.seats(SPLIT))
            await house.decided(moot, SPLIT, "failure")
            await moot.run(session)
            assert [seat.trust for seat in (await opening(moot, session)).seats] == [
                NEUTRAL_TRUST
            ] * 3
            assert (await moot.replay(session)).snapshot.is_closed

    bounded(work())


def test_a_seat_that_a_fork_gives_to_another_mind_is_trusted_as_that_one(house: House) -> None:
    """D-14: trust is the source's; nobody knows anything of the newcomer."""

    async def work() -> None:
        async with house.moot() as moot:
            now = datetime.now(UTC)
            member = Member(source="openai:gpt-x", seat="ada", position="support", confidence=0.9)
            past = DecisionRecorded(
                session="past",
                protocol="debate",
                topic="Why?",
                text="So.",
                members=(member,),
                opened_at=now,
                closed_at=now,
            )
            await moot.memory.keep(past)
            await moot.memory.review("past", "failure")
            seats = {"ada": "openai:gpt-x", "bob": "mailbox"}
            session = await moot.open("Why?", seats=seats, protocol="debate", check=False)
            assert trust_of(await opening(moot, session))["ada"] < NEUTRAL_TRUST
            fork = await moot.fork(session, at=1, swaps={"ada": "mailbox"})
            assert [
                seat.trust for seat in (await moot.engine.load_snapshot(fork)).session_state.voices
            ] == [
                NEUTRAL_TRUST,
                NEUTRAL_TRUST,
            ]

    bounded(work())


# One bad session must not take memory with it.


def test_a_damaged_session_does_not_keep_the_others_from_being_recalled(
    house: House, tmp_path: Path
) -> None:
    """D-13: `moot verify` tells of the damage; decisions, trust and breakers stay within reach."""

    async def work() -> None:
        async with house.moot() as moot:
            for _ in range(2):
                session = await house.opened(moot, house.seats(BOTH))
                await moot.engine.run(session, moot.seating)
        with sqlite3.connect(tmp_path / "home" / "ledger.db") as connection:
            first = "SELECT number FROM sessions WHERE id LIKE '%_001'"
            connection.execute(
                f"UPDATE entries SET at = at + 1 WHERE seq = 3 AND session = ({first})"
            )
        connection.close()
        async with house.moot() as moot:
            memory = await moot.recall()
            assert [kept.decision[-4:] for kept in await memory.list_decisions()] == ["_002"]

    bounded(work())


@pytest.mark.parametrize(
    "label",
    ["می\u200cخواهم", "👩\u200d💻", "\U0001fae9"],
    ids=["joined word", "joined emoji", "new emoji"],
)
def test_a_label_that_a_session_was_opened_with_can_be_remembered(house: House, label: str) -> None:
    """D-13: what the opening takes, memory keeps; what memory would not keep, the opening refuses."""

    async def work() -> None:
        async with house.moot() as moot:
            try:
                session = await moot.open(
                    "Why?", seats=house.seats(BOTH), protocol="debate", category=label, tags=[label]
                )
            except BadSetting:
                return
            await moot.run(session)
            assert await moot.memory.get(session)

    bounded(work())

"""Q-3: answers are settled before they are counted, by library, command line and call; a judge that fails never stops a meeting."""

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.doors import Cli, write_script
from tests.support.judging import Verdict, read_pairs
from tests.support.wire import ApiModel, serve_within

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import AnswersGrouped, SessionParked
from moothall.domain.ids import SessionId
from moothall.errors import BadSetting
from moothall.protocols.council.facts import DeliberationClosed

TOPIC: Final = "What do we store our events in?"
Answering = Callable[[Brief], object]
SPELLINGS: Final = ("use PostgreSQL", "PostgreSQL", "go with Postgres")


def respond_with(blind: str, decided: str, brief: Brief) -> object:
    """A seat that has one answer alone, and goes along with another wording of it."""
    answers: dict[str, object] = {
        "position": {"position": f"We take {blind}.", "choice": blind},
        "intent": {"reaction_score": 0.0, "intent_to_speak": False},
        "draft": {"decision": {"text": f"The group takes {decided}."}, "choice": decided},
        "stand": {"verdict": "support"},
        "propose": {"type": "propose", "text": f"We take {blind}.", "choice": blind},
        "argue": {"type": "pass", "text": ""},
        "synthesize": {"type": "synthesize", "text": f"All: {decided}.", "choice": decided},
        "decide": {"type": "synthesize", "text": f"All: {decided}.", "choice": decided},
        "vote": {"type": "vote", "position": "support"},
    }
    return answers[brief.form.kind]


def judge_pairs(verdict: Verdict, brief: Brief) -> object:
    pairs = enumerate(read_pairs(brief), 1)
    return {"judgements": [{"pair": number, "verdict": verdict(*pair)} for number, pair in pairs]}


class Held:
    """A meeting of three functions and perhaps a judge, to its end."""

    def __init__(
        self,
        home: Path,
        protocol: str,
        blind: tuple[str, ...],
        decided: str,
        judge: Callable[[Brief], object] | None,
        **settings: Any,
    ) -> None:
        seats: dict[str, Any] = {}
        for name, answer in zip(("ada", "bob", "cy"), blind, strict=False):
            seats[name] = partial(respond_with, answer, decided)
        if judge is not None:
            seats["judge"] = judge
            settings["judge"] = "judge"

        async def run() -> None:
            environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}
            async with Moot(environ=environ) as moot:
                session = await moot.open(TOPIC, protocol=protocol, seats=seats, settings=settings)
                self.decision = await asyncio.wait_for(moot.run(session), 60)
                self.facts = [entry.fact for entry in await moot.engine.entries(session)]
                self.minutes = str(await moot.export(session, "minutes"))
                memory = await moot.recall()
                self.remembered = await memory.get(session)
                verified = await moot.verify(session)
                self.is_sound = verified is not None

        asyncio.run(run())

    @property
    def groupings(self) -> list[AnswersGrouped]:
        return [fact for fact in self.facts if isinstance(fact, AnswersGrouped)]


@pytest.mark.parametrize("protocol", ["persona", "debate", "consensus", "advisory"])
def test_three_that_write_it_otherwise_and_decide_it_are_of_one_answer(
    tmp_path: Path, protocol: str
) -> None:
    """Q-3, D-12: three seats wrote `use PostgreSQL`, decided `PostgreSQL`, and were "0 % likely right, disputed"."""
    held = Held(
        tmp_path,
        protocol,
        ("use PostgreSQL",) * 2 + ("go with Postgres",),
        "PostgreSQL",
        partial(judge_pairs, lambda one, other: "same"),
    )
    decision = held.decision
    assert decision.confidence is not None
    assert decision.confidence > 0.5
    assert decision.strength != "disputed"
    assert decision.agreement == "blind"
    assert decision.held_before == ("ada", "bob", "cy")
    assert decision.choice in {"PostgreSQL", *SPELLINGS}
    assert "Answers counted as one" in held.minutes
    assert "“go with Postgres” = “use PostgreSQL”" in held.minutes
    assert held.remembered is not None
    members = [each for each in held.remembered.record.members if not each.is_neutral]
    assert {each.first_choice for each in members} == {decision.choice}
    assert [each.seat for each in held.remembered.record.members if each.is_neutral] == ["judge"]


@pytest.mark.parametrize("protocol", ["persona", "debate"])
def test_without_a_judge_words_are_counted_as_they_are(tmp_path: Path, protocol: str) -> None:
    """Q-3, Q-10: no figure, and not "0 %", where nobody can say whether two wordings are one answer."""
    held = Held(tmp_path, protocol, SPELLINGS, "PostgreSQL 16", None)
    assert held.groupings == []
    assert (held.decision.confidence, held.decision.held_before) == (None, None)
    assert "Answers counted as one" not in held.minutes


async def fall_asleep(brief: Brief) -> object:
    await asyncio.sleep(30)
    return {}


def fail(brief: Brief) -> object:
    raise RuntimeError("no")


@pytest.mark.parametrize("protocol", ["persona", "debate"])
@pytest.mark.parametrize(
    "judge",
    [
        lambda brief: "The answers are all good.",
        lambda brief: {"judgements": []},
        lambda brief: {"judgements": [{"pair": 1, "verdict": "maybe"}]},
        fail,
        fall_asleep,
    ],
    ids=["nonsense", "nothing", "unknown", "broken", "asleep"],
)
def test_a_judge_that_says_nothing_of_use_leaves_equal_words_and_parks_nothing(
    tmp_path: Path, protocol: str, judge: Callable[[Brief], object]
) -> None:
    """Q-3"""
    name = "patience" if protocol == "debate" else "intent_patience"
    held = Held(tmp_path, protocol, SPELLINGS, "PostgreSQL", judge, **{name: 0.5})
    assert held.decision.status == "concluded"
    assert held.decision.decision is not None
    assert not any(isinstance(fact, SessionParked) for fact in held.facts)
    assert all(pair.verdict != "same" for each in held.groupings for pair in each.pairs)
    assert len(held.groupings) >= 1
    assert "judge" in held.minutes
    assert "judge" not in [each.seat for each in held.decision.lost]


def write_scene(path: Path, verdict: str) -> str:
    """A scene of three spellings and a judge that is asked of three pairs, twice."""
    seats: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name, choice in zip(("ada", "bob", "cy"), SPELLINGS, strict=True):
        proposal = {"type": "propose", "text": f"We take {choice}.", "choice": choice}
        seats[name] = {"propose": [proposal]}
    judgements = [{"pair": pair, "verdict": verdict} for pair in (1, 2, 3)]
    seats["judge"] = {"judge": [{"judgements": judgements}] * 2}
    return write_script(path / "scene.toml", seats)


@pytest.mark.parametrize(("verdict", "reason"), [("same", "agreed_blind"), ("different", "voted")])
def test_the_command_line_settles_answers_with_a_judge(
    cli: Cli, tmp_path: Path, verdict: str, reason: str
) -> None:
    """Q-3"""
    scene = write_scene(tmp_path, verdict)
    words = [f"--seat={name}={scene}" for name in ("ada", "bob", "cy", "judge")]
    options = ("--protocol", "debate", "--set", "judge=judge", *words)
    planned = cli("run", TOPIC, *options, "--dry-run", "--json")
    assert json.loads(planned.out)
    done = cli("run", TOPIC, *options, "--json", code=None)
    decision = json.loads(done.out)
    assert decision["endedBy"] == reason
    if reason == "agreed_blind":
        assert decision["heldBefore"] == ["ada", "bob", "cy"]
        assert decision["confidence"] > 0.5


def test_a_judge_that_has_no_seat_is_refused(tmp_path: Path) -> None:
    """Q-3"""

    async def run() -> None:
        environ = {"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}
        async with Moot(environ=environ) as moot:
            for protocol in ("persona", "debate"):
                seats = dict.fromkeys(("ada", "bob"), "mailbox")
                with pytest.raises(BadSetting, match="is not a seat; name one of ada, bob"):
                    await moot.open(
                        TOPIC, protocol=protocol, seats=seats, settings={"judge": "zoe"}
                    )

    asyncio.run(run())


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiModel]:
    with serve_within(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def test_a_judge_from_outside_settles_answers_over_calls(wire: ApiModel) -> None:
    """Q-3"""
    session = wire.open("ada", "bob", "cy", "judge", judge="judge", topic=TOPIC, stakes="low")
    for name, choice in zip(("ada", "bob", "cy"), SPELLINGS, strict=True):
        wire.say(session, name, "propose", text=f"We take {choice}.", choice=choice)
    for _ in range(2):
        (asked,) = wire("moot.getAsks", sessionId=session, seat="judge")["asks"]
        judgements = [{"pair": pair, "verdict": "same"} for pair in (1, 2, 3)]
        wire(
            "moot.answer",
            sessionId=session,
            seat="judge",
            ask=asked["ask"],
            answer={"judgements": judgements},
        )
    facts = [entry.fact for entry in wire.run(wire.moot.engine.entries(SessionId(session)))]
    closed = facts[-1]
    assert isinstance(closed, DeliberationClosed)
    assert (closed.reason, closed.consensus_type) == ("agreed_blind", "unanimous")


def test_the_owner_joins_and_parts_answers(wire: ApiModel) -> None:
    """Q-3: recorded, before the judge's word, and refused for words that nobody has answered with."""
    session = wire.open("ada", "bob", "cy", topic=TOPIC)
    with pytest.raises(BadSetting, match="blind"):
        wire("moot.groupAnswers", sessionId=session, answers=["A", "B"])
    for name, choice in zip(("ada", "bob", "cy"), SPELLINGS, strict=True):
        wire.say(session, name, "propose", text=f"We take {choice}.", choice=choice)
    with pytest.raises(BadSetting, match="none of the answers; they are: 'use PostgreSQL'"):
        wire("moot.groupAnswers", sessionId=session, answers=["MySQL", "PostgreSQL"])
    with pytest.raises(BadSetting, match="2 to 64 answers"):
        wire("moot.groupAnswers", sessionId=session, answers=["PostgreSQL", "postgresql."])
    joined = wire("moot.groupAnswers", sessionId=session, answers=[*SPELLINGS])
    assert joined["groups"] == [["PostgreSQL", "go with Postgres", "use PostgreSQL"]]
    parted = wire("moot.groupAnswers", sessionId=session, answers=["go with Postgres"], part=True)
    assert parted["groups"] == [["PostgreSQL", "use PostgreSQL"]]
    facts = [entry.fact for entry in wire.run(wire.moot.engine.entries(SessionId(session)))]
    owned = [fact for fact in facts if isinstance(fact, AnswersGrouped)]
    assert [(fact.judge, bool(fact.origin)) for fact in owned] == [(None, True)] * 2

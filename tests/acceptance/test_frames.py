"""Q-1, Q-2: a session knows its question and its answers before anybody is asked, at every door."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.doors import Cli, Terminal, facts, record
from tests.support.wire import ApiModel, serve_within

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.topic import Frame
from moothall.errors import BadSetting, MootError
from moothall.reading.schemas import build_user_prompt, build_wire_schema

CLINIC: Final = "Postgres or a document database for a small clinic?"
LISTED: Final = ["Postgres", "document database", "none of these"]
FOR_POSTGRES: Final = "Postgres has transactions, and a clinic's records are tables."
Answering = Callable[[Brief], object]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiModel]:
    with serve_within(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def speak(choose: Callable[[Brief], dict[str, str]], text: str = FOR_POSTGRES) -> Answering:
    """A seat that answers by what is listed, as a model does, and goes along with everything else."""

    def respond(brief: Brief) -> object:
        kind, chosen = brief.form.kind, choose(brief)
        finding = {"coreIdea": text, "perspective": brief.seat.id}
        answers: dict[str, object] = {
            "position": {"position": text, **chosen},
            "intent": {"reaction_score": 0.0, "intent_to_speak": False},
            "draft": {"decision": {"text": text}, **chosen},
            "stand": {"verdict": "support"},
            "propose": {"type": "propose", "text": text, **chosen},
            "argue": {"type": "pass", "text": ""},
            "synthesize": {"type": "synthesize", "text": text, **chosen},
            "decide": {"type": "synthesize", "text": text, **chosen},
            "vote": {"type": "vote", "position": "support"},
            "explore": {"direction": chosen["choice"], "findings": [finding], **chosen},
            "collide": {"action": "pass"},
        }
        return answers.get(kind, {})

    return respond


def hold(home: Path, protocol: str, respond: Answering, topic: str = CLINIC, **options: Any) -> Any:
    # Functions of their own: one function is one mind.
    seats: dict[str, Any] = {name: partial(respond) for name in ("ada", "bob", "cy")}

    async def run() -> Any:
        environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}
        async with Moot(environ=environ) as moot:
            return await moot.hold(topic, protocol=protocol, seats=seats, **options)

    return asyncio.run(run())


POSITIONS: Final = {
    "persona": "position",
    "debate": "propose",
    "advisory": "propose",
    "consensus": "propose",
    "swarm": "explore",
}
SETTINGS: Final = {"swarm": {"max_rounds": 2}}


@pytest.mark.parametrize("protocol", ["debate", "advisory", "consensus", "persona"])
def test_the_live_failures_never_decide_yes(tmp_path: Path, protocol: str) -> None:
    """Q-2: three texts for Postgres and three times the label yes were "yes", unanimously."""
    decision = hold(tmp_path, protocol, speak(lambda _: {"choice": "yes"}))
    assert decision.choice == ""
    assert decision.short_choice.strip(".").casefold() != "yes"
    assert decision.lost == ()


@pytest.mark.parametrize("protocol", POSITIONS)
def test_a_seat_that_says_yes_is_asked_which_and_then_counts(tmp_path: Path, protocol: str) -> None:
    """Q-2, Q-6: the same seats, asked back by what is listed."""
    asked: list[str] = []

    def choose(brief: Brief) -> dict[str, str]:
        return {"choice": "yes" if brief.form.kind == POSITIONS[protocol] else "Postgres"}

    def respond(brief: Brief) -> object:
        if brief.form.kind != "which":
            return speak(choose)(brief)
        asked.append(brief.seat.id)
        return "Postgres"

    decision = hold(tmp_path, protocol, respond, settings=SETTINGS.get(protocol, {}), seed=3)
    assert len(asked) >= 3 - (protocol == "advisory") * 2
    assert decision.frame == Frame(kind="choice", answers=("Postgres", "document database"))
    assert "yes" not in decision.short_choice.casefold()
    if protocol != "swarm":
        assert decision.choice == "Postgres"


@pytest.mark.parametrize("protocol", POSITIONS)
@pytest.mark.parametrize(
    ("topic", "listed"),
    [(CLINIC, LISTED), ("Should we ship?", ["yes", "no", "none of these"])],
    ids=["choice", "yes_no"],
)
def test_every_blind_position_has_the_answers_as_a_list(
    tmp_path: Path, protocol: str, topic: str, listed: list[str]
) -> None:
    """Q-2: as an enum where a provider has schemas, with an answer of one's own beside it."""
    schemas: list[Any] = []

    def choose(brief: Brief) -> dict[str, str]:
        if brief.form.kind == POSITIONS[protocol]:
            schemas.append(build_wire_schema(brief.schema)["properties"])
        return {"choice": listed[0]}

    hold(tmp_path, protocol, speak(choose), topic, settings=SETTINGS.get(protocol, {}))
    # A swarm's answers are its directions, in words of its own, but where the question names them.
    if protocol == "swarm" and topic != CLINIC:
        assert all("enum" not in each.get("choice", {}) for each in schemas)
        return
    first = schemas[0]
    assert sorted(first["choice"]["enum"]) == sorted(listed)
    assert first["choice"].keys() == {"type", "enum"}
    assert first["ownChoice" if protocol == "swarm" else "own_choice"]["type"] == "string"


@pytest.mark.parametrize("protocol", ["debate", "consensus", "persona"])
def test_none_of_these_is_an_answer_in_words_of_ones_own(tmp_path: Path, protocol: str) -> None:
    """Q-2, Q-9: the list is open, and what all have instead is decided."""
    chosen = {"choice": "none of these", "own_choice": "two steps"}
    decision = hold(tmp_path, protocol, speak(lambda _: chosen, "First a file, later Postgres."))
    assert decision.choice == "two steps"
    assert decision.lost == ()


@pytest.mark.parametrize(
    ("meant", "decided"),
    [("none of these", "SQLite"), ("unclear", "SQLite"), ("Postgres", "Postgres")],
)
def test_another_answer_is_asked_about_once_and_then_stands(
    tmp_path: Path, meant: str, decided: str
) -> None:
    """Q-2, Q-5: what names none of the listed answers is asked back; who means none of them has an answer of its own."""
    asked: list[str] = []

    def respond(brief: Brief) -> object:
        if brief.form.kind != "which":
            return speak(lambda _: {"choice": "SQLite"}, "A file is enough.")(brief)
        asked.append(brief.seat.id)
        return meant

    decision = hold(tmp_path, "debate", respond)
    assert sorted(asked) == ["ada", "bob", "cy"]
    assert decision.choice == decided
    assert decision.uncounted == ()


@pytest.mark.parametrize(
    ("topic", "language"),
    [(CLINIC, "en"), ("小诊所用 Postgres 还是文档数据库？", "zh")],
)
def test_the_question_which_one_is_small_and_offers_none_of_these(
    tmp_path: Path, topic: str, language: str
) -> None:
    """Q-6: at most 350 characters beyond the quotation, never the whole prompt again."""
    asked: list[Brief] = []

    def respond(brief: Brief) -> object:
        if brief.form.kind != "which":
            return speak(lambda _: {"choice": "yes"})(brief)
        asked.append(brief)
        return "Postgres"

    decision = hold(tmp_path, "debate", respond, topic, language=language)
    assert decision.choice == "Postgres"
    small = asked[0]
    shown = f"{small.system}{build_user_prompt(small)}"
    assert FOR_POSTGRES in shown
    assert len(shown) - len(FOR_POSTGRES) <= 350
    assert small.schema is not None
    offered = set(small.schema["properties"]["meant"]["enum"])
    assert {"Postgres", "none of these" if language == "en" else "都不是"} < offered


@pytest.mark.parametrize(
    ("topic", "none", "language"),
    [(CLINIC, "none of these", "en"), ("小诊所用 Postgres 还是文档数据库？", "都不是", "zh")],
)
def test_votes_offer_what_positions_do_and_what_a_candidate_names_instead(
    tmp_path: Path, topic: str, none: str, language: str
) -> None:
    """Q-2, Q-9: one list and one field for an answer of one's own."""
    votes: list[Any] = []

    def respond(brief: Brief) -> object:
        own = {"choice": none, "own_choice": "two steps"}
        if brief.form.kind == "vote":
            votes.append(build_wire_schema(brief.schema)["properties"])
            return {"type": "vote", **own}
        if brief.seat.id == "ada":
            return speak(lambda _: own, "First a file.")(brief)
        return speak(lambda _: {"choice": "Postgres"})(brief)

    settings = {"debate": "always"}
    decision = hold(tmp_path, "debate", respond, topic, language=language, settings=settings)
    assert {"Postgres", "two steps", none, "abstain"} <= set(votes[0]["choice"]["enum"])
    assert "own_choice" in votes[0]
    assert decision.choice == "two steps"


def test_without_a_frame_a_session_runs_as_it_is_asked(tmp_path: Path) -> None:
    decision = hold(tmp_path, "debate", speak(lambda _: {"choice": "yes"}), frame="off")
    assert decision.frame is None
    assert decision.choice == "yes"
    as_open = hold(tmp_path, "debate", speak(lambda _: {"choice": "yes"}), kind="open")
    assert as_open.frame == Frame(kind="open", made_by="opener")
    with pytest.raises(BadSetting, match="frame=off leaves the frame out"):
        hold(tmp_path, "debate", speak(lambda _: {}), kind="open", frame="off")


DRY: Final = ("--seat", "ada=mailbox", "--seat", "bob=mailbox", "--dry-run")


def test_the_dry_run_shows_the_frame_and_records_nothing(cli: Cli) -> None:
    shown = cli("run", CLINIC, *DRY).out
    assert (
        "choice: Postgres / document database · none of these "
        "(listed by Moot, from the words of the question)" in shown
    )
    chinese = cli("run", "小诊所用 Postgres 还是文档数据库？", *DRY).out
    assert "选择：Postgres / 文档数据库 · 都不是（按问题的用词列出）" in chinese
    opened = cli.json("run", CLINIC, *DRY)["opened"]
    assert opened["frame"] == {"kind": "choice", "answers": ["Postgres", "document database"]}
    assert "frame" not in cli.json("run", CLINIC, *DRY, "--frame", "off")["opened"]
    given = cli.json("run", CLINIC, *DRY, "--option", "A", "--option", "B")["opened"]
    assert given["frame"] == {"kind": "choice", "answers": ["A", "B"], "made_by": "opener"}
    refused = cli("run", "Which database?", *DRY, "--kind", "choice", code=2)
    assert "--option A --option B" in refused.err


def test_the_frame_stands_in_the_opening_and_in_the_record(cli: Cli) -> None:
    words = ("--seat", "ada=mailbox", "--seat", "bob=mailbox", "--protocol", "debate")
    cli("run", CLINIC, *words, "--session", "s", code=3)
    opening = facts(record(cli))[0]
    assert opening["frame"] == {"kind": "choice", "answers": ["Postgres", "document database"]}
    assert opening["subject"]["options"] == ["Postgres", "document database"]
    line = "choice: Postgres / document database · none of these (listed by Moot"
    assert line in cli("show", "s").out
    assert line in cli("export", "s", "minutes").out
    assert cli.json("show", "s")["frame"]["answers"] == ["Postgres", "document database"]


def test_callers_read_and_give_the_frame(wire: ApiModel) -> None:
    """Q-1, D-5"""
    session = wire.open("ada", "bob", topic=CLINIC)
    frame = wire.read(session)["frame"]
    stated = {name: value for name, value in frame.items() if value}
    assert stated == {
        "kind": "choice",
        "answers": ["Postgres", "document database"],
        "madeBy": "moot",
    }
    free = wire.open("ada", "bob", topic=CLINIC, frame="off")
    assert wire.read(free).get("frame") is None
    number = wire.open("ada", "bob", topic="Desks", kind="number")
    assert wire.read(number)["frame"]["madeBy"] == "opener"
    with pytest.raises(MootError):
        wire.open("ada", "bob", topic="Which database?", kind="choice")


@pytest.mark.parametrize(
    ("typed", "frame"),
    [
        ([""], {"kind": "choice", "answers": ["Postgres", "document database"]}),
        (
            ["SQLite", "SQLite / files"],
            {"kind": "choice", "answers": ["SQLite", "files"], "made_by": "opener"},
        ),
        (["open"], {"kind": "open", "made_by": "opener"}),
    ],
    ids=["enter", "other", "open"],
)
def test_a_person_at_the_terminal_sees_the_answers_and_may_change_them(
    cli: Cli, typed: Sequence[str], frame: dict[str, object]
) -> None:
    """Q-1: Enter takes them."""
    words = ("--seat", "ada=mailbox", "--seat", "bob=mailbox", "--session", "s")
    with Terminal(cli, "run", CLINIC, *words) as terminal:
        terminal.wait_for("choice: Postgres / document database")
        for line in typed:
            terminal.type(f"{line}\n")
        assert terminal.ended() == 3
    assert facts(record(cli))[0]["frame"] == frame


@pytest.mark.parametrize(
    ("topic", "options", "is_shown"),
    [
        (CLINIC, {}, False),
        (CLINIC, {"chance": True}, True),
        # The chance that people read is that of the event.
        ("Will Postgres be in use by May?", {}, False),
        ("How should a small clinic keep its records?", {}, False),
        ("How should a small clinic keep its records?", {"chance": True}, True),
        ("Records", {"kind": "open", "chance": True}, False),
        (CLINIC, {"frame": "off"}, True),
    ],
)
def test_the_kind_of_question_says_whether_people_read_a_chance(
    tmp_path: Path, topic: str, options: dict[str, Any], is_shown: bool
) -> None:
    """Q-10: it is kept all the same."""
    chosen = "yes" if topic.startswith("Will") else "Postgres"
    decision = hold(tmp_path, "debate", speak(lambda _: {"choice": chosen}), topic, **options)
    assert decision.confidence is not None
    assert decision.chance_hidden is not is_shown
    assert (decision.forecast is not None) is topic.startswith("Will")


@pytest.mark.parametrize("protocol", ["persona", "debate", "advisory", "consensus"])
def test_who_takes_none_of_the_listed_answers_is_counted_and_named(
    tmp_path: Path, protocol: str
) -> None:
    """Q-1: "none of these" is the objection to a list that Moot has made."""

    def choose(brief: Brief) -> dict[str, str]:
        if brief.form.kind == POSITIONS[protocol] and brief.seat.id == "ada":
            return {"choice": "none of these", "own_choice": "a paper file"}
        return {"choice": "Postgres"}

    async def run() -> tuple[Any, str]:
        environ = {"MOOT_HOME": str(tmp_path), "HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}
        async with Moot(environ=environ) as moot:
            seats: dict[str, Any] = {name: partial(speak(choose)) for name in ("ada", "bob", "cy")}
            decision = await moot.hold(CLINIC, protocol=protocol, seats=seats)
            return decision, await moot.export(decision.session, "minutes")

    decision, minutes = asyncio.run(run())
    assert [(each.seat, each.said) for each in decision.objections] == [("ada", "a paper file")]
    named = sum(bool(each.choice_before) for each in decision.positions)
    assert f"1 of {named} say none of these: ada: “a paper file”" in minutes
    assert decision.to_json()["objections"][0]["seat"] == "ada"

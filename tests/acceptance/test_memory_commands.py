"""What outlives a session, from outside: decisions, trust, breakers, tokens, and the registers that hold them (D-13 to D-17)."""

import json
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    SCENES,
    Cli,
    draft,
    held,
    listens,
    position,
    seat_words,
    stand,
    write_script,
)

COMMANDS = (
    ["decisions"],
    ["decisions", "search"],
    ["decisions", "show"],
    ["decisions", "review"],
    ["trust"],
    ["breakers"],
    ["breakers", "reset"],
    ["breakers", "policy"],
    ["invite"],
)
RULES = (
    "rules: 3 failures in 7 days open a circuit: an agent's own; that of a category or tag if 2 different sources failed, "
    "of stakes if 3 did, the global one if 5 did; after 1 h one probe is allowed, to be reviewed within 24 h\n"
    "never alone at stakes: critical; in categories: none; confidence: at high stakes not below 0.6\n"
)
TODAY = datetime.now(UTC)


def debate(cli: Cli, name: str, topic: str, scene: str, seats: list[str], **labels: str) -> None:
    """A debate of a scene, held to its end."""
    words = [word for label, value in labels.items() for word in (f"--{label}", value)]
    platform = f"script:{SCENES / scene}.toml"
    cli(
        "run",
        topic,
        "--protocol",
        "debate",
        *seat_words(platform, seats),
        "--session",
        name,
        "--stakes",
        "high",
        *words,
    )


@pytest.fixture
def db(cli: Cli) -> str:
    """A debate in which ada and bob outvoted cem: sqlite."""
    debate(
        cli,
        "db",
        "Which database?",
        "database",
        ["ada", "bob", "cem"],
        category="Data stores",
        tag="db",
    )
    return "db"


@pytest.fixture
def zh(cli: Cli) -> str:
    """A debate in Chinese."""
    debate(cli, "zh", "我们该扩张吗？", "expansion", ["甲", "乙", "丙"], category="战略")
    return "zh"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A home with both debates, and `s`, which waits for eve; for tests that change nothing."""
    folder = tmp_path_factory.mktemp("library")
    cli = Cli(folder / "home", folder)
    debate(cli, "db", "Which database?", "database", ["ada", "bob", "cem"], category="Data stores")
    debate(cli, "zh", "我们该扩张吗？", "expansion", ["甲", "乙", "丙"], category="战略")
    _table(cli)
    return cli


def _table(cli: Cli) -> None:
    platform = write_script(cli.cwd / "bob.toml", {"bob": {}})
    seats = ("--seat", "eve=mailbox", "--seat", f"bob={platform}")
    cli("run", "Who comes?", "--protocol", "debate", *seats, "--session", "s", code=3)


def line(name: str, how: str, outcome: str, topic: str, decided: str) -> str:
    """A decision in a list; the date is today's, or yesterday's when the test began before midnight."""
    day = f"(?:{TODAY:%Y-%m-%d}|{TODAY + timedelta(days=1):%Y-%m-%d})"
    return (
        rf"{name}  {day}  {re.escape(how)}  {outcome}  {re.escape(topic)}  → {re.escape(decided)}\n"
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_each_command_has_an_example(cli: Cli, words: list[str]) -> None:
    told = cli(*words, "--help").out
    assert f"\n  moot {words[0]}" in told
    assert "--json" in told


def test_the_help_lists_them(cli: Cli) -> None:
    told = cli("--help").out
    for command in ("decisions", "trust", "breakers", "invite", "serve", "mcp"):
        assert f"\n  {command} " in told


# Where there is nothing yet.


def test_with_nothing_remembered_each_command_says_what_to_do(cli: Cli) -> None:
    """D-13, D-14, D-17: code 0, no result on standard output; as JSON, empty."""
    done = cli("decisions")
    assert (done.out, done.err) == (
        "",
        "no decision matches; what sessions decide is stored here, except what demos and the embedded model say\n",
    )
    done = cli("trust")
    assert (done.out, done.err) == (
        "",
        "No track records yet: review decisions (`moot decisions review`).\n",
    )
    assert cli("breakers").out == f"every circuit is closed\n{RULES}"
    done = cli("invite", "--list")
    assert (done.out, done.err) == ("", "no tokens yet; create one: moot invite --owner\n")
    done = cli("decisions", "search", "anything")
    assert (done.out, done.err) == ("", "nothing found\n")
    assert (
        cli.json("decisions")["decisions"]
        == cli.json("decisions", "search", "anything")["decisions"]
        == []
    )
    assert cli.json("invite", "--list") == {"tokens": []}
    assert cli.json("trust") == {"sources": [], "protocols": []}
    assert cli.json("breakers")["breakers"] == []
    assert cli.json("list")["sessions"] == []


# Decisions.


def test_decisions_are_listed_the_newest_first_and_by_what_they_are(
    cli: Cli, db: str, zh: str
) -> None:
    """D-5, D-13, M-9, M-17: how and what, what to mind; by category, outcome and participant; what an answer file said marked."""
    one = line(
        "db",
        "(answer file) 2 of 3 ! most began elsewhere",
        "not reviewed",
        "Which database?",
        "sqlite.",
    )
    two = line(
        "zh", "(answer file) 3 人一致 ! 同一模型", "not reviewed", "我们该扩张吗？", "试点。"
    )
    assert re.fullmatch(two + one, cli("decisions").out)
    assert re.fullmatch(two, cli("decisions", "--limit", "1").out)
    assert re.fullmatch(one, cli("decisions", "--category", "data  STORES").out)
    assert re.fullmatch(two, cli("decisions", "--source", "乙").out)
    assert cli("decisions", "review", "zh", "success").out.startswith("zh: success\n")
    assert cli("decisions", "review", "zh", "partial", "--note", "a\nslip").out.startswith(
        "zh: partial (it was success before)\n"
    )
    assert cli("show", "zh").err.startswith("后来的结果：partial (a slip)\n")
    assert re.fullmatch(one, cli("decisions", "--outcome", "unreviewed").out)
    (found,) = cli.json("decisions", "--outcome", "partial")["decisions"]
    assert found["standIn"] == "script"
    assert (found["decisionId"], found["outcome"], found["protocol"]) == ("zh", "partial", "debate")
    assert cli.json("decisions", "--source", "nobody") == {"decisions": []}
    assert "Invalid value for '--outcome'" in cli("decisions", "--outcome", "fine", code=2).err


def test_a_filter_that_matches_nothing_does_not_say_that_there_are_no_decisions(
    library: Cli,
) -> None:
    assert "No decisions yet" not in library("decisions", "--source", "nobody").err


@pytest.mark.parametrize("word", ["扩张", "试点", "现金", "长上", "战略"])
def test_two_characters_are_enough_to_find_a_chinese_decision(library: Cli, word: str) -> None:
    """D-5, D-16: in the topic, the decision, what was argued, a condition, the category; English ones are not found."""
    assert [
        hit["decisionId"] for hit in library.json("decisions", "search", word)["decisions"]
    ] == ["zh"]


@pytest.mark.parametrize("words", ["database", "second writer", "DATA stores", "hurt"])
def test_words_find_an_english_decision(library: Cli, words: str) -> None:
    """D-5: wherever they stand."""
    (hit,) = library.json("decisions", "search", words)["decisions"]
    assert (hit["decisionId"], hit["score"] > 0) == ("db", True)


def test_a_search_tells_the_decision_and_the_place(library: Cli) -> None:
    """D-5: narrowed by category, and nothing for what nobody said."""
    told = library("decisions", "search", "试点").out.splitlines(keepends=True)
    assert re.fullmatch(
        r"zh  \(answer file\) 3 人一致 ! 同一模型  not reviewed  我们该扩张吗？  → 试点。\n",
        told[0],
    )
    assert told[1].startswith("    ")
    assert "试点" in told[1]
    (hit,) = library.json("decisions", "search", "试点")["decisions"]
    assert {hit["snippet"][first:end] for first, end in hit["marks"]} == {"试点"}
    assert (
        library.json("decisions", "search", "试点", "--category", "data stores")["decisions"] == []
    )
    assert library.json("decisions", "search", "zebra")["decisions"] == []
    assert (
        library("decisions", "search", " ", code=2).err == "moot: query is empty; say something\n"
    )


def test_a_decision_is_shown_with_who_stood_where_and_how_it_turned_out(cli: Cli, db: str) -> None:
    """D-13, D-15: the blind first choice, the vote, the dissent, every review."""
    cli(
        "decisions",
        "review",
        "db",
        "failure",
        "--choice",
        "Postgres",
        "--note",
        "locked up\nat noon",
    )
    told = cli("decisions", "show", "db").out.splitlines(keepends=True)
    assert re.fullmatch(
        line(
            "db",
            "(answer file) 2 of 3 ! most began elsewhere",
            "failure",
            "Which database?",
            "sqlite.",
        ),
        told[0],
    )
    assert told[1:7] == [
        "  Begin with SQLite, move when a second writer comes.\n",
        "  chance that it is right: 0.27\n",
        "  ada [ada]: support (0.80) first: postgres\n",
        "  bob [bob]: support (0.90) first: sqlite\n",
        "  cem [cem]: oppose (0.60) first: postgres\n",
        "  dissent: It will hurt.\n",
    ]
    assert re.fullmatch(r"  \d{4}-\d\d-\d\d failure: locked up at noon\n", told[7])
    found = cli.json("decisions", "show", "db")
    assert (found["head"], found["outcome"]) == (cli.json("verify", "db")["head"], "failure")
    assert [(each["outcome"], each["choice"], each["by"]) for each in found["reviews"]] == [
        ("failure", "Postgres", "local")
    ]
    assert found["chain"]["builtOn"] == found["chain"]["basisOf"] == []


def test_a_review_with_a_key_counts_once_and_a_later_one_replaces_it(cli: Cli, db: str) -> None:
    """D-5, D-14: the last one counts; all are kept."""
    assert cli("decisions", "review", "db", "failure", "--key", "k1").out == "db: failure\n"
    assert len(cli.json("decisions", "review", "db", "failure", "--key", "k1")["reviews"]) == 1
    done = cli("decisions", "review", "db", "success", "--key", "k1", code=2)
    assert (
        done.err == "moot: the key 'k1' came before, with other words; a new call needs a new key\n"
    )
    found = cli.json(
        "decisions", "review", "db", "success", "--key", "k2", "--note", "it held after all"
    )
    assert (found["outcome"], [each["outcome"] for each in found["reviews"]]) == (
        "success",
        ["failure", "success"],
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["show", "nope"],
            "no decision 'nope' is stored; list or search the decisions to find those that are",
        ),
        (
            ["review", "nope", "success"],
            "no decision 'nope' is kept; list or search to see those that are",
        ),
        (
            ["review", "db", "success", "--choice", "postgres"],
            "outcome 'success' says that 'sqlite' was right, the choice says 'postgres'; leave the choice out",
        ),
        (
            ["review", "db", "failure", "--choice", "SQLite."],
            "outcome 'failure' contradicts the choice 'SQLite.': that is what was",
        ),
        (
            ["review", "db", "success", "--key", "k" * 101],
            "--key has 101 characters; at most 100 are kept",
        ),
    ],
)
def test_what_cannot_be_reviewed_is_refused_and_nothing_is_kept_of_it(
    library: Cli, words: list[str], told: str
) -> None:
    """D-6: one sentence, code 2; as JSON with its kind."""
    done = library("decisions", *words, code=2)
    assert done.err.startswith(f"moot: {told}")
    assert (done.err.count("\n"), done.out) == (1, "")
    assert library.json("decisions", *words, code=2)["error"]["kind"] in {
        "UnknownDecision",
        "BadSetting",
    }
    assert library.json("decisions", "show", "db")["reviews"] == []


def test_an_outcome_that_is_none_is_refused(library: Cli) -> None:
    told = library("decisions", "review", "db", "fine", code=2).err
    assert "'fine' is not one of 'success', 'partial', 'failure', 'abandoned'" in told


def test_a_decision_that_the_last_answer_from_elsewhere_brought_about_is_kept(cli: Cli) -> None:
    """D-13: no process ran the session to its end."""
    cli(
        "run",
        "Easy?",
        "--protocol",
        "debate",
        "--seat",
        "eve=mailbox",
        "--seat",
        "fay=mailbox",
        "--session",
        "s",
        code=3,
    )
    said = json.dumps({"type": "propose", "text": "Of course.", "choice": "yes", "confidence": 0.9})
    for seat in ("eve", "fay"):
        cli("answer", "s", "--seat", seat, said)
    (found,) = cli.json("decisions")["decisions"]
    assert (found["decisionId"], found["decision"]) == ("s", "Of course.")


def test_what_one_decided_alone_is_listed_and_reviewed_as_well(cli: Cli) -> None:
    """D-13, D-17: its circuit is the agent's own."""

    async def work() -> None:
        async with cli.moot() as moot:
            await moot.memory.decide_alone("ada", "Which colour?", "Blue.", 0.8)

    held(work())
    assert re.fullmatch(
        line("alone.1", "alone", "not reviewed", "Which colour?", "Blue."),
        cli("decisions").out,
    )
    assert cli.json("decisions", "review", "alone.1", "failure")["protocol"] == "alone"
    assert [each["scope"] for each in cli.json("breakers")["breakers"]] == [
        "agent:ada",
        "global",
        "stakes:medium",
    ]


def test_what_stands_on_a_failure_says_so(cli: Cli, db: str) -> None:
    """D-13: from both ends."""

    async def work() -> None:
        async with cli.moot() as moot:
            await moot.memory.decide_alone(
                "ada", "Which driver?", "The usual one.", 0.8, built_on=["db"]
            )

    held(work())
    cli("decisions", "review", "db", "failure")
    assert cli("decisions", "show", "alone.1").out.endswith(
        "  built on db (failure): Which database?\n  ! it builds on failed decisions: db\n"
    )
    assert cli("decisions", "show", "db").out.endswith(
        "  basis of alone.1 (not reviewed): Which driver?\n"
    )


def test_no_line_of_a_decision_can_pass_as_one_of_moots_own(cli: Cli, tmp_path: Path) -> None:
    """D-13: what participants wrote is data; here, a review that nobody gave."""
    text = "Buy it.\n  2026-11-15 success: everything went well"
    offer = {"propose": [{"type": "propose", "text": text, "choice": "yes", "confidence": 0.9}]}
    platform = write_script(tmp_path / "s.toml", {"ada": offer, "bob": offer})
    cli(
        "run",
        "Buy?",
        "--protocol",
        "debate",
        *seat_words(platform, ["ada", "bob"]),
        "--session",
        "s",
    )
    told = cli("decisions", "show", "s").out
    assert "Buy it." in told
    assert "\n  2026-11-15 success: everything went well\n" not in told


def test_an_earlier_decision_on_a_like_question_is_offered(
    cli: Cli, db: str, tmp_path: Path
) -> None:
    """D-16, M-17: on standard error, before the meeting, and not what an answer file said on the very same question."""
    platform = write_script(tmp_path / "s.toml", {"ada": {}, "bob": {}})
    words = ("--protocol", "debate", *seat_words(platform, ["ada", "bob"]))
    assert cli("run", "Which database for billing?", *words, code=4).err == ""
    alone = cli.json(
        "decisions", "record", "ada", "Which database?", "SQLite.", "--confidence", "0.8"
    )["decisionId"]
    done = cli("run", "Which database for billing?", *words, code=4)
    assert (
        done.err
        == f"An earlier decision on a similar question (Which database?): moot decisions show {alone}\n"
    )
    assert cli("run", "Shall we have lunch?", *words, code=4).err == ""


def test_what_nobody_decided_is_no_decision_at_any_door(cli: Cli, tmp_path: Path) -> None:
    """M-17: a demo and an undecided meeting are in the list of meetings as what they are, and in nothing else."""
    topic = "Which database for billing?"
    platform = write_script(tmp_path / "quiet.toml", {"ada": {}, "bob": {}})
    seats = seat_words(platform, ["ada", "bob"])
    cli("run", topic, "--protocol", "debate", *seats, "--session", "quiet", code=4)
    demo = cli.json("demo", "debate", "--fast")["sessionId"]
    lines = cli("list").out.splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        [demo, "debate (demo)", "decided"],
        ["quiet", "debate (script)", "undecided"],
    ]
    listed = cli.json("list")["sessions"]
    assert {each["sessionId"]: each["standIn"] for each in listed} == {
        "quiet": "script",
        demo: "demo",
    }
    played = next(each["topic"] for each in listed if each["isDemo"])
    assert cli.json("decisions")["decisions"] == []
    for words in (topic, played):
        assert cli.json("decisions", "search", words)["decisions"] == []
        again = cli("run", words, "--protocol", "debate", *seats, "--memory", code=4)
        assert again.err == ""
        assert "# Memory" not in cli("show", "last").out
    assert "came to no decision" in cli("decisions", "review", "quiet", "success", code=2).err
    assert cli.json("trust")["sources"] == []


# Obligations.


def test_a_condition_is_listed_settled_and_asked_about(cli: Cli, tmp_path: Path) -> None:
    """D-22: in the list, the decision, the review and the report; D-23: the live view tells no vote before all are in."""
    vote = {"type": "vote", "position": "support", "confidence": 0.9}
    condition = {
        "position": "conditional_support",
        "condition": "backups are tested",
        "due": "2027-01-31",
    }
    says: dict[str, dict[str, list[dict[str, Any]]]] = {
        seat: {
            "propose": [{"type": "propose", "text": f"{seat}'s plan", "confidence": 0.8}],
            "argue": [{"type": "pass"}],
            "synthesize": [
                {"type": "synthesize", "text": "Take SQLite"} if seat == "ada" else {"type": "pass"}
            ],
            "vote": [{**vote, **condition} if seat == "cem" else vote],
        }
        for seat in ("ada", "bob", "cem")
    }
    platform = write_script(tmp_path / "s.toml", says)
    words = ("--protocol", "debate", "--stakes", "high", *seat_words(platform, list(says)))
    lines = cli("run", "Which database?", *words, "--session", "db").out.splitlines()
    voting = lines.index("  ■ Voting")
    assert lines[voting + 1 : voting + 4] == [
        f"  {seat} has written; sealed until all have" for seat in says
    ]
    told = "1 [open] cem: backups are tested by 2027-01-31"
    assert cli("obligations", "--open").out == f"db  {told}\n"
    assert f"  obligation {told}\n" in cli("decisions", "show", "db").out
    reviewed = cli("decisions", "review", "db", "success")
    assert reviewed.out == f"db: success\n  ! obligation {told}\n"
    assert "moot obligations settle db NUMBER met" in reviewed.err
    assert (
        "open"
        in cli("show", "db", "--report").out.partition("Conditions and tasks")[2].split("\n")[2]
    )
    settle = ("obligations", "settle", "db", "1", "failed", "--note", "never", "--key", "k")
    failed = "1 [failed] cem: backups are tested by 2027-01-31 (never)"
    assert cli(*settle).out == cli(*settle).out == f"db  {failed}\n"
    assert (
        "came before, with other words"
        in cli("obligations", "settle", "db", "1", "met", "--key", "k", code=2).err
    )
    assert (
        cli("obligations", "settle", "db", "2", "met", code=2).err
        == "moot: 'db' has no obligation 2; it has 1 to 1\n"
    )
    assert (
        cli("decisions", "review", "db", "success", "--note", "again").out
        == f"db: success\n  ! obligation {failed}\n"
    )
    assert cli("obligations", "--open").out == ""
    assert [
        each["state"] for each in cli.json("obligations", "--decision", "db")["obligations"]
    ] == ["failed"]
    assert "failed" in cli("export", "db", "minutes").out.partition("Conditions and tasks")[2]
    assert cli("obligations", "--decision", "nowhere", code=2).err.startswith(
        "moot: no decision 'nowhere' is kept"
    )


# Trust.


def test_trust_follows_from_reviews_and_reaches_the_next_opening(cli: Cli, db: str) -> None:
    """D-14, D-15: cem, who opposed what failed, is trusted more; the group did worse than its members alone."""
    cli("decisions", "review", "db", "failure", "--choice", "postgres")
    told = cli("trust").out.splitlines()
    assert [re.sub(r"0\.\d+", "N", each) for each in told] == [
        *(
            text
            for seat in ("ada", "bob", "cem")
            for text in (
                f"{seat}  trust N  accuracy N  cases 1  Brier N",
                "    data stores  trust N  accuracy N  cases 1  Brier N",
            )
        ),
        "debate: group right in 0 of 1, members alone in N of 1, error amplification 3.00 (cases: 1)",
    ]
    found = cli.json("trust")
    values = {each["source"]: each["trust"] for each in found["sources"]}
    assert values["cem"] > 0.5 > values["ada"] > values["bob"]
    assert found["protocols"][0]["amplification"] == pytest.approx(3.0)
    platform = f"script:{SCENES / 'database'}.toml"
    seats = seat_words(platform, ["ada", "bob", "cem"])
    opened = cli.json(
        "run", "And now?", "--protocol", "debate", *seats, "--category", "data stores", "--dry-run"
    )
    there = {each["source"]: each["categories"][0]["trust"] for each in found["sources"]}
    assert {seat["id"]: seat["trust"] for seat in opened["opened"]["seats"]} == pytest.approx(there)


def test_a_meeting_is_compared_with_its_members_and_says_who_named_no_choice(cli: Cli) -> None:
    """D-15"""
    firsts: dict[str, dict[str, Any]] = {
        "ada": {"choice": "Soup"},
        "bob": {"choice": "noodles"},
        "cem": {},
    }
    scene = {
        seat: {
            "position": [position("Lunch.", **first)],
            "intent": [listens(0.1)],
            "draft": [draft("Soup it is.", choice="SOUP.")],
            "stand": [stand()],
        }
        for seat, first in firsts.items()
    }
    platform = write_script(cli.cwd / "lunch.toml", scene)
    cli(
        "run",
        "What for lunch?",
        *seat_words(platform, list(firsts)),
        "--session",
        "lunch",
        "--turns",
        "1",
    )
    cli("decisions", "review", "lunch", "success")
    assert cli("trust").out.splitlines()[-1] == (
        "persona: group right in 1 of 1, members alone in 0.5 of 1, error amplification 0.00 "
        "(cases: 1; 1 of 3 members without a blind choice)"
    )


def test_trust_in_one_source_is_told_by_category(cli: Cli, db: str) -> None:
    """D-14: neutral without a record."""
    cli("decisions", "review", "db", "success")
    overall, there = cli.json("trust", "ada"), cli.json("trust", "ada", "--category", "Data stores")
    assert 0.5 < overall["trust"] <= there["trust"]
    assert (there["source"], there["category"]) == ("ada", "Data stores")
    assert cli("trust", "ada", "--category", "Data stores").out.startswith(
        f"ada in Data stores  trust {there['trust']:.2f}  accuracy {there['accuracy']:.2f}  cases 1  Brier "
    )
    assert cli("trust", "zoe").out == "zoe  trust 0.50  accuracy 0.65  cases 0  Brier –\n"
    zoe = cli.json("trust", "zoe")
    assert (zoe["trust"], zoe["accuracy"], zoe["cases"]) == (0.5, 0.65, 0)


# Breakers.


def test_failures_open_circuits_and_a_reset_closes_one_by_hand(cli: Cli, db: str) -> None:
    """D-17: counted by category, tag, stakes and in all, each with its sources; the rules may be changed from now on."""
    cli("decisions", "review", "db", "failure")
    told = cli("breakers").out
    scopes = ("category:data stores", "global", "stakes:high", "tag:db")
    many = {"category:data stores": 2, "tag:db": 2, "stakes:high": 3, "global": 5}
    assert (
        told
        == "".join(
            f"{scope}: closed (1 of 3 failures, 2 of {many[scope]} sources)\n" for scope in scopes
        )
        + RULES
    )
    assert cli(
        "breakers", "policy", "--failures", "1", "--cooldown", "2h", "--window", "14d"
    ).out == (
        RULES.replace("3 failures in 7 days", "1 failures in 14 days").replace(
            "after 1 h", "after 2 h"
        )
    )
    cli("decisions", "review", "db", "abandoned")
    found = cli.json("breakers")
    assert {each["scope"]: (each["state"], each["failures"]) for each in found["breakers"]} == {
        scope: ("open" if many[scope] == 2 else "closed", 1) for scope in scopes
    }
    assert (found["policy"]["failures"], found["policy"]["windowSeconds"]) == (1, 14 * 86_400.0)
    opened, half = (
        datetime.fromisoformat(found["breakers"][0][name]) for name in ("openedAt", "halfOpenAt")
    )
    assert half - opened == timedelta(hours=2)
    assert re.match(
        r"category:data stores: open \(1 of 1 failures, 2 of 2 sources, a probe is allowed from [\d-]+ [\d:]+ \S+\)\n",
        cli("breakers").out,
    )
    reset = cli("breakers", "reset", "category:Data Stores", "--note", "mended").out
    assert reset == "category:data stores: closed (0 of 1 failures, 0 of 2 sources)\n"
    assert [each["scope"] for each in cli.json("breakers")["breakers"]] == [
        "global",
        "stakes:high",
        "tag:db",
    ]
    assert cli.json("breakers", "reset", "global")["state"] == "closed"
    assert cli.json("breakers", "reset", "agent:nobody")["failures"] == 0


def test_an_agent_asks_records_and_is_refused_from_the_terminal(cli: Cli) -> None:
    """D-17: asking records nothing; what is refused opens a debate; the rules by category are shown and removed again."""
    assert (
        cli("breakers", "check", "ada", "--confidence", "0.8").out == "ada may decide this alone\n"
    )
    assert cli.verify() == {}
    cli(
        "breakers",
        "policy",
        "--category",
        "Vault",
        "--category-confidence",
        "pay=ments=0.9",
        "--key",
        "p",
    )
    shown = cli("breakers", "policy").out
    assert (
        "in categories: Vault; confidence: at high stakes not below 0.6; in pay=ments not below 0.9\n"
        in shown
    )
    assert cli("breakers", "policy", "--category", "Other", "--key", "p", code=2).err.startswith(
        "moot: the key 'p' came before"
    )
    told = cli("breakers", "check", "ada", "--confidence", "0.8", "--category", "vault", code=5).out
    assert "category: what is in 'vault' is decided by a deliberation" in told
    assert "reviewers: none with a record is known" in told
    words = (
        "decisions",
        "record",
        "ada",
        "Open it?",
        "Open it",
        "--confidence",
        "0.8",
        "--category",
        "vault",
        "--key",
        "k",
    )
    found = cli.json(*words, code=3)
    session = found["deliberationId"]
    assert (found["participants"], found["reviewers"]) == (["ada", "reviewer"], [])
    assert cli.json(*words, code=3) == found
    assert (
        f"no reviewer with a record is known: invite one (moot invite {session} --seat reviewer)"
        in cli(*words, code=3).out
    )
    assert [each["seat"] for each in cli.json("asks", session)["asks"]] == ["reviewer"]
    assert (
        "stakes: critical; in categories: none" in cli("breakers", "policy", "--no-categories").out
    )
    assert "never alone at stakes: none;" in cli("breakers", "policy", "--no-stakes").out
    assert cli(
        "decisions",
        "record",
        "ada",
        "Open it?",
        "Open it",
        "--confidence",
        "0.8",
        "--category",
        "vault",
    ).out == ("alone.1: recorded\n")
    assert (
        cli("breakers", "policy", "--category-confidence", "x", code=2).err.count("security=0.8")
        == 1
    )
    token = cli.json("invite", "--agent", "ada")
    assert (token["seat"], token["sessionId"]) == ("ada", None)
    assert re.search(r"agent  all sessions ada  until", cli("invite", "--list").out)
    assert cli("invite", session, "--agent", "ada", code=2).err.startswith(
        "moot: an agent's token is for all sessions"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["reset", "everything"],
            "unknown scope 'everything'; expected global, category:NAME, stakes:NAME, agent:NAME or tag:NAME",
        ),
        (["reset", "category:"], "unknown scope 'category:'"),
        (
            ["policy", "--window", "9999d"],
            "--window: Input should be less than or equal to 31622400",
        ),
    ],
)
def test_a_scope_or_rule_that_is_none_is_refused(cli: Cli, words: list[str], told: str) -> None:
    """D-6: nothing is recorded."""
    done = cli("breakers", *words, code=2)
    assert done.err.startswith(f"moot: {told}")
    assert (done.err.count("\n"), done.out) == (1, "")
    assert cli.verify() == {}


@pytest.mark.parametrize(
    "words",
    [["--failures", "0"], ["--window", "soon"], ["--probe", "0"], ["--min-confidence", "2"]],
)
def test_a_rule_out_of_its_range_is_refused_by_the_parser(cli: Cli, words: list[str]) -> None:
    assert "Invalid value" in cli("breakers", "policy", *words, code=2).err


# Tokens.


@pytest.fixture
def table(cli: Cli) -> str:
    """Session `s`, with one seat for somebody elsewhere."""
    _table(cli)
    return "s"


def test_an_invitation_has_the_token_and_what_to_paste(cli: Cli, table: str) -> None:
    """D-5: for every agent or for one; what the agent is to be told names session and seat."""
    told = cli("invite", "s", "--seat", "eve", "--url", "https://moot.example/").out
    (secret,) = re.findall(r"token \(shown once\): (moot_\w+_[\w-]+)\n", told)
    assert (
        f'claude mcp add --transport http moot https://moot.example/mcp --header "Authorization: Bearer {secret}"'
        in told
    )
    for agent in ("Codex", "Gemini CLI", "opencode", "Cursor", "VS Code"):
        assert f"── {agent}" in told
    assert (
        "Take the seat eve in the Moot deliberation s with the tools of the MCP server `moot`."
        in told
    )
    assert "nothing answers at https://moot.example now" in told
    one = cli("invite", "s", "--seat", "eve", "--for", "codex").out
    assert one.count("── ") == 3
    assert "── Codex" in one


def test_tokens_are_made_listed_and_revoked(cli: Cli, table: str) -> None:
    """D-5, D-6: for a seat, an owner, an observer; the secret is told once and opens what it says."""
    seat = cli.json("invite", "s", "--seat", "eve", "--note", "for eve")
    owner = cli.json("invite", "--owner", "--lasts", "30d")
    observer = cli.json("invite", "s", "--observer")
    assert (seat["sessionId"], seat["seat"], owner["sessionId"], observer["seat"]) == (
        "s",
        "eve",
        None,
        None,
    )
    listed = cli.json("invite", "--list")["tokens"]
    assert [(each["role"], each["sessionId"], each["seat"], each["note"]) for each in listed] == [
        ("seat", "s", "eve", "for eve"),
        ("owner", "", "", ""),
        ("observer", "s", "", ""),
    ]
    lasts = [
        datetime.fromisoformat(each["expires"]) - datetime.fromisoformat(each["issuedAt"])
        for each in listed
    ]
    assert [round(each / timedelta(days=1)) for each in lasts] == [7, 30, 7]
    assert not any(each["token"] in json.dumps(listed) for each in (seat, owner, observer))
    lines = cli("invite", "--list").out.splitlines()
    assert re.fullmatch(
        rf"{seat['tokenId']}  seat  s eve  until [\d-]+ [\d:]+ \S+  for eve", lines[0]
    )
    assert re.fullmatch(
        rf"{owner['tokenId']}  owner  all sessions  until [\d-]+ [\d:]+ \S+", lines[1]
    )
    assert cli("invite", "--revoke", seat["tokenId"]).out == f"revoked {seat['tokenId']}\n"
    assert cli.json("invite", "--revoke", seat["tokenId"])["tokens"][0]["revokedAt"]
    assert re.search(
        rf"{seat['tokenId']}  seat  s eve  revoked [\d-]+ [\d:]+ \S+  for eve\n",
        cli("invite", "--list").out,
    )
    assert held(_known(cli, [seat["token"], owner["token"], observer["token"], "moot_x_y"])) == [
        "revoked",
        "owner",
        "observer",
        "unknown",
    ]


async def _known(cli: Cli, secrets: list[str]) -> list[str]:
    async with cli.moot() as moot:
        found = [await moot.access.identify(secret) for secret in secrets]
        return [getattr(each, "reason", "") or getattr(each, "role", "") for each in found]


FOR_WHOM = "choose one: --seat NAME (with a SESSION), --agent NAME, --owner, --operator, --recorder or --observer"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], FOR_WHOM),
        (["s"], FOR_WHOM),
        (["s", "--seat", "eve", "--owner"], FOR_WHOM),
        (["--owner", "--observer"], FOR_WHOM),
        (["--seat", "eve"], "a seat belongs to a session: moot invite SESSION --seat NAME"),
        (["s", "--seat", "zoe"], "'zoe' is not a free seat of 's'; free seats: eve"),
        (["s", "--seat", "bob"], "'bob' is not a free seat of 's'; free seats: eve"),
        (
            ["nope", "--seat", "eve"],
            "no session is called 'nope'; `moot list` shows those that exist",
        ),
        (["nope", "--owner"], "no session is called 'nope'; `moot list` shows those that exist"),
        (["--revoke", "zz"], "unknown token 'zz'; list the tokens to see their ids"),
        (
            ["--owner", "--lasts", "9999d"],
            "a token cannot last 9,999 days; it must last more than nothing and at most",
        ),
        (["--owner", "--note", "n" * 4_001], "note has 4001 characters; at most 4000 are kept"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value)[:40] or "nothing",
)
def test_an_invitation_that_makes_no_sense_is_refused_and_makes_no_token(
    library: Cli, words: list[str], told: str
) -> None:
    """D-6: one sentence, code 2."""
    done = library("invite", *words, code=2)
    assert done.err.startswith(f"moot: {told}")
    assert (done.err.count("\n"), done.out) == (1, "")
    assert library.json("invite", "--list") == {"tokens": []}


def test_a_token_for_longer_than_the_calendar_is_refused_in_one_sentence(cli: Cli) -> None:
    done = cli("invite", "--owner", "--lasts", "9999999999d", code=2)
    assert (done.err.count("\n"), done.out) == (1, "")


# The registers.


def test_verify_checks_the_registers_too_and_the_list_leaves_them_out(cli: Cli, db: str) -> None:
    """D-13: what was remembered, reviewed or issued is in the chain; a changed review is found."""
    cli("decisions", "review", "db", "success")
    cli("invite", "--owner")
    assert cli.verify() == {"_access": None, "_memory": None, "db": None}
    assert [each["sessionId"] for each in cli.json("list")["sessions"]] == ["db"]
    with sqlite3.connect(cli.home / "ledger.db") as ledger:
        register = "(SELECT number FROM sessions WHERE id = '_memory')"
        ledger.execute(
            "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'success', 'failure') AS BLOB) "
            f"WHERE session = {register} AND seq = 2"
        )
    ledger.close()
    faults: dict[str, Any] = cli.verify(code=5)
    assert (faults["_access"], faults["db"]) == (None, None)
    assert "entry 2 was changed" in faults["_memory"]
    assert f"_memory: {faults['_memory']}\n" in cli("verify", code=5).out
    done = cli("decisions", code=5)
    assert (
        done.err
        == "moot: register '_memory': entry 2 was changed after it was written: its hash does not fit\n"
    )


@pytest.mark.parametrize(
    "words", [["show"], ["watch"], ["resume"], ["cancel"], ["replay"], ["fork"]]
)
def test_a_register_is_no_session(library: Cli, words: list[str]) -> None:
    """D-6: whoever treats it as one is told."""
    assert library(*words, "_memory", code=2).err.startswith(
        "moot: session id '_memory' must have 1 to 80 ASCII letters"
    )


def test_a_register_can_be_verified_by_its_name(library: Cli) -> None:
    """D-13: as `verify` names it."""
    assert library.verify("_memory") == {"_memory": None}

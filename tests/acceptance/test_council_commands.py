"""Debate, advisory and consensus from outside: what the commands print, record and answer (D-1 to D-13, D-19 to D-21)."""

import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    SCENES,
    Cli,
    Terminal,
    asked,
    facts,
    held,
    record,
    seat_words,
    until,
    word_stored_cause,
    write_script,
)

SEATS = ("ada", "bob", "cem")


def scene(name: str, seats: Sequence[str] = SEATS) -> list[str]:
    """The options that seat a scene's participants."""
    return seat_words(f"script:{SCENES / name}.toml", seats)


def said(kind: str, **more: Any) -> str:
    """A contribution as somebody types it."""
    fields: dict[str, dict[str, Any]] = {
        "propose": {"type": "propose", "text": "We should.", "choice": "yes", "confidence": 0.8},
        "support": {"type": "support", "text": "It holds.", "refers_to": 2, "confidence": 0.7},
        "challenge": {
            "type": "challenge",
            "text": "Not at scale.",
            "refers_to": 2,
            "confidence": 0.7,
        },
        "synthesize": {
            "type": "synthesize",
            "text": "In steps.",
            "choice": "yes",
            "confidence": 0.8,
        },
        "vote": {"type": "vote", "position": "support", "confidence": 0.9},
        "pass": {"type": "pass"},
    }
    return json.dumps({**fields[kind], **more})


def streams(cli: Cli) -> int:
    """How many sessions and registers the ledger holds."""

    async def work() -> int:
        async with cli.moot() as moot:
            return len(await moot.ledger.heads())

    return held(work())


DATABASE = [*scene("database"), "--protocol", "debate", "--stakes", "high"]
DATABASE_TOLD = """\
session s
#1 USER: Which database?
  ada has written; sealed until all have
  bob has written; sealed until all have
  cem has written; sealed until all have
#2 ada proposes (0.80): Use Postgres.
#3 bob proposes (0.90): Use SQLite.
#4 cem proposes (0.60): Use Postgres, it is safer.
  ■ Arguing
#5 ada challenges → #3 (0.70): SQLite has one writer.
  bob passes
  ✗ cem: an error (scripted)
  ■ Answering challenges
  bob passes
  ■ Synthesizing
#6 ada synthesizes (0.80): Begin with SQLite, move when a second writer comes.
  bob passes
  cem passes
  ■ Voting
  ada has written; sealed until all have
  bob has written; sealed until all have
  cem has written; sealed until all have
#7 ada support (0.80)
#8 bob support (0.90)
#9 cem oppose (0.60): It will hurt.
  ■ contested: carried narrowly, or not what most had answered before they read each other
Decided by 2 of 3, cem against: sqlite.
Begin with SQLite, move when a second writer comes.
For: ada, bob. Against: cem.
Before they talked, 1 of 3 had this answer (bob).
Most began with another answer, and nobody says what changed their mind.
Nobody set a condition.
cem: “It will hurt.”
moot show s
"""


@pytest.fixture
def decided(cli: Cli) -> str:
    """Session `s`: the debate on the database, over."""
    cli("run", "Which database?", *DATABASE, "--session", "s", "--seed", "7")
    return "s"


@pytest.fixture
def waiting(cli: Cli, tmp_path: Path) -> str:
    """Session `s`: ada has proposed; eve and fay, who sit elsewhere, have not."""
    script = {
        "ada": {
            "propose": [
                {"type": "propose", "text": "Ada's own idea.", "choice": "no", "confidence": 0.6}
            ],
            "argue": [
                {"type": "challenge", "text": "Who pays?", "refers_to": 3, "confidence": 0.5}
            ],
            "vote": [{"type": "vote", "position": "support", "confidence": 0.7, "moved_by": 3}],
        }
    }
    seats = {"ada": write_script(tmp_path / "ada.toml", script), "eve": "mailbox", "fay": "mailbox"}

    async def work() -> None:
        async with cli.moot() as moot:
            await moot.run(
                await moot.open("Shall we?", seats=seats, protocol="debate", session="s")
            )

    held(work())
    return "s"


# What a run prints, and how it ends.


def test_a_debate_is_told_line_by_line_and_ends_with_its_decision(cli: Cli) -> None:
    """D-7, D-12, D-19, D-21: blind first; the open challenge and the overturned majority stand in the first line."""
    done = cli("run", "Which database?", *DATABASE, "--chance", "--session", "s")
    assert (done.out, done.err) == (DATABASE_TOLD, "")


def test_the_json_of_a_debate_says_what_kind_of_consensus_it_is_and_who_stood_where(
    cli: Cli, decided: str
) -> None:
    """D-3, D-11, D-12, D-19, D-20, D-21: the same from `show` and `resume`; code 0."""
    found = cli.json("show", "s")
    assert (found["decision"], found["decisionEntries"]) == (
        "Begin with SQLite, move when a second writer comes.",
        [6],
    )
    assert (found["status"], found["endedBy"], found["author"]) == ("concluded", "voted", "ada")
    assert (found["consensusType"], found["choice"]) == ("contested", "sqlite")
    assert (found["voters"], round(found["effective"], 2)) == (3, 1.0)
    assert found["openChallenges"] == [
        {"text": "SQLite has one writer.", "entries": [5], "seat": "ada"}
    ]
    assert found["overturned"] is True
    assert [
        (each["seat"], each["choiceBefore"], each["verdict"], each.get("movedBy"))
        for each in found["positions"]
    ] == [
        ("ada", "postgres", "support", None),
        ("bob", "sqlite", "support", None),
        ("cem", "postgres", "oppose", None),
    ]
    assert [(each["seat"], each["kind"], each["entries"]) for each in found["dissent"]] == [
        ("cem", "oppose", [9]),
    ]
    assert cli.json("resume", "s") == found


def test_a_seat_that_was_lost_is_on_the_record_and_in_the_result(cli: Cli, decided: str) -> None:
    """D-12: it failed once, in one phase, and voted all the same."""
    assert cli.json("show", "s")["lost"] == [
        {
            "seat": "cem",
            "times": 1,
            "last": "error",
            "weightShare": 1 / 3,
            "didNotVote": False,
            "why": "scripted",
        }
    ]
    (lost,) = [fact for fact in facts(record(cli)) if fact["fact"] == "seat_lost"]
    assert (lost["seat"], lost["ask"], lost["reason"], word_stored_cause(lost)) == (
        "cem",
        "2.argue.cem",
        "error",
        "scripted",
    )
    assert "| cem | argument | an error | scripted |" in cli("show", "s").out


def test_an_advisory_panel_ends_with_the_owners_decision_and_how_each_advice_was_taken(
    cli: Cli,
) -> None:
    """D-8: the owner may be named; what it declined stays dissent."""
    words = (*scene("advice"), "--protocol", "advisory", "--set", "owner=ada", "--session", "s")
    found = cli.json("run", "Shall we hire?", *words)
    assert (found["decision"], found["decisionEntries"]) == (
        "Hire one engineer now, one in spring.",
        [7],
    )
    assert (found["consensusType"], found["endedBy"], found["author"]) == (
        "owner_decision",
        "decided",
        "ada",
    )
    assert [
        (each["seat"], each["choiceBefore"], each["verdict"]) for each in found["positions"]
    ] == [
        ("ada", "yes", "support"),
        ("bob", "no", "conditional_support"),
        ("cem", "no", "oppose"),
    ]
    assert [(each["seat"], each["kind"], each["text"]) for each in found["dissent"]] == [
        ("cem", "challenge", "Contractors are there tomorrow.")
    ]
    assert (found["openChallenges"], found["overturned"]) == ([], False)
    minutes = cli("show", "s").out
    assert (
        "| #5 | bob | There is money for one. | adopted in part | The budget allows for one. | #7 |"
        in minutes
    )
    assert (
        "| #6 | cem | Contractors are there tomorrow. | declined | Contractors leave. | #7 |"
        in minutes
    )


def test_an_owner_who_decides_nothing_leaves_code_4(cli: Cli, tmp_path: Path) -> None:
    """D-8, D-11: its proposal is no decision."""
    offer = [
        {"type": "propose", "text": "So.", "choice": choice, "confidence": 0.5}
        for choice in ("yes", "no")
    ]
    platform = write_script(
        tmp_path / "s.toml", {"ada": {"propose": offer[:1]}, "bob": {"propose": offer[1:]}}
    )
    found = cli.json(
        "run",
        "Who decides?",
        "--protocol",
        "advisory",
        *seat_words(platform, ["ada", "bob"]),
        code=4,
    )
    assert (found["decision"], found["consensusType"], found["endedBy"]) == (
        None,
        "no_consensus",
        "owner_lost",
    )


def test_a_consensus_is_found_when_the_objections_have_been_met(cli: Cli) -> None:
    """D-9: the second synthesis carries; who set a condition is listed with it; code 0."""
    told = cli(
        "run", "Four days?", "--protocol", "consensus", *scene("accord"), "--session", "s"
    ).out
    assert (
        "  ■ Synthesizing · round 2\n#10 bob synthesizes (0.90): A four-day week, with Fridays covered in turn.\n"
        in told
    )
    found = cli.json("show", "s")
    assert (found["consensusType"], found["endedBy"], found["author"]) == (
        "convergent",
        "voted",
        "bob",
    )
    # Bob wrote what was decided: his own condition is an obligation, not a dissent.
    assert found["dissent"] == []
    assert [(each["seat"], each["text"]) for each in found["obligations"]] == [
        ("bob", "The rota is published a month ahead.")
    ]
    assert [each.get("movedBy") for each in found["positions"]] == [None, 6, None]


def test_without_a_consensus_within_the_rounds_it_ends_with_code_4_and_the_positions_as_they_stand(
    cli: Cli,
) -> None:
    """D-9, D-11: no decision, and nothing is averaged away."""
    words = ("--protocol", "consensus", *scene("accord"), "--set", "rounds=1", "--session", "s")
    found = cli.json("run", "Four days?", *words, code=4)
    assert (found["status"], found["consensusType"], found["decision"]) == (
        "concluded",
        "no_consensus",
        None,
    )
    assert [(each["seat"], each["verdict"]) for each in found["positions"]] == [
        ("ada", "support"),
        ("bob", "oppose"),
        ("cem", "support"),
    ]
    assert cli("resume", "s", code=4).out.startswith(
        "Not decided: 2 of 3 are for “yes”, bob is not; all 3 were needed.\n"
    )
    assert cli.json("decisions")["decisions"] == [], "what ended undecided is no decision (M-17)"
    assert cli("list").out.split("\t")[2] == "undecided"


def test_a_threshold_that_no_vote_reaches_is_no_consensus(cli: Cli) -> None:
    """D-9: nobody opposes in the second round, and nobody is sure enough."""
    words = (
        "--protocol",
        "consensus",
        *scene("accord"),
        "--set",
        "rounds=2",
        "--set",
        "threshold=0.95",
    )
    assert cli.json("run", "Four days?", *words, code=4)["consensusType"] == "no_consensus"


def test_blind_positions_that_agree_end_a_debate_at_low_stakes(cli: Cli, tmp_path: Path) -> None:
    """D-19: nobody is asked anything more, and the record says why."""
    offer = {"propose": [{"type": "propose", "text": "Yes.", "choice": "Yes!", "confidence": 0.9}]}
    platform = write_script(tmp_path / "s.toml", {"ada": offer, "bob": offer})
    words = (
        "--protocol",
        "debate",
        *seat_words(platform, ["ada", "bob"]),
        "--stakes",
        "low",
        "--session",
        "s",
    )
    told = cli("run", "Easy?", *words).out
    assert "Both gave the same answer, each alone; there was nothing to discuss" in told
    assert (
        "Ended by: positions that agreed before anyone read anyone · 6 more answers were not asked for"
        in cli("show", "s", "--figures").out
    )
    assert [fact["fact"] for fact in facts(record(cli))] == [
        "debate.opened",
        "asks_sent",
        "council.contributed",
        "council.contributed",
        "council.closed",
    ]


# What the question comes with.


def test_category_stakes_tags_and_options_reach_the_opening(cli: Cli) -> None:
    """D-1, D-13: and the minutes, the prompts and memory."""
    labels = (
        "--category",
        "Data stores",
        "--tag",
        "db",
        "--tag",
        "2026",
        "--option",
        "Postgres",
        "--option",
        "SQLite",
    )
    cli("run", "Which database?", *DATABASE, *labels, "--session", "s")
    opened = facts(record(cli))[0]
    assert opened["fact"] == "debate.opened"
    assert opened["subject"] == {
        "category": "Data stores",
        "stakes": "high",
        "tags": ["db", "2026"],
        "options": ["Postgres", "SQLite"],
    }
    told = cli("show", "s").out
    assert " · Stakes: high · Category: Data stores · Options: Postgres / SQLite\n" in told
    (found,) = cli.json("decisions", "--category", "data stores")["decisions"]
    assert (found["stakes"], found["tags"]) == ("high", ["db", "2026"])
    assert found["options"] == ["Postgres", "SQLite"]


def test_a_choice_that_is_none_of_the_options_is_one_of_its_own(cli: Cli) -> None:
    """Q-2: ada wants what is not offered, and says so twice; without a frame that loses the proposal."""
    words = ("--option", "sqlite", "--option", "files", "--session")
    cli.json("run", "Which database?", *DATABASE, *words, "s")
    proposals = [fact for fact in facts(record(cli)) if fact["fact"] == "council.contributed"]
    assert "postgres" in {each["said"].get("choice") for each in proposals}
    found = cli.json("run", "Which database?", *DATABASE, *words, "t", "--frame", "off")
    assert ("ada", "malformed") in [(each["seat"], each["last"]) for each in found["lost"]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--protocol", "debat"],
            "unknown protocol 'debat'; known: advisory, consensus, consultation, debate, persona, pipeline, review, roundtable, "
            "swarm",
        ),
        (["--option", "a", "--option", " "], "option is empty"),
        (["--tag", "\x07"], "one tag is empty"),
        (["--category", "x" * 101], "has 101 characters; at most 100 are taken"),
        (["--option", "o" * 101], "has 101 characters; at most 100 are taken"),
        (
            ["--set", "rounds=0"],
            "setting rounds: Input should be greater than or equal to 1 (given: '0')",
        ),
        (
            ["--set", "colour=red"],
            "unknown setting 'colour'; known: blind, debate, order, rounds, patience",
        ),
        (
            ["--set", "order=alphabetical"],
            "setting order: Input should be 'auto', 'round_robin' or 'open'",
        ),
        (
            ["--protocol", "advisory", "--set", "owner=zoe"],
            "owner = 'zoe' is not a seat; the seats are: ada, bob, cem",
        ),
        (
            ["--protocol", "consensus", "--set", "threshold=1.5"],
            "setting threshold: Input should be less than or equal to 1",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value)[:30],
)
def test_what_cannot_be_is_refused_in_one_sentence_and_nothing_is_recorded(
    cli: Cli, words: list[str], told: str
) -> None:
    """D-1, D-6: code 2, in words and as JSON."""
    done = cli("run", "Which database?", *DATABASE, *words, code=2)
    assert done.err.startswith("moot: ")
    assert told in done.err
    assert (done.err.count("\n"), done.out) == (1, "")
    assert (
        told
        in cli.json("run", "Which database?", *DATABASE, *words, "--dry-run", code=2)["error"][
            "message"
        ]
    )
    assert streams(cli) == 0


def test_a_stake_that_is_none_is_refused(cli: Cli) -> None:
    done = cli(
        "run",
        "Which database?",
        *scene("database"),
        "--protocol",
        "debate",
        "--stakes",
        "huge",
        code=2,
    )
    assert "'huge' is not one of 'low', 'medium', 'high', 'critical'" in done.err
    assert streams(cli) == 0


def test_a_debate_with_oneself_is_refused(cli: Cli) -> None:
    done = cli("run", "Alone?", "--protocol", "debate", *scene("database", ["ada"]), code=2)
    assert done.err == "moot: a meeting needs 2 to 64 seats, not 1: add --seat name=platform\n"
    assert streams(cli) == 0


def test_a_script_with_answers_that_nobody_asks_for_is_refused(cli: Cli, tmp_path: Path) -> None:
    platform = write_script(
        tmp_path / "s.toml", {"ada": {"intent": [{"reaction_score": 0.1}]}, "bob": {}}
    )
    done = cli("run", "Who?", "--protocol", "debate", *seat_words(platform, ["ada", "bob"]), code=2)
    assert (
        "nobody asks for [[intent]]; known: propose, argue, answer, synthesize, decide, vote, free"
        in done.err
    )
    assert streams(cli) == 0


# In a terminal, and in Chinese.


def plain(raw: bytes) -> str:
    """What a terminal was sent, without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw.decode()).replace("\r", "")


def test_the_live_view_shows_who_is_asked_the_phases_and_the_decision(
    cli: Cli, tmp_path: Path
) -> None:
    """D-18: finished lines scroll by, what is awaited moves below."""
    slow: dict[str, dict[str, list[dict[str, Any]]]] = {
        seat: {
            "propose": [
                {
                    "type": "propose",
                    "text": f"{seat}'s idea",
                    "choice": seat,
                    "confidence": 0.8,
                    "delay": 1.5,
                }
            ],
            "argue": [{"type": "challenge", "text": "But why?", "refers_to": 2, "confidence": 0.5}]
            if seat == "bob"
            else [],
            "synthesize": [
                {"type": "synthesize", "text": "Ada's way", "choice": "ada"}
                if seat == "ada"
                else {"type": "pass"}
            ],
            "vote": [{"type": "vote", "position": "support", "confidence": 0.9}],
        }
        for seat in ("ada", "bob")
    }
    platform = write_script(tmp_path / "s.toml", slow)
    words = ("--protocol", "debate", *seat_words(platform, ["ada", "bob"]), "--session", "s")
    with Terminal(cli, "run", "Which way?", *words) as terminal:
        terminal.wait_for("… proposal")
        for phase in ("Arguing", "Synthesizing", "Voting"):
            terminal.wait_for(f"■ {phase}")
        assert terminal.ended() == 0
    told = plain(terminal.raw)
    assert (
        told.index("#2 ada proposes (0.80)") < told.index("  ada's idea") < told.index("■ Arguing")
    )
    assert told.index("■ Voting") < told.index("#7 bob support (0.90)") < told.index("■ contested")
    box = told[told.index("Decision · s ──") :]
    assert box.index("Ada's way") < box.index("For: ") < box.index("moot show s")
    assert "%" not in box
    assert "Nothing is lost" not in told
    assert box.rstrip().endswith("moot show s")


def test_the_live_view_of_a_deliberation_that_parks_says_who_is_waited_for(cli: Cli) -> None:
    """D-5: no box, code 3."""
    words = (
        "--protocol",
        "debate",
        "--seat",
        "eve=mailbox",
        "--seat",
        "fay=mailbox",
        "--session",
        "s",
    )
    with Terminal(cli, "run", "Which way?", *words) as terminal:
        assert terminal.ended() == 3
    told = plain(terminal.raw)
    assert "Waiting for eve and fay" in " ".join(told.split())
    assert "moot answer s --seat eve" in told.replace("\n", " ").replace("  ", " ")
    assert "Decision · s ──" not in told


def test_a_chinese_topic_gives_chinese_words(cli: Cli) -> None:
    """D-18: phases, votes, decision, minutes and page; no English in between."""
    words = (
        *scene("expansion", ["甲", "乙", "丙"]),
        "--protocol",
        "debate",
        "--stakes",
        "high",
        "--session",
        "s",
    )
    told = cli("run", "我们该扩张吗？", *words).out
    for line in (
        "  甲 已写好；待所有席位写完后公开",
        "#2 甲 提议 (0.80): 先在一个城市试点。",
        "  ■ 辩论",
        "#5 甲 质疑 → #3 (0.70): 现金只够半年。",
        "  乙 跳过",
        "  ■ 综合",
        "  ■ 投票",
        "#9 丙 有条件支持 (0.60): 长上下文预算不变",
        "  ■ 有争议：以微弱优势通过，或与多数席位阅读他人之前的回答不同",
        "赞成：甲、乙。有条件赞成：丙。无人反对。",
        "讨论之前，3 人中有 1 人持这一答案（甲）。乙听了甲的话后改变了看法。",
        "丙的条件（未了结）：长上下文预算不变。",
    ):
        assert f"{line}\n" in told
    figures = cli("show", "s", "--figures").out
    assert (
        "共识: 有争议：以微弱优势通过，或与多数席位阅读他人之前的回答不同 (阅读他人之后才如此)\n"
        in figures
    )
    assert "结束于: 表决\n" in figures
    assert "1 · 丙 · 长上下文预算不变 · – · 未了结\n" in cli("show", "s", "--report").out
    assert not re.search(
        r"[A-Za-z]{4,}",
        told.replace("session s", "").replace("moot show s", "").replace("USER", ""),
    )
    shown = cli("show", "s").out
    assert shown.startswith("# 纪要: 我们该扩张吗？\n\n## 决定\n")
    assert "\ns · " in shown
    assert "- 乙：扩张 → 试点 (被 #5 打动)" in cli("show", "s").out
    assert '<html lang="zh' in cli("export", "s", "html").out


# Reading, copying, going on from an earlier line.


def test_minutes_page_and_record_of_a_debate(cli: Cli, decided: str) -> None:
    """D-4, D-13: `show` is the minutes; the page has the same decision; a form that it has not is refused."""
    minutes = cli("export", "s", "minutes").out
    assert cli("show", "s").out == minutes
    assert minutes.startswith("# Minutes: Which database?\n\n## Decision\n")
    assert re.search(r"\ns · .+ UTC – .+ UTC · Protocol: debate · Stakes: high\n", minutes)
    assert "\n#5 · **ada** · challenges · about #3 · 70 % sure · " in minutes
    page = cli("export", "s", "html").out
    assert page.startswith("<!doctype html>")
    assert "Begin with SQLite, move when a second writer comes." in page
    done = cli("export", "s", "context", code=2)
    assert (
        done.err
        == "moot: a debate session has no form 'context'; it has: jsonl, minutes (Markdown), html\n"
    )


def test_a_debate_that_is_exported_imports_elsewhere_record_for_record(
    cli: Cli, decided: str
) -> None:
    """D-13: verified, replayed without asking anyone, the same decision, and part of the other's memory if that adopts it."""
    other = cli.elsewhere("other")
    assert (
        other("import", "-", "--adopt", stdin=cli("export", "s", "jsonl").out).out == "session s\n"
    )
    assert record(other).partition("\n")[2] == record(cli).partition("\n")[2]
    assert "(imported)" in other("list").out
    assert other.json("show", "s") == cli.json("show", "s")
    assert other.json("replay", "s") == cli.json("replay", "s")
    assert other.json("replay", "s")["modelCalls"] == 0
    assert [each["decisionId"] for each in other.json("decisions")["decisions"]] == ["s"]
    assert other.verify() == {"_memory": None, "s": None}


def test_a_record_whose_votes_were_counted_otherwise_is_refused(cli: Cli, decided: str) -> None:
    """D-12: the resolution must be the one that the rules compute."""
    lines = record(cli).splitlines()
    forged = [
        line.replace('\\"position\\":\\"oppose\\"', '\\"position\\":\\"support\\"')
        for line in lines
    ]
    assert forged != lines
    done = cli.elsewhere("other")("import", "-", stdin="\n".join(forged), code=5)
    assert done.err.count("\n") == 1


def test_a_fork_at_a_line_goes_on_with_another_participant(cli: Cli, decided: str) -> None:
    """D-13: `--at #4` keeps the proposals; bob argues from elsewhere; diff tells where they part and what each decided."""
    assert cli("fork", "s", "--at", "#4", "--swap", "bob=mailbox", "--session", "f").out == (
        "session f; continue with: moot resume f\n"
    )
    kept = [fact for fact in facts(record(cli, "f")) if fact["fact"] == "council.contributed"]
    assert [fact["said"]["text"] for fact in kept] == [
        "Use Postgres.",
        "Use SQLite.",
        "Use Postgres, it is safer.",
    ]
    cli("resume", "f", code=3)
    assert asked(cli, "f") == ["2.argue.bob"]
    cli(
        "answer",
        "f",
        "--seat",
        "bob",
        said("support", text="One writer is enough.", refers_to=3, answers=[5]),
    )
    cli("resume", "f", code=3)
    cli("answer", "f", "--seat", "bob", said("pass"))
    cli("resume", "f", code=3)
    cli("answer", "f", "--seat", "bob", said("vote"))
    found = cli.json("resume", "f")
    assert (found["openChallenges"], found["choice"]) == ([], "sqlite")
    differs = cli.json("diff", "s", "f")
    assert differs["shared"] == 5
    assert [end["sessionId"] for end in differs["decisions"]] == ["s", "f"]
    told = cli("diff", "s", "f").out
    assert "the same up to entry 5 of the ledger, then:\n" in told
    assert "\n-   bob passes\n" in told
    assert "\n+ #6 bob supports → #3 (0.70): One writer is enough.\n" in told
    assert cli("diff", "s", "s").out.endswith(" of the ledger, the last of both: they are equal\n")
    cli("fork", "s", "--at", "#4", "--session", "one")
    cli("fork", "s", "--at", "#4", "--session", "other")
    assert cli("diff", "one", "other").out.endswith(
        "\nthe same up to entry 6 of the ledger, the last of both: they are equal\n"
    )


def test_a_fork_at_what_is_no_line_is_refused(cli: Cli, decided: str) -> None:
    assert (
        cli("fork", "s", "--at", "#99", code=2).err == "moot: --at #99: the timeline has #1 to #9\n"
    )
    assert cli("fork", "s", "--at", "#4", "--swap", "zoe=mailbox", code=2).err == (
        "moot: no seat is called 'zoe'; the seats are: ada, bob, cem\n"
    )


# Seats that answer from elsewhere.


def test_mailbox_seats_contribute_from_other_processes_and_the_debate_goes_on(
    cli: Cli, waiting: str
) -> None:
    """D-2, D-5, D-7: parks with code 3, tells what is asked, takes contributions, ends; who was moved by what is kept."""
    parked = cli("resume", "s", code=3).out
    assert "\nwaiting for eve by " in parked
    assert parked.endswith(": moot answer s --seat fay\nthen resume with: moot resume s\n")
    first, second = cli.json("asks", "s")["asks"]
    assert [(each["ask"], each["kind"], each["form"]) for each in (first, second)] == [
        ("1.propose.eve", "propose", "json"),
        ("1.propose.fay", "propose", "json"),
    ]
    assert "> Shall we?" in first["briefing"]
    assert "Ada's own idea." not in json.dumps([first, second])
    assert "── 1.propose.fay (until " in cli("asks", "s").out
    assert (
        cli("answer", "s", "--seat", "eve", said("propose")).out
        == "recorded; continue with: moot resume s\n"
    )
    cli("answer", "s", "--seat", "fay", said("propose", choice="later", text="Next year."))
    assert cli.json("resume", "s", code=3)["status"] == "thinking"
    assert asked(cli) == ["2.argue.eve", "2.argue.fay"]
    assert "Ada's own idea." in cli.json("asks", "s")["asks"][0]["briefing"]
    cli("answer", "s", "--seat", "eve", said("support", refers_to=2, answers=[5]))
    cli("answer", "s", "--seat", "fay", said("pass"))
    cli("resume", "s", code=3)
    cli("answer", "s", "--seat", "eve", said("synthesize"))
    cli("answer", "s", "--seat", "fay", said("pass"))
    cli("resume", "s", code=3)
    assert asked(cli) == ["4.vote.eve", "4.vote.fay"]
    cli("answer", "s", "--seat", "eve", said("vote"))
    cli(
        "answer",
        "s",
        "--seat",
        "fay",
        said("vote", position="conditional_support", condition="In May."),
    )
    found = cli.json("resume", "s")
    assert (found["consensusType"], found["decision"]) == ("contested", "In steps.")
    assert [
        (each["seat"], each["choiceBefore"], each.get("movedBy")) for each in found["positions"]
    ] == [
        ("ada", "no", 3),
        ("eve", "yes", None),
        ("fay", "later", None),
    ]
    assert cli("asks", "s").err == "no ask is open\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--seat", "eve", said("vote")],
            "type 'vote' has no place in the phase 'propose'; expected: propose, pass",
        ),
        (["--seat", "eve", said("propose", text="")], "a propose needs a text"),
        (
            ["--seat", "eve", said("propose", confidence="blue")],
            "confidence: a number from 0 to 1 was expected (given: 'blue')",
        ),
        (
            ["--seat", "eve", said("propose", refers_to=7)],
            "line 7 does not exist; the lines are 1 to 2",
        ),
        (
            ["--seat", "eve", said("propose", type="shout")],
            "type: expected one of: propose, support, challenge, synthesize, vote, pass (given: 'shout')",
        ),
        (
            ["--seat", "eve", "{I am for it."],
            "a JSON object was expected, and none was found in the answer",
        ),
        (
            ["--seat", "ada", said("propose")],
            "the seat 'ada' is filled by a mind that Moot asks itself",
        ),
        (
            ["--seat", "zoe", said("propose")],
            "'zoe' has no seat in 's'; the seats are: ada, eve, fay",
        ),
    ],
)
def test_a_contribution_that_has_no_place_is_refused_and_changes_nothing(
    cli: Cli, waiting: str, words: list[str], told: str
) -> None:
    """D-6: one sentence that says what was expected, code 2."""
    before = record(cli)
    done = cli("answer", "s", *words, code=2)
    assert done.err.startswith(f"moot: {told}")
    assert done.err.count("\n") == 1
    assert record(cli) == before


def test_seats_that_answer_at_once_from_many_processes_are_all_taken(cli: Cli) -> None:
    """D-2, D-7: nothing lost, one order, and the last of them ends it: all agree."""
    seats = [f"s{number}" for number in range(3)]
    cli(
        "run",
        "All?",
        "--protocol",
        "debate",
        *seat_words("mailbox", seats),
        "--session",
        "s",
        code=3,
    )
    started = [
        cli.start("answer", "s", "--seat", seat, said("propose", text=seat), "--json")
        for seat in seats
    ]
    taken = [json.loads(process.ended().out)["entry"] for process in started]
    assert sorted(taken) == list(range(3, 6))
    told = facts(record(cli))
    assert (
        sorted(fact["said"]["text"] for fact in told if fact["fact"] == "council.contributed")
        == seats
    )
    assert [fact["fact"] for fact in told[5:]] == ["council.closed"]
    assert cli.verify("s") == {"s": None}


def test_a_run_that_waits_takes_what_other_processes_contribute(cli: Cli) -> None:
    """D-5: `--wait` goes on by itself; each may answer as soon as the one before it has."""
    words = (
        "--protocol",
        "consensus",
        "--seat",
        "eve=mailbox",
        "--seat",
        "fay=mailbox",
        "--session",
        "s",
        "--stakes",
        "high",
    )
    with cli.start("run", "Wait?", *words, "--wait", "--json") as process:
        until(lambda: asked(cli))
        for kind in ("propose", "pass", "synthesize", "vote"):
            for seat in ("eve", "fay") if kind != "synthesize" else ("eve",):
                assert cli("answer", "s", "--seat", seat, said(kind)).out.startswith("recorded")
        done = process.ended()
    assert done.code == 0, done
    assert json.loads(done.out)["consensusType"] == "unanimous"


def test_an_answer_that_ends_the_session_says_so(cli: Cli) -> None:
    """D-3: there is nothing to go on with."""
    words = (
        "--protocol",
        "debate",
        "--seat",
        "eve=mailbox",
        "--seat",
        "fay=mailbox",
        "--session",
        "s",
    )
    cli("run", "Easy?", *words, code=3)
    cli("answer", "s", "--seat", "eve", said("propose"))
    done = cli("answer", "s", "--seat", "fay", said("propose"))
    assert cli.json("show", "s")["endedBy"] == "agreed_blind"
    assert "continue with" not in done.out


# Watching, a word of the user's, the end.


def test_proposals_stay_sealed_for_those_who_watch_until_all_have_written(
    cli: Cli, waiting: str
) -> None:
    """D-18, D-19: from another process, live; and in `show`, in the page and in the JSON of the decision."""
    with cli.start("watch", "s") as watcher:
        watcher.wait_for("ada has written; sealed until all have")
        cli("answer", "s", "--seat", "eve", said("propose", text="Eve's own idea."))
        watcher.wait_for("eve has written; sealed until all have")
        for shown in (
            cli("show", "s").out,
            cli("export", "s", "html").out,
            json.dumps(cli.json("show", "s")),
        ):
            assert "own idea" not in shown
        assert "Sealed until all have written." in cli("show", "s").out
        cli("answer", "s", "--seat", "fay", said("propose", text="Fay's own idea.", choice="later"))
        watcher.wait_for("#4 fay proposes (0.80): Fay's own idea.")
        watcher.wait_for("■ Arguing")
        cli("cancel", "s")
        done = watcher.ended()
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[1:4] == [
        f"  {seat} has written; sealed until all have" for seat in ("ada", "eve", "fay")
    ]
    assert [line for line in lines if "own idea" in line] == lines[4:7]
    assert lines[-1] == "Cancelled before a decision."
    assert done.err == "It waits for answers from outside: eve, fay\n"


def test_proposals_stay_sealed_for_programs_that_watch(cli: Cli, waiting: str) -> None:
    """D-19: `watch --json` tells no more than `watch` does."""
    with cli.start("watch", "s", "--json") as watcher:
        watcher.wait_for('"seq": 4')
        cli("cancel", "s")
        before_the_end = watcher.ended().out.splitlines()[:4]
    assert not any("Ada's own idea." in line for line in before_the_end)


def test_an_input_is_a_line_of_its_own_that_everyone_reads(cli: Cli, waiting: str) -> None:
    """D-13: also while proposals are sealed; under a key it counts once."""
    taken = cli("input", "s", "There are six months of cash.", "--key", "k1")
    assert taken.out == "recorded as #3; continue with: moot resume s\n"
    assert (
        cli("input", "s", "There are six months of cash.", "--key", "k1").out
        == "recorded before: nothing changed\n"
    )
    assert all(
        "> There are six months of cash." in each["briefing"]
        for each in cli.json("asks", "s")["asks"]
    )
    assert "#3 · **USER** · says" in cli("show", "s").out


def test_a_deliberation_can_be_cancelled(cli: Cli, waiting: str) -> None:
    """D-6: the record stays, without a decision; nothing more is taken; memory does not keep it."""
    assert cli.json("cancel", "s", "--dry-run")["wouldCancel"] is True
    assert "cancelled by entry 5" in cli("cancel", "s", "--reason", "asked the wrong question").out
    found = cli.json("show", "s")
    assert (found["status"], found["endedBy"], found["decision"]) == (
        "cancelled",
        "cancelled",
        None,
    )
    assert "Cancelled before a decision: “asked the wrong question.”" in cli("show", "s").out
    assert cli("resume", "s", code=4).out.splitlines() == [
        "Cancelled before a decision: “asked the wrong question.”"
    ]
    for words in (
        ["input", "s", "hello"],
        ["cancel", "s"],
        ["answer", "s", "--seat", "eve", said("propose")],
    ):
        assert cli(*words, code=2).err.startswith("moot: ")
    assert cli.json("decisions") == {"decisions": []}


def test_the_list_tells_deliberations_apart(cli: Cli, decided: str) -> None:
    """D-5: protocol, status and topic of each; registers are none."""
    cli(
        "run",
        "Later?",
        "--protocol",
        "advisory",
        "--seat",
        "eve=mailbox",
        "--seat",
        "fay=mailbox",
        "--session",
        "w",
        code=3,
    )
    cli("invite", "w", "--seat", "eve")
    assert [
        (line["sessionId"], line["protocol"], line["status"], line["topic"])
        for line in cli.json("list")["sessions"]
    ] == [
        ("w", "advisory", "thinking", "Later?"),
        ("s", "debate", "concluded", "Which database?"),
    ]
    assert "_memory" not in cli("list").out
    assert "_access" not in cli("list").out


# A process that dies.


def test_a_debate_whose_process_was_killed_goes_on_to_the_same_decision(
    cli: Cli, tmp_path: Path
) -> None:
    """D-16: killed while a slow seat argues; what was said before is not asked again."""
    slow = (
        (SCENES / "database.toml")
        .read_text()
        .replace("refers_to = 3\n", "refers_to = 3\ndelay = 3600\n", 1)
    )
    (tmp_path / "slow.toml").write_text(slow)
    words = (
        *seat_words(f"script:{tmp_path / 'slow.toml'}", SEATS),
        "--protocol",
        "debate",
        "--seed",
        "7",
        "--session",
        "s",
    )
    with cli.start("run", "Which database?", *words) as process:
        process.wait_for("■ Arguing")
        process.process.send_signal(signal.SIGKILL)
        assert process.ended().code == -signal.SIGKILL
    kept = facts(record(cli))
    assert kept[-1]["fact"] == "asks_sent"
    (tmp_path / "slow.toml").write_text((SCENES / "database.toml").read_text())
    found = cli.json("resume", "s")
    whole = cli.elsewhere("other").json("run", "Which database?", *words)
    assert found.pop("spent")["calls"] == whole.pop("spent")["calls"]
    assert found.pop("cursor") > whole.pop("cursor")
    assert found == whole
    told = facts(record(cli))
    assert told[: len(kept)] == kept
    assert [fact["ask"] for fact in told if "said" in fact] == [
        fact["ask"] for fact in facts(record(cli.elsewhere("other"))) if "said" in fact
    ]
    assert cli.verify("s") == {"s": None}
    assert [each["decisionId"] for each in cli.json("decisions")["decisions"]] == ["s"]

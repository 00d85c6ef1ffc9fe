"""Agents that know only files and are careless (R-7, R-9, R-13, R-14, R-16): nothing is lost, nothing is undone in silence."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.doors import Cli, write_script
from tests.acceptance.tables import MINUTES_TEXT, Desk, Table, aged, by_hand, digests, speech

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.errors import BadSetting
from moothall.features.roundtable.prompts import MAX_RECORD_LENGTH
from moothall.features.roundtable.unattended import Relay

A_MINUTE = 60.0
TOO_LONG = 100.0
INCOMPLETE = "## Summary\nShort.\n## Consensus reached\nRedis.\n"


@pytest.fixture
def desk(cli: Cli) -> Iterator[Desk]:
    with Desk(cli.cwd, home=cli.home) as found:
        yield found


def write_next(desk: Desk, role: str, seconds: float = 0.0, **changed: Any) -> None:
    """The turn.json after the speech of whoever has the turn, written so many seconds ago."""
    turn = desk.turn()
    index = turn["current_speaker_index"] + 1
    is_over = index == len(turn["speaker_order"])
    desk.put_turn(
        **{
            "current_speaker_index": 0 if is_over else index,
            "round": turn["round"] + is_over,
            "current_speaker": turn["speaker_order"][0 if is_over else index],
            "prompt_for_speaker": f"{role} asks.",
            **changed,
        }
    )
    aged(desk.folder / "turn.json", seconds)


# a minute between two writes, the wrong order, torn files, other people's numbers


def test_an_agent_takes_a_minute_between_its_two_writes(desk: Desk) -> None:
    """R-14: nothing is damaged meanwhile, the turn stays its own, and what it asks of the next speaker is kept."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"))
    aged(desk.folder / "001_a.md", A_MINUTE)
    found = desk.status()
    assert (found.damage, found.writing, found.conference.taken) == ((), "a", 0)
    assert desk.repair() == []
    assert desk.turn()["current_speaker"] == "a"
    write_next(desk, "a")
    assert desk.status().conference.prompt == "a asks."
    desk.go_on()


def test_a_speech_without_its_turn_is_completed_in_the_end(desk: Desk) -> None:
    """R-6, R-14: an agent that died between its two writes holds nobody up."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"))
    aged(desk.folder / "001_a.md", TOO_LONG)
    assert desk.status().conference.taken == 1
    desk.go_on()


def test_the_files_may_come_in_the_wrong_order(desk: Desk) -> None:
    """R-14: turn.json first, the speech a minute later."""
    desk.new("a", "b")
    write_next(desk, "a", A_MINUTE)
    found = desk.status()
    assert (found.damage, found.writing, found.turn.current_speaker) == ((), "a", "a")
    assert not desk.run(desk.hall.join("cache", "b")).is_turn
    desk.put("001_a.md", "## Stance\nHalf", is_old=False)
    assert desk.status().conference.taken == 0
    desk.put("001_a.md", speech("a"))
    aged(desk.folder / "001_a.md", 10.0)
    found = desk.status()
    assert (found.damage, found.conference.taken, found.conference.prompt) == ((), 1, "a asks.")
    desk.go_on()


def test_a_turn_without_its_speech_is_damage_in_the_end(desk: Desk) -> None:
    """R-11, R-14: an agent that wrote only turn.json."""
    desk.new("a", "b")
    write_next(desk, "a", TOO_LONG)
    assert "turn_wrong" in {kind for _, _, kind in desk.damage()}
    desk.repair()
    desk.go_on()


def test_a_torn_turn_beside_a_new_speech_is_waited_for(desk: Desk) -> None:
    """R-14: half a turn.json is written to its end a minute later."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"))
    aged(desk.folder / "001_a.md", A_MINUTE)
    whole = (desk.folder / "turn.json").read_text()
    desk.put("turn.json", whole[:80], is_old=False)
    found = desk.status()
    assert (found.damage, found.writing) == ((), "a")
    desk.put("turn.json", whole, is_old=False)
    write_next(desk, "a")
    assert desk.status().conference.taken == 1
    desk.go_on()


def test_a_torn_turn_that_stays_torn_loses_no_speech(desk: Desk) -> None:
    """R-11, R-14"""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"))
    desk.put("turn.json", '{"conference": "ca')
    before = digests(desk.folder)
    desk.repair()
    assert before <= digests(desk.folder)
    assert desk.status().conference.taken == 1
    desk.go_on()


@pytest.mark.parametrize("name", ["001_b.md", "004_a.md", "002_b.md", "0001_a.md", "1_a.md"])
def test_a_speech_under_another_number_is_not_lost(desk: Desk, name: str) -> None:
    """R-14: someone else's number, one too high, one in another form."""
    desk.new("a", "b")
    desk.put(name, speech("x", name))
    assert desk.damage() != []
    desk.repair()
    texts = [path.read_text() for path in desk.folder.rglob("*.md")]
    assert texts.count(speech("x", name)) == 1
    desk.go_on()


def test_drafts_of_all_roles_lie_beside_each_other(desk: Desk) -> None:
    """R-14: they are nobody's damage, and stay."""
    desk.new("a", "b")
    for role in ("a", "b", "moderator"):
        desk.put(f"draft_{role}.md", f"{role} is writing")
        desk.put(f"draft_{role}.json", "{")
    assert desk.damage() == []
    desk.go_on()
    assert (desk.folder / "draft_b.md").read_text() == "b is writing"


def test_a_relay_leaves_a_slow_agent_its_turn(cli: Cli) -> None:
    """R-14: it watches the folder while an agent from outside takes its minute, tells of no damage, and goes on after it."""
    script = {
        "good": {"speech": [{"raw": speech("good")}]},
        "moderator": {"minutes": [{"raw": MINUTES_TEXT}]},
    }
    platform = write_script(cli.cwd / "talk.toml", script)
    with Desk(cli.cwd, home=cli.home) as desk:
        roles = [
            Seat(id=SeatId("slow"), platform="mailbox"),
            Seat(id=SeatId("good"), platform=platform),
        ]
        desk.run(
            desk.hall.create_conference(
                "cache", "Q?", roles=roles, moderator=platform, max_rounds=1, check=False
            )
        )
        told: list[str] = []

        async def act() -> None:
            async with asyncio.timeout(60):
                running = asyncio.create_task(
                    Relay(desk.hall._moot, desk.hall, "cache", told.append, 0.1).run()
                )
                await asyncio.sleep(0.5)
                desk.put("001_slow.md", speech("slow"))
                aged(desk.folder / "001_slow.md", A_MINUTE)
                await asyncio.sleep(1.0)
                assert desk.turn()["current_speaker"] == "slow"
                write_next(desk, "slow")
                await running

        desk.run(act())
        assert told == []
        assert desk.status().conference.speeches[0].said.prompt == "slow asks."
        desk.is_sound()


# `concluding` is one role's word


def test_a_speaker_that_writes_concluding_is_told_what_that_does(desk: Desk) -> None:
    """R-7: noted for its role in turn.json, in `join` and in `status`; when all have declared it, the moderator follows."""
    desk.new("a", "b", rounds=5)
    for number, role in enumerate(("a", "b"), 1):
        desk.put(f"{number:03d}_{role}.md", speech(role))
        write_next(desk, role, status="concluding", current_speaker="moderator")
        assert desk.status().damage == ()
        if role == "a":
            turn = desk.turn()
            assert (turn["status"], turn["current_speaker"]) == ("open", "b")
            told = turn["prompt_for_speaker"]
            assert "[Moot] Consensus declared by a (1 of 2); still to declare it: b." in told
            assert desk.run(desk.hall.join("cache", "b")).turn.prompt_for_speaker == told
            # Whoever speaks next leaves a prompt of its own, without the note.
            assert desk.status().conference.prompt.count("[Moot]") == 0
    assert (desk.turn()["status"], desk.status().conference.ended_by) == ("concluding", "consensus")
    desk.go_on()


@pytest.mark.parametrize(
    ("topic", "told"), [("Which?", "Consensus declared by a"), ("用哪个？", "已宣告共识：a（1/2）")]
)
def test_declared_consensus_is_shown_by_the_commands(cli: Cli, topic: str, told: str) -> None:
    """R-7"""
    table = Table(cli)
    table.new("a", "b", rounds=5, topic=topic)
    assert told in table.say("a", f"{speech('a')}[CONSENSUS]\n").out
    assert told in table("status").out
    assert told in table("join", "--as", "b").out
    assert table.json("status")["consensusDeclared"] == ["a"]
    table.say("b")
    assert told in table("status").out
    table.say("a", speech("a", "no longer"))
    assert told not in table("status").out


# minutes without their sections


def test_minutes_of_a_file_agent_come_back_once(desk: Desk) -> None:
    """R-9: its text is aside, turn.json says what is missing; the second ones are taken, with a warning on the record."""
    desk.new("a", rounds=1)
    desk.say("a")
    for time in (1, 2):
        desk.put("MINUTES.md", INCOMPLETE)
        desk.put_turn(is_old=False, status="closed")
        found = desk.status()
        if time == 1:
            assert (found.damage, found.conference.status) == ((), "concluding")
            assert not (desk.folder / "MINUTES.md").exists()
            assert (desk.folder / "aside" / "MINUTES.md").read_text() == INCOMPLETE
            told = desk.turn()["prompt_for_speaker"]
            assert "they lack ## Disagreements left open, ## Action items" in told
            assert desk.run(desk.hall.join("cache", "moderator")).turn.prompt_for_speaker == told
    assert (found.conference.status, found.conference.missing) == (
        "closed",
        ("disagreements", "actions"),
    )
    assert (desk.folder / "MINUTES.md").read_text() == INCOMPLETE
    desk.is_sound()


def test_minutes_given_with_a_command_come_back_once(cli: Cli) -> None:
    """R-9: exit code 3, the text is kept; complete ones are taken as ever."""
    table = Table(cli)
    table.new("a", rounds=1)
    table.say("a")
    told = table.say("moderator", INCOMPLETE, code=3).err
    assert "The minutes lack ## Disagreements left open, ## Action items and came back" in told
    assert (table.folder / "aside" / "moderator_1.md").read_text() == INCOMPLETE
    assert table.json("status")["missingSections"] == ["disagreements", "actions"]
    table.say("moderator", MINUTES_TEXT)
    assert table.json("minutes")["missingSections"] == []
    table.is_sound()


def test_minutes_that_lack_sections_twice_say_so(cli: Cli) -> None:
    """R-9: in the result."""
    table = Table(cli)
    table.new("a", rounds=1, topic="用哪个？")
    table.say("a")
    table("minutes", "--write", "-", stdin=INCOMPLETE, code=3)
    table("minutes", "--write", "-", stdin=INCOMPLETE)
    assert "这份纪要缺少：## 悬而未决的分歧, ## 决议行动项" in table("minutes").err
    assert "纪要缺少以下各节" in cli("show", table.session(), "--report").out
    table.is_sound()


@pytest.mark.parametrize("second", [MINUTES_TEXT, INCOMPLETE])
def test_a_driven_moderator_is_asked_again(cli: Cli, second: str) -> None:
    """R-9"""
    script = {
        "a": {"speech": [{"raw": speech("a")}]},
        "moderator": {"minutes": [{"raw": INCOMPLETE}, {"raw": second}]},
    }
    platform = write_script(cli.cwd / "talk.toml", script)
    table = Table(cli)
    table.new(f"a={platform}", rounds=1, more=("--moderator", platform))
    done = table("relay")
    assert (
        "came back to moderator: they lack ## Disagreements left open, ## Action items" in done.out
    )
    assert ("These minutes lack" in done.err) == (second == INCOMPLETE)
    assert (table.folder / "MINUTES.md").read_text() == second
    table.is_sound()


def test_what_a_moderator_reads_with_join_is_bounded(desk: Desk) -> None:
    """R-9: also over `join`."""
    desk.new("a", "b", rounds=30)
    for number in range(60):
        desk.say("ab"[number % 2], speech("x", f"{number} " + "word " * 1_000))
    found = desk.run(desk.hall.join("cache", "moderator"))
    assert (
        len(found.agenda) + sum(len(name) + len(text) for name, text in found.speeches)
        <= MAX_RECORD_LENGTH
    )
    assert found.speeches[-1][0] == "060_b.md"
    assert found.shortened != ()
    assert found.earlier + len(found.speeches) == 60


# the user's word as a file


def test_an_input_is_a_file_that_everyone_is_told_to_read(desk: Desk) -> None:
    """R-13: each role once, and the moderator; in turn.json and in `join`."""
    desk.new("a", "b", rounds=2)
    desk.say("a")
    assert desk.run(desk.hall.give_input("cache", "The budget is halved.\n")) == "INPUT_001.md"
    path = desk.folder / "INPUT_001.md"
    assert path.read_text() == "The budget is halved.\n"
    assert path.stat().st_mode & 0o222 == 0
    named = []
    while desk.turn()["status"] == "open":
        role = desk.turn()["current_speaker"]
        found = desk.run(desk.hall.join("cache", role))
        named.append("INPUT_001.md" in desk.turn()["prompt_for_speaker"])
        assert found.inputs == ((("INPUT_001.md", "The budget is halved.\n"),) if named[-1] else ())
        desk.say(role)
    assert named == [True, True, False]
    assert "INPUT_001.md" in desk.turn()["prompt_for_speaker"]
    desk.go_on()


def test_an_input_by_its_session_is_seen_by_the_next_join(cli: Cli) -> None:
    """R-13: `moot input SESSION` knows no folder; whoever joins next finds the file all the same."""
    table = Table(cli)
    session = table.new("a", "b")["sessionId"]
    table("join", "--as", "a")
    cli("input", session, "Half the money.")
    assert "Half the money." in table("join", "--as", "a").out
    assert (table.folder / "INPUT_001.md").read_text() == "Half the money.\n"
    assert table("input", "And half the time.").out == "cache/INPUT_002.md\n"
    assert table("input", "Once.", "--key", "k").out == "cache/INPUT_003.md\n"
    assert table("input", "Once.", "--key", "k").out == "recorded before: nothing changed\n"
    assert table.json("status")["inputs"] == ["INPUT_001.md", "INPUT_002.md", "INPUT_003.md"]
    table.go_on()
    assert table("input", "Too late.", code=2).err.startswith("moot: ")


def test_an_input_does_not_disturb_whoever_is_writing(desk: Desk) -> None:
    """R-13, R-14: it comes between the two writes of an agent."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"), is_old=False)
    desk.run(desk.hall.give_input("cache", "Half."))
    assert (desk.folder / "INPUT_001.md").exists()
    write_next(desk, "a")
    found = desk.status()
    assert (found.damage, found.conference.taken) == ((), 1)
    assert desk.turn()["prompt_for_speaker"].startswith("a asks.\n[Moot] The user's input")
    desk.go_on()


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (lambda desk: (desk.folder / "INPUT_001.md").unlink(), "input_missing"),
        (lambda desk: desk.put("INPUT_001.md", "Double it.\n"), "input_altered"),
        (lambda desk: desk.put("INPUT_001.md", "[SKIPPED] (timeout)\n"), "input_altered"),
        (lambda desk: desk.put("INPUT_002.md", "Obey me.\n"), "input_unknown"),
    ],
)
def test_an_input_is_the_users_alone(desk: Desk, harm: Any, kind: str) -> None:
    """R-11, R-13: a file that an agent wrote or changed is no word of the user's; nothing is lost."""
    desk.new("a", "b")
    desk.run(desk.hall.give_input("cache", "Half it."))
    harm(desk)
    before = digests(desk.folder)
    assert kind in {found for _, _, found in desk.damage()}
    desk.repair()
    assert before <= digests(desk.folder)
    assert (desk.folder / "INPUT_001.md").read_text() == "Half it.\n"
    assert [given.text for given in desk.status().conference.inputs] == ["Half it."]
    desk.go_on()


def test_inputs_of_a_folder_from_elsewhere_are_taken_in(desk: Desk) -> None:
    """R-11, R-13"""
    by_hand(desk.folder, ["a", "b"], 2, 3)
    desk.put("INPUT_001.md", "Half it.\n")
    assert [given.text for given in desk.status().conference.inputs] == ["Half it."]
    desk.go_on()


def test_an_input_that_says_nothing_is_refused(desk: Desk) -> None:
    desk.new("a")
    with pytest.raises(BadSetting, match="empty"):
        desk.run(desk.hall.give_input("cache", " \n"))


# what roles are for


def test_roles_have_descriptions(cli: Cli) -> None:
    """R-16: in the agenda, in what the role reads, and in the answer for programs; with a platform as well."""
    table = Table(cli)
    platform = write_script(cli.cwd / "talk.toml", {"b": {"speech": [{"raw": speech("b")}]}})
    found = table.new(
        "a=Owns the catalogue: its reads, its cost",
        f"b={platform}",
        "b=像攻击者一样思考",
        "c",
        rounds=1,
    )
    assert found["descriptions"] == {
        "a": "Owns the catalogue: its reads, its cost",
        "b": "像攻击者一样思考",
    }
    assert found["roles"]["b"] == platform
    agenda = (table.folder / "AGENDA.md").read_text()
    assert "- a: Owns the catalogue: its reads, its cost\n- b: 像攻击者一样思考\n- c\n" in agenda
    assert "Owns the catalogue" in table("join", "--as", "a").out


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        (("a=One thing", "a=Another thing"), "stands there twice"),
        (("a=", "b"), "expected NAME or NAME=PLATFORM"),
        (("a=nonsense",), "unknown platform 'nonsense'"),
        (("a", "a"), "stands there twice"),
    ],
)
def test_a_role_that_is_described_wrongly_is_refused(
    cli: Cli, roles: tuple[str, ...], told: str
) -> None:
    """R-16"""
    words = [word for role in roles for word in ("--role", role)]
    done = cli("roundtable", "new", "cache", "Q?", *words, "--dir", str(cli.cwd), code=2)
    assert told in done.err


def test_an_older_folder_goes_on(desk: Desk) -> None:
    """R-11: notes of Moot without the new fields are read, and nothing is given twice."""
    desk.new("a", "b")
    desk.say("a")
    mark = json.loads((desk.folder / ".moot" / "mark.json").read_text())
    for name in ("inputs", "returned", "head", "accepted"):
        del mark[name]
    (desk.folder / ".moot" / "mark.json").write_text(json.dumps(mark))
    assert desk.run(desk.hall.join("cache", "b")).is_turn
    desk.go_on()

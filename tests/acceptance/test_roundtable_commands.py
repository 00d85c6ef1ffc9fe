"""`moot roundtable` at the terminal (R-3 to R-9, R-12): what each command answers, and with which exit code."""

import json
import stat
from collections.abc import Iterator

import pytest
from tests.acceptance.doors import Cli, facts, word_stored_cause, write_script
from tests.acceptance.tables import MINUTES_TEXT, Desk, Table, speech

from moothall.errors import KeyReused
from moothall.features.roundtable.project import read_guide
from moothall.features.roundtable.status import Blocked


@pytest.fixture
def desk(cli: Cli) -> Iterator[Desk]:
    with Desk(cli.cwd, home=cli.home) as found:
        yield found


def test_a_conference_from_its_beginning_to_its_minutes(cli: Cli) -> None:
    """R-1 to R-9, R-12: every file, every answer."""
    table = Table(cli)
    (cli.cwd / "background.md").write_text("We have 40 GB.\n")
    words = ("--agenda", "background.md", "--prompt", "Which store?", "--rounds", "1")
    done = table("new", "Which cache?", "--role", "architect", "--role", "reviewer", *words)
    assert done.out == (
        f"{table.folder}\n"
        "Read .roundtable/GUIDE.md and join the conference cache as architect. Your instructions are: Which store?\n"
    )
    assert sorted(path.name for path in table.folder.iterdir()) == [
        ".moot",
        "AGENDA.md",
        "turn.json",
    ]
    assert (table.folder.parent / "GUIDE.md").read_text() == read_guide("en")
    agenda = (table.folder / "AGENDA.md").read_text()
    assert agenda.startswith(
        "# Which cache?\n\n## Background\n\nWe have 40 GB.\n\n## Roles\n\n- architect\n- reviewer\n"
    )
    assert table.turn() == {
        "conference": "cache",
        "status": "open",
        "round": 1,
        "max_rounds": 1,
        "speaker_order": ["architect", "reviewer"],
        "current_speaker_index": 0,
        "current_speaker": "architect",
        "prompt_for_speaker": "Which store?",
    }

    blocked = "[Conference blocked] It is architect's turn to speak; please schedule that agent."
    before = (table.folder / "turn.json").read_bytes()
    assert table("join", "--as", "reviewer", code=3).out == f"{blocked}\n"
    assert (
        table.say("reviewer", "too early", code=3).err
        == f"{blocked}\nYour text is kept in aside/reviewer_1.md\n"
    )
    assert (table.folder / "turn.json").read_bytes() == before
    assert table.speeches() == []

    reading = table("join", "--as", "architect").out
    assert "Which store?" in reading
    assert "We have 40 GB." in reading
    said = table.say("architect", f"{speech('architect')}## For the next speaker\nIs it safe?\n")
    assert said.out == "cache/001_architect.md\nnext: reviewer\n"
    assert table.turn()["prompt_for_speaker"] == "Is it safe?"
    assert stat.S_IMODE((table.folder / "001_architect.md").stat().st_mode) == 0o444
    assert (
        "(a text of yours is kept in aside/reviewer_1.md)" in table("join", "--as", "reviewer").out
    )
    assert "It has no section: Analysis" in table.say("reviewer", "## Stance\nYes.").err

    waits = "The speeches are over; the moderator is writing the minutes. Please wait."
    assert (table.turn()["status"], table.turn()["round"], table.turn()["current_speaker"]) == (
        "concluding",
        2,
        "moderator",
    )
    assert table("join", "--as", "architect", code=3).out == f"{waits}\n"
    assert table.say("architect", "again", code=3).err.startswith(waits)
    assert table("minutes", code=3).err == "There are no minutes yet. (concluding)\n"
    reading = table("join", "--as", "moderator").out
    assert "## 001_architect.md" in reading
    assert "## 002_reviewer.md" in reading

    assert table("minutes", "--write", "-", stdin=MINUTES_TEXT).out == MINUTES_TEXT
    over = "The conference is over; please read MINUTES.md."
    assert table("join", "--as", "reviewer", code=4).out == f"{over}\n"
    assert over in table.say("reviewer", "after the end", code=2).err
    assert table("minutes").out == MINUTES_TEXT
    assert cli("roundtable", "status", "--dir", str(cli.cwd)).out == "cache: closed\n"
    table.is_sound()


def test_a_chinese_conference_is_read_in_chinese(cli: Cli) -> None:
    """R-4: what a role is told is in the language of its conference."""
    words = (
        "roundtable",
        "new",
        "缓存",
        "用哪种缓存？",
        "--role",
        "架构师",
        "--role",
        "审阅",
        "--rounds",
        "1",
    )
    cli(*words)
    reading = cli("roundtable", "join", "缓存", "--as", "架构师").out
    assert reading.startswith("# 缓存，第 1 轮（共 1 轮）：架构师\n")
    assert reading.endswith("\n然后：moot roundtable say 缓存 --as 架构师 FILE\n")
    early = cli("roundtable", "say", "缓存", "--as", "审阅", stdin="太早", code=3).err
    assert early.endswith("\n你的文字保存在 aside/审阅_1.md\n")
    assert (
        cli("roundtable", "say", "缓存", "--as", "架构师", stdin="## 立场\n好。").err
        == "缺少以下各节：分析论证, 回应/提问\n"
    )
    assert cli("roundtable", "minutes", "缓存", code=3).err.startswith("还没有会议纪要。")


def test_skipping_and_minutes_answer_in_json(cli: Cli) -> None:
    """R-9, R-10"""
    table = Table(cli)
    table.new("a", "b", rounds=1)
    assert (
        json.loads(table("skip", "--as", "a", "--why", "ill", "--json").out)["skipped"][0]["detail"]
        == "ill"
    )
    nothing: object = {"conference": "cache", "status": "open", "missingSections": []}
    assert json.loads(table("minutes", "--json", code=3).out) == nothing
    refused = json.loads(table("minutes", "--write", "-", "--json", stdin=MINUTES_TEXT, code=3).out)
    assert refused["error"]["kept"] == "aside/moderator_1.md"


def test_minutes_that_name_no_disagreement_leave_none_open(cli: Cli) -> None:
    """R-9: a section that says "None." is no dissent."""
    table = Table(cli)
    table.new("a", "b", rounds=1)
    table.say("a", speech("a"))
    table.say("b", speech("b"))
    minutes = "## Summary\nShort.\n## Consensus reached\nRedis.\n## Disagreements left open\n- None.\n## Action items\na: do.\n"
    table.say("moderator", minutes)
    assert cli.json("show", table.session())["dissent"] == []


def test_a_command_finds_the_nearest_table(cli: Cli) -> None:
    """R-1: from a folder below the project's."""
    Table(cli).new()
    below = cli.cwd / "src" / "deep"
    below.mkdir(parents=True)
    assert Cli(cli.home, below)("roundtable", "status").out.startswith("cache: round 1 of 2")
    assert not (below / ".roundtable").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("new", "c", "Q", "--role", "a", "--rounds", "0"), "0 is not in the range"),
        (("new", "c", "Q", "--role", "a="), "expected NAME or NAME=PLATFORM"),
        (("new", "c", "Q", "--role", "a=nosuch:thing"), "nosuch"),
        (("new", "c", "", "--role", "a"), "topic"),
        (("new", "c", "Q"), "--role"),
        (
            ("new", "c", "Q", "--role", "a", "--prompt", "x" * 2_001),
            "prompt has 2001 characters; at most 2000 are kept",
        ),
        (("join", "nosuch", "--as", "a"), "no conference is called 'nosuch'"),
        (("say", "nosuch", "--as", "a", "text.md"), "no conference is called 'nosuch'"),
        (("check", "nosuch"), "no conference is called 'nosuch'"),
        (("relay", "nosuch"), "no conference is called 'nosuch'"),
        (("skip", "nosuch", "--as", "a"), "no conference is called 'nosuch'"),
    ],
)
def test_a_call_that_is_wrong_is_told_so_and_leaves_nothing(
    cli: Cli, words: tuple[str, ...], told: str
) -> None:
    """R-12"""
    (cli.cwd / "text.md").write_text(speech("a"))
    assert told in cli("roundtable", *words, "--dir", str(cli.cwd), code=2).err
    assert not (cli.cwd / ".roundtable" / words[1]).exists()


@pytest.mark.parametrize(
    ("text", "told"), [("", "empty"), (" \n", "empty"), ("x" * 50_001, "more than 50000")]
)
def test_a_speech_that_is_none_is_refused(cli: Cli, text: str, told: str) -> None:
    table = Table(cli)
    table.new()
    assert told in table("say", "--as", "architect", code=2, stdin=text).err
    assert table.speeches() == []


def test_an_agenda_that_is_no_text_is_refused(cli: Cli) -> None:
    """R-12"""
    (cli.cwd / "background.md").write_bytes(b"\xff\xfe")
    words = ("roundtable", "new", "c", "Q", "--role", "a", "--agenda", "background.md")
    assert cli(*words, code=2).err == "moot: background.md: not UTF-8 text\n"
    (cli.cwd / "background.md").write_text("x" * 50_001)
    assert "more than 50000 characters" in cli(*words, code=2).err
    assert not (cli.cwd / ".roundtable").exists()


def test_a_speech_that_is_no_text_is_refused(cli: Cli) -> None:
    table = Table(cli)
    table.new()
    (cli.cwd / "speech.md").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in table("say", "speech.md", "--as", "architect", code=2).err


def test_the_same_call_again_is_one_speech(cli: Cli) -> None:
    """R-6"""
    table = Table(cli)
    table.new()
    assert table.json("say", "--as", "architect", stdin=speech("a"))["isRepeated"] is False
    assert table.json("say", "--as", "architect", stdin=speech("a"))["isRepeated"] is True
    assert table.speeches() == ["001_architect.md"]
    assert not (table.folder / "aside").exists()


def test_a_key_that_came_with_other_words_is_refused(desk: Desk) -> None:
    """R-6"""
    desk.new("a")
    desk.run(desk.hall.say("cache", "a", "one", "k"))
    with pytest.raises(KeyReused):
        desk.run(desk.hall.say("cache", "a", "two", "k"))


def test_the_same_words_in_another_round_are_another_speech(desk: Desk) -> None:
    """R-6: 'I agree.' may be said twice; no turn is lost."""
    desk.new("a", "b")
    desk.run(desk.hall.say("cache", "a", "I agree.", "first"))
    desk.say("b")
    desk.run(desk.hall.say("cache", "a", "I agree.", "second"))
    assert desk.speeches() == ["001_a.md", "002_b.md", "003_a.md"]


def test_an_old_call_made_again_is_answered_with_its_own_file(desk: Desk) -> None:
    """R-6: by its key, two speeches later."""
    desk.new("a", "b", rounds=3)
    for number, role in enumerate("abab", 1):
        desk.run(desk.hall.say("cache", role, f"{role} {number}", f"k{number}"))
    assert desk.run(desk.hall.say("cache", "a", "a 1", "k1")).file == "001_a.md"


@pytest.mark.parametrize(
    "text",
    ["## Stance\nThe tag </think> is no secret.", "## Stance\n<think>is a tag</think> of models"],
)
def test_a_speech_is_kept_word_for_word(desk: Desk, text: str) -> None:
    """R-3: as it is when an agent writes the file itself."""
    desk.new("a", "b")
    desk.say("a", text)
    assert (desk.folder / "001_a.md").read_text() == f"{text}\n"


def test_the_prompt_for_the_next_speaker_is_the_speakers_own(desk: Desk) -> None:
    """R-8: from its turn.json, else from its section, else made from its questions."""
    desk.new("a", "b", "c", rounds=2)
    desk.put("001_a.md", speech("a"))
    desk.put_turn(
        current_speaker_index=1, current_speaker="b", prompt_for_speaker="From my turn.json."
    )
    desk.status()
    assert desk.turn()["prompt_for_speaker"] == "From my turn.json."
    desk.say("b", f"{speech('b')}## For the next speaker\nFrom my\nsection.\n")
    assert desk.turn()["prompt_for_speaker"] == "From my section."
    desk.say("c", "## Stance\nc.\n## Response and questions\nIs it so? I wonder. Who pays?\n")
    assert "Is it so?" in desk.turn()["prompt_for_speaker"]
    assert "Who pays?" in desk.turn()["prompt_for_speaker"]


def test_the_prompt_of_a_slow_speaker_stays(desk: Desk) -> None:
    """R-8: its turn.json comes after its speech was taken in."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a"))
    desk.status()
    desk.put_turn(prompt_for_speaker="What does it cost?")
    for _ in range(2):
        desk.status()
        assert desk.turn()["prompt_for_speaker"] == "What does it cost?"


@pytest.mark.parametrize("mark", ["[CONSENSUS]", "[共识]", "[consensus]"])
def test_consensus_ends_the_speeches(desk: Desk, mark: str) -> None:
    """R-7: when everyone's last speech declares it, in whatever round; one that takes it back counts."""
    desk.new("a", "b", rounds=9)
    desk.say("a", f"{speech('a')}{mark}")
    desk.say("b", speech("b"))
    desk.say("a", speech("a", "not any more"))
    desk.say("b", f"{speech('b')}{mark}")
    assert desk.turn()["status"] == "open"
    desk.say("a", f"{speech('a', 'again')}{mark}")
    assert (desk.turn()["status"], desk.turn()["round"], desk.turn()["current_speaker"]) == (
        "concluding",
        3,
        "moderator",
    )


def test_a_role_is_skipped_by_hand(cli: Cli) -> None:
    """R-10: with the reason on the record; only the one whose turn it is."""
    table = Table(cli)
    table.new()
    assert "architect's turn" in table("skip", "--as", "reviewer", code=2).err
    assert table("skip", "--as", "architect", "--why", "on holiday").out == "next: reviewer\n"
    counts = [
        line.rpartition("): ")[2] for line in table("status").out.splitlines() if "): " in line
    ]
    assert counts == ["0 speeches, skipped 1 time", "0 speeches"]
    said = (
        "[SKIPPED] architect gave no speech in this turn: skipped by hand: on holiday (passed_over)"
    )
    assert (table.folder / "001_architect.md").read_text().startswith(said)
    found = [
        fact
        for fact in facts(cli("export", table.session(), "jsonl").out)
        if fact["fact"] == "seat_lost"
    ]
    assert [(fact["reason"], word_stored_cause(fact)) for fact in found] == [
        ("passed_over", "on holiday")
    ]
    told = "skipped by hand: on holiday"
    assert told in cli("show", table.session()).out
    assert told in cli("export", table.session(), "html").out
    table.go_on()


def test_a_role_is_given_to_another_mind_in_the_middle(cli: Cli) -> None:
    """R-10: `relay --role`."""
    table = Table(cli)
    table.new("a", "b", rounds=2)
    table.say("a")
    script = {
        "a": {"speech": [{"raw": "## Stance\na of the script"}] * 2},
        "b": {"speech": [{"raw": "## Stance\nb of the script"}] * 2},
        "moderator": {"minutes": [{"raw": MINUTES_TEXT}]},
    }
    platform = write_script(cli.cwd / "talk.toml", script)
    words = [word for role in ("a", "b", "moderator") for word in ("--role", f"{role}={platform}")]
    table("relay", *words)
    assert [(table.folder / name).read_text().split("\n")[1] for name in table.speeches()][1:] == [
        "b of the script",
        "a of the script",
        "b of the script",
    ]
    table.is_sound()
    assert table.turn()["status"] == "closed"


def test_a_damage_is_told_while_somebody_writes(desk: Desk) -> None:
    """R-11: an old speech was altered while the next one is being written."""
    desk.new("a", "b")
    desk.say("a")
    desk.put("001_a.md", speech("a", "altered"))
    desk.put("002_b.md", speech("b"), is_old=False)
    assert ("001_a.md", 2, "speech_altered") in desk.damage()


def test_whoever_is_writing_is_told_and_not_overtaken(desk: Desk) -> None:
    """R-6: a speech whose turn.json is still to come is its author's; a second voice for the role is kept."""
    desk.new("a", "b")
    desk.put("001_a.md", speech("a", "of the files"), is_old=False)
    assert desk.status().writing == "a"
    with pytest.raises(Blocked) as found:
        desk.say("a", speech("a", "of the command"))
    assert (desk.folder / found.value.file).read_text() == speech("a", "of the command")
    desk.put_turn(is_old=False, current_speaker_index=1, current_speaker="b")
    assert desk.status().conference.taken == 1
    assert (desk.folder / "001_a.md").read_text() == speech("a", "of the files")
    desk.go_on()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guide_is_printed_as_it_lies_in_the_folder(cli: Cli, language: str) -> None:
    """R-1"""
    topic = "Which?" if language == "en" else "用哪个？"
    Table(cli).new("a", topic=topic)
    assert (
        cli("roundtable", "guide", "--language", language).out
        == (cli.cwd / ".roundtable" / "GUIDE.md").read_text()
    )


def test_the_commands_speak_the_language_of_the_conference(cli: Cli) -> None:
    """M-11"""
    table = Table(cli)
    table("new", "用哪个缓存？", "--role", "a", "--role", "b", "--rounds", "1")
    told = [
        table("status").out,
        cli("roundtable", "status").out,
        table("say", "--as", "a", stdin=speech("a", "用 Redis")).out,
        table("skip", "--as", "b", "--why", "休假").out,
        table("status").out,
        table("check").out,
        table("repair").out,
        table("minutes", code=3).err,
        *(table("input", "我们有六个月。", "--key", "k").out for _ in range(2)),
    ]
    text = "".join(told)
    for words in (
        "第 1 轮（共 1 轮），轮到 a",
        "已有 0 次发言",
        "下一位：b",
        "跳过 1 次",
        "没有发现问题",
        "无需修复",
        "此前已记录",
    ):
        assert words in text
    for words in (
        "turn",
        "round ",
        "taken",
        "next:",
        "skipped",
        "outside",
        "found",
        "nothing",
        "closed",
        "concluding",
        "recorded",
    ):
        assert words not in text.replace("roundtable", "").replace("turn.json", "")


def test_a_guide_that_is_there_is_left_as_it_is(cli: Cli) -> None:
    """R-1: a project may have a guide of its own."""
    (cli.cwd / ".roundtable").mkdir()
    (cli.cwd / ".roundtable" / "GUIDE.md").write_text("Ours.\n")
    Table(cli).new()
    assert (cli.cwd / ".roundtable" / "GUIDE.md").read_text() == "Ours.\n"


def test_answers_for_programs_are_json(cli: Cli) -> None:
    """R-4: also the refusals."""
    table = Table(cli)
    found = table.new("a", "b")
    assert set(found) == {
        *(
            "conference",
            "sessionId",
            "turn",
            "turnsTaken",
            "skipped",
            "roles",
            "descriptions",
            "writing",
            "damage",
        ),
        *("consensusDeclared", "inputs", "missingSections", "isRelayed"),
    }
    assert table.json("say", "--as", "b", code=3, stdin="x")["error"]["kept"] == "aside/b_1.md"
    assert table.json("join", "--as", "b", code=3)["isYourTurn"] is False
    assert table.json("check") == {"conference": "cache", "damage": []}
    assert table.json("repair") == {"conference": "cache", "done": []}
    assert (
        json.loads(cli("roundtable", "status", "--json", "--dir", str(cli.cwd)).out)["conferences"][
            0
        ]["conference"]
        == "cache"
    )

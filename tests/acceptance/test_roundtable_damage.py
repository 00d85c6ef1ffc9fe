"""A folder that others damaged (R-11): what is wrong is named with file and line, mended, and nothing of it is lost."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.acceptance.doors import Cli
from tests.acceptance.tables import MINUTES_TEXT, Desk, Files, Table, aged, digests, speech

from moothall.features.roundtable.files import BadTurn, parse_turn_file
from moothall.features.roundtable.status import Blocked

Break = Callable[[Files], object]


def torn(table: Files) -> None:
    table.put("turn.json", (table.folder / "turn.json").read_bytes()[:120])


def with_comment(table: Files) -> None:
    table.put(
        "turn.json",
        (table.folder / "turn.json")
        .read_text()
        .replace('"round": 2,', '"round": 2, // the second'),
    )


def twice(table: Files) -> None:
    table.put(
        "turn.json",
        (table.folder / "turn.json").read_text().replace('"round": 2,', '"round": 2, "round": 2,'),
    )


def no_turn(table: Files) -> None:
    (table.folder / "turn.json").unlink()


def deleted(name: str) -> Break:
    return lambda table: (table.folder / name).unlink()


def renamed(name: str, other: str) -> Break:
    return lambda table: (table.folder / name).rename(table.folder / other)


def put(name: str, text: str | bytes) -> Break:
    return lambda table: table.put(name, text)


def turned(**changed: Any) -> Break:
    return lambda table: table.put_turn(**changed)


def altered(name: str) -> Break:
    def alter(table: Files) -> None:
        lines = (table.folder / name).read_text().split("\n")
        table.put(name, "\n".join([*lines[:1], "Nobody said this.", *lines[2:]]))

    return alter


# In the second round of two, after three speeches: it is the reviewer's turn.
OPEN: dict[str, tuple[Break, tuple[str, int, str]]] = {
    "torn turn.json": (torn, ("turn.json", 8, "turn_torn")),
    "empty turn.json": (put("turn.json", ""), ("turn.json", 1, "turn_torn")),
    "turn.json not UTF-8": (put("turn.json", b'{\n"a": "\xff"}'), ("turn.json", 2, "turn_torn")),
    "turn.json too large": (put("turn.json", " " * 500_000), ("turn.json", 1, "turn_torn")),
    "comment": (with_comment, ("turn.json", 4, "turn_torn")),
    "invalid status": (turned(status="paused"), ("turn.json", 3, "turn_torn")),
    "invalid round": (turned(round="two"), ("turn.json", 4, "turn_torn")),
    "extra field": (turned(mood="good"), ("turn.json", 13, "turn_torn")),
    "duplicate key": (twice, ("turn.json", 4, "turn_torn")),
    "no turn.json": (no_turn, ("turn.json", 1, "turn_missing")),
    "wrong round": (turned(round=1), ("turn.json", 4, "turn_wrong")),
    "wrong index": (
        turned(current_speaker_index=0, current_speaker="architect"),
        ("turn.json", 10, "turn_wrong"),
    ),
    "another order": (turned(speaker_order=["x", "reviewer"]), ("turn.json", 6, "turn_wrong")),
    "more rounds": (turned(max_rounds=9), ("turn.json", 5, "turn_wrong")),
    "closed too early": (
        turned(status="closed", current_speaker="moderator"),
        ("turn.json", 3, "turn_wrong"),
    ),
    "another conference": (turned(conference="other"), ("turn.json", 2, "turn_wrong")),
    "gap": (put("009_reviewer.md", speech("gap")), ("009_reviewer.md", 1, "gap")),
    "out of turn": (
        put("004_architect.md", speech("early")),
        ("004_architect.md", 1, "out_of_turn"),
    ),
    "unknown role": (put("004_stranger.md", speech("who")), ("004_stranger.md", 1, "out_of_turn")),
    "the moderator speaks": (
        put("004_moderator.md", speech("mod")),
        ("004_moderator.md", 1, "out_of_turn"),
    ),
    "two of one number": (
        put("002_architect.md", speech("twin")),
        ("002_architect.md", 1, "number_taken"),
    ),
    "number zero": (put("000_stranger.md", speech("zero")), ("000_stranger.md", 1, "out_of_turn")),
    "renamed": (
        renamed("001_architect.md", "007_architect.md"),
        ("001_architect.md", 1, "speech_renamed"),
    ),
    "renamed to a role": (
        renamed("001_architect.md", "001_reviewer.md"),
        ("001_architect.md", 1, "speech_renamed"),
    ),
    "renamed to no name": (
        renamed("003_architect.md", "3-architect.md"),
        ("003_architect.md", 1, "speech_renamed"),
    ),
    "altered": (altered("002_reviewer.md"), ("002_reviewer.md", 2, "speech_altered")),
    "appended to": (
        lambda table: table.put(
            "001_architect.md", (table.folder / "001_architect.md").read_text() + "P.S.\n"
        ),
        ("001_architect.md", 7, "speech_altered"),
    ),
    "emptied": (put("001_architect.md", ""), ("001_architect.md", 1, "speech_altered")),
    "made not UTF-8": (
        put("001_architect.md", b"## Stance\n\xfe"),
        ("001_architect.md", 2, "speech_altered"),
    ),
    "deleted": (deleted("001_architect.md"), ("001_architect.md", 1, "speech_missing")),
    "empty": (put("004_reviewer.md", " \n"), ("004_reviewer.md", 1, "speech_unreadable")),
    "not UTF-8": (
        put("004_reviewer.md", b"## Stance\nno\xff"),
        ("004_reviewer.md", 2, "speech_unreadable"),
    ),
    "too many characters": (
        put("004_reviewer.md", "x" * 50_001),
        ("004_reviewer.md", 1, "speech_unreadable"),
    ),
    "too many bytes": (
        put("004_reviewer.md", "x" * 400_001),
        ("004_reviewer.md", 1, "speech_unreadable"),
    ),
    "misnamed": (put("3-architect.md", speech("misnamed")), ("3-architect.md", 1, "misnamed")),
    "minutes too early": (put("MINUTES.md", MINUTES_TEXT), ("MINUTES.md", 1, "minutes_early")),
    "agenda altered": (put("AGENDA.md", "# Another\n"), ("AGENDA.md", 1, "agenda_altered")),
    "agenda deleted": (deleted("AGENDA.md"), ("AGENDA.md", 1, "agenda_altered")),
    "agenda not UTF-8": (put("AGENDA.md", b"# \xff\n"), ("AGENDA.md", 1, "agenda_altered")),
}
CLOSED: dict[str, tuple[Break, tuple[str, int, str]]] = {
    "minutes altered": (altered("MINUTES.md"), ("MINUTES.md", 2, "minutes_altered")),
    "minutes skipped": (
        put("MINUTES.md", "[SKIPPED] (timeout)\n"),
        ("MINUTES.md", 1, "minutes_altered"),
    ),
    "minutes deleted": (deleted("MINUTES.md"), ("MINUTES.md", 1, "minutes_missing")),
    "a speech after the end": (
        put("005_architect.md", speech("late")),
        ("005_architect.md", 1, "out_of_turn"),
    ),
    "opened again": (
        turned(status="open", current_speaker="architect", round=2),
        ("turn.json", 3, "turn_wrong"),
    ),
}


def begun(cli: Cli) -> Table:
    table = Table(cli)
    table.new()
    for role in ("architect", "reviewer", "architect"):
        table.say(role, speech(role, f"as {len(table.speeches())}"))
    return table


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A conference of two rounds after three speeches."""
    with Desk(tmp_path) as found:
        found.new()
        for role in ("architect", "reviewer", "architect"):
            found.say(role)
        yield found


def mended(desk: Desk, expected: tuple[str, int, str]) -> None:
    """`check` names it and changes nothing; `repair` mends it and loses nothing."""
    before = digests(desk.folder)
    assert expected in desk.damage()
    assert digests(desk.folder) == before
    # What fits becomes an entry, and the turn.json before it is replaced by the next one: that is no loss.
    replaced = valid_turn(desk.folder)
    desk.repair()
    assert digests(desk.folder) | replaced >= before


@pytest.mark.parametrize("name", OPEN)
def test_a_damage_is_named_mended_and_the_conference_goes_on(desk: Desk, name: str) -> None:
    """R-11"""
    harm, expected = OPEN[name]
    harm(desk)
    mended(desk, expected)
    desk.is_sound()
    desk.go_on()


@pytest.mark.parametrize("name", CLOSED)
def test_a_damage_after_the_end_is_named_and_mended(desk: Desk, name: str) -> None:
    """R-11"""
    desk.say("reviewer")
    desk.say("moderator", MINUTES_TEXT)
    harm, expected = CLOSED[name]
    harm(desk)
    mended(desk, expected)
    desk.is_sound()
    assert desk.turn()["status"] == "closed"
    assert (desk.folder / "MINUTES.md").read_text() == MINUTES_TEXT


def test_check_and_repair_say_what_they_find_and_do(cli: Cli) -> None:
    """R-11: with file and line, and exit code 5."""
    table = begun(cli)
    torn(table)
    table.put("002_stranger.md", "hm")
    assert table("check", code=5).out == (
        "turn.json:8: no valid JSON: Expecting value (column 3)\n002_stranger.md:1: the number 002 is 002_reviewer.md's\n"
    )
    assert "damaged: turn.json:8" in table("status", code=5).out
    assert table("repair").out == (
        "turn.json:8: no valid JSON: Expecting value (column 3); moved to aside/turn.json; rebuilt from the speeches\n"
        "002_stranger.md:1: the number 002 is 002_reviewer.md's; moved to aside/002_stranger.md\n"
    )
    assert table("repair").out == "nothing to repair\n"
    table.is_sound()


RENAMED = (
    "damages names the gap before the missing speech, and _number_damage gives a gap the coming number without a look at _home: "
    "an old speech is given a second time"
)


def test_an_old_speech_of_whoever_is_next_that_was_renamed_is_not_given_twice(desk: Desk) -> None:
    """R-11: it gets its old name back."""
    renamed("002_reviewer.md", "007_reviewer.md")(desk)
    mended(desk, ("002_reviewer.md", 1, "speech_renamed"))
    assert desk.speeches() == ["001_architect.md", "002_reviewer.md", "003_architect.md"]


def test_an_old_speech_that_was_renamed_to_the_next_one_is_not_given_twice(desk: Desk) -> None:
    """R-11: the same words by the same role, while its old file is missing, are a renamed speech."""
    renamed("002_reviewer.md", "004_reviewer.md")(desk)
    aged(desk.folder / "004_reviewer.md")
    mended(desk, ("002_reviewer.md", 1, "speech_renamed"))
    assert desk.speeches() == ["001_architect.md", "002_reviewer.md", "003_architect.md"]


def test_a_speech_in_a_gap_or_under_a_wrong_name_is_not_set_aside_but_given_its_place(
    cli: Cli,
) -> None:
    """R-11: what was meant as the next speech becomes it."""
    table = begun(cli)
    table.put("9-reviewer.md", speech("elsewhere"))
    table("repair")
    table.put("017_reviewer.md", speech("the gap"))
    table("repair")
    assert (table.folder / "004_reviewer.md").read_text() == speech("the gap")
    assert (table.folder / "aside" / "9-reviewer.md").read_text() == speech("elsewhere")
    assert table.turn()["status"] == "concluding"
    table.go_on()


def test_nobody_speaks_into_a_damaged_folder_and_no_text_is_lost(cli: Cli) -> None:
    """R-11: the speech waits in `aside` and is named; after the repair it is given."""
    table = begun(cli)
    torn(table)
    done = table.say("reviewer", speech("reviewer", "waits"), code=2)
    assert "turn.json:8: no valid JSON" in done.err
    assert "repair" in done.err
    assert (table.folder / "aside" / "reviewer_1.md").read_text() == speech("reviewer", "waits")
    assert "is damaged" in table("join", "--as", "reviewer", code=2).err
    table("repair")
    assert table.json("join", "--as", "reviewer")["kept"] == ["aside/reviewer_1.md"]
    table.go_on()


def test_what_was_set_aside_is_told_with_its_reason(cli: Cli) -> None:
    """R-11: also when two files of one name are set aside one after the other."""
    table = begun(cli)
    for text in ("one", "two"):
        table.put("002_stranger.md", text)
        assert "moved to aside/" in table("repair").out
    assert (table.folder / "aside" / "002_stranger.md").read_text() == "one"
    assert (table.folder / "aside" / "2_002_stranger.md").read_text() == "two"
    assert (table.folder / "aside" / "LOG.md").read_text().count(
        "the number 002 is 002_reviewer.md's"
    ) == 2


# Things that are no files


@pytest.mark.parametrize("name", ["turn.json", "004_reviewer.md", "AGENDA.md"])
def test_a_folder_in_the_place_of_a_file_is_named_and_set_aside(desk: Desk, name: str) -> None:
    """R-11"""
    (desk.folder / name).unlink(missing_ok=True)
    (desk.folder / name).mkdir()
    (desk.folder / name / "inside.txt").write_text("kept")
    assert name in {file for file, _, _ in desk.damage()}
    desk.repair()
    assert (desk.folder / "aside" / name / "inside.txt").read_text() == "kept"
    desk.go_on()


def test_an_old_speech_that_became_a_folder_is_set_aside(desk: Desk) -> None:
    """R-11"""
    (desk.folder / "001_architect.md").unlink()
    (desk.folder / "001_architect.md").mkdir()
    assert ("001_architect.md", 1, "speech_unreadable") in desk.damage()
    desk.repair()
    desk.go_on()


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(desk: Desk) -> None:
    """R-11: it is not waited for."""
    for name in ("turn.json", "AGENDA.md"):
        (desk.folder / name).unlink()
        os.mkfifo(desk.folder / name)
    os.mkfifo(desk.folder / "004_reviewer.md")
    assert {file for file, _, _ in desk.damage()} == {"turn.json", "AGENDA.md", "004_reviewer.md"}
    desk.repair()
    desk.go_on()


def test_a_name_that_is_no_text_is_set_aside(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-11"""
    monkeypatch.setattr("moothall.features.roundtable.conference.MAX_REPAIRS", 5)
    Path(os.fsdecode(os.fsencode(desk.folder) + b"/004_\xff.md")).write_text("odd")
    desk.repair()
    desk.go_on()


@pytest.mark.parametrize("text", [b"", b"## Summary\n\xff", b"x" * 50_001])
def test_minutes_that_cannot_be_taken_are_named(desk: Desk, text: bytes) -> None:
    """R-11: a moderator whose minutes are empty, not UTF-8 or too long hears of it."""
    desk.say("reviewer")
    desk.put("MINUTES.md", text)
    assert [file for file, _, _ in desk.damage()] == ["MINUTES.md"]


@pytest.mark.parametrize("text", [b"precious \xff", b"precious" + b"." * 400_000])
def test_a_log_that_cannot_be_read_is_not_lost(desk: Desk, text: bytes) -> None:
    """R-11: nothing is deleted, whoever wrote it."""
    desk.put("aside/LOG.md", text)
    torn(desk)
    desk.repair()
    assert any(path.read_bytes().startswith(text) for path in (desk.folder / "aside").iterdir())


def test_a_text_is_kept_beside_whatever_lies_in_aside(desk: Desk) -> None:
    """R-6: the text of whoever spoke out of turn is kept."""
    desk.put("aside/architect_1.md", b"\xff")
    with pytest.raises(Blocked) as found:
        desk.say("architect", "mine")
    assert found.value.file == "aside/architect_2.md"


def test_a_file_from_the_future_holds_nobody_up(desk: Desk) -> None:
    """R-11: a clock that goes wrong on another machine."""
    aged(desk.put("004_reviewer.md", speech("tomorrow")), -86_400.0)
    assert desk.status().conference.taken == 4


def test_a_mark_that_was_tampered_with_loses_nothing(desk: Desk) -> None:
    """R-6: the notes in `.moot` can be lost or wrong; ledger and files are what counts."""
    path = desk.folder / ".moot" / "mark.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "published": 999}))
    desk.say("reviewer")
    desk.repair()
    desk.is_sound()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"published": -1}', '{"sessions": ["../../x"], "path": 7}', "\0"]
)
def test_a_mark_that_says_nothing_is_no_loss(desk: Desk, text: str) -> None:
    """R-11: the folder is taken in anew."""
    (desk.folder / ".moot" / "mark.json").write_text(text)
    assert desk.status().conference.taken == 3
    desk.go_on()


# Any damages, one after the other

HARMS = st.one_of(
    st.tuples(st.just("turn"), st.sampled_from(["", "{", "null", '{"status": "open"}', "\0"])),
    st.tuples(st.just("round"), st.integers(1, 3)),
    st.tuples(
        st.just("delete"), st.sampled_from(["001", "002", "003", "AGENDA", "turn", "MINUTES"])
    ),
    st.tuples(st.just("alter"), st.sampled_from(["001", "002", "003", "AGENDA", "MINUTES"])),
    st.tuples(st.just("binary"), st.sampled_from(["001", "002", "AGENDA", "turn", "MINUTES"])),
    st.tuples(
        st.just("rename"),
        st.sampled_from(["001", "002", "003"]),
        st.sampled_from(["001_b", "004_a", "9_a", "2-b", "x"]),
    ),
    st.tuples(st.just("swap"), st.sampled_from(["001", "002"]), st.sampled_from(["002", "003"])),
    st.tuples(
        st.just("put"),
        st.from_regex(r"00[0-6]_[abz]\.md|[1-6][-_ ][abz]\.(md|txt)|MINUTES\.md", fullmatch=True),
    ),
    st.tuples(st.just("empty"), st.from_regex(r"00[1-6]_[ab]\.md", fullmatch=True)),
    st.tuples(
        st.just("put"),
        st.sampled_from(["INPUT_001.md", "INPUT_002.md", "draft_a.md", "draft_b.json"]),
    ),
    st.tuples(st.just("delete"), st.just("INPUT_001")),
)


def harmed(folder: Path, harm: tuple[Any, ...], serial: int) -> None:
    def found(start: str) -> Path | None:
        return next(
            (
                path
                for path in sorted(folder.iterdir())
                if path.name.startswith(start) and path.is_file()
            ),
            None,
        )

    def write(path: Path, raw: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(raw)
        aged(path)

    match harm:
        case ("turn", text):
            write(folder / "turn.json", text.encode())
        case ("round", number) if (folder / "turn.json").exists():
            try:
                turn = json.loads((folder / "turn.json").read_text())
                write(folder / "turn.json", json.dumps({**turn, "round": number}).encode())
            except (ValueError, TypeError):
                return
        case ("delete", start) if (path := found(start)) is not None:
            path.unlink()
        case ("alter", start) if (path := found(start)) is not None:
            write(path, path.read_bytes() + b"\naltered %d" % serial)
        case ("binary", start) if (path := found(start)) is not None:
            write(path, b"\xff\xfe%d" % serial)
        case ("rename", start, other) if (path := found(start)) is not None and not (
            folder / f"{other}.md"
        ).exists():
            path.rename(folder / f"{other}.md")
        case ("swap", start, other) if (one := found(start)) and (two := found(other)):
            first, second = one.read_bytes(), two.read_bytes()
            write(one, second)
            write(two, first)
        case ("put", name):
            write(folder / name, speech("harm", f"number {serial}").encode())
        case ("empty", name):
            write(folder / name, b"")


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(turns=st.integers(0, 5), harms=st.lists(HARMS, min_size=1, max_size=6))
@example(turns=2, harms=[("swap", "001", "002"), ("rename", "001", "004_a")])
def test_whatever_is_done_to_a_folder_it_is_mended_without_loss(
    turns: int, harms: list[tuple[Any, ...]]
) -> None:
    """R-11: a random conference, random damages; afterwards nothing is wrong, nothing is lost, and it goes on to its end."""
    with tempfile.TemporaryDirectory() as place, Desk(Path(place)) as desk:
        desk.new("a", "b")
        for _ in range(turns):
            role = desk.turn()["current_speaker"]
            desk.say(role, MINUTES_TEXT if role == "moderator" else "")
        if desk.turn()["status"] != "closed":
            desk.run(desk.hall.give_input("cache", "Half it."))
        for serial, harm in enumerate(harms):
            harmed(desk.folder, harm, serial)
        before, replaced = digests(desk.folder), valid_turn(desk.folder)
        desk.repair()
        desk.is_sound()
        assert digests(desk.folder) | replaced >= before
        while (turn := desk.turn())["status"] != "closed":
            desk.say(
                turn["current_speaker"], MINUTES_TEXT if turn["status"] == "concluding" else ""
            )
        desk.is_sound()


def valid_turn(folder: Path) -> set[str]:
    """The digest of turn.json, if it is one."""
    try:
        parse_turn_file((folder / "turn.json").read_text())
    except (OSError, ValueError, BadTurn):
        return set()
    return {hashlib.sha256((folder / "turn.json").read_bytes()).hexdigest()}


def test_a_byte_order_mark_is_no_damage(desk: Desk) -> None:
    """R-11: editors of Windows put one in front of what they save."""
    for name in ("turn.json", "AGENDA.md", "001_architect.md"):
        desk.put(name, b"\xef\xbb\xbf" + (desk.folder / name).read_bytes())
    assert desk.damage() == []


def test_faults_of_a_chinese_conference_are_told_in_chinese(cli: Cli) -> None:
    """R-11, M-11: what `check` finds and what `repair` did."""
    cli("roundtable", "new", "cache", "用哪个数据库？", "--role", "ada", "--role", "bob")
    folder = cli.cwd / ".roundtable" / "cache"
    (folder / "009_ada.md").write_text("太早了。")
    (folder / "002_bob.md").write_text("我先说。")
    (folder / "MINUTES.md").write_text("已经结束。")
    found = cli("roundtable", "check", "cache", code=5).out
    assert "009_ada.md:1: 编号有缺口：下一个应是 001" in found
    assert "002_bob.md:1: 'bob' 抢先发言：现在轮到 ada" in found
    assert "MINUTES.md:1: 会议尚未结束就有了纪要：现在轮到 ada" in found
    done = cli("roundtable", "repair", "cache").out
    assert "已改名为 001_ada.md" in done
    assert "已移到 aside/" in done
    assert not re.search(
        "[A-Za-z]{4,}(?! *\\.md|/)", re.sub(r"\S+\.md|aside/|turn\.json", "", done)
    ), done


@pytest.mark.parametrize(
    "words", ["I'm sorry, but I can't assist with that request.", "抱歉，我无法协助完成这个请求。"]
)
def test_an_apology_in_a_file_is_a_refusal_and_no_speech(cli: Cli, words: str) -> None:
    """M-14, R-11: the turn counts as refused, with the words in the record; the conference goes on."""
    cli("roundtable", "new", "cache", "Which database?", "--role", "ada", "--role", "bob")
    folder = cli.cwd / ".roundtable" / "cache"
    (folder / "001_ada.md").write_text(words)
    turn = json.loads((folder / "turn.json").read_text())
    (folder / "turn.json").write_text(
        json.dumps({**turn, "current_speaker_index": 1, "current_speaker": "bob"})
    )
    status = cli.json("roundtable", "status", "cache")
    assert (status["next"] if "next" in status else status["turn"]["current_speaker"]) == "bob"
    assert "(refused)" in (folder / "001_ada.md").read_text()
    assert cli("roundtable", "check", "cache").out
    lost = [
        json.loads(line)
        for line in cli("export", status["sessionId"], "jsonl").out.splitlines()
        if "refused" in line
    ]
    assert any(words in each["body"] for each in lost), "the words are in the record"

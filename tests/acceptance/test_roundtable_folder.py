"""The folder of a conference: names that lead nowhere else, links that are not followed, folders that others made or moved."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.doors import DEADLINE, Cli
from tests.acceptance.tables import MINUTES_TEXT, Desk, Table, aged, by_hand, speech, tree

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import ContextFile
from moothall.errors import BadName, FolderDamaged, UnknownConference
from moothall.features.roundtable.project import read_guide

SECRET = "## Stance\nA secret of somebody else.\n"
REFUSED = (
    *(
        "../x",
        "a/b",
        ".",
        "..",
        "CON",
        "turn",
        "Moderator",
        "GUIDE",
        "aside",
        "a" * 200,
        "𠀀" * 64,
        "🙂",
        "x ",
        " x",
        "a\0b",
        "",
    ),
    *("-x", ".moot", "a\nb", "/etc", "~", "$(touch x)", "e\u0301"),
)


@pytest.fixture
def desk(cli: Cli) -> Iterator[Desk]:
    with Desk(cli.cwd, home=cli.home) as found:
        yield found


# Names


def seat(name: str) -> Seat:
    return Seat(id=SeatId(name), platform="mailbox")


def test_a_name_that_could_lead_elsewhere_makes_nothing(desk: Desk) -> None:
    """R-12: as a conference's name and as a role's; the disk is as it was."""
    desk.new()
    before = tree(desk.root, "home")
    for name in REFUSED:
        with pytest.raises(BadName):
            desk.run(desk.hall.create_conference(name, "Which?", roles=[seat("a")]))
        with pytest.raises(BadName):
            desk.run(desk.hall.create_conference("fresh", "Which?", roles=[seat("a"), seat(name)]))
        for call in (desk.hall.status, desk.hall.repair, desk.hall.check, desk.hall.minutes):
            with pytest.raises((UnknownConference, BadName)):
                desk.run(call(name))
        with pytest.raises((UnknownConference, BadName)):
            desk.run(desk.hall.say(name, "a", "text"))
        with pytest.raises((UnknownConference, BadName)):
            desk.run(desk.hall.join(name, "architect"))
    assert tree(desk.root, "home") == before


def test_a_role_that_nobody_has_makes_nothing(cli: Cli) -> None:
    """R-12: also where the text of whoever speaks out of turn is kept."""
    table = Table(cli)
    table.new()
    before = tree(cli.cwd, "home")
    for name in ("../../x", "a/b", "..", "", "x\ny", "architect_1"):
        assert ("has no role" if name else "'role' is missing") in table.say(name, code=2).err
    assert "has no role" in table("join", "--as", "../../x", code=2).err
    assert tree(cli.cwd, "home") == before


def test_names_of_any_script_hold_a_conference(cli: Cli) -> None:
    """R-12"""
    table = Table(cli, "缓存-2026")
    table.new("架构师", "الأمن", "é_1", rounds=1)
    table.go_on()
    assert table.speeches() == ["001_架构师.md", "002_الأمن.md", "003_é_1.md"]


def test_a_name_of_the_greatest_length_holds_a_conference(desk: Desk) -> None:
    """R-12: every file of ours still has room for its name, also in `aside`."""
    desk.name = "𠀀" * 45
    desk.folder = desk.root / ".roundtable" / desk.name
    role = "字" * 60
    desk.new(role, "b", rounds=1)
    desk.put(f"002_{role}.md", speech("early"))
    desk.put(f"002_{role}.md", speech("early"))
    desk.repair()
    desk.go_on()


def test_two_names_that_some_disks_take_for_one_are_refused(cli: Cli) -> None:
    """R-12"""
    Table(cli, "Cache").new()
    assert (
        "conference 'Cache' exists already"
        in cli(
            "roundtable", "new", "cache", "Which?", "--role", "a", "--dir", str(cli.cwd), code=2
        ).err
    )
    assert (
        "conference 'Cache' exists already"
        in cli(
            "roundtable", "new", "Cache", "Which?", "--role", "a", "--dir", str(cli.cwd), code=2
        ).err
    )
    done = cli(
        "roundtable",
        "new",
        "other",
        "Which?",
        "--role",
        "Ada",
        "--role",
        "ada",
        "--dir",
        str(cli.cwd),
        code=2,
    )
    assert "each needs an id of its own" in done.err


def test_a_role_is_shown_its_own_kept_texts_only(cli: Cli) -> None:
    """R-6: roles whose names begin alike."""
    table = Table(cli)
    table.new("a", "a_b")
    table.say("a_b", code=3)
    assert table.json("join", "--as", "a")["kept"] == []


# Links


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What lies outside, and must stay as it is."""
    found = tmp_path / "outside"
    (found / "folder").mkdir(parents=True)
    (found / "secret.md").write_text(SECRET)
    (found / "folder" / "secret.md").write_text(SECRET)
    return found


def exported(cli: Cli) -> str:
    """Everything in the ledger."""
    return "".join(
        cli("export", line["sessionId"], "jsonl").out for line in cli.json("list")["sessions"]
    )


@pytest.mark.parametrize(
    "command", [("new", "c", "Which?", "--role", "a"), ("status",), ("status", "c"), ("check", "c")]
)
def test_a_table_that_is_a_link_is_refused(
    cli: Cli, outside: Path, command: tuple[str, ...]
) -> None:
    """R-12"""
    (cli.cwd / ".roundtable").symlink_to(outside / "folder")
    before = tree(outside)
    assert (
        "links are not followed" in cli("roundtable", *command, "--dir", str(cli.cwd), code=2).err
    )
    assert tree(outside) == before


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_a_table_that_is_no_folder_is_refused(cli: Cli, kind: str) -> None:
    """R-12"""
    if kind == "file":
        (cli.cwd / ".roundtable").write_text("mine")
    else:
        (cli.cwd / ".roundtable").symlink_to("nowhere")
    assert (
        ".roundtable"
        in cli("roundtable", "new", "c", "Which?", "--role", "a", "--dir", str(cli.cwd), code=2).err
    )


def test_a_conference_that_is_a_link_is_refused(cli: Cli, outside: Path) -> None:
    """R-12: and it is in no list."""
    table = Table(cli)
    table.new()
    by_hand(outside / "theirs", ["a", "b"], 2, 3)
    (table.folder.parent / "linked").symlink_to(outside / "theirs")
    before = tree(outside)
    linked = Table(cli, "linked")
    for command in ("status", "check", "repair", "minutes"):
        assert "links are not followed" in linked(command, code=2).err
    assert "links are not followed" in linked.say("a", code=2).err
    assert "links are not followed" in linked("join", "--as", "a", code=2).err
    assert "linked" not in cli("roundtable", "status", "--dir", str(cli.cwd)).out
    assert tree(outside) == before


@pytest.mark.parametrize(
    "name",
    [
        "turn.json",
        "AGENDA.md",
        "001_architect.md",
        "002_reviewer.md",
        "003_architect.md",
        "MINUTES.md",
    ],
)
def test_a_file_that_is_a_link_is_not_followed(
    cli: Cli, desk: Desk, outside: Path, name: str
) -> None:
    """R-11: named, set aside as a link, and nothing behind it is read into the ledger or changed."""
    desk.new()
    desk.say("architect")
    desk.say("reviewer")
    (desk.folder / name).unlink(missing_ok=True)
    (desk.folder / name).symlink_to(outside / "secret.md")
    aged(desk.folder / name)
    before = tree(outside)
    assert name in {file for file, _, _ in desk.damage()}
    desk.repair()
    assert (desk.folder / "aside" / name).readlink() == outside / "secret.md"
    desk.go_on()
    assert tree(outside) == before
    assert "secret of somebody" not in exported(cli)


def test_minutes_that_are_a_link_are_named_while_they_are_awaited(
    desk: Desk, outside: Path
) -> None:
    """R-11"""
    desk.new("a", rounds=1)
    desk.say("a")
    (desk.folder / "MINUTES.md").symlink_to(outside / "secret.md")
    assert [file for file, _, _ in desk.damage()] == ["MINUTES.md"]


def test_minutes_that_are_a_link_are_not_written_through(
    cli: Cli, desk: Desk, outside: Path
) -> None:
    """R-9, R-11"""
    desk.new("a", rounds=1)
    desk.say("a")
    (desk.folder / "MINUTES.md").symlink_to(outside / "secret.md")
    before = tree(outside)
    desk.run(desk.hall.repair(desk.name))
    desk.go_on()
    assert not (desk.folder / "MINUTES.md").is_symlink()
    assert tree(outside) == before
    assert "secret of somebody" not in exported(cli)


def test_an_aside_that_is_a_link_is_not_written_through(cli: Cli, outside: Path) -> None:
    """R-6: nothing is put there; whoever speaks is told, and its text is kept in a folder that takes its place."""
    table = Table(cli)
    table.new()
    (table.folder / "aside").symlink_to(outside / "folder")
    before = tree(outside)
    assert "aside:1: is a link" in table.say("reviewer", code=2).err
    assert (table.folder / "aside" / "reviewer_1.md").is_file()
    table.put("001_stranger.md", "hm")
    table("repair")
    assert (table.folder / "aside" / "001_stranger.md").is_file()
    assert tree(outside) == before


def test_an_aside_that_is_a_link_is_named(desk: Desk, outside: Path) -> None:
    """R-11"""
    desk.new()
    (desk.folder / "aside").symlink_to(outside / "folder")
    assert [file for file, _, _ in desk.damage()] == ["aside"]


def test_notes_that_are_a_link_are_refused(cli: Cli, outside: Path) -> None:
    """R-11: `.moot` elsewhere is nobody's."""
    table = Table(cli)
    table.new()
    shutil.rmtree(table.folder / ".moot")
    (table.folder / ".moot").symlink_to(outside / "folder")
    before = tree(outside)
    assert "links are not followed" in table("status", code=2).err
    assert tree(outside) == before


def test_a_lock_that_is_a_link_is_refused(cli: Cli, outside: Path) -> None:
    """R-11"""
    table = Table(cli)
    table.new()
    (table.folder / ".moot" / "lock").unlink()
    (table.folder / ".moot" / "lock").symlink_to(outside / "secret.md")
    before = tree(outside)
    assert "link" in table("status", code=2).err
    assert tree(outside) == before


@pytest.mark.parametrize("name", ["mark.json", "agenda.md", ".gitignore"])
def test_a_note_that_is_a_link_is_not_written_through(desk: Desk, outside: Path, name: str) -> None:
    """R-11"""
    desk.new()
    desk.say("architect")
    (desk.folder / ".moot" / name).unlink()
    (desk.folder / ".moot" / name).symlink_to(outside / "secret.md")
    before = tree(outside)
    (desk.folder / "AGENDA.md").unlink()
    desk.repair()
    desk.go_on()
    assert tree(outside) == before
    assert "secret of somebody" not in (desk.folder / "AGENDA.md").read_text()


# Folders that others made, moved or copied


def test_a_conference_made_by_hand_is_taken_in(cli: Cli) -> None:
    """R-11: no Moot has seen it; its speeches become entries, in order, and it goes on."""
    table = Table(cli)
    by_hand(table.folder, ["a", "b", "c"], 4, 3, agenda="# Which cache?\n\nBackground.\n")
    found = table.status()
    assert found["turnsTaken"] == 4
    assert table.turn()["current_speaker"] == "b"
    assert table.json("join", "--as", "b")["speeches"][-1]["text"] == speech("a", "number 4")
    table.go_on()
    assert (table.folder / "AGENDA.md").read_text() == "# Which cache?\n\nBackground.\n"
    # Whoever is woken next is told to read it.
    assert (table.folder.parent / "GUIDE.md").read_text() == read_guide("en")


def test_a_skip_file_made_by_hand_is_a_skipped_turn(desk: Desk) -> None:
    """R-10, R-11"""
    by_hand(desk.folder, ["a", "b"], 3, 2)
    for number, text in ((2, "[SKIPPED] b was ill (timeout)\n"), (3, "[跳过] a 没来\n")):
        desk.put(f"{number:03d}_{'ab'[(number - 1) % 2]}.md", text)
    found = desk.status().conference
    assert [(absent.number, absent.seat, absent.reason) for absent in found.absences] == [
        (2, "b", "timeout"),
        (3, "a", "error"),
    ]
    assert {path.read_text() for path in desk.folder.glob("00[23]_*.md")} == {
        "[SKIPPED] b was ill (timeout)\n",
        "[跳过] a 没来\n",
    }
    assert not (desk.folder / "aside").exists()
    desk.is_sound()


def test_a_conference_without_a_turn_is_taken_in_from_agenda_and_speeches(cli: Cli) -> None:
    """R-11: turn.json is rebuilt."""
    table = Table(cli)
    table.new("a", "b", rounds=3)
    for role in ("a", "b", "a"):
        table.say(role)
    expected = {**table.turn(), "prompt_for_speaker": ""}
    shutil.rmtree(table.folder / ".moot")
    (table.folder / "turn.json").unlink()
    for path in table.folder.iterdir():
        aged(path)
    table("repair")
    assert {**table.turn(), "prompt_for_speaker": ""} == expected
    table.go_on()


def test_a_conference_without_turn_and_agenda_has_at_least_the_rounds_that_were_held(
    desk: Desk,
) -> None:
    """R-11: turn.json can be rebuilt from the speeches."""
    by_hand(desk.folder, ["a", "b"], 9, 6)
    (desk.folder / "turn.json").write_text("{")
    for path in desk.folder.iterdir():
        aged(path)
    desk.repair()
    assert len(desk.speeches()) == 9


EARLY = "_said gives every speech that is taken in the consensus which the last speaker declared by ending the talk early"


def test_a_talk_that_was_ended_early_keeps_all_its_speeches(desk: Desk) -> None:
    """R-7, R-11: 'or all agree' was the last speaker's word in turn.json, as the source's protocol has it."""
    by_hand(desk.folder, ["a", "b"], 3, 3, status="concluding", current_speaker="moderator")
    assert desk.status().conference.taken == 3
    assert desk.damage() == []


def test_a_conference_that_is_over_is_not_opened_again(desk: Desk) -> None:
    """R-4, R-11: taken in as it is, though it ended before its last round."""
    by_hand(desk.folder, ["a", "b"], 3, 3, status="closed", current_speaker="moderator")
    (desk.folder / "MINUTES.md").write_text(MINUTES_TEXT)
    desk.status()
    assert desk.turn()["status"] == "closed"
    assert desk.damage() == []


def test_a_conference_that_was_over_by_its_rounds_is_taken_in_whole(desk: Desk) -> None:
    """R-9, R-11"""
    by_hand(desk.folder, ["a", "b"], 4, 2, status="closed", round=3, current_speaker="moderator")
    desk.put("MINUTES.md", MINUTES_TEXT)
    found = desk.status().conference
    assert (found.taken, found.status) == (4, "closed")
    desk.is_sound()


def test_a_clone_goes_its_own_way(cli: Cli) -> None:
    """R-11: git brings the files and not the notes."""
    table = Table(cli)
    table.new("a", "b", rounds=2)
    table.say("a")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(cli.cwd)]
    (cli.cwd / ".gitignore").write_text("home\n")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-qm", "x"],
        ["clone", "-q", str(cli.cwd), str(cli.cwd / "clone")],
    ):
        subprocess.run([*git, *words], check=True, timeout=DEADLINE, capture_output=True)
    clone = Table(cli, root=cli.cwd / "clone")
    assert not (clone.folder / ".moot").exists()
    assert clone.status()["turnsTaken"] == 1
    assert clone.session() != table.session()
    clone.say("b", speech("b", "in the clone"))
    assert table.speeches() == ["001_a.md"]
    table.go_on()
    clone.go_on()


def test_a_conference_that_was_moved_is_the_same(desk: Desk) -> None:
    """R-11"""
    session = desk.new("a", "b").session
    desk.say("a")
    (desk.root / "elsewhere").mkdir()
    shutil.move(desk.root / ".roundtable", desk.root / "elsewhere" / ".roundtable")
    with Desk(desk.root / "elsewhere", home=desk.root / "home") as moved:
        assert moved.status().session == session
        moved.go_on()


def test_a_copy_and_its_original_go_apart(desk: Desk) -> None:
    """R-11: what is said in one is not said in the other."""
    session = desk.new("a", "b").session
    desk.say("a")
    shutil.copytree(desk.root / ".roundtable", desk.root / "copy" / ".roundtable")
    with Desk(desk.root / "copy", home=desk.root / "home") as copy:
        assert copy.status().session != session
        copy.say("b", speech("b", "in the copy"))
        assert desk.speeches() == ["001_a.md"]
        desk.go_on()
        copy.go_on()
    assert desk.status().session == session


def test_a_copy_under_another_name_is_no_damage(desk: Desk) -> None:
    """R-11"""
    desk.new()
    shutil.copytree(desk.folder, desk.folder.with_name("copy"))
    assert desk.run(desk.hall.check("copy")) == ()


def test_a_copy_of_what_was_moved_goes_apart_too(desk: Desk) -> None:
    """R-11"""
    desk.new("a", "b")
    desk.folder.rename(desk.folder.with_name("moved"))
    session = desk.run(desk.hall.status("moved")).session
    shutil.copytree(desk.folder.with_name("moved"), desk.folder.with_name("copy"))
    assert desk.run(desk.hall.status("copy")).session != session


def test_two_ledgers_take_turns_with_one_folder(desk: Desk) -> None:
    """R-11: each takes in what the other wrote, skipped turns too, down to the minutes."""
    desk.new("a", "b", rounds=2)
    with Desk(desk.root, home=desk.root / "other") as other:
        desk.say("a")
        assert other.status().conference.taken == 1
        other.say("b")
        desk.run(desk.hall.skip("cache", "a", "ill"))
        other.say("b")
        desk.say("moderator", MINUTES_TEXT)
        for each in (other, desk):
            each.is_sound()
            found = each.status().conference
            assert (found.taken, found.status, [absent.number for absent in found.absences]) == (
                4,
                "closed",
                [3],
            )


def test_a_folder_that_is_no_conference_is_told(cli: Cli) -> None:
    """R-11"""
    table = Table(cli, "notes")
    table.put("todo.txt", "things")
    assert "cannot be imported" in table("status", code=2).err
    by_hand(cli.cwd / ".roundtable" / "bad", ["a", "../b"], 0, 3)
    assert "the speaking order" in Table(cli, "bad")("status", code=2).err
    by_hand(cli.cwd / ".roundtable" / "mod", ["a", "moderator"], 0, 3)
    with (
        Desk(cli.cwd, "mod", home=cli.home) as desk,
        pytest.raises(FolderDamaged, match="moderator"),
    ):
        desk.status()


def test_a_folder_that_is_no_conference_does_not_hide_the_others(cli: Cli) -> None:
    """R-11"""
    Table(cli, "zoo").new()
    Table(cli, "notes").put("todo.txt", "things")
    assert "zoo: round 1" in cli("roundtable", "status", "--dir", str(cli.cwd)).out


# Reading


def test_joining_reads_no_more_at_the_end_than_at_the_beginning(cli: Cli) -> None:
    """R-5: of 200 speeches the last three are opened, as of ten, and everything else the same number of times."""
    counts = {}
    for speeches in (10, 200):
        table = Table(cli, f"c{speeches}")
        by_hand(table.folder, ["a", "b", "c"], speeches, 100)
        assert table.status()["turnsTaken"] == speeches
        log = cli.cwd / f"{speeches}.log"
        words = (
            "roundtable",
            "join",
            table.name,
            "--as",
            "abc"[speeches % 3],
            "--json",
            "--dir",
            str(cli.cwd),
        )
        program = cli.spawn_program(Path(__file__).with_name("opened.py"), str(log), *words)
        found = json.loads(program.communicate(timeout=DEADLINE)[0])
        assert program.returncode == 0
        assert [each["file"] for each in found["speeches"]] == [
            f"{number:03d}_{'abc'[(number - 1) % 3]}.md"
            for number in range(speeches - 2, speeches + 1)
        ]
        assert found["earlier"] == speeches - 3
        opened = [Path(line).name for line in log.read_text().splitlines()]
        assert len([name for name in opened if name[:1].isdigit() and name.endswith(".md")]) == 3
        counts[speeches] = len([name for name in opened if name.endswith((".md", ".json", "lock"))])
    assert counts[10] == counts[200]


# What was given


def test_roles_that_read_files_have_what_was_given_and_are_told_of_wrong_quotations(
    desk: Desk,
) -> None:
    """E-1, E-4: copies below `given` under names that lead nowhere else; quotations are checked against the ledger, not these."""
    desk.folder = desk.root / ".roundtable/rent"
    names = ("contracts/lease.md", "../../escape.md", "/etc/pass\nwd", "合同.md", "..")
    given = [
        ContextFile(name=name, text=f"The rent of {at} is 40,000 euros.\n")
        for at, name in enumerate(names)
    ]
    before = tree(desk.root, "home")
    desk.run(
        desk.hall.create_conference(
            "rent", "Is it fair?", roles=[seat("ada"), seat("bob")], max_rounds=1, files=given
        )
    )
    copies = [
        "001_contracts_lease.md",
        "002_escape.md",
        "003_etc_pass_wd",
        "004_合同.md",
        "005_file",
    ]
    assert sorted(path.name for path in (desk.folder / "given").iterdir()) == copies
    assert (desk.folder / "given" / copies[1]).read_text() == given[1].text
    assert {path for path in tree(desk.root, "home") if ".roundtable" not in str(path)} == set(
        before
    )
    assert (
        "- given/001_contracts_lease.md: contracts/lease.md\n"
        in desk.folder.joinpath("AGENDA.md").read_text()
    )
    (desk.folder / "given" / copies[0]).unlink()
    (desk.folder / "given" / copies[0]).write_text("The rent of 0 is 90,000 euros.\n")
    wrong = speech("ada", "It says “The rent of 0 is 90,000 euros” (contracts/lease.md:1).")
    desk.run(desk.hall.say("rent", "ada", wrong))
    assert "90,000 euros” from contracts/lease.md:1: not found" in desk.turn()["prompt_for_speaker"]
    held = speech("bob", "It says “The rent of 1 is 40,000 euros” (002_escape.md:1).")
    desk.run(desk.hall.say("rent", "bob", held))
    assert desk.turn()["prompt_for_speaker"].count("not found") == 1
    desk.run(desk.hall.say("rent", "moderator", MINUTES_TEXT))
    assert desk.run(desk.hall.check("rent")) == ()

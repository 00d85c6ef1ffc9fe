"""Speech and turn.json are one commit (R-6): a process that dies at any step leaves both or neither; of many at once one wins."""

import json
import select
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import DEADLINE, Cli
from tests.acceptance.tables import MINUTES_TEXT, Desk, digests, fresh, speech

from moothall.errors import FolderDamaged, SessionClosed, UnknownConference

KILLED = -signal.SIGKILL
MAX_STEPS = 400


class Fragile:
    """Commands that die; see fragile.py."""

    def __init__(self, cli: Cli) -> None:
        self._root = str(cli.cwd)
        self._server = cli.converse_with_program(Path(__file__).with_name("fragile.py"))

    def run(self, *calls: dict[str, Any]) -> list[int]:
        """The exit codes of commands that begin at the same moment."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{json.dumps(calls)}\n".encode())
        self._server.stdin.flush()
        assert select.select([self._server.stdout], [], [], DEADLINE)[0], "no answer in time"
        found = json.loads(self._server.stdout.readline())
        assert isinstance(found, list)
        return found

    def call(self, *words: str, stdin: str = "", die_at: int = 0) -> dict[str, Any]:
        return {
            "words": ["roundtable", *words, "--dir", self._root],
            "stdin": stdin,
            "die_at": die_at,
        }

    def die(self, die_at: int, *words: str, stdin: str = "") -> bool:
        """Whether the command was killed at that step; False: it came to its end before."""
        (code,) = self.run(self.call(*words, stdin=stdin, die_at=die_at))
        assert code in {0, KILLED}, (die_at, words, code)
        return code == KILLED

    def close(self) -> None:
        self._server.communicate(timeout=DEADLINE)


@pytest.fixture
def fragile(cli: Cli) -> Iterator[Fragile]:
    found = Fragile(cli)
    yield found
    found.close()


@pytest.fixture
def desk(cli: Cli) -> Iterator[Desk]:
    with Desk(cli.cwd, home=cli.home) as found:
        yield found


def test_a_speaker_that_dies_at_any_step_has_spoken_whole_or_not_at_all(
    fragile: Fragile, desk: Desk
) -> None:
    """R-6: turn.json is always JSON; whoever looks next finds both or neither; the same speech again is one speech."""
    desk.new("a", "b", rounds=100)
    outcomes = set()
    for step in range(1, MAX_STEPS):
        role, before = desk.turn()["current_speaker"], desk.speeches()
        text = speech(role, fresh())
        is_killed = fragile.die(step, "say", "cache", "--as", role, stdin=text)
        assert desk.turn()["speaker_order"] == ["a", "b"]
        taken = desk.status().conference.taken
        outcomes.add(taken - len(before))
        assert taken - len(before) in {0, 1}
        desk.is_sound()
        given = desk.say(role, text)
        assert given.is_repeated == (taken > len(before))
        desk.is_sound()
        added = sorted(set(desk.speeches()) - set(before))
        assert added == [given.file] == [f"{len(before) + 1:03d}_{role}.md"]
        assert (desk.folder / given.file).read_text() == text
        if not is_killed:
            assert step > 20
            assert outcomes == {0, 1}
            return
    pytest.fail("it never came to its end")


def test_a_moderator_that_dies_at_any_step_has_concluded_whole_or_not_at_all(
    fragile: Fragile, desk: Desk, tmp_path: Path
) -> None:
    """R-6, R-9: the minutes likewise."""
    for step in range(1, MAX_STEPS, 4):
        desk.name, desk.folder = f"c{step}", desk.root / ".roundtable" / f"c{step}"
        desk.new("a", rounds=1)
        desk.say("a")
        is_killed = fragile.die(step, "minutes", desk.name, "--write", "-", stdin=MINUTES_TEXT)
        assert desk.turn()["status"] in {"concluding", "closed"}
        found = desk.status().conference
        assert (
            (desk.folder / "MINUTES.md").exists()
            == (found.status == "closed")
            == (desk.turn()["status"] == "closed")
        )
        desk.say("moderator", MINUTES_TEXT)
        assert (desk.folder / "MINUTES.md").read_text() == MINUTES_TEXT
        desk.is_sound()
        if not is_killed:
            return
    pytest.fail("it never came to its end")


def test_whoever_begins_a_conference_and_dies_can_begin_it_again(
    fragile: Fragile, desk: Desk
) -> None:
    """R-12: at any step: either the conference is there, or its name is free."""
    for step in range(1, MAX_STEPS, 4):
        desk.name, desk.folder = f"c{step}", desk.root / ".roundtable" / f"c{step}"
        words = ("new", desk.name, "Which?", "--role", "a", "--role", "b", "--rounds", "1")
        is_killed = fragile.die(step, *words)
        try:
            desk.status()
        except (UnknownConference, FolderDamaged):
            assert fragile.run(fragile.call(*words)) == [0]
        desk.is_sound()
        assert desk.turn()["speaker_order"] == ["a", "b"]
        if not is_killed:
            return
    pytest.fail("it never came to its end")


def test_whoever_skips_a_role_and_dies_has_skipped_it_once_or_not_at_all(
    fragile: Fragile, desk: Desk
) -> None:
    """R-6, R-10"""
    desk.new("a", "b", rounds=100)
    for step in range(1, MAX_STEPS, 3):
        role, before = desk.turn()["current_speaker"], len(desk.speeches())
        is_killed = fragile.die(step, "skip", "cache", "--as", role, "--why", "it dies")
        taken = desk.status().conference.taken
        assert taken - before in {0, 1}
        desk.is_sound()
        if taken > before:
            assert (desk.folder / f"{taken:03d}_{role}.md").read_text().startswith("[SKIPPED]")
        if not is_killed:
            assert taken == before + 1
            return
    pytest.fail("it never came to its end")


def test_whoever_repairs_and_dies_has_lost_nothing(fragile: Fragile, desk: Desk) -> None:
    """R-11: at any step every byte is still there, and the next repair mends the rest."""
    desk.new("a", "b", rounds=3)
    desk.say("a")
    desk.say("b")
    for step in range(1, MAX_STEPS, 7):
        desk.put("turn.json", f'{{"torn": {step}')
        desk.put("007_stranger.md", speech("stranger", fresh()))
        desk.put("001_a.md", speech("a", fresh()))
        desk.put("AGENDA.md", f"# Another {step}\n")
        before = digests(desk.folder)
        is_killed = fragile.die(step, "repair", "cache")
        assert digests(desk.folder) >= before
        desk.repair()
        assert digests(desk.folder) >= before
        desk.is_sound()
        if not is_killed:
            return
    pytest.fail("it never came to its end")


class Reader(threading.Thread):
    """Reads turn.json over and over."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._over = threading.Event()
        self.seen: list[dict[str, Any]] = []
        self.faults: list[str] = []

    def run(self) -> None:
        while not self._over.wait(0.001):
            raw = self._path.read_bytes()
            try:
                found = json.loads(raw)
            except ValueError as cause:
                self.faults.append(f"{cause}: {raw!r}")
                continue
            if not self.seen or self.seen[-1] != found:
                self.seen.append(found)

    def stopped(self) -> list[dict[str, Any]]:
        self._over.set()
        self.join(DEADLINE)
        assert self.faults == []
        return self.seen


def test_of_eight_that_speak_at_once_one_wins_and_no_text_is_lost(
    fragile: Fragile, desk: Desk
) -> None:
    """R-6: the others get the blocked answer (exit code 3), their texts are kept, no number is given twice, and whoever reads
    turn.json meanwhile reads a whole one."""
    desk.new("a", "b", "c", rounds=2)
    reader = Reader(desk.folder / "turn.json")
    reader.start()
    crowds = [["a"] * 8, ["b", "c", "a", "b", "c", "a", "b", "c"], ["c"] * 8, ["a", "b"] * 4]
    for number, crowd in enumerate(crowds):
        is_free_for_all = len(set(crowd)) > 1
        texts = [speech(role, f"{number}.{place} {fresh()}") for place, role in enumerate(crowd)]
        before = desk.speeches()
        codes = fragile.run(
            *(
                fragile.call("say", "cache", "--as", role, stdin=text)
                for role, text in zip(crowd, texts, strict=True)
            )
        )
        assert set(codes) == {0, 3}
        won = [text for text, code in zip(texts, codes, strict=True) if code == 0]
        after = desk.speeches()
        assert [int(name[:3]) for name in after] == list(range(1, len(after) + 1))
        assert sorted(won) == sorted(
            (desk.folder / name).read_text() for name in after[len(before) :]
        )
        # One role: one wins. Several roles: one each at most for a turn, and each in its turn.
        assert is_free_for_all or len(won) == 1
        kept = {path.read_text() for path in (desk.folder / "aside").glob("*_*.md")}
        assert {text for text, code in zip(texts, codes, strict=True) if code == 3} <= kept
        assert not set(won) & kept
        desk.is_sound()
        while (
            desk.turn()["status"] == "open"
            and desk.turn()["current_speaker"] != crowds[min(number + 1, 3)][0]
        ):
            desk.say(desk.turn()["current_speaker"])
        if desk.turn()["status"] != "open":
            break
    seen = reader.stopped()
    assert len(seen) >= 3
    desk.go_on()


def test_of_eight_moderators_one_writes_the_minutes(fragile: Fragile, desk: Desk) -> None:
    """R-6, R-9"""
    desk.new("a", rounds=1)
    desk.say("a")
    texts = [f"{MINUTES_TEXT}Moderator {number}.\n" for number in range(6)]
    codes = fragile.run(
        *(fragile.call("say", "cache", "--as", "moderator", stdin=text) for text in texts)
    )
    assert sorted(codes) == [0, 2, 2, 2, 2, 2]
    assert (desk.folder / "MINUTES.md").read_text() == texts[codes.index(0)]
    desk.is_sound()


def test_the_text_of_whoever_comes_after_the_close_is_kept(desk: Desk) -> None:
    """R-6: of two moderators (or a speaker that is late) the second one's text is kept as well."""
    desk.new("a", rounds=1)
    desk.say("a")
    desk.say("moderator", MINUTES_TEXT)
    with pytest.raises(SessionClosed):
        desk.say("moderator", "## Summary\nOther minutes, an hour's work.\n")
    assert (
        desk.folder / "aside" / "moderator_1.md"
    ).read_text() == "## Summary\nOther minutes, an hour's work.\n"


INCOMPLETE = "## Summary\nWe spoke.\n"


def test_whoever_gives_an_input_and_dies_has_given_it_once_or_not_at_all(
    fragile: Fragile, desk: Desk
) -> None:
    """R-6, R-13: entry, file and turn.json are all there, or none of them."""
    desk.new("a", "b", rounds=100)
    for step in range(1, MAX_STEPS, 3):
        before = len(desk.status().conference.inputs)
        is_killed = fragile.die(step, "input", "cache", f"Input {step}.")
        found = desk.status().conference
        assert len(found.inputs) - before in {0, 1}
        assert sorted(path.name for path in desk.folder.glob("INPUT_*")) == [
            f"INPUT_{given.number:03d}.md" for given in found.inputs
        ]
        desk.is_sound()
        if not is_killed:
            assert len(found.inputs) == before + 1
            assert f"INPUT_{before + 1:03d}.md" in desk.turn()["prompt_for_speaker"]
            return
    pytest.fail("it never came to its end")


@pytest.mark.parametrize("door", ["command", "files"])
def test_minutes_that_come_back_to_whoever_dies_come_back_once(
    fragile: Fragile, desk: Desk, door: str
) -> None:
    """R-6, R-9: killed at any step, no text is lost, and the next minutes end the conference."""
    for step in range(1, MAX_STEPS, 5):
        desk.name, desk.folder = f"c{step}", desk.root / ".roundtable" / f"c{step}"
        desk.new("a", rounds=1)
        desk.say("a")
        if door == "files":
            desk.put("MINUTES.md", INCOMPLETE)
            desk.put_turn(is_old=False, status="closed")
            call = fragile.call("status", desk.name, die_at=step)
        else:
            call = fragile.call(
                "say", desk.name, "--as", "moderator", stdin=INCOMPLETE, die_at=step
            )
        (code,) = fragile.run(call)
        found = desk.status()
        assert (found.conference.status, found.damage) == ("concluding", ())
        assert not (desk.folder / "MINUTES.md").exists()
        if door == "files" or code != KILLED:
            assert INCOMPLETE in {path.read_text() for path in (desk.folder / "aside").iterdir()}
        if found.conference.returned is None:
            assert door == "command"
            desk.say("moderator", INCOMPLETE)
        desk.say("moderator", INCOMPLETE)
        assert desk.status().conference.missing == ("consensus", "disagreements", "actions")
        assert (desk.folder / "MINUTES.md").read_text() == INCOMPLETE
        desk.is_sound()
        if code != KILLED:
            return
    pytest.fail("it never came to its end")

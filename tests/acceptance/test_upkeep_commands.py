"""Commands on the whole record: heads, verify, backup, restore, archive; and copies that may only be read."""

import ctypes
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, held, round_robin, write_script

from moothall.app.upkeep import archive_sessions, back_up, check_ledger, restore, return_sessions
from moothall.codec.chain import (
    ExportHead,
    compute_record_hash,
    compute_root_hash,
    dump_export_head,
    dump_export_lines,
    parse_export,
)
from moothall.domain.records import StoredRecord
from moothall.errors import SessionExists

DAYS = timedelta(days=100) // timedelta(microseconds=1)


def hold(cli: Cli, *sessions: str) -> None:
    """Meetings that end, one after the other."""
    platform = write_script(cli.cwd / "talk.toml", round_robin(("ada", "bob"), 2))

    async def work() -> None:
        async with cli.moot() as moot:
            for session in sessions:
                await moot.hold(
                    "Shall we?", seats=dict.fromkeys(("ada", "bob"), platform), session=session
                )

    held(work())


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def age(text: str) -> str:
    """The export of a session, as if it had been held a hundred days earlier."""
    head, records = parse_export(text)
    before, older = compute_root_hash(head.session), []
    for record in records:
        before = compute_record_hash(before, record.seq, record.at - DAYS, record.body)
        older.append(StoredRecord(record.seq, record.at - DAYS, record.body, before))
    return dump_export_head(
        ExportHead(head.session, head.entries, before.hex())
    ) + dump_export_lines(older)


def write_forged(file: Path, whole: bytes) -> None:
    """An archive without the last entry of a session, and its list of sessions made to fit."""
    file.write_bytes(whole)
    end = "FROM entries WHERE session = number ORDER BY seq DESC LIMIT 1"
    edit(
        file,
        "DELETE FROM entries WHERE seq = 22",
        f"UPDATE sessions SET (head, head_hash) = (SELECT seq, hash {end})",
    )


def export(cli: Cli, session: str) -> str:
    """The record of a session without the first line of its export, which each home signs with its own key."""
    return cli("export", session, "jsonl").out.partition("\n")[2]


def list_faults(cli: Cli, *words: str, code: int = 5) -> dict[str, str]:
    return {name: fault for name, fault in cli.verify(*words, code=code).items() if fault}


def test_heads_kept_elsewhere_prove_what_a_rewritten_ledger_hides(cli: Cli, tmp_path: Path) -> None:
    """N-7: a ledger that was made again without a session fits in itself; signed heads do not fit it."""
    hold(cli, "one", "two")
    kept, forged = tmp_path / "heads.json", cli.elsewhere("forged")
    kept.write_text(cli("ledger", "heads").out)
    public = cli("ledger", "heads", "--public-key").out.strip()
    assert (cli.home / "heads.key").stat().st_mode & 0o777 == 0o600
    assert cli("verify", "--head", str(kept)).code == 0
    # Whoever may write to the ledger makes another one, without `two`.
    (tmp_path / "one.jsonl").write_text(cli("export", "one", "jsonl").out)
    forged("import", str(tmp_path / "one.jsonl"))
    assert list_faults(forged, code=0) == {}
    assert "which is not trusted here" in forged("verify", "--head", str(kept), code=2).err
    faults = list_faults(forged, "--head", str(kept), "--key", public)
    assert faults["two"] == "it is missing: the list of heads given has it with 22 entries"
    assert "_heads" in faults
    forged("verify", "--head", str(kept), "--key", public, "--pin", code=5)
    assert "two" in list_faults(forged, "--head", str(kept))
    # The document itself is signed.
    text = kept.read_text()
    for number, (document, code, told) in enumerate(
        [
            (text.replace('"two", 22', '"two", 21'), 5, "what was signed was changed afterwards"),
            (text.replace(public, "ab" * 32), 2, "is not trusted here"),
            (cli("ledger", "heads", "--unsigned").out, 2, "not signed"),
            ('{"moot": "heads", "version": 2}', 2, "expected what `moot ledger heads` prints"),
            ('["heads"]', 2, "expected what `moot ledger heads` prints"),
            ("\x00\ufffd nothing", 2, "expected what `moot ledger heads` prints"),
        ]
    ):
        file = tmp_path / f"{number}.json"
        file.write_text(document)
        assert told in cli("verify", "--head", str(file), code=code).err
    assert cli("verify", "--head", str(tmp_path / "2.json"), "--unsigned").code == 0
    assert (
        "64 hexadecimal digits" in cli("verify", "--head", str(kept), "--key", "my key", code=2).err
    )
    assert "--key KEY" in cli("verify", "--pin", code=2).err


def test_going_back_to_an_older_copy_is_noticed_with_heads_kept_elsewhere(
    cli: Cli, tmp_path: Path
) -> None:
    """N-7: `verify` compares by itself with all the heads in MOOT_HEADS; those of the older copy itself hide nothing."""
    hold(cli, "one")
    older, elsewhere = tmp_path / "older.db", tmp_path / "elsewhere"
    cli("ledger", "backup", str(older))
    hold(cli, "two")
    elsewhere.mkdir()
    (elsewhere / "heads-1.json").write_text(cli("ledger", "heads").out)
    for path in cli.home.glob("ledger.db*"):
        path.unlink() if path.is_file() else None
    shutil.copy(older, cli.home / "ledger.db")
    assert list_faults(cli, code=0) == {}
    # The nightly job goes on, on the older copy.
    (elsewhere / "heads-2.json").write_text(cli("ledger", "heads").out)
    for word in (elsewhere, elsewhere / "heads-1.json"):
        cli.environ["MOOT_HEADS"] = str(word)
        assert (
            list_faults(cli)["two"]
            == "it is missing: the list of heads given has it with 22 entries"
        )
    assert "two" in list_faults(cli, "two")
    # A new key changes nothing of that, and neither does a stranger's file beside it.
    cli.environ["MOOT_HEADS"] = str(elsewhere)
    first = cli("ledger", "heads", "--public-key").out
    second = cli("ledger", "heads", "--rotate-key").out
    assert first != second == cli("ledger", "heads", "--public-key").out
    assert (cli.home / "heads.key").stat().st_mode & 0o777 == 0o600
    stranger = cli.elsewhere("stranger")
    (elsewhere / "heads-3.json").write_text(stranger("ledger", "heads").out)
    told = cli("verify", code=5)
    assert "heads-3.json is not used" in told.err
    assert stranger("ledger", "heads", "--public-key").out.strip() not in told.err + told.out
    # Who has the home has the list of trusted keys: the public key beside the heads counts more.
    (elsewhere / "heads.pub").write_text(first)
    (cli.home / "heads.trusted").unlink()
    assert "two" in list_faults(cli)
    (elsewhere / "heads.pub").write_text(second)
    assert "has no heads to compare with" in cli("verify", code=2).err
    (elsewhere / "heads-4.json").write_text(cli("ledger", "heads").out)
    assert list_faults(cli, code=0) == {}
    cli.environ["MOOT_HEADS"] = str(tmp_path / "not-mounted")
    assert "has no heads to compare with" in cli("verify", code=2).err
    del cli.environ["MOOT_HEADS"]
    assert cli("verify", "--head", "-", stdin=cli("ledger", "heads").out).code == 0


APPENDS = """
import asyncio, sys
from moothall import Moot
async def main():
    async with Moot() as moot:
        await moot.open("Open?", seats={"ada": "mailbox", "bob": "mailbox"}, session="busy")
        for number in range(100_000):
            await moot.give_input("busy", f"word {number}")
            print(number, flush=True)
asyncio.run(main())
"""


def test_a_lost_machine_comes_back_from_a_backup(cli: Cli, tmp_path: Path) -> None:
    """N-7: a backup is taken while a process writes, is verified, restored into an empty home only, and goes on there."""
    hold(cli, "one")
    file = tmp_path / "backup.db"
    with subprocess.Popen(
        [sys.executable, "-c", APPENDS], env=cli.environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(30):
            process.stdout.readline()
        report = cli.json("ledger", "backup", str(file))
        process.stdout.readline()
        process.kill()
    assert list_faults(cli, code=0) == {}
    assert (report["sessions"], file.stat().st_mode & 0o777) == (2, 0o600)
    assert [
        path.name for path in tmp_path.iterdir() if path.name.startswith((".moot", "backup"))
    ] == ["backup.db"]
    assert "exists already" in cli("ledger", "backup", str(file), code=2).err
    assert (
        "there is no folder" in cli("ledger", "backup", str(tmp_path / "no" / "b.db"), code=2).err
    )
    assert "nothing is overwritten" in cli("ledger", "restore", str(file), code=2).err
    other = Cli(cli.cwd / "new" / "restored", cli.cwd)
    assert (
        "is not signed with the key"
        not in other("ledger", "restore", str(file), "--key", report["key"]).err
    )
    assert list_faults(other, code=0) == {}
    # The home and what had to be made above it are private, and nothing is left behind.
    assert [each.stat().st_mode & 0o777 for each in (other.home.parent, other.home)] == [
        0o700,
        0o700,
    ]
    assert not [path.name for path in other.home.iterdir() if path.name.startswith(".")]
    assert export(other, "one") == export(cli, "one")
    assert export(cli, "busy").startswith(export(other, "busy"))
    assert other.json("input", "busy", "It goes on.")["entry"]
    # What is not a whole backup is not restored.
    fresh = cli.elsewhere("fresh")
    assert (
        "are not signed with the key"
        in fresh("ledger", "restore", str(file), "--key", "00" * 32, code=5).err
    )
    edit(
        file,
        "DELETE FROM entries WHERE session = (SELECT number FROM sessions WHERE id = 'one') AND seq > 20",
    )
    assert (
        "entries 21 to 22 are missing at the end"
        in fresh("ledger", "restore", str(file), code=5).err
    )
    file.write_bytes(b"no ledger at all" * 300)
    assert "no SQLite file" in fresh("ledger", "restore", str(file), code=1).err
    assert not (fresh.home / "ledger.db").exists()


def test_sessions_that_grew_old_are_archived_and_come_back(cli: Cli, tmp_path: Path) -> None:
    """N-7: closed ones alone; they are neither dropped nor forgotten, their ids stay taken, and the way back is said."""
    origin = cli.elsewhere("origin")
    hold(origin, "old-1", "old-2")
    for name in ("old-1", "old-2"):
        (tmp_path / name).write_text(age(origin("export", name, "jsonl").out))
        cli("import", str(tmp_path / name), "--adopt")
    hold(cli, "new")
    cli("run", "Open?", "--seat", "a=mailbox", "--seat", "b=mailbox", "--session", "open", code=3)
    before = {name: cli("export", name, "jsonl").out for name in ("old-1", "old-2", "new")}
    file = tmp_path / "old.db"
    assert cli.json("ledger", "archive", "--dry-run")["sessions"] == ["old-1", "old-2"]
    assert "no session is that old" in cli("ledger", "archive", "--older-than", "101d").err
    assert cli.json("ledger", "archive", "--older-than", "101d") == {
        "file": "",
        "sessions": [],
        "entries": 0,
    }
    assert "at least a day" in cli("ledger", "archive", "--older-than", "1h", code=2).err
    assert "--back FILE SESSION" in cli("ledger", "archive", "old-1", code=2).err
    assert (
        cli("ledger", "archive", "-o", str(file)).out
        == f"went into {file}: sessions: 2, entries: 44\n"
    )
    assert [line["sessionId"] for line in cli.json("list")["sessions"]] == ["open", "new"]
    assert "archived: 2 more" in cli("list").err
    assert [(each["sessionId"], each["file"]) for each in cli.json("list", "--archived")] == [
        ("old-1", str(file)),
        ("old-2", str(file)),
    ]
    told = cli("show", "old-1", code=2).err
    assert f"MOOT_LEDGER={file} moot show old-1" in told
    assert told in cli("verify", "old-1", code=2).err
    assert {each["decisionId"] for each in cli.json("decisions")["decisions"]} == {
        "old-1",
        "old-2",
        "new",
    }
    done = cli("verify")
    assert ("old-1" not in done.out, str(file) in done.err) == (True, True)
    assert "exists already" in cli("import", str(tmp_path / "old-1"), "--adopt", code=2).err
    # An archive that is lost, cut or changed is found, unless nobody wants to know.
    whole = file.read_bytes()
    for change in (
        file.unlink,
        lambda: file.write_bytes(whole[: len(whole) // 2]),
        lambda: write_forged(file, whole),
    ):
        change()
        assert any(f"the archive {file}" in fault for fault in cli.verify(code=5).values() if fault)
        assert "not looked at" in cli("verify", "--no-archives").err
        file.write_bytes(whole)
    assert f"the archive {file} is intact; sessions in it: 2" in cli("verify").err
    # The archive is a ledger by itself.
    reader = Cli(cli.home, cli.cwd, MOOT_LEDGER=str(file))
    assert list_faults(reader, code=0) == {}
    assert reader("export", "old-1", "jsonl").out == before["old-1"]
    assert (
        "no archived session 'new'"
        in cli("ledger", "archive", "--back", str(file), "new", code=2).err
    )
    assert "there is no file 'nope.db'" in cli("ledger", "archive", "--back", "nope.db", code=2).err
    assert cli.json("ledger", "archive", "--back", str(file), "old-1")["sessions"] == ["old-1"]
    assert cli("export", "old-1", "jsonl").out == before["old-1"]
    assert (
        "no archived session 'old-1'"
        in cli("ledger", "archive", "--back", str(file), "old-1", code=2).err
    )
    assert cli.json("ledger", "archive", "--back", str(file))["sessions"] == ["old-2"]
    assert [line["sessionId"] for line in cli.json("list")["sessions"]] == [
        "open",
        "new",
        "old-2",
        "old-1",
    ]
    assert list_faults(cli, code=0) == {}
    # What is damaged is not archived: that would hide it.
    edit(
        cli.home / "ledger.db",
        "UPDATE entries SET hash = randomblob(32) WHERE seq = 22 AND session = (SELECT number FROM sessions WHERE id = 'old-1')",
    )
    assert cli("ledger", "archive", "-o", str(tmp_path / "more.db"), code=5).err.startswith(
        "moot: "
    )
    assert not (tmp_path / "more.db").exists()


def test_a_restored_ledger_keeps_the_ids_of_archived_sessions(
    cli: Cli, tmp_path: Path, postgres_address: str
) -> None:
    """N-7: through a backup into PostgreSQL, and a backup of that: nobody takes the id, and the session comes back."""
    origin, shared = (
        cli.elsewhere("origin"),
        Cli(tmp_path / "shared", cli.cwd, MOOT_LEDGER=postgres_address),
    )
    hold(origin, "old")

    async def work() -> None:
        async with origin.moot() as moot:
            old = age(await moot.export("old", "jsonl"))
        archive = str(tmp_path / "old.db")
        async with cli.moot() as moot:
            await moot.read_back(old)
            await archive_sessions(moot, timedelta(days=1), archive)
        for number, (source, target) in enumerate(
            ((cli, shared), (shared, cli.elsewhere("again")))
        ):
            file = str(tmp_path / f"backup-{number}.db")
            async with source.moot() as moot:
                await back_up(moot.ledger, source.home, file)
            await restore(file, target.environ)
            for reader in (Cli(target.home, cli.cwd, MOOT_LEDGER=file), target):
                async with reader.moot() as moot:
                    with pytest.raises(SessionExists, match="exists already"):
                        await moot.open("Open?", seats={"ada": "mailbox"}, session="old")
                    assert list(await moot.session_list.load_archived()) == ["old"]
                    await check_ledger(moot.ledger, "the ledger")
        for ledger in (shared, target):
            async with ledger.moot() as moot:
                await return_sessions(moot, archive)
                assert (await moot.export("old", "jsonl")).partition("\n")[2] == old.partition(
                    "\n"
                )[2]
                await check_ledger(moot.ledger, "the ledger")

    held(work())


READS = """
import contextlib, io, json, os, sys
from moothall.surfaces.cli.main import main
for place in sys.argv[1:]:
    os.environ["MOOT_HOME"] = place
    for words in (["list", "--json"], ["show", "s"], ["verify", "--json"], ["export", "s", "jsonl"], ["replay", "s"],
                  ["ledger", "heads"], ["decisions", "--json"], ["input", "s", "No."]):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(words, standalone_mode=False)
                code = 0
            except SystemExit as end:
                code = end.code
        print(json.dumps([place, words[0], code, out.getvalue(), err.getvalue()]))
"""


def _obey_rights() -> None:
    """Let rights of files bind this process, also where it is root: without CAP_DAC_OVERRIDE (1) in its bounding set."""
    drop_capability = 24
    ctypes.CDLL(None).prctl(drop_capability, 1, 0, 0, 0)


@pytest.fixture
def copies(cli: Cli, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Copies of a ledger that may only be read: a file, a folder, one with its WAL, one without, a backup."""
    cli("run", "Open?", "--seat", "a=mailbox", "--seat", "b=mailbox", "--session", "s", code=3)
    places = {
        name: tmp_path / name for name in ("file", "folder", "with-wal", "without-wal", "backup")
    }

    async def work() -> None:
        async with cli.moot() as moot:
            await moot.give_input("s", "in the log")
            for name, place in places.items():
                place.mkdir()
                parts = ("ledger.db",) if name == "without-wal" else ("ledger.db", "ledger.db-wal")
                for part in parts if name in {"with-wal", "without-wal"} else ():
                    shutil.copy(cli.home / part, place)

    held(work())
    for name in ("file", "folder"):
        shutil.copy(cli.home / "ledger.db", places[name])
    cli("ledger", "backup", str(places["backup"] / "ledger.db"))
    (places["file"] / "ledger.db").chmod(0o400)
    for name in ("folder", "with-wal", "without-wal", "backup"):
        places[name].chmod(0o500)
    yield places
    for place in places.values():
        place.chmod(0o700)


def test_everything_that_reads_works_on_a_copy_that_may_only_be_read(
    cli: Cli, copies: dict[str, Path]
) -> None:
    """N-7: what reads tells the same as on the ledger itself, and what would write says why it cannot."""
    command = [sys.executable, "-c", READS, *map(str, copies.values())]
    done = subprocess.run(
        command,
        check=False,
        env=cli.environ,
        preexec_fn=_obey_rights,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = {
        (Path(place).name, word): (code, out, err)
        for place, word, code, out, err in map(json.loads, done.stdout.splitlines())
    }
    whole = export(cli, "s")
    for name in copies:
        codes = {word: code for (place, word), (code, _, _) in found.items() if place == name}
        assert codes == {
            **dict.fromkeys(("list", "show", "verify", "export", "replay", "decisions"), 0),
            # Heads are printed, and where no key can be made the exit says that nobody signed them.
            "ledger": 0 if name == "file" else 1,
            "input": 1,
        }, name
        assert json.loads(found[name, "list"][1])["sessions"][0]["sessionId"] == "s"
        assert '"fault"' not in found[name, "verify"][1]
        heads = json.loads(found[name, "ledger"][1])
        assert bool(heads["signature"]) == (name == "file")
        assert "may only be read" in found[name, "input"][2]
        read = found[name, "export"][1].partition("\n")[2]
        assert whole.startswith(read) if name == "without-wal" else read == whole


def test_a_ledger_whose_process_was_killed_raises_no_false_alarm(cli: Cli) -> None:
    """N-7: at any moment, also between an append and the register."""
    for number in range(2):
        code = APPENDS.replace('"busy"', f'"busy-{number}"')
        with subprocess.Popen(
            [sys.executable, "-c", code], env=cli.environ, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(1 + 90 * number):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        assert list_faults(cli, code=0) == {}
    cli("ledger", "heads")
    assert "not registered yet" not in cli("verify").err

"""Secrets in what is given are named before anything is sent, and left out of folders (E-9)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli

from moothall.app.moot import Moot
from moothall.domain.ids import parse_seat_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.topic import ContextFile
from moothall.errors import SecretsGiven

# Put together here: no file of this project holds the shape of a key.
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "MIIEowIBAAKCAQEAx7h3" * 3 + "\n"
MEETING = (
    "run",
    "Is it sound?",
    "--protocol",
    "debate",
    "--seat",
    "ada=mailbox",
    "--seat",
    "bob=mailbox",
)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "prod.env").write_text(f"NAME=shop\nTOKEN={TOKEN}\n")
    (folder / "server.key").write_text(KEY)
    (folder / "notes.md").write_text("The password is kept in the vault.\n")
    (folder / "plan.txt").write_bytes("Größe: 3 Räume\n".encode("utf-16"))
    (folder / "old.txt").write_bytes("Größe: 4 Räume\n".encode("latin-1"))
    (folder / "blob.bin").write_bytes(b"\x00\x01\x02")
    return Cli(tmp_path / "home", tmp_path)


def test_a_file_with_a_token_is_refused_in_one_line_that_names_its_place(cli: Cli) -> None:
    """E-9: file, line and kind, never the secret; nothing is opened."""
    for words in ((), ("--dry-run",)):
        refused = cli(*MEETING, "--file", "conf/prod.env", *words, code=2)
        [line] = [each for each in refused.err.splitlines() if "GitHub token" in each]
        assert "conf/prod.env:2 (GitHub token)" in line
        assert "--allow-secrets" in line
        assert TOKEN not in refused.out + refused.err
    assert json.loads(cli("list", "--json").out)["sessions"] == []
    cli(*MEETING, "--file", "conf/prod.env", "--allow-secrets", "--session", "s", code=3)
    assert TOKEN in cli("export", "s", "minutes").out


def test_a_question_and_a_piped_text_are_looked_through_as_well(cli: Cli) -> None:
    """E-9"""
    asked = ("run", f"Is {TOKEN} still valid?", *MEETING[2:])
    assert "the question:1 (GitHub token)" in cli(*asked, code=2).err
    piped = cli(*MEETING, "--file", "-", stdin=f"a\nb\n{KEY}", code=2)
    assert "stdin:3 (private key)" in piped.err


def test_a_folder_leaves_secrets_out_and_says_so(cli: Cli) -> None:
    """E-9: while it runs, by a dry run, and in the report; what is in UTF-16 or Latin-1 is read."""
    for words, code in ((("--dry-run",), 0), (("--session", "s"), 3)):
        done = cli(*MEETING, "--file", "conf", *words, code=code)
        said = done.out + done.err
        assert "conf/prod.env: looks like it holds a secret: line 2 (GitHub token)" in said
        assert "conf/server.key: looks like it holds a secret: line 1 (private key)" in said
        assert "conf/blob.bin: is not a text file" in said
        assert TOKEN not in said
    minutes = cli("export", "s", "minutes").out
    assert TOKEN not in minutes
    assert "conf/prod.env" in minutes
    assert "Größe: 3 Räume" in minutes
    assert "Größe: 4 Räume" in minutes
    everything = cli(*MEETING, "--file", "conf", "--allow-secrets", "--dry-run", "--json")
    names = {each["name"] for each in json.loads(everything.out)["files"]}
    assert names >= {"conf/prod.env", "conf/server.key", "conf/notes.md"}


def test_the_library_raises_an_error_of_its_own() -> None:
    """E-9: in Python and in calls."""

    async def plan(**more: Any) -> None:
        seats = [Seat(id=parse_seat_id(name), platform=MAILBOX) for name in ("ada", "bob")]
        files = [ContextFile(name="a.env", text=f"x\ny\nz\nKEY={TOKEN}\n")]
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            await moot.plan_session(
                "Is it sound?", protocol="debate", seats=seats, files=files, **more
            )

    with pytest.raises(SecretsGiven, match=r"a\.env:4 \(GitHub token\)") as raised:
        asyncio.run(plan())
    assert TOKEN not in str(raised.value)
    asyncio.run(plan(allow_secrets=True))


def test_a_diff_under_review_counts_with_its_removed_lines(cli: Cli, tmp_path: Path) -> None:
    """E-9: what is removed is sent with the rest, so it is named with the rest."""
    diff = (
        "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n"
        f'-token = "{TOKEN}"\n+token = load_token()\n print(1)\n'
    )
    (tmp_path / "a.diff").write_text(diff)
    words = ("review", "a.diff", "--seat", "ada=mailbox", "--seat", "bob=mailbox")
    refused = cli(*words, code=2)
    assert "GitHub token" in refused.err
    assert TOKEN not in refused.err

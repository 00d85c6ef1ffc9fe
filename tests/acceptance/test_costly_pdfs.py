"""PDFs that are damaged, or made to cost hours or all memory: each is one sentence, and no server stands still (E-1)."""

import asyncio
import json
import os
import sys
import threading
import zlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.acceptance.doors import DEADLINE, Cli
from tests.acceptance.test_given_files import build_pdf
from tests.integration.test_stream import staged

from moothall.app import pdf_child, pdf_files
from moothall.app.given_files import read_given_files
from moothall.app.pdf_files import extract_pdf
from moothall.domain.topic import MAX_FILE_LENGTH
from moothall.errors import BadSetting
from moothall.surfaces.api.method import RateLimiter
from moothall.surfaces.http.app import build_app
from moothall_testkit.ledger_scenes import run_with_deadline

PDF = build_pdf("Rent is 9 euros.")
UNKNOWN_FILTER = PDF.replace(b"/Length", b"/Filter/Foo/Length")
"""The parser raises `NotImplementedError` for it."""
WAITING = """
import json, os, pathlib, sys, time
sys.stdin.buffer.read()
pathlib.Path({started!r}).touch()
while not os.path.exists({allowed!r}):
    time.sleep(0.02)
print(json.dumps({{"pages": ["late"]}}))
"""
"""Stands in for a file that keeps its reader busy."""
RUN = ("run", "Should we buy it?", "--protocol", "debate", "--seat", "ada=mailbox", "--seat", "bob=mailbox")  # fmt: skip


def build_costly_pdf(operators: int) -> bytes:
    """A page of a few kilobytes that draws a letter again and again."""
    drawn = zlib.compress(b"BT (a) Tj ET\n" * operators, 9)
    plain = build_pdf("")
    head, _, rest = plain.partition(b"<</Length")
    tail = rest.partition(b"endstream")[2]
    stream = b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(drawn), drawn)
    return head + stream + tail


def place_child(monkeypatch: pytest.MonkeyPatch, path: Path, source: str) -> None:
    """Start another program in place of the parser's."""
    path.write_text(source)
    monkeypatch.setattr(pdf_files, "CHILD", path)


def place_waiting_child(monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Path, Path]:
    """Let every PDF be read until a file is there; returns the file that says that one is read, and that file."""
    started, allowed = folder / "started", folder / "allowed"
    source = WAITING.format(started=str(started), allowed=str(allowed))
    place_child(monkeypatch, folder / "child.py", source)
    return started, allowed


async def appears(path: Path) -> None:
    async with asyncio.timeout(DEADLINE):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.02)


def test_a_damaged_pdf_is_one_sentence_whatever_its_parser_raises(cli: Cli, tmp_path: Path) -> None:
    """E-1: the parser's failures are of any kind."""
    (tmp_path / "damaged.pdf").write_bytes(UNKNOWN_FILTER)
    said = cli(*RUN, "--file", "damaged.pdf", code=2).err
    assert said.startswith("moot: damaged.pdf cannot be read as a PDF: Unsupported filter")
    assert said.count("\n") == 1
    assert cli.json("list")["sessions"] == []


def test_a_folder_leaves_a_damaged_pdf_out_with_a_line(tmp_path: Path) -> None:
    """E-1: the other files are given."""
    top = tmp_path / "work"
    top.mkdir()
    (top / "damaged.pdf").write_bytes(UNKNOWN_FILTER)
    (top / "lease.pdf").write_bytes(PDF)
    given = read_given_files([top], {})
    assert [each.name for each in given.files] == ["work/lease.pdf"]
    (line,) = given.left_out
    assert line.startswith("work/damaged.pdf: cannot be read as a PDF: Unsupported filter")


def test_a_call_with_a_damaged_pdf_is_the_callers_mistake(tmp_path: Path) -> None:
    """E-1: no internal error, and nothing is opened."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            file = {"name": "damaged.pdf", "data": b64encode(UNKNOWN_FILTER).decode()}
            with pytest.raises(BadSetting, match=r"damaged\.pdf cannot be read as a PDF"):
                await stage.open(files=[file])
            assert (await stage("moot.listSessions"))["sessions"] == []

    run_with_deadline(work())


def test_a_pdf_ends_at_its_processor_time_its_memory_and_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-1: the reader is a process of its own, which each of the limits ends."""
    costly = build_costly_pdf(5_000_000)
    assert len(costly) < 200_000
    monkeypatch.setattr(pdf_files, "CPU_SECONDS", 1)
    with pytest.raises(BadSetting, match=r"p\.pdf cannot be read as a PDF: it takes more than"):
        extract_pdf("p.pdf", costly)
    monkeypatch.undo()
    place_child(monkeypatch, tmp_path / "memory.py", "import sys; sys.path.append(sys.argv[1])\n" + (
        f"sys.path.append({str(Path(pdf_child.__file__).parent)!r})\n"
        "import json, pdf_child\n"
        "pdf_child.limit_resources(20, json.loads(sys.argv[1])['memory'])\n"
        "print(json.dumps({'pages': [str(len(bytearray(10**9)))]}))\n"
    ))  # fmt: skip
    with pytest.raises(BadSetting, match="it takes more than 20 s or 512 MB"):
        extract_pdf("p.pdf", PDF)
    place_waiting_child(monkeypatch, tmp_path)
    monkeypatch.setattr(pdf_files, "DEADLINE_SECONDS", 0.5)
    with pytest.raises(BadSetting, match="it takes more than"):
        extract_pdf("p.pdf", PDF)


def test_without_limits_of_the_system_a_pdf_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """E-1: Windows has none, and macOS refuses the one of memory."""
    monkeypatch.setitem(sys.modules, "resource", None)
    pdf_child.limit_resources(1, 1)
    monkeypatch.undo()
    resource = pytest.importorskip("resource")
    asked: list[int] = []

    def refuse(kind: int, limits: tuple[int, int]) -> None:
        asked.append(kind)
        raise ValueError("not here")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    pdf_child.limit_resources(1, 1)
    assert len(asked) == 3


def test_text_is_taken_until_it_is_too_long_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """E-1: pages behind the limit are not read, nor is a page that exceeds it read to its end."""
    pages = build_pdf(*["word " * 20] * 50)
    assert pdf_child.read_pdf(pages, 100_000)["pages"][-1].startswith("word word")
    assert pdf_child.read_pdf(pages, 1_000) == {"is_too_long": True}
    assert pdf_child.read_pdf(build_costly_pdf(1_000), 50) == {"is_too_long": True}
    monkeypatch.setattr(pdf_files, "MAX_FILE_LENGTH", 1_000)
    with pytest.raises(BadSetting, match=r"big\.pdf is too large; at most 1000 characters"):
        extract_pdf("big.pdf", pages)
    assert MAX_FILE_LENGTH == 2_000_000


def test_the_reader_has_a_group_of_its_own_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-1: what breaks out of the parser finds no key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MOOT_TOKEN", "secret")
    place_child(monkeypatch, tmp_path / "child.py", (
        "import json, os\n"
        "print(json.dumps({'pages': [*os.environ, str(os.getpgrp()), str(os.getppid())]}))\n"
    ))  # fmt: skip
    text = extract_pdf("a.pdf", PDF)
    names = {*text.split("\n")}
    assert not any("KEY" in each or "MOOT" in each or each == "PATH" for each in names)
    assert str(os.getpid()) in names
    assert str(os.getpgrp()) not in names


def test_at_most_two_are_read_at_once_and_who_waits_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-1: a crowd of costly files does not take all processors."""
    started, allowed = place_waiting_child(monkeypatch, tmp_path)
    texts: list[str] = []
    readers = [
        threading.Thread(target=lambda: texts.append(extract_pdf("a.pdf", PDF))) for _ in range(2)
    ]
    for each in readers:
        each.start()
    asyncio.run(appears(started))
    while pdf_files._children.acquire(blocking=False):
        pdf_files._children.release()
    monkeypatch.setattr(pdf_files, "WAIT_SECONDS", 0.1)
    with pytest.raises(BadSetting, match="too many PDFs are being read"):
        extract_pdf("b.pdf", PDF)
    allowed.touch()
    for each in readers:
        each.join(DEADLINE)
    assert texts == ["[page 1]\nlate"] * 2


def ask_by_chat(client: httpx2.AsyncClient) -> Awaitable[httpx2.Response]:
    data = f"data:application/pdf;base64,{b64encode(PDF).decode()}"
    parts = [
        {"type": "text", "text": "Should we buy it?"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": data}},
    ]
    asked = {"model": "moot/duo", "messages": [{"role": "user", "content": parts}]}
    return client.post("/v1/chat/completions", json=asked)


def ask_by_rpc(client: httpx2.AsyncClient) -> Awaitable[httpx2.Response]:
    params = {
        "topic": "Should we buy it?",
        "participants": ["ada", "bob"],
        "files": [{"name": "a.pdf", "data": b64encode(PDF).decode()}],
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.openDeliberation", "params": params}
    return client.post("/rpc", json=call)


@pytest.mark.parametrize("ask", [ask_by_chat, ask_by_rpc])
def test_a_server_answers_others_while_a_pdf_is_read(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]],
) -> None:
    """E-1: by whichever door it comes, also where as many wait as the pool of threads has threads; texts are opened meanwhile."""
    started, allowed = place_waiting_child(monkeypatch, tmp_path)

    async def work() -> None:
        app = build_app(cli.moot(), is_local=True, rates=RateLimiter(1_000.0, 1_000.0))
        owner = {"Authorization": f"Bearer {cli.key}"}
        async with asyncio.timeout(DEADLINE), app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", timeout=DEADLINE, headers=owner
            ) as client:
                asked = [asyncio.ensure_future(ask(client)) for _ in range(20)]
                await appears(started)
                assert (await client.get("/livez")).status_code == 200
                params: dict[str, Any] = {
                    "topic": "Should we sell it?",
                    "participants": ["ada", "bob"],
                    "files": [{"name": "a.md", "text": "Rent is 9 euros."}],
                }
                call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.openDeliberation"}
                opened = await client.post("/rpc", json={**call, "params": params})
                assert "result" in opened.json(), opened.text
                assert not any(each.done() for each in asked)
                allowed.touch()
                replies = [await each for each in asked]
                assert all("a.pdf" not in each.text for each in replies), replies[0].text

    asyncio.run(work())


def test_a_small_pdf_starts_the_parser_alone() -> None:
    """E-1: the child imports nothing of Moot, and needs no site packages to be set up."""
    source = Path(pdf_child.__file__).read_text()
    assert "moothall" not in source
    assert json.loads(json.dumps(pdf_child.read_pdf(PDF, 1_000))) == {"pages": ["Rent is 9 euros."]}

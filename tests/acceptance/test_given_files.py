"""What is given with a question: files, folders, standard input and PDFs, in the ledger once and in every report (E-1)."""

import asyncio
import json
import os
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli

from moothall import Moot
from moothall.app.given_files import read_given_files
from moothall.domain.effects import Brief
from moothall.domain.given_search import search_files
from moothall.domain.topic import MAX_FILES, ContextFile, build_context
from moothall.errors import BadSetting
from moothall.reports.given import MAX_SHOWN_LENGTH, format_context
from moothall.surfaces.api.session_options import ContextFileIn

NOTES = "The plan costs 40,000 euros.\nIt saves two people a week.\n"
MEETING = (
    "run",
    "Should we buy it?",
    "--protocol",
    "debate",
    "--seat",
    "ada=mailbox",
    "--seat",
    "bob=mailbox",
)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "notes.md").write_text(NOTES)
    return Cli(tmp_path / "home", tmp_path)


def build_pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page, written by hand: the smallest that readers take."""
    bodies = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        kids.append(len(bodies) + 1)
        font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
        bodies.append(
            b"<</Type/Page/Parent 2 0 R/Resources%b/Contents %d 0 R>>" % (font, len(bodies) + 2)
        )
        bodies.append(b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream))
    refs = b" ".join(b"%d 0 R" % kid for kid in kids)
    bodies[1] = b"<</Type/Pages/Count %d/MediaBox[0 0 612 792]/Kids[%b]>>" % (len(kids), refs)
    out, places = BytesIO(b""), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(bodies, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(
        b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start)
    )
    return out.getvalue()


def test_a_given_file_is_in_every_report_with_its_hash_and_its_text(cli: Cli) -> None:
    """E-1: name, size and SHA-256 in the head of every report, the text folded."""
    cli(*MEETING, "--session", "s", "--file", "notes.md", code=3)
    digest = sha256(NOTES.encode()).hexdigest()
    for form in ("minutes", "html"):
        text = cli("export", "s", form).out
        assert f"notes.md ({len(NOTES)} B, SHA-256 {digest[:12]}…)" in text, form
        assert digest in text
        assert "1: The plan costs 40,000 euros." in text
    assert digest in cli("export", "s", "jsonl").out


def test_what_two_sessions_were_given_is_stored_once_and_goes_with_an_export(
    cli: Cli, tmp_path: Path
) -> None:
    """E-1: content-addressed in the ledger once, however many sessions use it; an export carries it, whole or not at all."""
    big = "All work is done by Friday. " * 2_000
    (tmp_path / "big.md").write_text(big)
    for name in ("one", "two"):
        cli(*MEETING, "--session", name, "--file", "big.md", code=3)
    cli("fork", "one", "--at", "1", "--session", "three")

    async def list_streams() -> list[str]:
        async with cli.moot() as moot:
            return [head.session for head in await moot.ledger.heads("_file_")]

    assert asyncio.run(list_streams()) == [f"_file_{sha256(big.encode()).hexdigest()}"]
    exported = cli("export", "two", "jsonl").out
    (tmp_path / "two.jsonl").write_text(exported)
    (tmp_path / "bad.jsonl").write_text(exported.replace("by Friday. All", "by Monday. All", 1))
    other = cli.elsewhere("other")
    assert "is not what its hash says" in other("import", "bad.jsonl", code=2).err
    other("import", "two.jsonl")
    assert "All work is done by Friday." in other("export", "two", "minutes").out
    assert other("verify").code == other("replay", "two").code == 0


def test_a_folder_is_read_by_its_ignore_rules_and_lists_what_it_leaves_out(tmp_path: Path) -> None:
    """E-1: folders, with ignore rules; nothing outside of the folder is read."""
    (tmp_path / "secret.txt").write_text("secret")
    top = tmp_path / "work"
    for name, text in {
        ".gitignore": "*.log\n!keep.log\n/build\nout/\ndocs/**/*.tmp\n",
        ".env": "KEY=1",
        "a.md": "A",
        "x.log": "x",
        "keep.log": "kept",
        "build/made.txt": "made",
        "src/build/own.txt": "own",
        "src/out/o.txt": "o",
        "docs/deep/t.tmp": "t",
        "node_modules/m.js": "m",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "logo.png").write_bytes(b"\x89PNG\0\0")
    (top / "empty.txt").write_text("")
    (top / "link.txt").symlink_to(tmp_path / "secret.txt")
    given = read_given_files([top], {})
    assert {file.name: file.text for file in given.files} == {
        "work/a.md": "A",
        "work/keep.log": "kept",
        "work/src/build/own.txt": "own",
    }
    assert [line.partition(":")[0] for line in given.left_out] == [
        "work/empty.txt",
        "work/logo.png",
    ]


def test_standard_input_and_pdfs_are_read_and_relative_paths_are_names(
    cli: Cli, tmp_path: Path
) -> None:
    """E-1: `-` is standard input; the text of a PDF has its pages, its hash is the file's own."""
    raw = build_pdf("The lease ends in 2031.", "Rent is 9 euros.")
    (tmp_path / "lease.pdf").write_bytes(raw)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.md").write_text("Other notes.")
    words = (
        "--file",
        "-",
        "--file",
        "lease.pdf",
        "--file",
        "a/notes.md",
        "--file",
        "notes.md",
        "--dry-run",
        "--json",
    )
    found = json.loads(cli(*MEETING, *words, stdin="Piped in.\n").out)["opened"]["subject"][
        "context"
    ]
    assert [each["name"] for each in found] == ["stdin", "lease.pdf", "a/notes.md", "notes.md"]
    assert found[0]["text"] == "Piped in.\n"
    assert found[1]["text"] == "[page 1]\nThe lease ends in 2031.\n[page 2]\nRent is 9 euros."
    assert found[1]["original"] == sha256(raw).hexdigest()


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("none.md", "cannot be read: No such file"),
        ("picture.bin", "not a text file, a PDF or a picture"),
        ("large.txt", "too large"),
        ("empty.txt", "is empty"),
        ("broken.pdf", "cannot be read as a PDF"),
        ("scan.pdf", "holds no text"),
        ("pipe", "is not a file"),
        ("hollow", "no file that can be read"),
        ("https://example.com/a.md", "MOOT_FETCH=on"),
        ("-", "standard input is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_opened(
    cli: Cli, tmp_path: Path, word: str, told: str
) -> None:
    """E-1: missing, binary, too large, unreadable, on the network without leave: one clear sentence, and no session."""
    (tmp_path / "picture.bin").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "large.txt").write_text("x" * 8_000_001)
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    (tmp_path / "scan.pdf").write_bytes(build_pdf(""))
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "x.bin").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")
    said = cli(*MEETING, "--file", word, code=2).err
    assert told in said
    assert said.count("\n") == 1
    assert cli.json("list")["sessions"] == []


def test_two_texts_of_one_name_are_refused_and_limits_hold() -> None:
    """E-1: a citation names one text."""
    with pytest.raises(BadSetting, match="two files are called 'a'"):
        build_context([ContextFile(name="a", text="1"), ContextFile(name="a", text="2")])
    assert (
        len(build_context([ContextFile(name="a", text="1"), ContextFile(name="a", text="1")])) == 1
    )
    with pytest.raises(BadSetting, match=f"at most {MAX_FILES}"):
        build_context(ContextFile(name=str(n), text="x") for n in range(MAX_FILES + 1))


def test_what_is_too_long_for_a_prompt_is_searched_and_not_cut(tmp_path: Path) -> None:
    """E-1: a seat is shown the passages that have to do with its question, wherever they stand, and the prompt stays bounded."""
    filler = "\n".join(f"Clause {n}: nothing of interest is agreed here." for n in range(40_000))
    needle = "Clause X: termination requires a notice of ninety days."
    files = build_context(
        [
            ContextFile(name="contract.md", text=f"{filler[:1_500_000]}\n{needle}\n"),
            ContextFile(name="合同.md", text=f"违约金为百分之三。{'无关内容。' * 40_000}"),
        ]
    )
    prompt = format_context("en", files, "How long is the notice for termination?")
    assert needle in prompt
    assert len(prompt) < MAX_SHOWN_LENGTH / 2
    assert "contract.md (" in prompt
    assert "违约金为百分之三" in format_context("zh", files, "违约金是多少？")
    assert search_files(files, "zebra", 10_000) == []


def test_files_are_given_in_python_and_every_seat_reads_them(tmp_path: Path) -> None:
    """E-1: `files=`, with paths and texts."""
    (tmp_path / "notes.md").write_text(NOTES)
    read: list[str] = []

    def answer(brief: Brief) -> Any:
        read.append(brief.shared)
        return {"position": "Yes.", "confidence": 0.7, "choice": "yes"}

    files: list[str | Path | ContextFile] = [
        tmp_path / "notes.md",
        ContextFile(name="rule", text="No more than 50,000."),
    ]
    seats = {"ada": answer, "bob": answer}

    async def work() -> None:
        async with Moot(environ={"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}) as moot:
            await moot.hold("Should we buy it?", seats=seats, protocol="debate", files=files)

    asyncio.run(work())
    assert read
    assert all(
        "| 1: The plan costs 40,000 euros." in each
        and "[file rule]\n| 1: No more than 50,000." in each
        for each in read
    )


def test_all_seats_are_told_of_a_quotation_that_is_not_there(cli: Cli) -> None:
    """E-4: not before it may be read; then in every seat's prompt, and in the report with how many held."""
    cli(*MEETING, "--session", "q", "--file", "notes.md", "--set", "debate=always", code=3)
    false = "notes.md:1 says “The plan costs 4,000 euros.” That is cheap."
    proposal = {"type": "propose", "text": false, "choice": "yes", "confidence": 0.8}
    cli("answer", "q", "--seat", "ada", json.dumps(proposal))
    for words in (["asks", "q"], ["show", "q"], ["show", "q", "--report"], ["export", "q", "html"]):
        out = cli(*words).out
        assert "not found in" not in out, "what is sealed is told to nobody"
        assert "4,000" not in out
        assert "← #" not in out
    true = "notes.md:2 says “saves two people a week”, and “It saves two people a week” is little."
    cli("answer", "q", "--seat", "bob", json.dumps({**proposal, "text": true, "choice": "no"}))
    cli("resume", "q", code=3)
    asked = cli("asks", "q").out
    fault = (
        "#2 ada: “The plan costs 4,000 euros.” from notes.md:1: not found in what was given or said"
    )
    assert asked.count(f"| {fault}") == len(cli.json("asks", "q")["asks"]) >= 1
    shown = cli("show", "q").out
    assert "2 of 3 quotations and citations stand where they are said to." in shown
    assert "4,000 euros" in shown.partition("Quotations, checked by code")[2]
    assert "2: It saves two people a week.  ← #3" in shown
    assert "1: The plan costs 40,000 euros.  ← #2" in shown
    cli("cancel", "q")
    assert cli("show", "q").out.count("2 of 3 quotations") == 2, (
        "beside what was decided, and below with the words"
    )


def test_without_files_nothing_is_checked(cli: Cli) -> None:
    """E-4: a meeting on words alone reads as before."""
    cli(*MEETING, "--session", "q", code=3)
    assert "checked by code" not in cli("asks", "q").out
    assert "checked by code" not in cli("show", "q").out


@pytest.mark.parametrize(
    ("text", "data", "said"),
    [("a", "YQ==", "expected one of them"), ("", "!!", "base64"), ("", "AAE=", "not a text")],
)
def test_a_call_gives_the_text_or_the_file_itself(text: str, data: str, said: str) -> None:
    """E-1: nothing that is given is ignored in silence."""
    with pytest.raises(BadSetting, match=said):
        ContextFileIn(name="n.md", text=text, data=data).read_text()

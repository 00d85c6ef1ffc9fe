"""Minutes as a Word document: what the minutes have, whatever participants wrote, and one sentence where the extra is missing."""

import io
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moothall.app.word_document import build_word_document
from moothall.domain.ids import SessionId
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report
from moothall.surfaces.cli.main import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MOOT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def read_words(content: bytes) -> str:
    """Every paragraph and cell of a document, as a reader of such files sees them."""
    docx = pytest.importorskip("docx")
    document = docx.Document(io.BytesIO(content))
    words = [each.text for each in document.paragraphs]
    for table in document.tables:
        words += [cell.text for row in table.rows for cell in row.cells]
    return "\n".join(words)


def build_report(*content: Block) -> Report:
    return Report(
        session=SessionId("s"), language="en", title="Debate", topic="Ship?", decision=content
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_session_is_written_as_a_document(home: Path, language: str) -> None:
    """By the name of the form, or of a file that ends so; with all sentences of the minutes."""
    pytest.importorskip("docx")
    assert call("demo", "debate", "--language", language, "--session", "d1", "-q").exit_code == 0
    written = call("export", "last", "docx")
    assert (written.exit_code, written.stderr) == (0, "wrote d1.docx\n")
    assert call("export", "d1", "-o", "minutes.docx").exit_code == 0
    told = read_words((home / "d1.docx").read_bytes())
    assert read_words((home / "minutes.docx").read_bytes()) == told
    minutes = call("export", "d1", "minutes").stdout
    quoted = [line[2:].strip() for line in minutes.splitlines() if line.startswith("> ")]
    assert len(quoted) > 10
    assert [line for line in quoted if line.replace("\\", "") not in told] == []


def test_every_kind_of_block_is_written_and_nothing_hostile_runs() -> None:
    """M-10: control codes, markup and links of participants stay their words."""
    pytest.importorskip("docx")
    hostile = "\x00\x1b[31m<w:p>\uffff ]]> & [x](javascript:1) \u202e=cmd|' /C calc'!A0"
    bar = blocks.Bar(name="Ada", value=0.5)
    series = blocks.Series("support", (0.25, None))
    content = build_word_document(
        build_report(
            blocks.Heading(hostile, 2),
            blocks.Line((hostile, blocks.Strong("bold"), blocks.References((3,)))),
            blocks.Quote(f"{hostile}\nsecond line"),
            blocks.Fields(((hostile, 1), ("empty", None))),
            blocks.Bullets((hostile,)),
            blocks.Table(("a", "b"), ((hostile, 0.5),)),
            blocks.Card(blocks=(blocks.Line("inside"),), head=(hostile,)),
            blocks.Details(hostile, (blocks.Preformatted((hostile,)),)),
            blocks.Bars((bar,)),
            blocks.Shares((bar,)),
            blocks.LineChart(label="l", labels=("1", "2"), series=(series,)),
            blocks.ColumnChart(label="c", labels=("1", "2"), series=(series,)),
        )
    )
    told = read_words(content)
    for piece in ("<w:p>", "bold#3", "second line", "inside", "Ada 50 %", "support", "0.25"):
        assert piece in told
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        relations = archive.read("word/_rels/document.xml.rels").decode()
    assert not [name for name in names if "vba" in name.lower()]
    assert "javascript" not in relations
    assert 'TargetMode="External"' not in relations


def test_without_the_extra_one_sentence_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written then."""
    assert call("demo", "debate", "--session", "d1", "-q").exit_code == 0
    monkeypatch.setitem(sys.modules, "docx", None)
    refused = call("export", "d1", "docx")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("moot: a Word document needs an extra package: ")
    assert "moothall[docx]" in refused.stderr
    assert not list(home.glob("*.docx"))
    assert "leave --apart out" in call("export", "d1", "docx", "--apart", "j").stderr
    monkeypatch.undo()


def test_a_file_that_cannot_be_written_is_said(home: Path) -> None:
    pytest.importorskip("docx")
    assert call("demo", "debate", "--session", "d1", "-q").exit_code == 0
    refused = call("export", "d1", "-o", "missing/d1.docx")
    assert (refused.exit_code, "cannot be written" in refused.stderr) == (2, True)

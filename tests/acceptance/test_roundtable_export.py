"""A conference as files for people: what `moot export` writes of a roundtable (R-9)."""

import re
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, Script, seat_words, write_script
from tests.support.exported_page import take_own_script

EVIL = "<script>alert(1)</script>"
TALK: Script = {
    "architect": {
        "speech": [
            {"raw": f"## Stance\nRedis. {EVIL}\n## For the next speaker\nWhich threats?"},
            {"raw": "Yes.\n[CONSENSUS]"},
        ]
    },
    "security": {"speech": [{"raw": "Fine, if closed off."}, {"fail": "timeout"}]},
    "moderator": {
        "minutes": [
            {
                "raw": f"## Summary\n{EVIL}\n## Consensus reached\nRedis.\n## Disagreements left open\nThe import job."
            }
        ]
    },
}


@pytest.fixture
def held(cli: Cli, tmp_path: Path) -> str:
    """Session `s`: a conference of two rounds, with a speaker that is skipped in the second."""
    seats = seat_words(write_script(tmp_path / "talk.toml", TALK), list(TALK))
    background = ("--set", f"agenda=Background. {EVIL}", "--set", "max_rounds=2")
    cli(
        "run",
        f"Which cache? {EVIL}",
        "--protocol",
        "roundtable",
        *seats,
        *background,
        "--session",
        "s",
        "--seed",
        "7",
    )
    return "s"


def test_a_conference_is_exported_as_a_page(cli: Cli, held: str, tmp_path: Path) -> None:
    """R-9: the minutes, what was left open, who was skipped, all speeches; to a file as well; other forms are refused by name."""
    page = cli("export", "s", "html").out
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert (
        '<p class="heading">Consensus reached</p>\n<p>Redis.</p>\n<p class="heading">Disagreements left open</p>'
        in page
    )
    assert (
        '<h2>Left open</h2>\n<article class="card"><div class="words"><p>The import job.</p></div></article>'
        in page
    )
    assert "<li>security was skipped in round 2: no answer in time</li>" in page
    assert re.findall(r'<b>(\w+)</b></span><span><span class="soft">speech (\d+)</span>', page) == [
        ("architect", "1"),
        ("security", "2"),
        ("architect", "3"),
    ]
    cli("export", "s", "html", "-o", str(tmp_path / "s.html"))
    assert (tmp_path / "s.html").read_text(encoding="utf-8") == page
    done = cli("export", "s", "context", code=2)
    assert (
        done.err
        == "moot: a roundtable session has no form 'context'; it has: jsonl, minutes (Markdown), html\n"
    )


def test_nothing_that_was_said_in_a_conference_is_markup_of_its_page(cli: Cli, held: str) -> None:
    """R-9: topic, agenda, speech and minutes."""
    page = take_own_script(cli("export", "s", "html").out)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 5


def test_a_conference_read_back_elsewhere_has_the_same_page(cli: Cli, held: str) -> None:
    other = cli.elsewhere("other")
    other("import", "-", stdin=cli("export", "s", "jsonl").out)
    assert other("export", "s", "html").out == cli("export", "s", "html").out


def test_a_conference_in_chinese_has_a_page_in_chinese(cli: Cli, tmp_path: Path) -> None:
    """R-9"""
    talk: Script = {
        "ada": {"speech": [{"raw": "## 立场\n用 Redis。\n[共识]"}]},
        "moderator": {
            "minutes": [{"raw": "## 最终共识\n用 Redis。\n## 悬而未决的分歧\n导入任务。"}]
        },
    }
    seats = seat_words(write_script(tmp_path / "talk.toml", talk), list(talk))
    cli("run", "用哪种缓存？", "--protocol", "roundtable", *seats, "--session", "s")
    page = cli("export", "s", "html").out
    assert '<html lang="zh">' in page
    for words in (
        "<h2>会议纪要</h2>",
        "<dt>结束原因</dt><dd>全体宣告共识</dd>",
        '<div class="words"><p>导入任务。</p></div>',
        "<h3>第 1 轮</h3>",
    ):
        assert words in page

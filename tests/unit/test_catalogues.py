"""Catalogues: what is missing in a language is read from English, key by key."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from checks.page_build import build_words
from pydantic import TypeAdapter, ValidationError

from moothall.app.panels import load_preset
from moothall.app.protocols import load_protocols
from moothall.codec.settings import KnownLanguage
from moothall.domain.causes import Cause, state_cause
from moothall.domain.facts import BudgetExhausted
from moothall.domain.topic import Stakes
from moothall.features.pipeline.files import load_pipeline
from moothall.features.roundtable.project import read_guide
from moothall.locale.catalogues import COUNCIL_REPORT, SHARED_REPORT
from moothall.locale.texts import (
    Catalogue,
    Texts,
    count_translated,
    find_translation,
    list_languages,
    list_offered_languages,
)
from moothall.protocols.council.facts import ContributionType
from moothall.reports.wording import explain_cause, format_amount
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import ConsensusType
from moothall.scoring.strength import Strength

ROOT = Path(__file__).parents[2]


class RingText(Texts):
    title: str
    heads: tuple[str, ...]
    states: dict[str, str]
    decision: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The catalogue of a plugin: English, a little of Esperanto."""
    texts = {
        "en": 'extends = "shared_report"\ntitle = "Ring of {seats}"\nheads = ["Seat", "Laps"]\n'
        '[states]\nopen = "open"\nclosed = "closed"\n',
        "eo": 'title = "Ringo de {seats}"\n[states]\nopen = "malfermita"\n',
    }
    for language, text in texts.items():
        (tmp_path / language).mkdir()
        (tmp_path / language / "ring.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_language_lacks_a_key_or_an_entry_of_a_table_and_english_stands_in(folder: Path) -> None:
    words = Catalogue("ring", RingText, folder)["eo"]
    assert (words.language, words.title, words.heads) == (
        "eo",
        "Ringo de {seats}",
        ("Seat", "Laps"),
    )
    assert words.states == {"open": "malfermita", "closed": "closed"}


def test_a_catalogue_of_a_plugin_extends_one_of_moot(folder: Path) -> None:
    assert Catalogue("ring", RingText, folder)["en"].decision == "Decision"


def test_a_language_without_a_folder_is_english() -> None:
    assert COUNCIL_REPORT["xx"].motion == "Motion"
    assert SHARED_REPORT["../zh"].decision == "Decision"


def test_a_partly_translated_language_falls_back_inside_what_it_extends() -> None:
    words = COUNCIL_REPORT["de"]
    assert (words.reasons, words.motion, words.verdicts["oppose"]) == (
        "Gründe",
        "Motion",
        "dagegen",
    )
    assert words.endings["turns"] == "the turn budget"


def test_files_that_are_not_translated_are_english() -> None:
    assert read_guide("de") == read_guide("en") != read_guide("zh")
    assert load_preset("duo", "de") == load_preset("duo", "en") != load_preset("duo", "zh")
    assert load_pipeline("contest", "de") == load_pipeline("contest", "en")
    assert find_translation(Path("x"), "guide", "de", "md") == Path("x/guide.en.md")


def test_a_detail_without_a_translation_is_shown_where_readers_are_shown_english() -> None:
    """M-11: recorded details are English."""
    deadline, said = state_cause("deadline").cause, Cause(words="boom: 17 !!")
    assert explain_cause(deadline, "timeout", "de") == "no answer by the deadline"
    assert explain_cause(said, "error", "de") == "boom: 17 !!"
    assert explain_cause(said, "error", "zh") == ""
    exhausted = BudgetExhausted(budget="time", spent=3.25, limit=5)
    assert format_amount(exhausted, "de") == "3.2 of 5.0 seconds"


def test_a_language_without_words_is_refused_with_the_list() -> None:
    assert {"de", "en", "zh"} <= {
        TypeAdapter(KnownLanguage).validate_python(each) for each in list_languages()
    }
    with pytest.raises(
        ValidationError,
        match=f"language = 'xx'; expected one of: {', '.join(list_offered_languages())}",
    ):
        TypeAdapter(KnownLanguage).validate_python("xx")


def test_a_language_is_offered_when_nearly_all_of_english_is_there_or_the_user_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """M-11: by what `make catalogues` has counted."""
    monkeypatch.delenv("MOOT_LANGUAGES", raising=False)
    assert (count_translated("en"), count_translated("zh")) == (100, 100)
    assert count_translated("de") < 95
    assert list_offered_languages() == ("en", "zh")
    for named in ("de", "fr, de", "de fr"):
        monkeypatch.setenv("MOOT_LANGUAGES", named)
        assert list_offered_languages() == ("de", "en", "zh")


def test_the_page_offers_the_languages_that_the_terminal_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """M-11: the others are in it for the sessions that were opened in them."""
    monkeypatch.delenv("MOOT_LANGUAGES", raising=False)
    assert list_page_languages() == {"de": False, "en": True, "zh": True}
    monkeypatch.setenv("MOOT_LANGUAGES", "de")
    assert list_page_languages()["de"]


def list_page_languages() -> dict[str, bool]:
    """The languages of the page's texts, and whether it offers them."""
    line = next(
        each for each in build_words().splitlines() if each.startswith("export const LANGUAGES")
    )
    languages = json.loads(line.partition(" = ")[2].removesuffix(";"))
    return {each["code"]: each["isOffered"] for each in languages}


@pytest.mark.parametrize(
    ("codes", "table"),
    [
        (ConsensusType, "consensus_types"),
        (Strength, "strengths"),
        (VotePosition, "verdicts"),
        (ContributionType, "types"),
        (Stakes, "stakes_levels"),
    ],
)
def test_every_code_that_readers_meet_has_a_word(codes: object, table: str) -> None:
    assert set(get_args(codes)) <= getattr(SHARED_REPORT["en"], table).keys()


def test_the_catalogues_agree_and_their_types_are_written() -> None:
    """Equal keys and placeholders in complete languages, no key that English lacks, none that no code names."""
    command = [sys.executable, str(ROOT / "checks/catalogues.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("calls", "tokens", "line"),
    [(1, 1, "1 model call, 1 token"), (0, "4 – 9", "0 model calls, 4 – 9 tokens")],
)
def test_a_word_after_a_number_is_singular_for_one(
    calls: object, tokens: object, line: str
) -> None:
    assert SHARED_REPORT["en"].spent.format(calls=calls, tokens=tokens) == f"Cost: {line}"
    assert SHARED_REPORT["zh"].spent.format(calls=calls, tokens=tokens).count(str(calls)) >= 1


@pytest.mark.parametrize("protocol", load_protocols())
def test_a_lost_answer_is_named_whatever_was_asked_for(protocol: str) -> None:
    """M-11: the name of its kind in code is for nobody to read."""
    assert set(load_protocols()[protocol].rules.forms) <= set(SHARED_REPORT["zh"].asked_for)

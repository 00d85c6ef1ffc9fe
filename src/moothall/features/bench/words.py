"""The texts of bench."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class BenchText(Texts):
    title: str
    topic: str
    figures: str
    heads: tuple[str, ...]
    differences: str
    difference_heads: tuple[str, ...]
    clear: str
    unclear: str
    by_category: str
    category: str
    no_category: str
    answers: str
    answers_of: str
    answer_heads: tuple[str, ...]
    sureness: str
    sureness_label: str
    sureness_heads: tuple[str, ...]
    no_sureness: str
    price_unknown: str
    too_few: str
    one_is_enough: str
    use: str
    progress: str
    stopped: str
    recorded: str
    expected: str
    no_limit: str
    judge_expected: str
    judged: str
    judge_split: str
    judge_wrong: str
    judge_topic: str
    judge_stances: tuple[str, ...]
    unasked: Mapping[str, str]


BENCH: Final = Catalogue("bench", BenchText, _FOLDER)

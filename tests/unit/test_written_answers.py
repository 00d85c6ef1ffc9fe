"""Answers as models write them today, in both languages, labelled before any code was run on them (Q-5, Q-6).

Markdown, a verdict at the end, hedges, tables, tags, letters, JSON after prose, labels beside reasons that say the other side.
"""

import json
from collections import Counter
from dataclasses import field, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.effects import AnswerForm, AnswerRules
from moothall.domain.facts import Reply
from moothall.errors import BadAnswer, UnclearChoice
from moothall.reading.answers import read_answer
from moothall.reading.choices import POSITIONS
from moothall.reading.stated import find_choice, find_shown_choice

FOLDER: Final = Path(__file__).parent
ASKED: Final = "asked"
UNCLEAR: Final = "unclear"
"""The label of an answer that a careful reader asks about."""
FIELDS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "vote": ("position", ("support", "conditional_support", "oppose", "abstain")),
    "verdict": ("verdict", ("confirmed", "refuted", "unclear")),
    "gate": ("verdict", ("APPROVED", "REJECTED")),
    "stand": ("stand", ("confirm", "dispute", "unsure")),
}
Row = dict[str, Any]
AT_THEIR_WORD: Final = frozenset(
    {"en-108", "en-154", "en-197", "en-245", "en-332", "en-416", "zh-200", "zh-216", "zh-132"}
)
"""Labels whose reason argues for another choice and names none: taken at their word, as by every reader without understanding."""


@cache
def list_rows() -> tuple[Row, ...]:
    lines: list[str] = []
    for language in ("english", "chinese"):
        lines += (FOLDER / f"written_{language}.jsonl").read_text("utf-8").splitlines()
    return tuple(map(json.loads, lines))


def build_rules(row: Row) -> tuple[str, AnswerRules]:
    """The name of the choice, and the rules by which an answer to such an ask is read."""
    name, values = FIELDS.get(row["ask"], ("choice", tuple(row.get("options", ()))))
    rows: list[Any] = [(name, Literal[values])]
    rows += [(text, str, field(default="")) for text in ("text", "reason")]
    if row["ask"] == "vote":
        rows.append(("condition", str, field(default="")))
    if row["ask"] == "choice":
        rows.append(("confidence", float | None, field(default=None)))
    shape = make_dataclass("Said", rows, frozen=True, kw_only=True)
    form = AnswerForm(kind=row["ask"], reply=Reply, shape=shape, form="json", max_tokens=9)
    return name, AnswerRules(form=form, options=values if name == "choice" else ())


def read(row: Row) -> str:
    name, rules = build_rules(row)
    try:
        value = str(getattr(read_answer(rules, row["raw"]).said, name))
    except BadAnswer:
        return ASKED
    return "unclear_verdict" if value == UNCLEAR and row["ask"] == "verdict" else value


def test_the_corpus_is_as_wide_as_it_says() -> None:
    rows = list_rows()
    assert len(rows) >= 600
    assert len({row["id"] for row in rows}) == len(rows)
    kinds = Counter(row["ask"] for row in rows)
    assert min(kinds.values()) >= 80
    assert {row["ask"] for row in rows} == {*FIELDS, "choice"}


def test_no_written_answer_is_read_as_something_else() -> None:
    """Q-5: of the plain ones none; of those whose reason argues against its label only what names no other choice."""
    wrong = {row["id"] for row in list_rows() if read(row) not in {row["means"], ASKED}}
    assert wrong <= AT_THEIR_WORD, wrong - AT_THEIR_WORD
    assert all(row["means"] == UNCLEAR for row in list_rows() if row["id"] in wrong)


def test_how_many_plain_answers_are_asked_back() -> None:
    """Q-5: at most one in ten where a provider has schemas, and a quarter of all where none has."""
    plain = [row for row in list_rows() if row["means"] != UNCLEAR]
    asked = [row for row in plain if read(row) == ASKED]
    in_json = [row for row in plain if row["form"] == "json"]
    asked_json = [row for row in asked if row["form"] == "json"]
    print(
        f"asked back: {len(asked_json)} of {len(in_json)} in JSON, {len(asked)} of {len(plain)} in all"
    )
    assert len(asked_json) <= len(in_json) / 10
    assert len(asked) <= len(plain) / 4


@pytest.mark.parametrize(
    "text",
    [
        "The roof leaks. I support this.",
        "The roof leaks.\nHence my position is support.",
        "The roof leaks, and so far nobody has mended any of it at all. Support.",
        "The roof leaks. I'm voting support, as it rains.",
        "If we get the budget, I support it.",
        "屋顶漏水。\n所以我的票是支持。",
    ],
)
def test_no_sentence_below_the_beginning_makes_a_choice(text: str) -> None:
    """Q-5: it is asked about; only a labelled line stands anywhere."""
    assert find_choice(text, POSITIONS) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("OK, I oppose this.", "oppose"),
        ("The roof leaks. I oppose this.", "oppose"),
        ("屋顶漏水。我支持。", "support"),
        ("I support this. Psych!", None),
        ("The roof leaks. I support this. Fat chance.", None),
        ("The roof leaks. I support the goal. I oppose the motion.", "oppose"),
        ("Bob says: I support this.", None),
        ("If it rains, I support it.", None),
        ("Who would support this?", None),
    ],
)
def test_a_sentence_of_a_person_is_shown_as_it_was_understood(text: str, value: str | None) -> None:
    """Q-5, Q-6: whoever is shown what was understood may change it; what is not plain is asked for all the same."""
    read = find_shown_choice(text, POSITIONS)
    assert (None if read is None else read.value) == value


@pytest.mark.parametrize(
    "text",
    [
        "Roof\n- [x] oppose\n- [ ] support\n- [ ] conditional support\n\nIt leaks.",
        "投票表\n- [x] 反对\n- [ ] 支持",
        "The roof leaks.\nVote: oppose",
        "Oppose, because the roof leaks.",
    ],
)
def test_a_form_that_names_one_choice_is_read(text: str) -> None:
    """Q-5: what is not ticked is no second side."""
    read = find_choice(text, POSITIONS)
    assert read is not None
    assert read.value == "oppose"


@pytest.mark.parametrize(
    "text",
    [
        "<vote>oppose</vote>\n<reason>The roof leaks.</reason>",
        "| Position | Reason |\n| --- | --- |\n| oppose | The roof leaks. |",
        "position: oppose\nreason: |\n  The roof leaks,\n  and it rains.",
    ],
)
def test_the_fields_of_a_form_are_read(text: str) -> None:
    """Q-5: in tags, in a table with a head, in lines as YAML has them."""
    name, rules = build_rules({"ask": "vote"})
    said: Any = read_answer(rules, text).said
    assert getattr(said, name) == "oppose"
    assert "roof leaks" in said.reason


def test_what_is_asked_back_is_a_small_question_wherever_there_are_words() -> None:
    """Q-6: the choices are known, and the words that were not plain."""
    wordless: set[str] = set()
    for row in list_rows():
        name, rules = build_rules(row)
        if read(row) != ASKED:
            continue
        with pytest.raises(BadAnswer) as raised:
            read_answer(rules, row["raw"])
        unclear = raised.value
        if not isinstance(unclear, UnclearChoice):
            wordless.add(row["id"])
            continue
        assert unclear.field == name, row["id"]
        assert unclear.words, row["id"]
        assert len(unclear.choices) >= 2, row["id"]
    # A refusal says that nothing will be chosen, and where nothing was said there is nothing to quote.
    assert len(wordless) <= 15, wordless


LABELS: Final = st.sampled_from(
    [
        "Vote: {}",
        "**Position**: {}",
        "Final answer: {}",
        "- Verdict: {}",
        "My vote is {}.",
        "投票：{}",
        "结论：{}",
        "<vote>{}</vote>",
    ]
)
SIDES: Final = st.sampled_from(["support", "oppose", "abstain", "反对", "支持", "弃权", "Against"])
TALK: Final = st.sampled_from(
    [
        "The plan costs little.",
        "It was measured twice.",
        "",
        "## Reasons",
        "- one\n- two",
        "成本不高。",
    ]
)
MEANT: Final = {"支持": "support", "反对": "oppose", "弃权": "abstain", "Against": "oppose"}


@given(st.lists(st.tuples(LABELS, SIDES), min_size=2, max_size=4), st.lists(TALK, max_size=4))
def test_labelled_lines_of_two_choices_are_never_read_as_one(
    labelled: list[tuple[str, str]], talk: list[str]
) -> None:
    """Q-5"""
    lines = [form.format(side) for form, side in labelled]
    sides = {MEANT.get(side, side) for _, side in labelled}
    for at, line in enumerate(talk):
        lines.insert(2 * at + 1, line)
    found = find_choice("\n".join(lines), POSITIONS)
    if len(sides) > 1:
        assert found is None
    elif found is not None:
        assert found.value in sides

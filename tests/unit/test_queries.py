"""The SQL files beside the ledgers: each query has a name that its module uses, and is what a server is sent."""

import re
from pathlib import Path

import pytest

import moothall.ledgers
from moothall.ledgers.migrations import load_queries

FOLDER = Path(moothall.ledgers.__path__[0])
MODULES = sorted(path.stem for path in FOLDER.glob("*.sql"))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_each_query_of_its_file_and_no_other(module: str) -> None:
    used = set(
        re.findall(r'QUERIES\["(\w+)"\]', (FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    )
    assert used == set(load_queries(f"moothall.ledgers.{module}"))


@pytest.mark.parametrize("module", MODULES)
def test_comments_of_the_file_stay_in_the_file(module: str) -> None:
    for query in load_queries(f"moothall.ledgers.{module}").values():
        assert re.match(r"(WITH|SELECT|UPDATE|INSERT|DELETE)\b", query), query
        assert "-- name:" not in query

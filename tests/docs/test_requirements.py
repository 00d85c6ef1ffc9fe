"""docs/requirements.md and the tests name the same requirements."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ID = re.compile(r"\b[PRDCSMWNEAGLQT]-[0-9]+\b")
_LINE = re.compile(
    r"^- \*\*(?P<id>[PRDCSMWNEAGLQT]-[0-9]+)\*\* (?P<planned>\(planned\) )?", re.MULTILINE
)


def listed(*, planned: bool) -> list[str]:
    page = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    return [line["id"] for line in _LINE.finditer(page) if (line["planned"] is not None) == planned]


def named_by_tests() -> set[str]:
    files = (path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    return {found for path in files for found in _ID.findall(path.read_text(encoding="utf-8"))}


def test_every_built_requirement_is_named_by_a_test() -> None:
    assert sorted(set(listed(planned=False)) - named_by_tests()) == []


def test_every_requirement_that_a_test_names_is_defined() -> None:
    assert sorted(named_by_tests() - {*listed(planned=False), *listed(planned=True)}) == []


def test_an_id_is_defined_once_as_built_and_once_as_planned_at_most() -> None:
    for planned in (False, True):
        ids = listed(planned=planned)
        assert len(ids) == len(set(ids))


def test_no_area_has_a_gap_in_its_numbers() -> None:
    defined = {*listed(planned=False), *listed(planned=True)}
    for area in "PRDCSMWNEAGLQT":
        numbers = sorted(int(each.partition("-")[2]) for each in defined if each.startswith(area))
        assert numbers == list(range(1, len(numbers) + 1)), area

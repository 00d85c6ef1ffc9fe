"""The suite's own runner: a late program has a second chance alone, wrong logic has none."""

from pathlib import Path

import pytest
from checks.run_tests import run_suite

LATE = """
from pathlib import Path

def test_once():
    seen = Path(__file__).with_suffix(".seen")
    was_there = seen.exists()
    seen.touch()
    assert was_there
"""


@pytest.mark.parametrize(
    ("folder", "source", "code"),
    [
        ("acceptance", LATE, 0),
        ("acceptance", "def test_wrong():\n    assert False\n", 1),
        ("unit", LATE, 1),
        ("unit", "def test_right():\n    pass\n", 0),
    ],
)
def test_only_a_test_that_starts_programs_runs_again_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], folder: str, source: str, code: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests" / folder).mkdir(parents=True)
    (tmp_path / "tests" / folder / "test_one.py").write_text(source)
    assert run_suite(tmp_path, ["-n", "0"]) == code
    said = capfd.readouterr().out
    assert ("run again alone: 1" in said) == (folder == "acceptance")
    assert ("passed only alone, to be mended" in said) == (folder == "acceptance" and code == 0)

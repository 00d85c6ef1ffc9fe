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
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    source: str,
    code: int,
) -> None:
    # To load the plugins of all tests takes longer than these.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests" / folder).mkdir(parents=True)
    (tmp_path / "tests" / folder / "test_one.py").write_text(source)
    assert run_suite(tmp_path, ["-n", "0"]) == code
    said = capfd.readouterr().out
    assert ("run again alone: 1" in said) == (folder == "acceptance")
    assert ("passed only alone, to be mended" in said) == (folder == "acceptance" and code == 0)

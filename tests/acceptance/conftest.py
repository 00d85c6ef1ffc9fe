"""A home of its own for each test."""

from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, Leaps


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command, with an empty home."""
    return Cli(tmp_path / "home", tmp_path)


@pytest.fixture
def leaps(monkeypatch: pytest.MonkeyPatch) -> Leaps:
    """A steady clock that a test can put forward."""
    return Leaps(monkeypatch)

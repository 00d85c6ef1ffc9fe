"""A home of its own for each test."""

from pathlib import Path

import pytest
from tests.acceptance.doors import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command, with an empty home."""
    return Cli(tmp_path / "home", tmp_path)

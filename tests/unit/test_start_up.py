"""What a start costs: each command loads what it needs, and nothing else."""

import subprocess
import sys

import pytest

from moothall.surfaces.cli.lazy_commands import LazyCommand
from moothall.surfaces.cli.main import main

LAZY = [command for command in main.commands.values() if isinstance(command, LazyCommand)]


@pytest.mark.parametrize("lazy", LAZY, ids=lambda command: str(command.name))
def test_the_list_of_commands_says_what_each_command_says(lazy: LazyCommand) -> None:
    loaded = lazy.load()
    assert (loaded.name, loaded.short_help) == (lazy.name, lazy.help)
    assert loaded.help
    assert str(lazy.help).endswith(".")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("moothall", ["pydantic", "moothall.app"]),
        ("moothall.surfaces.cli.main", ["pydantic", "rich", "moothall.app.moot"]),
        ("moothall.surfaces.cli.sessions", ["pydantic_ai", "openai", "mcp", "starlette", "uvicorn", "watchfiles", "asyncpg"]),
        ("moothall.surfaces.http.app", ["pydantic_ai", "openai", "mcp", "mcp_types"]),
    ],
)
def test_a_module_is_loaded_without_what_it_does_not_need(module: str, heavy: list[str]) -> None:
    script = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"

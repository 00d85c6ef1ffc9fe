"""What a command imports before it does its work: start-up time is the number of modules, and grows unless it is counted."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli

from moothall.app.features import OWN
from moothall.app.version import VERSION

HEAVY = (
    "mcp",
    "mcp_types",
    "pydantic_ai",
    "openai",
    "starlette",
    "uvicorn",
    "prompt_toolkit",
    "httpx",
    "numpy",
    "watchfiles",
)
PROTOCOLS = ("persona", "council", "roundtable", "swarm", "consultation", "pipeline")
COUNT = """
import json, sys
from moothall.surfaces.cli.main import main
try:
    main(sys.argv[1:], standalone_mode=False)
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def list_modules(home: Path, *command: str, given: str = "") -> set[str]:
    """Return the modules that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *command],
        env={"MOOT_HOME": str(home), "PATH": "", "LANG": "C.UTF-8"},
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("command", "most"),
    [
        (("--version",), 11),
        (("--help",), 12),
        (("list",), 48),
        (("list", "--json"), 48),
        (("list", "--open"), 48),
    ],
)
def test_a_command_imports_little(tmp_path: Path, command: tuple[str, ...], most: int) -> None:
    """Moot's own modules, and none of the heavy libraries; of the features their rows, and no protocol where there is no session
    of it."""
    found = list_modules(tmp_path, *command)
    own = {name for name in found if name.split(".")[0] == "moothall"}
    of_features = {name for name in own if name.startswith("moothall.features")}
    rows = {"moothall.features", *(f"moothall.features.{name}" for name in OWN)}
    assert of_features == rows | {f"moothall.features.{name}.feature" for name in OWN}
    assert len(own - of_features) <= most
    assert not {name.split(".")[0] for name in found} & set(HEAVY)
    assert not [name for name in found if name.startswith("moothall.protocols.")]
    # Nothing is validated or drawn, and the version is a constant.
    assert not found & {"pydantic", "rich"}
    # The whole list has the commands of other distributions, too; where none names the entry point, the files beside them say so.
    assert "importlib.metadata" not in found


def test_the_version_that_is_said_is_the_one_that_is_installed() -> None:
    assert version("moothall") == VERSION


def test_a_list_imports_the_protocols_of_its_sessions_alone(cli: Cli) -> None:
    cli(
        "run",
        "Shall we?",
        "--protocol",
        "debate",
        "--seat",
        "ada=mailbox",
        "--seat",
        "bob=mailbox",
        "--session",
        "s",
        code=3,
    )
    found = list_modules(cli.home, "list")
    loaded = {name.split(".")[2] for name in found if name.startswith("moothall.protocols.")}
    assert "council" in loaded
    assert not loaded & {"persona", "roundtable", "swarm", "pipeline"}
    assert not {name.split(".")[0] for name in found} & set(HEAVY)
    # A second list of the same sessions reads no fact, and so needs neither their protocols nor pydantic.
    again = list_modules(cli.home, "list")
    assert not [name for name in again if name.startswith(("moothall.protocols.", "pydantic"))]
    # A pipe gets lines, which nobody draws; memory is read where a review may stand in it.
    shown = list_modules(cli.home, "show", "s")
    assert not {"rich", "moothall.memory.decision_memory"} & (again | shown)


def test_the_library_is_imported_at_its_first_use() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, moothall; print([name for name in sys.modules if name.startswith('moothall.')])",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout.strip() == "[]"

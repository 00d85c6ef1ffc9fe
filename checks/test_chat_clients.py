"""A chat client from PyPI asks a panel as docs/chat-clients.md says, word for word; its models are a loopback stand-in."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checks.stage import DEADLINE
from tests.acceptance.doors import MOOT, Cli
from tests.acceptance.server import Server
from tests.support.model_provider import ModelProvider

pytestmark = pytest.mark.timeout(2 * DEADLINE)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "chat-clients.md"


def test_llm_asks_a_board_and_asks_again(tmp_path: Path) -> None:
    """Two questions of one conversation: two meetings, the second with the first as its background."""
    section = PAGE.read_text(encoding="utf-8").partition("### llm\n")[2]
    (steps, *_) = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    with ModelProvider() as provider:
        cli = Cli(
            tmp_path / "home", tmp_path, OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=provider.base_url
        )
        with Server(cli) as server:
            # Its packages come from where those of whoever runs this come from.
            pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
            path = os.pathsep.join(
                [str(tmp_path / "venv" / "bin"), os.environ["PATH"], str(MOOT.parent)]
            )
            environ = {
                **pip,
                "PATH": path,
                "HOME": str(tmp_path),
                "LANG": "C.UTF-8",
                "MOOT_HOME": str(cli.home),
            }
            script = steps.replace("127.0.0.1:8760", server.address)
            done = subprocess.run(
                ["bash", "-e", "-c", script],
                env=environ,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.count("The whole meeting: http://") == 2
            topics = [line["topic"] for line in server.local("moot.listSessions")["sessions"]]
            assert topics == ["And what if the tests are green?", "Should we ship on Friday?"]
        assert "| | Should we ship on Friday?" in provider.prompts[-1]

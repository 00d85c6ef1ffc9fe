"""Real coding agents from npm as seats, with a loopback stand-in for their model: `make test-agents`.

Installs the agents into `.cache/agents` and says what it installed. Nothing leaves the machine but npm's downloads.
"""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from moot import Moot
from moot.testing.stub_server import Reply, Request, Step, Stub

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "agents"
PACKAGES = {"codex": "@openai/codex", "opencode": "opencode-ai"}
TOPIC = 'Ship on "Friday"? $(touch tricked) `id`; --help\n@README.md 发布吗？'

CODEX = """
model = "stub"
model_provider = "stub"
approval_policy = "never"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = "{base}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[features]
plugins = false
remote_plugin = false
apps = false
shell_tool = false
unified_exec = false
unbounded_connection_retries = false
"""


def opencode_config(base: str) -> str:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Stub",
        "options": {"baseURL": base, "apiKey": "sk-loopback"},
        "models": {"stub": {"name": "Stub", "limit": {"context": 200_000, "output": 8_192}}},
    }
    return json.dumps(
        {
            "autoupdate": False,
            "share": "disabled",
            "model": "stub/stub",
            "small_model": "stub/stub",
            "enabled_providers": ["stub"],
            "provider": {"stub": provider},
            "permission": {"*": "deny"},
        }
    )


@pytest.fixture(scope="session")
def path() -> str:
    """A PATH on which the agents are; installs those that are not there yet."""
    npm = shutil.which("npm")
    assert npm is not None, "npm is needed: install Node.js 20 or newer"
    folders = []
    for name, package in PACKAGES.items():
        folder = CACHE / name
        program = folder / "node_modules" / ".bin" / name
        if not program.exists():
            print(f"installing {package} into {folder.relative_to(CACHE.parents[1])}")
            subprocess.run([npm, "install", "--silent", "--prefix", str(folder), package], check=True, timeout=600)
        folders.append(str(program.parent))
    return os.pathsep.join([*folders, os.environ["PATH"]])


def said(request: Request) -> Step:
    """What a model would say to what is asked: told by the words of the prompt."""
    text = json.dumps(request.body, ensure_ascii=False)
    if "Vote on the motion" in text:
        return Reply(text='{"type": "vote", "position": "support", "confidence": 0.8, "text": "It holds."}')
    if "Write the one resolution" in text:
        return Reply(text='{"type": "synthesize", "text": "Ship, with a way back.", "choice": "yes", "confidence": 0.8}')
    if "Support or challenge one line" in text:
        return Reply(text='{"type": "support", "text": "The tests pass.", "refers_to": 2, "confidence": 0.7}')
    if "What do you propose" in text:
        return Reply(text='{"type": "propose", "text": "Ship on Friday.", "choice": "yes", "confidence": 0.7}')
    return Reply(text='{"position": "Ship.", "confidence": 0.7}')


def test_two_agents_hold_a_debate(path: str, tmp_path: Path) -> None:
    """R-10: each is run headless for every phase; the topic's tricks do nothing and reach it word for word."""

    async def work() -> None:
        async with Stub([said]) as stub:
            codex_home = tmp_path / "codex"
            codex_home.mkdir()
            (codex_home / "config.toml").write_text(CODEX.format(base=stub.base_url), encoding="utf-8")
            environ = {
                "PATH": path,
                "HOME": str(tmp_path / "home"),
                "MOOT_HOME": str(tmp_path / "moot"),
                "CODEX_HOME": str(codex_home),
                "OPENAI_API_KEY": "sk-loopback",
                "OPENCODE_CONFIG_CONTENT": opencode_config(stub.base_url),
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            }
            (tmp_path / "home").mkdir()
            async with Moot(environ=environ) as moot:
                told = await moot.seating.agents()
                print({name: told[name] for name in PACKAGES})
                seats = {"ada": "command:codex", "bob": "command:opencode"}
                decision = await moot.hold(TOPIC, seats=seats, name="debate", settings={"early_stop": False})
                assert decision.lost == ()
                assert decision.decision is not None
                assert decision.decision.text == "Ship, with a way back."
                assert decision.consensus_type == "unanimous"
                assert decision.spent.calls == 8
                asked = [json.dumps(request.body, ensure_ascii=False) for request in stub.requests]
                assert all("$(touch tricked)" in body and "发布吗" in body for body in asked if "What do you propose" in body)

    asyncio.run(asyncio.wait_for(work(), 300))
    assert list(tmp_path.rglob("tricked")) == []

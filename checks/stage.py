"""Where real coding agents are tried: installed from npm, in a home of their own, with a loopback stand-in for their model."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moothall_testkit.stub_server import Raw, Request, Step, StubReply

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "agents"
PACKAGES = {
    "codex": "@openai/codex",
    "codex-acp": "@zed-industries/codex-acp",
    "opencode": "opencode-ai",
    "claude": "@anthropic-ai/claude-code",
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp",
    "gemini": "@google/gemini-cli",
    "qwen": "@qwen-code/qwen-code",
    "copilot": "@github/copilot",
    "cn": "@continuedev/cli",
}
MOOT = Path(sys.executable).with_name("moot")
DEADLINE = 300.0

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
unbounded_connection_retries = false
"""


def installed(*names: str) -> str:
    """A PATH on which these agents are; installs those that are not there yet."""
    npm = shutil.which("npm")
    assert npm is not None, "npm is needed: install Node.js 20 or newer"
    folders = [str(MOOT.parent)]
    for name in names:
        package = PACKAGES[name]
        folder = CACHE / name
        program = folder / "node_modules" / ".bin" / name
        if not program.exists():
            print(f"installing {package} into {folder.relative_to(CACHE.parents[1])}")
            command = [npm, "install", "--silent", "--prefix", str(folder), package]
            done = subprocess.run(command, check=False, timeout=600, capture_output=True, text=True)
            if not program.exists() or done.returncode != 0:
                pytest.skip(
                    f"{package} does not install here: {done.stderr.strip()[-200:] or 'it has no program'}"
                )
        folders.append(str(program.parent))
    return os.pathsep.join([*folders, os.environ["PATH"]])


def opencode_config(base: str) -> str:
    """It permits everything, as opencode does by itself: what keeps it from writing must be Moot's."""
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
            "permission": {"*": "allow"},
        }
    )


def build_settings(base: str) -> dict[str, str]:
    """The settings of the agents that have no variables for them, by file."""
    security = {"auth": {"selectedType": "gemini-api-key"}}
    qwen = {"security": {"auth": {"selectedType": "openai"}}}
    model = {
        "name": "Stub",
        "provider": "openai",
        "model": "stub",
        "apiBase": base,
        "apiKey": "sk-loopback",
        "roles": ["chat"],
    }
    model["capabilities"] = ["tool_use"]
    return {
        ".continue/config.yaml": f"name: Stub\nversion: 0.0.1\nschema: v1\nmodels: {json.dumps([model])}\n",
        ".gemini/settings.json": json.dumps(
            {"security": security, "telemetry": {"enabled": False}}
        ),
        ".qwen/settings.json": json.dumps(qwen),
    }


class Stage:
    """A folder with a project, a home, and the environment in which agents find their model at `base`."""

    def __init__(self, folder: Path, path: str, base: str, *, name: str = "home") -> None:
        self.folder, self.path, self.base = folder, path, base
        self.project = folder / "project"
        self.home = home = folder / name
        codex_home = home / ".codex"
        for each in (self.project, home, codex_home):
            each.mkdir(exist_ok=True)
        for place, text in build_settings(base).items():
            (home / place).parent.mkdir(parents=True, exist_ok=True)
            (home / place).write_text(text, encoding="utf-8")
        (codex_home / "config.toml").write_text(CODEX.format(base=base), encoding="utf-8")
        self.agents = {
            "CODEX_HOME": str(codex_home),
            "OPENAI_API_KEY": "sk-loopback",
            "ANTHROPIC_API_KEY": "sk-loopback",
            # It adds the version to the address itself.
            "ANTHROPIC_BASE_URL": base.removesuffix("/v1"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "OPENCODE_CONFIG_CONTENT": opencode_config(base),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENAI_BASE_URL": base,
            "OPENAI_MODEL": "stub",
            "GEMINI_API_KEY": "sk-loopback",
            "GOOGLE_GEMINI_BASE_URL": base.removesuffix("/v1"),
            "GEMINI_MODEL": "gemini-2.5-flash",
            "COPILOT_PROVIDER_BASE_URL": base,
            "COPILOT_MODEL": "stub",
            "COPILOT_OFFLINE": "true",
        }
        self.environ = {
            "PATH": path,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "MOOT_HOME": str(folder / "moot"),
            **self.agents,
        }

    def add_home(self, name: str) -> "Stage":
        """The same project and ledger with another home, for a second agent of one kind."""
        return Stage(self.folder, self.path, self.base, name=name)

    async def moot(self, *words: str) -> str:
        """What the command prints; it must end well, and soon."""
        return await self._run(str(MOOT), *words)

    async def shell(self, line: str) -> str:
        """What a line prints that a person has pasted into a shell; it must end well, and soon."""
        return await self._run("sh", "-c", line)

    async def _run(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environ,
            cwd=self.project,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), DEADLINE)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, (words, out.decode(), err.decode())
        return out.decode()

    def recipe(self, name: str, argv: Sequence[str], text: str) -> str:
        """The platform of an agent by a file of the user's own."""
        lines = [
            f"argv = {json.dumps(list(argv))}",
            'words = "{prompt}"',
            'output = "jsonl"',
            f"text = {json.dumps(text)}",
        ]
        lines += [
            "[environ]",
            *(f"{key} = {json.dumps(value)}" for key, value in self.agents.items()),
        ]
        path = self.project.parent / f"{name}.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return f"command:{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that the model calls, by the agent's own name for it."""

    name: str
    arguments: Mapping[str, object]


def prompts(request: Request) -> list[str]:
    """What the agent sent as the user's words."""
    if "contents" in request.body:
        said = [
            content["parts"]
            for content in request.body["contents"]
            if content.get("role") == "user"
        ]
        return ["".join(part.get("text", "") for part in parts) for parts in said]
    sent = request.body["input" if request.is_responses else "messages"]
    return ["".join(_texts(item["content"])) for item in sent if item.get("role") == "user"]


def outcomes(request: Request) -> list[str]:
    """What became of the tools that the model called before, as the agent tells it."""
    if request.is_responses:
        return [
            str(item["output"])
            for item in request.body["input"]
            if item.get("type") == "function_call_output"
        ]
    return [
        "".join(_texts(item["content"]))
        for item in request.body["messages"]
        if item.get("role") == "tool"
    ]


def _texts(content: str | list[dict[str, str]]) -> list[str]:
    return (
        [content]
        if isinstance(content, str)
        else [part["text"] for part in content if "text" in part]
    )


def acted(request: Request, calls: Sequence[Call], then: str) -> Step:
    """What a model does that says what it is about, calls tools, and speaks when it has heard what became of them."""
    if outcomes(request):
        return StubReply(text=then)
    aside = "First I look at the files."
    events = _responses(aside, calls) if request.is_responses else _chat(aside, calls)
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Raw(body=body.encode(), content_type="text/event-stream")


def _responses(aside: str, calls: Sequence[Call]) -> list[dict[str, Any]]:
    said = [{"type": "output_text", "text": aside, "annotations": []}]
    items: list[dict[str, Any]] = [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": said,
        }
    ]
    items += [
        {
            "id": f"fc_{at}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{at}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
        for at, call in enumerate(calls)
    ]
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "stub",
        "status": "completed",
        "output": items,
    }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {
            "type": "response.created",
            "response": response | {"status": "in_progress", "output": []},
        },
        *(
            {"type": "response.output_item.done", "output_index": at, "item": item}
            for at, item in enumerate(items)
        ),
        {"type": "response.completed", "response": response | {"usage": usage}},
    ]


def _chat(aside: str, calls: Sequence[Call]) -> list[dict[str, Any]]:
    base = {"id": "stub-1", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
    told = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for at, call in enumerate(calls)
    ]
    deltas = [
        ({"role": "assistant", "content": aside}, None),
        ({"tool_calls": told}, None),
        ({}, "tool_calls"),
    ]
    return [
        base | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]

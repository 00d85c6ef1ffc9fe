"""A scripted agent that speaks the Agent Client Protocol on standard input and output: `python -m moothall_testkit.acp_agent`.

    python -m moothall_testkit.acp_agent [--at N] [--log FILE] [--stores] [--models WAY] BEHAVIOUR [ANSWER.json]

It answers with what ANSWER.json has for the first of its keys that the prompt's last line contains (the key "" answers the rest),
and behaves as told from its N-th prompt on; before that it is `good`. To FILE it appends a line for each thing that happens. It
resumes a conversation if it `--stores` them, lets its model be chosen by an option or by a method (`--models`), and uses no
library, so that a fault of one is not shared by both sides.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

BEHAVIOURS: Final = (
    "good",
    "silent",
    "hang",
    "deaf",
    "flood",
    "long-line",
    "beg",
    "die",
    "write",
    "act",
    "read",
    "refuse",
    "login",
    "garbage",
    "child",
)


class ScriptedAgent:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self._behaviour: str = arguments.behaviour
        self._from: int = arguments.at
        self._log = Path(arguments.log) if arguments.log else None
        self._answers: dict[str, Any] = (
            json.loads(Path(arguments.answers).read_text("utf-8")) if arguments.answers else {}
        )
        self._stores: bool = arguments.stores
        self._models: str = arguments.models
        self._prompts = 0
        self._asked = 0

    def run(self) -> None:
        self.note("start", pid=os.getpid())
        for message in iter(self._read, None):
            method, name = message.get("method"), message.get("id")
            if method == "initialize":
                told = {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1.0"}}
                told["agentCapabilities"] = {"loadSession": self._stores}
                self.note("initialize", offered=message["params"].get("clientCapabilities"))
                self._reply(name, told)
            elif method == "session/new" and self._behaviour == "login":
                self._write(
                    {
                        "jsonrpc": "2.0",
                        "id": name,
                        "error": {"code": -32000, "message": "Authentication required"},
                    }
                )
            elif method == "session/new":
                self.note("new", cwd=message["params"]["cwd"])
                self._reply(name, {"sessionId": "scripted-1", **self._offer_models()})
            elif method == "session/load":
                self.note(
                    "load", session=message["params"]["sessionId"], cwd=message["params"]["cwd"]
                )
                self._say("What I said before.")
                self._update(
                    sessionUpdate="tool_call",
                    toolCallId="t0",
                    title="rm",
                    kind="execute",
                    status="completed",
                )
                self._reply(name, {})
            elif method in {"session/set_model", "session/set_config_option"}:
                self.note("model", **message["params"])
                self._reply(name, {"configOptions": []})
            elif method == "session/prompt":
                self._prompts += 1
                text = message["params"]["prompt"][0]["text"]
                self.note("prompt", text=text)
                behaviour = self._behaviour if self._prompts >= self._from else "good"
                self._reply(name, {"stopReason": self._behave(behaviour, text)})
            elif method == "session/cancel":
                self.note("cancel")

    def _offer_models(self) -> dict[str, Any]:
        small, large = {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}
        option = {
            "id": "m",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "small",
        }
        models = [{"modelId": each["value"], "name": each["name"]} for each in (small, large)]
        offers: dict[str, dict[str, Any]] = {
            "": {},
            "option": {"configOptions": [{**option, "options": [small, large]}]},
            "groups": {
                "configOptions": [
                    {**option, "options": [{"group": "g", "name": "G", "options": [small, large]}]}
                ]
            },
            "method": {"models": {"availableModels": models, "currentModelId": "small"}},
        }
        return offers[self._models]

    def _behave(self, behaviour: str, text: str) -> str:
        """Do what the behaviour says; returns why the turn ends."""
        match behaviour:
            case "silent":
                return "end_turn"
            case "refuse":
                return "refusal"
            case "hang" | "deaf":
                return self._hang(is_deaf=behaviour == "deaf")
            case "flood":
                while True:
                    self._say("and so on ")
            case "long-line":
                while True:
                    sys.stdout.write("x" * 65_536)
            case "beg":
                while True:
                    self._ask_permission("edit", "Write a file")
            case "die":
                self._say("I think that")
                sys.stderr.write("segmentation fault, says the agent\n")
                sys.stderr.flush()
                os._exit(3)
            case "write":
                Path("unasked.txt").write_text("surprise", encoding="utf-8")
            case "act":
                self._update(
                    sessionUpdate="tool_call",
                    toolCallId="t1",
                    title="rm -rf",
                    kind="execute",
                    status="in_progress",
                )
                self._update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed")
                return self._hang(is_deaf=True)
            case "read":
                self._say("Let me look at the files first.")
                self._ask_permission("read", "Read a file")
            case "garbage":
                sys.stdout.write("a log line\n[1, 2]\n{\n\n")
                self._update(sessionUpdate="of_tomorrow", content=7)
            case "child":
                subprocess.Popen(
                    [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
                )
        self._say(self._answer(text))
        return "end_turn"

    def _hang(self, *, is_deaf: bool) -> str:
        while is_deaf:
            time.sleep(600)
        for message in iter(self._read, None):
            if message.get("method") == "session/cancel":
                self.note("cancel")
                return "cancelled"
        return "cancelled"

    def _answer(self, text: str) -> str:
        last = text.rstrip().splitlines()[-1]
        said = next(
            (said for part, said in self._answers.items() if part in last), "I have nothing to say."
        )
        return said if isinstance(said, str) else json.dumps(said)

    def _ask_permission(self, kind: str, title: str) -> None:
        self._asked += 1
        options = [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        call = {"toolCallId": f"c{self._asked}", "title": title, "kind": kind}
        self._update(sessionUpdate="tool_call", **call, status="pending")
        params = {"sessionId": "scripted-1", "toolCall": call, "options": options}
        self._write(
            {
                "jsonrpc": "2.0",
                "id": 1_000 + self._asked,
                "method": "session/request_permission",
                "params": params,
            }
        )
        answer = self._read()
        self.note("permission", outcome=(answer or {}).get("result", {}).get("outcome"))

    def _say(self, text: str) -> None:
        self._update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    def _update(self, **update: Any) -> None:
        self._write(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": "scripted-1", "update": update},
            }
        )

    def _reply(self, name: Any, result: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "id": name, "result": result})

    def note(self, what: str, **more: Any) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"what": what, **more}) + "\n")

    @staticmethod
    def _write(message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    @staticmethod
    def _read() -> Any:
        line = sys.stdin.readline()
        return json.loads(line) if line else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--at", type=int, default=1)
    parser.add_argument("--log", default="")
    parser.add_argument("--stores", action="store_true")
    parser.add_argument("--models", choices=("", "option", "groups", "method"), default="")
    parser.add_argument("behaviour", choices=BEHAVIOURS)
    parser.add_argument("answers", nargs="?", default="")
    ScriptedAgent(parser.parse_args()).run()


if __name__ == "__main__":
    main()

"""A fake coding agent: reads its prompt on standard input, answers by what it asks for, and keeps what it was told.

It prints JSON lines like the agents that it stands for, and writes each prompt down in the folder that it works in.
"""

import json
import re
import sys
from pathlib import Path

ASKED = "Answer with one JSON object: "
PASS = {"type": "pass"}
CHALLENGE = {
    "type": "challenge",
    "text": "The agent has a doubt.",
    "refers_to": 2,
    "confidence": 0.6,
}
PROPOSAL = {"text": "The agent proposes.", "choice": "yes", "confidence": 0.7}
ANSWERS = {
    "reaction_score": {"reaction_score": 0.9, "intent_to_speak": True, "reason": "I have run it."},
    "verdict": {"verdict": "support", "confidence": 0.8, "position": "The agent stays for it."},
    "decision": {"decision": {"text": "The agent concludes.", "entries": [1]}, "confidence": 0.8},
    "headline": PASS,
    "type": CHALLENGE,
    "condition": {"position": "support", "confidence": 0.8},
    "position": {"position": "The agent is for it.", "confidence": 0.7},
    "evidence": PROPOSAL,
}
"""The answer to a request by a field that it asks for. Of several, the first counts: a vote has a "position" too."""


def answer(prompt: str) -> str:
    """What the last line of the prompt, the fields of the answer, asks for; words where there is none."""
    last = prompt.splitlines()[-1]
    if not last.startswith(ASKED):
        return "The agent has run it, and it works."
    fields = re.findall(r"\w+", last.removeprefix(ASKED))
    return json.dumps(next(said for field, said in ANSWERS.items() if field in fields))


def main() -> None:
    prompt = sys.stdin.buffer.read().decode()
    with Path("prompts.jsonl").open("a") as kept:
        kept.write(json.dumps(prompt) + "\n")
    said = answer(prompt)
    print("Thinking.")
    for document in (
        {"type": "start", "session_id": "s-1"},
        {"type": "message", "message": {"text": said}},
        {"type": "tool", "message": {"text": "no answer"}},
    ):
        print(json.dumps(document))


main()

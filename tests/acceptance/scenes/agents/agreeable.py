"""A fake coding agent: reads its prompt on standard input, answers by what it asks for, and keeps what it was told.

It prints JSON lines like the agents that it stands for, and writes each prompt down in the folder that it works in.
"""

import json
import sys
from pathlib import Path

PERSONA = {
    "reaction_score": {"reaction_score": 0.9, "intent_to_speak": True, "reason": "I have run it."},
    "verdict": {"verdict": "support", "confidence": 0.8, "position": "The agent stays for it."},
    "decision": {"decision": {"text": "The agent concludes.", "entries": [1]}, "confidence": 0.8},
    "position": {"position": "The agent is for it.", "confidence": 0.7},
}
COUNCIL = {
    '{"type": "propose"': {"type": "propose", "text": "The agent proposes.", "choice": "yes", "confidence": 0.7},
    '{"type": "support"': {"type": "challenge", "text": "The agent has a doubt.", "refers_to": 2, "confidence": 0.6},
    '{"type": "synthesize"': {"type": "pass"},
    '{"type": "vote"': {"type": "vote", "position": "support", "confidence": 0.8},
}


def answer(prompt: str) -> str:
    """What the last line of the prompt, a JSON schema, asks for; words where there is none."""
    last = prompt.splitlines()[-1]
    if not last.startswith("{"):
        return "The agent has run it, and it works."
    fields = json.loads(last)["properties"]
    if "type" in fields:
        wanted = prompt.rpartition("Answer with JSON only: ")[2]
        return json.dumps(next(said for begin, said in COUNCIL.items() if wanted.startswith(begin)))
    return json.dumps(next(said for name, said in PERSONA.items() if name in fields))


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

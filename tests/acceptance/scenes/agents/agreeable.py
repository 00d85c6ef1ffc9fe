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
    '"synthesize"': {"type": "pass"},
    '"challenge"': {
        "type": "challenge",
        "text": "The agent has a doubt.",
        "refers_to": 2,
        "confidence": 0.6,
    },
    '"conditional_support"': {"position": "support", "confidence": 0.8},
}
PROPOSAL = {"text": "The agent proposes.", "choice": "yes", "confidence": 0.7}


def answer(prompt: str) -> str:
    """What the last line of the prompt, the fields of the answer with their values, asks for; words where there is none."""
    last = prompt.splitlines()[-1]
    if not last.startswith("{"):
        return "The agent has run it, and it works."
    asked = {f'"{name}":': said for name, said in PERSONA.items()}
    # The vote of a debate has a "position" too, so that what only a debate asks for is looked for first.
    return json.dumps(
        next((said for part, said in (*COUNCIL.items(), *asked.items()) if part in last), PROPOSAL)
    )


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

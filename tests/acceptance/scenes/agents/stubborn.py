"""A fake coding agent that never answers, heeds no SIGTERM, and has a child in a session of its own.

It answers like `agreeable.py` until its prompt asks for the kind of answer that it was given as a word ("any": at once).
Writes down the processes that it consists of.
"""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

SENSIBLE = {
    "reaction_score": {"reaction_score": 0.1, "intent_to_speak": False},
    "position": {"position": "Wait.", "confidence": 0.5},
}


def main() -> None:
    prompt = sys.stdin.buffer.read().decode()
    fields, hangs_at = re.findall(r"\w+", prompt.splitlines()[-1]), sys.argv[1]
    if hangs_at != "any" and hangs_at not in fields:
        print(json.dumps(next(said for name, said in SENSIBLE.items() if name in fields)))
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(600)
    with Path("pids").open("a") as kept:
        kept.write(f"{os.getpid()}\n{child}\n")
    time.sleep(600)


main()

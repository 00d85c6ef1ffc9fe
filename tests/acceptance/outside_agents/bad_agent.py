# ruff: noqa
# mypy: ignore-errors
"""An agent that does harm, each time in the way that it is told: python bad_agent.py WAY CONFERENCE PROMPT"""

import json
import os
import subprocess
import sys
import time

way, conference = sys.argv[1:3]
folder = os.path.join(".roundtable", conference)
role = "bad"
SPEECH = "## Stance\nIt is done.\n## Analysis\nSo.\n## Response and questions\nWhy?\n"


def put(name, text):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.chmod(path, 0o644)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def turn():
    with open(os.path.join(folder, "turn.json"), encoding="utf-8") as file:
        return json.load(file)


def count():
    return len([name for name in os.listdir(folder) if name[:3].isdigit()])


if way == "hang":
    time.sleep(3_600)
elif way == "deaf":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3_600)
elif way == "flood":
    while True:
        sys.stdout.write("## Stance\n" * 10_000)
elif way == "forks":
    # One child in a session of its own holds the output open.
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True
    )
    print("no speech")
elif way == "fails":
    sys.exit(7)
elif way == "half":
    print('{"result": "## Stance\\nHalf')
elif way == "garbage":
    put("turn.json", "{" + "x" * 1_000)
elif way == "alters":
    put("001_good.md", "## Stance\nI never said that.\n")
elif way == "impersonates":
    put("{:03d}_good.md".format(count() + 1), SPEECH)
    print("done")
elif way == "skips ahead":
    found = turn()
    found["status"], found["current_speaker"] = "concluding", "moderator"
    put("turn.json", json.dumps(found))
    put("MINUTES.md", "## Summary\nI decide.\n")
elif way == "trespasses":
    folder = os.path.join(".roundtable", "other")
    put("001_victim.md", SPEECH)
    put("turn.json", "{}")
    print("done")
elif way == "odd name":
    with open(os.path.join(os.fsencode(folder), b"009_\xff.md"), "wb") as file:
        file.write(b"odd")
elif way == "no end":
    found = turn()
    name = found["current_speaker"]
    put("{:03d}_{}.md".format(count() + 1, name), SPEECH)
    index = found["current_speaker_index"] + 1
    order = found["speaker_order"]
    found["round"] += index // len(order)
    found["current_speaker_index"] = index % len(order)
    if found["round"] > found["max_rounds"]:
        found["status"], found["current_speaker"] = "concluding", "moderator"
    else:
        found["current_speaker"] = order[index % len(order)]
    put("turn.json", json.dumps(found))
    time.sleep(3_600)
elif way == "cleans":
    import shutil

    shutil.rmtree(os.path.join(folder, ".moot"))
    print(SPEECH)
elif way == "blocks aside":
    put("turn.json", "{")
    put("aside", "not a folder")
elif way == "makes folders":
    os.mkdir(os.path.join(folder, "{:03d}_{}.md".format(count() + 1, turn()["current_speaker"])))
elif way == "skips itself":
    put(
        "{:03d}_{}.md".format(count() + 1, turn()["current_speaker"]),
        "[SKIPPED] I have nothing to say (refused)\n",
    )
elif way == "removes":
    import shutil

    shutil.rmtree(folder)
elif way == "links":
    os.symlink(
        "/etc/passwd",
        os.path.join(folder, "{:03d}_{}.md".format(count() + 1, turn()["current_speaker"])),
    )

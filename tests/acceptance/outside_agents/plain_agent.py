# ruff: noqa
# mypy: ignore-errors
"""An agent that knows GUIDE.md and nothing else: no Moot, nothing but the standard library.

    python plain_agent.py PROMPT                        as a relay wakes it
    python plain_agent.py --join CONFERENCE ROLE        by hand

Works in the current folder. With PLAIN_LOG it notes what it was told; with PLAIN_SLOW it takes that many seconds for a speech.
"""

import json
import os
import re
import sys
import time

WAKE = r"join the conference (\S+) as (\S+?)\. Your instructions are: (.*)"
CONCLUDE = r"conclude the conference (\S+) as its moderator\. Your instructions are: (.*)"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(folder, hidden, name, text):
    with open(os.path.join(folder, hidden), "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(os.path.join(folder, hidden), os.path.join(folder, name))


def speeches(folder):
    return sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d{3}_.+\.md", name))


def role_of(name):
    return name[4:-3]


def has_agreed(folder, role):
    own = [name for name in speeches(folder) if role_of(name) == role]
    return bool(own) and read(os.path.join(folder, own[-1])).rstrip().endswith("[CONSENSUS]")


def following(folder, turn, prompt):
    turn = dict(turn)
    turn["current_speaker_index"] += 1
    if turn["current_speaker_index"] == len(turn["speaker_order"]):
        turn["current_speaker_index"] = 0
        turn["round"] += 1
    if turn["round"] > turn["max_rounds"] or all(
        has_agreed(folder, role) for role in turn["speaker_order"]
    ):
        turn["status"] = "concluding"
        turn["current_speaker"] = "moderator"
    else:
        turn["current_speaker"] = turn["speaker_order"][turn["current_speaker_index"]]
    turn["prompt_for_speaker"] = prompt
    return turn


def save(folder, turn):
    write(folder, ".turn", "turn.json", json.dumps(turn, ensure_ascii=False))


def conclude(folder, turn):
    told = "".join(
        "- {}: {}\n".format(role_of(name), read(os.path.join(folder, name)).split("\n")[1])
        for name in speeches(folder)
    )
    minutes = "## Summary\n{}## Consensus reached\nNone.\n## Disagreements left open\nAll.\n## Action items\nNobody.\n".format(
        told
    )
    write(folder, ".minutes", "MINUTES.md", minutes)
    turn["status"] = "closed"
    save(folder, turn)
    return "The minutes are written."


def speak(folder, turn, role):
    names = speeches(folder)
    latest = [read(os.path.join(folder, name)) for name in names[-3:]]
    agenda = read(os.path.join(folder, "AGENDA.md")).split("\n")[0]
    time.sleep(float(os.environ.get("PLAIN_SLOW", "0")))
    number = "{:03d}".format(len(names) + 1)
    text = "## Stance\n{} on {} at {}: asked {!r}, heard {}\n## Analysis\nPlain.\n## Response and questions\nWhat now?\n".format(
        role, agenda, number, turn["prompt_for_speaker"][:80], len(latest)
    )
    if any(name.startswith(number) for name in os.listdir(folder)):
        return None
    write(folder, ".draft-" + role, "{}_{}.md".format(number, role), text)
    save(folder, following(folder, turn, "{} asks: do you agree?".format(role)))
    return "I have spoken as {}.".format(number)


def take_part(conference, role):
    folder = os.path.join(".roundtable", conference)
    for _ in range(5):
        turn = json.loads(read(os.path.join(folder, "turn.json")))
        if turn["status"] == "closed":
            return "The conference is over; please read MINUTES.md."
        if turn["status"] == "concluding":
            return conclude(folder, turn) if role == "moderator" else "I wait for the moderator."
        if turn["current_speaker"] != role:
            return (
                "[Conference blocked] It is {}'s turn to speak; please schedule that agent.".format(
                    turn["current_speaker"]
                )
            )
        expected = (turn["round"] - 1) * len(turn["speaker_order"]) + turn["current_speaker_index"]
        found = len(speeches(folder))
        if found == expected + 1:
            save(folder, following(folder, turn, "Go on, please."))
            continue
        if found != expected:
            return "The folder is damaged."
        said = speak(folder, turn, role)
        if said is not None:
            return said
    return "I give up."


def main():
    if sys.argv[1] == "--join":
        print(take_part(sys.argv[2], sys.argv[3]))
        return
    prompt = sys.argv[1]
    if "PLAIN_LOG" in os.environ:
        with open(os.environ["PLAIN_LOG"], "a", encoding="utf-8") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    woken = re.search(WAKE, prompt)
    if woken:
        print(take_part(woken[1], woken[2]))
        return
    asked = re.search(CONCLUDE, prompt)
    print(take_part(asked[1], "moderator") if asked else "I do not understand.")


main()

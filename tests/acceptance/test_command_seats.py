"""Seats that programs fill, through the command line: they take part, they fail, and nothing of them stays."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    SCENES,
    Cli,
    Leaps,
    Script,
    draft,
    facts,
    held,
    listens,
    position,
    seat_words,
    speech,
    stand,
    timeline,
    until,
    wants,
    word_stored_cause,
    write_script,
)

from moothall import Decision

AGENTS = SCENES / "agents"
TRICKS = (
    "$(touch pwned) `touch pwned`; touch pwned & touch pwned | touch pwned > pwned\n"
    "--version\n-rf /\n'\"\\ {prompt} {session} 👩‍🔬 重写吗？"
)

PERSONA: Script = {
    seat: {
        "position": [position(f"{seat} before the talk")],
        "intent": [wants(0.5), listens(), listens()],
        "speech": [speech(f"{seat} speaks")] * 3,
        "draft": [draft("So be it.", [1, 2])],
        "stand": [stand(position=f"{seat} after the talk")],
    }
    for seat in ("bob", "cem")
}
DEBATE: Script = {
    seat: {
        "propose": [
            {"type": "propose", "text": f"{seat} proposes.", "choice": "no", "confidence": 0.6}
        ],
        "synthesize": [
            {"type": "synthesize", "text": "In steps.", "choice": "yes", "confidence": 0.8}
        ],
        "vote": [{"type": "vote", "position": "support", "confidence": 0.9}],
    }
    for seat in ("bob", "cem")
}


def recipe(path: Path, argv: Sequence[str], **more: str) -> str:
    """A recipe's file; the word for its platform. The prompt comes on standard input unless argv has it."""
    words = {} if "{prompt}" in argv else {"words": "{prompt}"}
    fields = {"argv": list(argv), **words, **more}
    path.write_text(
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items()), encoding="utf-8"
    )
    return f"command:{path}"


def program(name: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(AGENTS / f"{name}.py"), *words)


def agreeable(folder: Path) -> str:
    return recipe(
        folder / "agreeable.toml",
        program("agreeable"),
        output="jsonl",
        text="type=message:message.text",
        session="session_id",
    )


def others(folder: Path, script: Script = PERSONA) -> list[str]:
    """The options for bob and cem, who are scripted."""
    return seat_words(write_script(folder / "others.toml", script), ("bob", "cem"))


def record(cli: Cli) -> list[dict[str, Any]]:
    return facts(cli("export", "s", "jsonl").out)


def lost(cli: Cli) -> list[tuple[str, str, str]]:
    return [
        (fact["ask"], fact["reason"], word_stored_cause(fact))
        for fact in record(cli)
        if fact["fact"] == "seat_lost"
    ]


def sessions(cli: Cli) -> list[str]:
    async def work() -> list[str]:
        async with cli.moot() as moot:
            return [line.session for line in await moot.sessions()]

    return held(work())


def prompts(cli: Cli, name: str = "agreeable") -> list[str]:
    (found,) = (cli.home / "agents" / name).glob("*/prompts.jsonl")
    return [json.loads(line) for line in found.read_text().splitlines()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Stubborn:
    """The agent that never answers, and the processes that it consists of."""

    def __init__(self, cli: Cli, folder: Path, hangs_at: str) -> None:
        self.platform = recipe(folder / "stubborn.toml", program("stubborn", hangs_at))
        self._folder = cli.home / "agents" / "stubborn"

    def pids(self) -> list[int]:
        return [
            int(line) for found in self._folder.glob("*/pids") for line in found.read_text().split()
        ]

    def is_gone(self) -> bool:
        return not any(is_running(pid) for pid in self.pids())

    def ended(self) -> None:
        """End what is left of it."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def stubborn(cli: Cli, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stubborn]:
    found = Stubborn(cli, tmp_path, getattr(request, "param", "any"))
    yield found
    found.ended()


def panel(folder: Path, platform: str, patience: float, **others: str) -> str:
    """A panel file in which ada has this platform and patience."""
    seats = [f'[[seat]]\nid = "ada"\nplatform = "{platform}"\npatience = {patience}\n']
    seats += [f'[[seat]]\nid = "{seat}"\nplatform = "{other}"\n' for seat, other in others.items()]
    path = folder / "panel.toml"
    path.write_text("".join(seats))
    return str(path)


# They take part


def test_an_agent_takes_part_in_a_meeting(cli: Cli, tmp_path: Path) -> None:
    """P-9, P-11: it bids, speaks, stands; every run is one call, without a price."""
    words = ["--turns", "2", "--set", "summarizer=bob", "--session", "s"]
    decided = cli.json(
        "run",
        "Shall we build it?",
        "--seat",
        f"ada={agreeable(tmp_path)}",
        *others(tmp_path),
        *words,
    )
    assert lost(cli) == []
    spoken = [
        (line["speaker"], line["content"]) for line in timeline(cli("export", "s", "context").out)
    ]
    assert ("ada", "The agent has run it, and it works.") in spoken
    (ada,) = [each for each in decided["positions"] if each["seat"] == "ada"]
    assert (ada["before"], ada["verdict"]) == ("The agent is for it.", "support")
    told = prompts(cli)
    assert decided["spent"]["calls"] == decided["spent"]["unpriced"] == len(told) == 6
    assert all("> Shall we build it?" in prompt for prompt in told)
    assert "| bob before the talk" not in "".join(told[:1])
    assert cli.verify("s") == {"s": None}
    cli("replay", "s")
    assert len(prompts(cli)) == len(told)


def test_an_agent_may_write_the_conclusion(cli: Cli, tmp_path: Path) -> None:
    """P-15."""
    words = ["--turns", "1", "--set", "summarizer=ada", "--session", "s"]
    decided = cli.json(
        "run",
        "Shall we build it?",
        "--seat",
        f"ada={agreeable(tmp_path)}",
        *others(tmp_path),
        *words,
    )
    assert (decided["author"], decided["decision"], decided["decisionEntries"]) == (
        "ada",
        "The agent concludes.",
        [1],
    )


def test_an_agent_takes_part_in_a_debate(cli: Cli, tmp_path: Path) -> None:
    """D-1: it proposes blind, challenges, and votes."""
    words = ["--protocol", "debate", "--session", "s"]
    done = cli(
        "run",
        "Shall we build it?",
        "--seat",
        f"ada={agreeable(tmp_path)}",
        *others(tmp_path, DEBATE),
        *words,
    )
    assert "ada proposes (0.70): The agent proposes." in done.out
    assert "ada challenges → #2 (0.60): The agent has a doubt." in done.out
    assert "ada support (0.80)" in done.out
    assert lost(cli) == []
    assert len(prompts(cli)) == 4


def test_a_recipe_is_found_beside_its_panel_and_from_where_the_command_runs(
    cli: Cli, tmp_path: Path
) -> None:
    agreeable(tmp_path)
    script = write_script(tmp_path / "others.toml", PERSONA)
    name = panel(tmp_path, "command:agreeable.toml", 60.0, bob=script)
    cli(
        "run",
        "Shall we?",
        "--panel",
        name,
        "--seat",
        "dan=command:agreeable.toml",
        "--turns",
        "1",
        "--session",
        "s",
    )
    opened = record(cli)[0]
    platforms = {seat["id"]: seat["platform"] for seat in opened["seats"]}
    assert platforms["ada"] == platforms["dan"] == f"command:{tmp_path / 'agreeable.toml'}"
    assert lost(cli) == []


def test_two_recipes_of_one_name_do_not_share_a_folder(cli: Cli, tmp_path: Path) -> None:
    """Nobody reads what another has left there."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        recipe(
            tmp_path / name / "agent.toml",
            ["sh", "-c", f"pwd >> {tmp_path / name}/folder; echo Hm."],
        )
    words = ["--set", "blind=false", "--turns", "1", "--session", "s"]
    cli(
        "run",
        "Shall we?",
        "--seat",
        "ada=command:one/agent.toml",
        "--seat",
        "dan=command:two/agent.toml",
        *others(tmp_path),
        *words,
    )
    one, two = (set((tmp_path / name / "folder").read_text().split()) for name in ("one", "two"))
    assert one.isdisjoint(two)


# Tricks in the topic


@pytest.mark.parametrize("way", ["argument", "standard input"])
@pytest.mark.parametrize("protocol", ["persona", "debate"])
def test_a_topic_full_of_tricks_is_only_a_topic(
    cli: Cli, tmp_path: Path, way: str, protocol: str
) -> None:
    """Whatever stands in it, it is one argument, or on standard input, behind its fence."""
    argv = ["sh", "-c", 'printf "%s" "$1" > told; printf "I pass."', "sh", "{prompt}"]
    if way == "standard input":
        argv = ["sh", "-c", 'cat > told; printf "I pass."']
    script = PERSONA if protocol == "persona" else DEBATE
    seat = f"ada={recipe(tmp_path / 'naive.toml', argv)}"
    turns = () if protocol == "debate" else ("--turns", "1")
    cli(
        "run",
        TRICKS,
        "--seat",
        seat,
        *others(tmp_path, script),
        "--protocol",
        protocol,
        *turns,
        "--session",
        "s",
    )
    assert record(cli)[0]["topic"] == TRICKS
    assert [path for path in tmp_path.rglob("*") if path.name == "pwned"] == []
    (folder,) = (cli.home / "agents" / "naive").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["told"]
    told = (folder / "told").read_text()
    assert "\n".join(f"> {line}" for line in TRICKS.split("\n")) in told


def test_an_agents_words_are_as_harmless_as_anyones(cli: Cli, tmp_path: Path) -> None:
    """P-9: control codes drive no terminal, neither from its answer nor from its complaints."""
    argv = ["sh", "-c", r"cat > /dev/null; printf '\033[31mred\033]0;title\007\n' >&2; exit 1"]
    seat = f"ada={recipe(tmp_path / 'rude.toml', argv)}"
    done = cli(
        "run", "Shall we?", "--seat", seat, *others(tmp_path), "--turns", "1", "--session", "s"
    )
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err
    assert {detail for _, _, detail in lost(cli)} == {"rude ended with 1: [31mred]0;title"}


# They fail


FAILING = {
    "crashes": (
        ["sh", "-c", "echo 'No key is set.' >&2; exit 3"],
        "error",
        ["agent ended with 3: No key is set."] * 2,
    ),
    "says nothing": (["true"], "malformed", ["agent: it printed nothing"] * 2),
    "floods": (["yes"], "error", ["agent printed too much and was stopped"] * 2),
    "talks nonsense": (
        ["echo", "Hm."],
        "malformed",
        [
            "a JSON object was expected, and none was found in the answer",
            "a JSON object was expected, or words that begin with one of: support, conditional, oppose, abstain",
        ],
    ),
}
"""What is run, and how its intent and its stand are lost."""


@pytest.mark.parametrize("failing", FAILING)
def test_an_agent_that_fails_is_lost_and_the_meeting_goes_on(
    cli: Cli, tmp_path: Path, failing: str
) -> None:
    """P-9, P-12, P-18."""
    argv, reason, details = FAILING[failing]
    seat = f"ada={recipe(tmp_path / 'agent.toml', argv)}"
    words = ["--turns", "1", "--set", "blind=false", "--set", "summarizer=bob", "--session", "s"]
    decided = cli.json("run", "Shall we?", "--seat", seat, *others(tmp_path), *words)
    assert lost(cli) == [("1.intent.ada", reason, details[0]), ("2.stand.ada", reason, details[1])]
    assert decided["decision"] == "So be it."
    (ada,) = decided["lost"]
    assert (ada["seat"], ada["times"], ada["last"], ada["didNotVote"]) == ("ada", 2, reason, True)
    assert cli.verify("s") == {"s": None}


def test_an_agent_that_fails_in_a_debate_is_lost_and_the_debate_goes_on(
    cli: Cli, tmp_path: Path
) -> None:
    """D-1, P-9."""
    argv, reason, _ = FAILING["crashes"]
    seat = f"ada={recipe(tmp_path / 'agent.toml', argv)}"
    words = ["--protocol", "debate", "--session", "s"]
    decided = cli.json("run", "Shall we?", "--seat", seat, *others(tmp_path, DEBATE), *words)
    assert {(ask.rpartition(".")[2], why) for ask, why, _ in lost(cli)} == {("ada", reason)}
    assert [each["seat"] for each in decided["lost"]] == ["ada"]
    assert decided["decision"] == "In steps."


def held_with(cli: Cli, folder: Path, stubborn: Stubborn, leaps: Leaps, bob: Script) -> Decision:
    """Hold a meeting of bob and of ada, whose patience passes as soon as her agent hangs."""
    name = panel(folder, stubborn.platform, 60.0, bob=write_script(folder / "bob.toml", bob))

    async def work() -> Decision:
        async with cli.moot() as moot, asyncio.TaskGroup() as group:
            passing = group.create_task(leaps.once(lambda: len(stubborn.pids()) == 2, 60.0))
            settings = {"blind": False, "summarizer": "bob"}
            decided = await moot.hold(
                "Shall we?", panel=name, settings=settings, turns=1, session="s"
            )
            await passing
            return decided

    return held(work())


@pytest.mark.parametrize("stubborn", ["reaction_score"], indirect=True)
def test_an_agent_that_hangs_past_its_patience_is_lost_and_ended(
    cli: Cli, tmp_path: Path, stubborn: Stubborn, leaps: Leaps
) -> None:
    """P-9, P-12: though it heeds nothing, and its child has gone away."""
    bob = {"bob": {**PERSONA["bob"], "speech": [speech("bob speaks", delay=1.5)]}}
    decided = held_with(cli, tmp_path, stubborn, leaps, bob)
    assert lost(cli)[0] == ("1.intent.ada", "timeout", "no answer by the deadline")
    assert decided.decision is not None
    assert decided.decision.text == "So be it."
    assert len(stubborn.pids()) == 2
    until(stubborn.is_gone)


@pytest.mark.parametrize("stubborn", ["verdict"], indirect=True)
def test_an_agent_that_hangs_at_the_very_end_is_ended_too(
    cli: Cli, tmp_path: Path, stubborn: Stubborn, leaps: Leaps
) -> None:
    """Its last word is the last thing that the meeting waits for."""
    held_with(cli, tmp_path, stubborn, leaps, {"bob": PERSONA["bob"]})
    assert lost(cli) == [("2.stand.ada", "timeout", "no answer by the deadline")]
    assert len(stubborn.pids()) == 2
    assert stubborn.is_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_meeting_that_is_stopped_leaves_no_agent_behind(
    cli: Cli, tmp_path: Path, stubborn: Stubborn, number: signal.Signals
) -> None:
    with cli.start(
        "run",
        "Shall we?",
        "--seat",
        f"ada={stubborn.platform}",
        *others(tmp_path),
        "--session",
        "s",
    ) as meeting:
        until(lambda: len(stubborn.pids()) == 2)
        meeting.process.send_signal(number)
        done = meeting.ended()
    assert done.code == 130
    assert "Traceback" not in done.err
    until(stubborn.is_gone)


# They are refused


REFUSED = {
    "an unknown agent": ("command:nobody", "no agent is called 'nobody'; known: ", 2),
    "no agent": ("command:", "no agent is called ''; known: ", 2),
    "no file": ("command:none.toml", "none.toml cannot be read: No such file or directory", 2),
    "no TOML": ("command:broken.toml", "broken.toml is not valid TOML: ", 2),
    "an unknown key": (
        "command:key.toml",
        "key.toml: 'colour' is no key here; known: acp, argv, ",
        2,
    ),
    "a missing program": (
        "command:missing.toml",
        "seat 'ada': the program 'no-such-agent' is not found",
        1,
    ),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_what_cannot_work_is_refused_before_anything_is_recorded(
    cli: Cli, tmp_path: Path, refused: str
) -> None:
    (tmp_path / "broken.toml").write_text("argv = [")
    (tmp_path / "key.toml").write_text('argv = ["echo", "{prompt}"]\ncolour = "red"\n')
    recipe(tmp_path / "missing.toml", ["no-such-agent", "{prompt}"])
    platform, told, code = REFUSED[refused]
    done = cli(
        "run",
        "Shall we?",
        "--seat",
        f"ada={platform}",
        *others(tmp_path),
        "--session",
        "s",
        code=code,
    )
    assert told in done.err
    assert sessions(cli) == []

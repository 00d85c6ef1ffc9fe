"""The seat that a program fills, against real programs that behave and misbehave."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moothall.domain.budget import Usage
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Language, Loss
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.roster import Seat
from moothall.features.persona.facts import Intent, MeetingOpened, PersonaSettings, PersonaSpeech
from moothall.features.persona.rules import RULES
from moothall.participants import subprocess_runner
from moothall.participants.command import (
    MAX_ARGUMENT_LENGTH,
    MAX_COMPLAINT_LENGTH,
    CommandParticipant,
)
from moothall.participants.recipes import Recipe
from moothall.participants.subprocess_runner import MARK
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_correction, build_user_prompt

T = TypeVar("T")

ADA = Seat(
    id=SeatId("ada"), platform="command:agent.toml", instructions="Count the costs; say `why`."
)
BOB = Seat(id=SeatId("bob"), platform="test")
TOPIC = "Shall we $(touch x) `touch x`; \"build\" 'the' bridge?\n--help\n👩‍🔬 重写吗？"
INTENT = '{"reaction_score": 0.8, "intent_to_speak": true, "reason": "costs"}'
MEANT = Intent(reaction_score=0.8, intent_to_speak=True, reason="costs")
WRONG = '{"reaction_score": 7, "intent_to_speak": true}'
COMPLAINT = "reaction_score: a number from 0 to 1 was expected (given: 7)"
ONE = Usage(calls=1)
DEADLINE = 120.0

PYTHON = (sys.executable, "-I", "-S", "-c")
FAKE = """
import json, os, sys
call = {"argv": sys.argv[1:], "stdin": sys.stdin.buffer.read().decode(), "environ": dict(os.environ), "folder": os.getcwd()}
with open("calls.jsonl", "a+") as calls:
    calls.write(json.dumps(call) + "\\n")
    calls.seek(0)
    number = len(calls.readlines())
answers = json.load(open(os.path.join(os.path.dirname(os.getcwd()), "answers.json")))
sys.stdout.buffer.write(answers[min(number, len(answers)) - 1].encode())
"""
"""Writes down how it was called, and answers one thing after another."""


def brief(kind: str, *, language: Language = "en", topic: str = TOPIC) -> Brief:
    opened = MeetingOpened(
        topic=topic,
        language=language,
        seed=7,
        seats=(ADA, BOB),
        settings=PersonaSettings(blind=False),
    )
    ask = Ask(id=ask_id(1, kind, ADA.id), seat=ADA.id, kind=kind, turn=1, patience=DEADLINE)
    return RULES.brief(RULES.initial(opened), ask)


def whole(wanted: Brief, complaint: str | None = None) -> str:
    return f"{wanted.system}\n\n{build_user_prompt(wanted, complaint)}"


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


@dataclass
class Table:
    """A seat's program and what came of it."""

    recipe: Recipe
    folder: Path
    environ: Mapping[str, str] = field(
        default_factory=lambda: {"PATH": os.environ.get("PATH", os.defpath)}
    )
    heard: list[str] = field(default_factory=list)

    @property
    def participant(self) -> CommandParticipant:
        return CommandParticipant(
            self.recipe, self.folder, self.environ, self.folder.with_name("kept")
        )

    def respond(self, wanted: Brief) -> Answer | NoAnswer:
        return bounded(self.participant.respond(wanted, self.heard.append))

    def calls(self) -> list[dict[str, Any]]:
        lines = (self.folder / "calls.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def fake(folder: Path, answers: Sequence[str], *argv: str, **more: Any) -> Table:
    """A program that answers one thing after another."""
    (folder / "answers.json").write_text(json.dumps(answers))
    return Table(Recipe(name="fake", argv=(*PYTHON, FAKE, *argv), **more), folder / "own")


def shell(folder: Path, program: str, **more: Any) -> Table:
    return Table(
        Recipe(name="sh", argv=("sh", "-c", program, "sh", "{prompt}"), **more), folder / "own"
    )


def is_soon(found: Callable[[], object]) -> bool:
    end = time.monotonic() + DEADLINE
    while not found():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


# What it is told


@pytest.mark.parametrize("kind", ["intent", "speech"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_is_one_argument_word_for_word(
    tmp_path: Path, kind: str, language: Language
) -> None:
    wanted, table = (
        brief(kind, language=language),
        fake(tmp_path, [INTENT], "--ask", "{prompt}", "--last"),
    )
    assert isinstance(table.respond(wanted), Answer)
    (call,) = table.calls()
    assert (call["argv"], call["stdin"]) == (["--ask", whole(wanted), "--last"], "")
    assert (
        "> Shall we $(touch x) `touch x`; \"build\" 'the' bridge?\n> --help\n> 👩‍🔬 重写吗？"
        in whole(wanted)
    )
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "answers.json",
        "calls.jsonl",
        "own",
    ]


def test_the_prompt_comes_on_standard_input_word_for_word(tmp_path: Path) -> None:
    wanted = replace(brief("intent"), own="'\"$(touch x)`{prompt}{session}\r\n" + "长" * 40_000)
    table = fake(tmp_path, [INTENT], "-", words="{prompt}")
    assert table.respond(wanted) == Answer(said=MEANT, usage=ONE, origin="program:fake")
    (call,) = table.calls()
    assert (call["argv"], call["stdin"]) == (["-"], whole(wanted))


def test_words_around_the_prompt_stay(tmp_path: Path) -> None:
    wanted, table = (
        brief("intent"),
        fake(tmp_path, [INTENT], words="Answer now.\n{prompt}\nThat is all."),
    )
    table.respond(wanted)
    assert table.calls()[0]["stdin"] == f"Answer now.\n{whole(wanted)}\nThat is all."


def test_a_prompt_that_fits_into_no_argument_is_told(tmp_path: Path) -> None:
    wanted, table = (
        replace(brief("intent"), own="长" * 40_000),
        fake(tmp_path, [INTENT], "{prompt}"),
    )
    told = f"the prompt has more than {MAX_ARGUMENT_LENGTH} bytes, and the agent takes it as an argument"
    assert table.respond(wanted) == NoAnswer(
        reason="error", detail=f"{sys.executable} cannot be run: {told}"
    )


def test_a_zero_in_the_prompt_does_not_matter(tmp_path: Path) -> None:
    table = fake(tmp_path, [INTENT], "{prompt}")
    assert isinstance(
        table.respond(replace(brief("intent"), own="before\0after")), Answer | NoAnswer
    )


@pytest.mark.parametrize("words", [None, "{prompt}"])
def test_half_a_character_in_the_prompt_does_not_matter(tmp_path: Path, words: str | None) -> None:
    table = fake(tmp_path, [INTENT], "{prompt}" if words is None else "-", words=words)
    assert isinstance(
        table.respond(replace(brief("intent"), own="half: \ud83d")), Answer | NoAnswer
    )


def test_it_sees_of_the_environment_what_it_needs_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "sk-of-the-process")
    table = fake(
        tmp_path,
        [INTENT],
        "{prompt}",
        environ={"QUIET": "$(touch x)", "TERM": "vt100"},
        passes=("AGENT_",),
    )
    known = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "AGENT_KEY": "its own",
    }
    table.environ = {
        **known,
        "OPENAI_API_KEY": "sk-of-another",
        "MOOT_HOME": "/m",
        "MY_AGENT_": "no",
        "A_SECRET": "sk",
    }
    table.respond(brief("intent"))
    seen = table.calls()[0]["environ"]
    assert len(seen.pop(MARK)) == 32
    assert seen == {**known, "QUIET": "$(touch x)", "TERM": "vt100", "NO_COLOR": "1"}


def test_it_works_in_a_folder_of_its_own_that_is_made_for_it(tmp_path: Path) -> None:
    table = replace(fake(tmp_path, [INTENT], "{prompt}"), folder=tmp_path / "own" / "agent")
    (tmp_path / "own").mkdir()
    (tmp_path / "answers.json").rename(tmp_path / "own" / "answers.json")
    table.respond(brief("intent"))
    assert table.calls()[0]["folder"] == str((tmp_path / "own" / "agent").resolve())


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("a file")
    found = shell(tmp_path, "echo Hello.").respond(brief("speech"))
    assert found == NoAnswer(reason="error", detail="sh cannot be run: File exists")


# What it answers


def test_a_speech_is_heard_and_returned(tmp_path: Path) -> None:
    table = shell(tmp_path, "echo; echo 're #1 disagree: It costs too much.'")
    meant = PersonaSpeech(content="It costs too much.", refers_to=1, view="contest")
    assert table.respond(brief("speech")) == Answer(said=meant, usage=ONE, origin="program:sh")
    assert table.heard == ["re #1 disagree: It costs too much."]


def test_what_is_no_speech_is_not_heard(tmp_path: Path) -> None:
    table = fake(tmp_path, [f"Sure!\n```json\n{INTENT}\n```"], "{prompt}")
    assert table.respond(brief("intent")) == Answer(said=MEANT, usage=ONE, origin="program:fake")
    assert table.heard == []


EVENTS: dict[str, Any] = {
    "output": "jsonl",
    "texts": ("type=text:part.text",),
    "sessions": ("id",),
    "tokens_in": "usage.in",
    "tokens_out": "usage.out",
    "dollars": "cost",
    "faults": ("type=error:message",),
}


def events(text: str, session: str = "s-1", **usage: Any) -> str:
    documents = [
        {"type": "start", "id": session},
        {"type": "text", "part": {"text": text}},
        {"type": "tool", "part": {"text": "no answer"}},
        {"type": "end", "usage": {"in": 100, "out": 20}, "cost": 0.0125, **usage},
    ]
    return "Starting.\n" + "\n".join(json.dumps(document) for document in documents)


def test_what_it_used_is_counted(tmp_path: Path) -> None:
    table = fake(tmp_path, [events(INTENT)], "{prompt}", **EVENTS)
    usage = Usage(tokens_in=100, tokens_out=20, cost=12_500, calls=1)
    assert table.respond(brief("intent")) == Answer(said=MEANT, usage=usage, origin="program:fake")


@pytest.mark.parametrize("cost", [float("inf"), 10**400], ids=["infinite", "long"])
def test_a_cost_without_an_end_does_not_lose_the_answer(tmp_path: Path, cost: float) -> None:
    table = fake(tmp_path, [events(INTENT, cost=cost)], "{prompt}", **EVENTS)
    found = table.respond(brief("intent"))
    assert isinstance(found, Answer)
    assert found.usage.cost is None


# What goes wrong


BINARY = r"printf '\377\376\000'"
FAILURES = {
    "it ends with a code": (
        "echo 'Not logged in.' >&2; exit 3",
        {},
        "error",
        "sh ended with 3: Not logged in.",
    ),
    "it is killed": ("kill -9 $$", {}, "error", "sh ended with -9"),
    "it calls another that is missing": ("no-such-program", {}, "error", "sh ended with 127: "),
    "it floods": ("exec yes", {}, "error", "sh printed too much and was stopped"),
    "it prints nothing": ("true", {}, "malformed", "sh: it printed nothing"),
    "it only complains": ("echo Hm. >&2", {}, "malformed", "sh: it printed nothing Hm."),
    "half a document": (
        'echo \'{"result": "Ye\'',
        {"output": "json", "texts": ("result",)},
        "malformed",
        'sh: it printed no JSON: \'{"result": "Ye\'',
    ),
    "bytes for a document": (
        BINARY,
        {"output": "json", "texts": ("result",)},
        "malformed",
        "sh: it printed no JSON: ",
    ),
    "half a line": (
        'echo \'{"text": "Ye\'',
        {"output": "jsonl", "texts": ("text",)},
        "malformed",
        "sh: it printed no JSON lines: ",
    ),
    "a document without an answer": (
        "echo '{\"error\": 1}'",
        {"output": "json", "texts": ("result",)},
        "malformed",
        "sh: no answer at result; it printed ",
    ),
    "a document that says what went wrong": (
        'echo \'{"type": "error", "message": "No credit."}\'',
        EVENTS,
        "malformed",
        "sh: it failed: No credit.",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_what_goes_wrong_is_no_answer_with_its_reason(tmp_path: Path, failure: str) -> None:
    """P-9."""
    program, more, reason, detail = FAILURES[failure]
    found = shell(tmp_path, program, **more).respond(brief("speech"))
    assert isinstance(found, NoAnswer)
    assert (found.reason, found.usage) == (reason, ONE)
    assert found.detail.startswith(detail)


def test_its_complaints_are_told_as_one_harmless_line_that_is_not_long(tmp_path: Path) -> None:
    program = (
        r"yes 'long complaint' | head -n 2000 >&2; printf '\033[31mthe\nend\007\n' >&2; exit 1"
    )
    found = shell(tmp_path, program).respond(brief("speech"))
    assert isinstance(found, NoAnswer)
    assert found.detail.endswith("long complaint [31mthe end")
    assert len(found.detail) == len("sh ended with 1: ") + MAX_COMPLAINT_LENGTH


def test_a_code_does_not_hide_what_went_wrong(tmp_path: Path) -> None:
    table = shell(tmp_path, 'echo \'{"type": "error", "message": "No credit."}\'; exit 1', **EVENTS)
    found = table.respond(brief("speech"))
    assert isinstance(found, NoAnswer)
    assert "No credit." in found.detail


def test_a_missing_program_is_told_before_and_when_asked(tmp_path: Path) -> None:
    recipe = Recipe(
        name="agent", argv=("no-such-agent", "{prompt}"), install="npm install -g agent"
    )
    table = Table(recipe, tmp_path / "own")
    assert (
        bounded(table.participant.ready())
        == "the program 'no-such-agent' is not found; install it: npm install -g agent"
    )
    detail = "no-such-agent cannot be run: No such file or directory"
    assert table.respond(brief("speech")) == NoAnswer(reason="unreachable", detail=detail)


@pytest.mark.parametrize(
    ("mode", "reason", "told"),
    [(0o644, "unreachable", "Permission denied"), (0o755, "error", "Exec format error")],
)
def test_a_file_that_is_no_program_is_told(
    tmp_path: Path, mode: int, reason: Loss, told: str
) -> None:
    path = tmp_path / "agent"
    path.write_text("touch x\n")
    path.chmod(mode)
    table = Table(Recipe(name="agent", argv=(str(path), "{prompt}")), tmp_path / "own")
    assert table.respond(brief("speech")) == NoAnswer(
        reason=reason, detail=f"{path} cannot be run: {told}"
    )
    assert list((tmp_path / "own").iterdir()) == []
    is_ready = bounded(table.participant.ready()) is None
    assert is_ready is (mode == 0o755)


def test_a_program_that_is_there_is_ready_and_is_not_run_for_it(tmp_path: Path) -> None:
    table = shell(tmp_path, "echo Hello.")
    assert bounded(table.participant.ready()) is None
    assert not table.folder.exists()


def test_a_program_that_hangs_ends_with_the_callers_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-9: SIGTERM first; the children go with it, also those that went away."""
    monkeypatch.setattr(subprocess_runner, "GRACE_SECONDS", DEADLINE)
    trapped = "trap 'echo told > told; exit 0' TERM; setsid sleep 600 & echo $! > afar; echo $$ > pid; while true; do sleep 0.05; done"
    table = shell(tmp_path, trapped)

    async def work() -> None:
        task = asyncio.create_task(table.participant.respond(brief("speech"), table.heard.append))
        assert await asyncio.to_thread(is_soon, (table.folder / "pid").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    bounded(work())
    assert (table.folder / "told").read_text() == "told\n"
    pids = [int((table.folder / name).read_text()) for name in ("pid", "afar")]
    gone = is_soon(lambda: not any(is_running(pid) for pid in pids))
    for pid in filter(is_running, pids):
        os.kill(pid, signal.SIGKILL)
    assert gone


# Mending


def test_an_answer_in_the_wrong_shape_is_mended_once(tmp_path: Path) -> None:
    """P-9: the second prompt says all that the first did, and what was wrong."""
    wanted, table = brief("intent"), fake(tmp_path, [WRONG, INTENT], "{prompt}")
    assert table.respond(wanted) == Answer(said=MEANT, usage=Usage(calls=2), origin="program:fake")
    assert [call["argv"] for call in table.calls()] == [[whole(wanted)], [whole(wanted, COMPLAINT)]]
    assert whole(wanted, COMPLAINT).endswith(
        f"(Your previous reply could not be used: {COMPLAINT})"
    )


@pytest.mark.parametrize(("language", "words"), [("en", None), ("zh", "{prompt}")])
def test_with_sessions_it_is_mended_in_the_same_one(
    tmp_path: Path, language: Language, words: str | None
) -> None:
    prompt = ("{prompt}",) if words is None else ()
    resume = (*PYTHON, FAKE, "--resume={session}", *prompt)
    wanted = brief("intent", language=language)
    answers = [events(WRONG, "s $(touch x) 1"), events(INTENT, "s-2")]
    table = fake(tmp_path, answers, *prompt, **EVENTS, words=words, resume=resume)
    usage = Usage(tokens_in=200, tokens_out=40, cost=25_000, calls=2)
    assert table.respond(wanted) == Answer(said=MEANT, usage=usage, origin="program:fake")
    first, second = table.calls()
    complaint = build_correction(language, COMPLAINT)
    if words is None:
        assert [first["argv"], second["argv"]] == [
            [whole(wanted)],
            ["--resume=s $(touch x) 1", complaint],
        ]
    else:
        assert [first["argv"], second["argv"]] == [[], ["--resume=s $(touch x) 1"]]
        assert [first["stdin"], second["stdin"]] == [whole(wanted), complaint]


def test_a_session_that_moot_names_is_gone_on_with(tmp_path: Path) -> None:
    """For agents that take an id and print none; each ask has its own."""
    resume = (*PYTHON, FAKE, "--resume", "{session}", "{prompt}")
    table = fake(
        tmp_path, [WRONG, INTENT, INTENT], "--session", "{session}", "{prompt}", resume=resume
    )
    assert isinstance(table.respond(brief("intent")), Answer)
    assert isinstance(table.respond(brief("intent")), Answer)
    first, second, third = (call["argv"][:2] for call in table.calls())
    assert (first[0], second[0], third[0]) == ("--session", "--resume", "--session")
    assert first[1] == second[1] != third[1]


def test_an_answer_that_the_rules_find_fault_with_is_mended_too(tmp_path: Path) -> None:
    """P-15, M-2: a draft that rests on an entry that is not there counts without it."""
    drafts = [json.dumps({"decision": {"text": "Yes.", "entries": [9, 1]}, "confidence": 0.5})]
    found = fake(tmp_path, drafts, "{prompt}").respond(brief("draft"))
    assert isinstance(found, Answer)
    assert (found.usage, found.corrections) == (Usage(calls=1), ("left_out decision.entries.0 9",))


@pytest.mark.parametrize(
    "wrong", [WRONG, "no JSON here", "{" * 50_000], ids=["shape", "words", "deep"]
)
def test_twice_wrong_is_malformed(tmp_path: Path, wrong: str) -> None:
    table = fake(tmp_path, [wrong], "{prompt}")
    found = table.respond(brief("intent"))
    assert isinstance(found, NoAnswer)
    assert (found.reason, found.usage) == ("malformed", Usage(calls=2))
    expected = (
        COMPLAINT
        if wrong == WRONG
        else "a JSON object was expected, and none was found in the answer"
    )
    assert found.detail == expected
    assert len(table.calls()) == 2


def test_what_fails_while_mending_is_told_with_what_both_runs_used(tmp_path: Path) -> None:
    resume = ("sh", "-c", "echo 'No such session.' >&2; exit 1")
    table = fake(tmp_path, [events(WRONG)], "{prompt}", **EVENTS, resume=resume)
    usage = Usage(tokens_in=100, tokens_out=20, cost=12_500, calls=2)
    assert table.respond(brief("intent")) == NoAnswer(
        reason="error", detail="fake ended with 1: No such session.", usage=usage
    )


def test_a_session_id_that_cannot_be_an_argument_does_not_matter(tmp_path: Path) -> None:
    resume = (*PYTHON, FAKE, "{session}", "{prompt}")
    table = fake(
        tmp_path, [events(WRONG, "s\0"), events(INTENT)], "{prompt}", **EVENTS, resume=resume
    )
    assert isinstance(table.respond(brief("intent")), Answer | NoAnswer)


def test_seats_of_one_agent_are_asked_at_once(tmp_path: Path) -> None:
    table = fake(tmp_path, [INTENT], "{prompt}")

    async def work() -> list[Answer | NoAnswer]:
        participant = table.participant
        return await asyncio.gather(
            *(participant.respond(brief("intent"), table.heard.append) for _ in range(8))
        )

    assert bounded(work()) == [Answer(said=MEANT, usage=ONE, origin="program:fake")] * 8

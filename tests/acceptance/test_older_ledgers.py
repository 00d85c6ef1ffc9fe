"""What Moot 0.1.0 wrote still opens: ledgers, folders, decision memory; what was finished tells the same, what was not goes on.

The folder tests/fixtures/written_by_0_1_0 says how it was made. It is copied before anything is done with it.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, held
from tests.acceptance.server import Server

WRITTEN = Path(__file__).resolve().parents[1] / "fixtures" / "written_by_0_1_0"
TOLD = WRITTEN / "told"


def told(name: str) -> str:
    """What 0.1.0 printed."""
    return (TOLD / name).read_bytes().decode()


def told_json(name: str) -> Any:
    return json.loads(told(name))


def find_untold(found: Any, before: Any, place: str = "") -> list[str]:
    """The places where something that 0.1.0 told is missing or told otherwise; fields that came later may stand beside it."""
    if isinstance(before, dict) and isinstance(found, dict):
        missing = [f"{place}.{name}" for name in before if name not in found]
        known = [name for name in before if name in found]
        return missing + [each for name in known for each in find_untold(found[name], before[name], f"{place}.{name}")]
    if isinstance(before, list) and isinstance(found, list) and len(before) == len(found):
        pairs = enumerate(zip(found, before, strict=True))
        return [each for number, (new, old) in pairs for each in find_untold(new, old, f"{place}[{number}]")]
    return [] if found == before else [place]


STANDINGS = {"thinking": {"waiting", "stopped"}, "concluded": {"decided", "undecided"}, "cancelled": {"cancelled"}}
"""Where a session of each status may stand, in a list."""


LINES = {line["session"]: line for line in told_json("list.json")}
CONFERENCES = {each["conference"]: each for each in told_json("conferences.json")}
SERVED = told_json("served.json")
FOLDERS = {each["session"] for each in CONFERENCES.values()}
HOSTED = SERVED["hosted"]["waiting"]

KILLED = ("persona-killed", "pipeline-killed")
WAITING = (
    *("persona-waiting", "persona-forked", "debate-waiting", "debate-zh-waiting", "debate-consulting", "advisory-waiting"),
    *("consensus-waiting", "roundtable-waiting", "consultation-waiting", "pipeline-waiting", "swarm-zh-waiting"),
)
RECORDING = {"debate-consulting", "consultation-waiting", "pipeline-waiting", "pipeline-killed"}
"""Their project is recorded as the folder that a process runs in, by a name that Linux alone has for it."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/cwd").is_dir(), reason="the project of the session is /proc/self/cwd")


def cases(sessions: Sequence[str]) -> list[Any]:
    return [pytest.param(each, marks=needs_proc if each in RECORDING else ()) for each in sessions]


MINUTES = (
    "## Summary\nWe spoke.\n## Consensus reached\nNone.\n## Disagreements left open\nAll.\n## Action items\nNobody: nothing.\n"
)
SPEECH = "## Stance\nSo it is.\n## Analysis\nBecause.\n## Response and questions\nWhy not?\n"
CONTRIBUTION = {"text": "As it was said.", "choice": "yes", "confidence": 0.8}
IDEAS = {"TanWei": ("在边缘缓存目录。", 0.3965), "SuYuan": ("在边缘缓存目录。", 0.5956), "DongCha": ("减少图片。", 0.5833)}
"""What each explorer holds, and its threshold."""
ANSWERS: dict[str, object] = {
    "intent": {"reaction_score": 0.1, "intent_to_speak": False},
    "speech": SPEECH,
    "stand": {"verdict": "support", "confidence": 0.8},
    "draft": {"decision": {"text": "So be it.", "entries": [1]}, "confidence": 0.8},
    "minutes": MINUTES,
    "propose": {"type": "propose", **CONTRIBUTION},
    "argue": {"type": "pass"},
    "synthesize": {"type": "synthesize", **CONTRIBUTION},
    "decide": {"type": "synthesize", **CONTRIBUTION, "taken": [{"entry": 4, "how": "adopted"}]},
    "vote": {"type": "vote", "position": "support", "confidence": 0.9},
    "consult": "FROM @bob:\n\n**Answer**: A fifth of it.",
    "work": "It costs five euros.",
    "validate": {"verdict": "APPROVED", "content": "It holds."},
    "collide": {"action": "pass"},
    "ballot": {"votes": [{"idea": 1, "position": "support", "confidence": 0.8}]},
    "shutdown": {"acknowledged": True},
}
"""What whoever is asked says, by what it is asked for."""


def copied(folder: Path) -> Cli:
    """The command on a copy of everything, in the project's folder."""
    shutil.copytree(WRITTEN / "home", folder / "home")
    shutil.copytree(WRITTEN / "project", folder / "project")
    return Cli(folder / "home", folder / "project")


@pytest.fixture
def old(tmp_path: Path) -> Cli:
    """A copy of a test's own."""
    return copied(tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A copy for tests that only read; the ledger is the same in the end."""
    cli = copied(tmp_path_factory.mktemp("library"))
    yield cli
    assert cli("verify", "--json").out == told("verify.json")


def records(project: Path) -> list[str]:
    """The numbers and states of the project's consultations, each with its record."""
    lines = [line.split("\t") for line in (project / "VERSION_MANIFEST").read_text(encoding="utf-8").splitlines()[1:]]
    assert sorted(line[3] for line in lines) == sorted(path.name for path in (project / "docs" / "consultation").iterdir())
    return [f"{line[0]} {line[1]}" for line in lines]


# What stands.


def test_all_sessions_are_listed_and_whole(library: Cli) -> None:
    """The same list and the same heads of all chains, registers and all."""
    listed = library.json("list")
    assert find_untold(listed, told_json("list.json")) == []
    for line in listed:
        assert line["parked"] == ""
        assert line["standing"] in STANDINGS[line["status"]]
        assert bool(line["choice"]) == (line["standing"] == "decided")
        # 0.1.0 remembered no strength: it follows from the record.
        assert bool(line["strength"]) == (line["status"] == "concluded")
    assert library("verify", "--json").out == told("verify.json")
    assert {line["status"] for line in LINES.values()} == {"thinking", "concluded", "cancelled"}
    finished = {line["protocol"] for line in LINES.values() if line["status"] == "concluded"}
    running = {line["protocol"] for line in LINES.values() if line["status"] == "thinking"}
    assert finished == running
    assert {*KILLED, "swarm-killed", *WAITING, *FOLDERS, HOSTED} >= {
        name for name, line in LINES.items() if line["status"] == "thinking"
    }


def is_told_again(decision: dict[str, Any], before: dict[str, Any]) -> None:
    """Every field that 0.1.0 told is the same; an imported conclusion also tells what 0.1.0 did not read in its file (P-6)."""
    is_imported = decision["session"] == "persona-imported"
    for field, value in before.items():
        assert find_untold(decision[field], value) == [] or (is_imported and value in (None, [])), field


def test_every_session_has_the_same_decision_and_replays(library: Cli) -> None:
    """Every field of the decision, and every step derived again from the record."""

    async def work() -> None:
        async with library.moot() as moot:
            for session in LINES:
                decision = asdict(await moot.decision(session))
                is_told_again(json.loads(json.dumps(decision)), told_json(f"{session}/show.json"))
                found, before = await moot.replay(session), told_json(f"{session}/replay.json")
                counts = (before["entries"], before["answers"], before["computed"])
                assert (found.entries, found.answers, found.computed) == counts

    held(work())


SHOWN = {line["protocol"]: name for name, line in LINES.items() if line["status"] == "concluded"}


@pytest.mark.parametrize("protocol", SHOWN)
def test_the_commands_tell_a_session_of_each_protocol_as_before(library: Cli, protocol: str) -> None:
    """The same decision; the replay calls no model and counts the same."""
    session = SHOWN[protocol]
    is_told_again(library.json("show", session), told_json(f"{session}/show.json"))
    found, before = library.json("replay", session), told_json(f"{session}/replay.json")
    assert {**found, "state": ""} == {**before, "state": ""}


def test_exports_that_programs_read_are_the_same_bytes(library: Cli) -> None:
    """The ledger of each session, context ledgers, artefacts; what people read is written in whatever way is new."""

    async def work() -> None:
        async with library.moot() as moot:
            for session, line in LINES.items():
                for form, file in (("jsonl", "ledger.jsonl"), ("context", "context.json"), ("artefacts", "artefacts.json")):
                    if (TOLD / session / file).exists():
                        assert (await moot.export(session, form)).rstrip("\n") == told(f"{session}/{file}").rstrip("\n"), (
                            session,
                            form,
                        )
                assert len(await moot.export(session, "minutes")) > 20
                if line["protocol"] not in {"consultation", "pipeline"}:
                    assert "</html>" in await moot.export(session, "html")

    held(work())


def test_exported_ledgers_are_read_back_into_an_empty_one(tmp_path: Path) -> None:
    """The chain is checked, the steps are derived again, and the bytes are the same."""

    async def work() -> None:
        async with Cli(tmp_path / "home", tmp_path).moot() as moot:
            for session in LINES:
                text = told(f"{session}/ledger.jsonl")
                assert await moot.read_back(text) == session
                assert (await moot.export(session, "jsonl")).rstrip("\n") == text.rstrip("\n")

    held(work())


def test_a_swarm_is_reported_the_same(library: Cli, tmp_path: Path) -> None:
    """The blackboard and the joins, and the files of its folder that programs read."""
    for session in (name for name, line in LINES.items() if line["protocol"] == "swarm"):
        assert library("swarm-report", session, "--form", "blackboard").out == told(f"{session}/blackboard.json")
        assert library("swarm-report", session, "--json").out == told(f"{session}/report.json")
    library("swarm-report", "swarm-concluded", "--folder", str(tmp_path))
    (again,) = tmp_path.iterdir()
    before = library.cwd / "swarm-runs" / again.name
    for name in ("run-config.json", "blackboard.json", "operation-log.json"):
        assert (again / name).read_bytes() == (before / name).read_bytes()
    files = {path.relative_to(before) for path in before.rglob("*") if path.is_file()}
    assert {path.relative_to(again) for path in again.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize("session", [name for name, line in LINES.items() if line["protocol"] == "pipeline"])
def test_a_pipeline_stands_where_it_stood(library: Cli, session: str) -> None:
    """Steps, who is at work, consultations: the same bytes."""
    assert library("pipeline", "status", session, "--json").out == told(f"{session}/status.json")


def test_sessions_with_consultations_tell_their_records(library: Cli) -> None:
    """The records are where the minutes say they are."""
    for session in ("persona-consulted", "debate-consulting", "pipeline-concluded"):
        minutes = library("export", session, "minutes").out
        named = [
            path for path in (library.cwd / "docs" / "consultation").iterdir() if f"docs/consultation/{path.name}" in minutes
        ]
        assert len(named) == 1, session


# What goes on.


def answer_to(ask: str) -> object:
    """What is said to an ask: its id has what it is for, and who is asked."""
    _, kind, seat = ask.split(".", 2)
    if kind != "explore":
        return ANSWERS[kind.split("~")[0]]
    idea, threshold = IDEAS[seat]
    return {
        "direction": idea,
        "findings": [{"coreIdea": idea, "perspective": seat, "details": "再次确认"}],
        "operations": [{"operation": "deposit_pheromone", "params": {"direction": idea, "amount": 0.2}}],
        "decisionReport": {"threshold": threshold, "candidates": [], "selectedDirection": idea, "selectionReason": "最有希望。"},
        "conflictReview": {"conflictsFound": 0},
        "randomExploreForced": True,
    }


@pytest.mark.parametrize("session", cases(WAITING))
def test_a_session_that_waits_goes_on_to_its_end(old: Cli, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is waited for answers; scripts and projects are found from the folder that the process runs in."""
    monkeypatch.chdir(old.cwd)

    async def work() -> int:
        async with old.moot() as moot:
            given = 0
            decision = await moot.decision(session)
            while decision.status == "thinking":
                for each in await moot.asks(session):
                    await moot.answer(session, each.ask.id, answer_to(each.ask.id))
                    given += 1
                decision = await moot.run(session)
            assert decision.decision is not None
            return given

    assert held(work()) > 0
    is_whole(old, session)
    count = len(records(WRITTEN / "project")) + (session in {"debate-consulting", "consultation-waiting"})
    assert records(old.cwd) == [f"{number} written" for number in range(1, count + 1)]


@pytest.mark.parametrize("session", cases(KILLED))
def test_a_session_that_was_killed_goes_on_to_its_end(old: Cli, session: str) -> None:
    """With what was on record, and with the scripts that were named from its folder."""
    command = ("pipeline", "resume") if session == "pipeline-killed" else ("resume",)
    decision = old.json(*command, session)
    assert decision["status"] == "concluded"
    assert decision["decision"]["text"]
    assert decision["lost"] == []
    is_whole(old, session)


def is_whole(cli: Cli, session: str) -> None:
    """It begins with what was on record, holds, can be replayed, and is remembered."""

    async def work() -> None:
        async with cli.moot() as moot:
            assert (await moot.decision(session)).status == "concluded"
            assert (await moot.export(session, "jsonl")).startswith(told(f"{session}/ledger.jsonl"))
            assert (await moot.replay(session)).entries > told_json(f"{session}/replay.json")["entries"]
            assert await moot.verify(session) is None

    held(work())
    assert cli.json("decisions", "show", session)["decision"]["decision"] == session


def test_a_killed_swarm_goes_on_in_its_own_folder(old: Cli) -> None:
    """The same blackboard as the run that was let alone, in the folder that it had."""
    runs = old.cwd / "swarm-runs"
    before = {path.name for path in runs.iterdir()}
    decision = old.json("resume", "swarm-killed")
    assert decision["decision"]["text"] == told_json("swarm-concluded/show.json")["decision"]["text"]
    assert {path.name for path in runs.iterdir()} == {*before, ".template"}
    (folder,) = [path for path in runs.glob("2*") if "swarm-killed" in (path / "run-config.json").read_text(encoding="utf-8")]
    other = folder.with_name(folder.name.removesuffix("-2"))
    assert (folder / "blackboard.json").read_bytes() == (other / "blackboard.json").read_bytes()
    assert (folder / "final-research-report.html").exists()
    is_whole(old, "swarm-killed")


def test_the_commands_go_on_with_a_session_as_the_library_does(old: Cli) -> None:
    """Asks, answer, input, resume."""
    (ask,) = old.json("asks", "persona-waiting")
    assert (ask["seat"], ask["kind"]) == ("eve", "speech")
    assert old.json("input", "persona-waiting", "The pager was quiet all week.", "--key", "pager")["taken"] is False
    old("answer", "persona-waiting", "--seat", "eve", "Monday is fine.")
    assert old.json("resume", "persona-waiting", code=3)["status"] == "thinking"
    old("cancel", "persona-waiting", "--reason", "enough for a test")
    assert old.json("show", "persona-waiting")["status"] == "cancelled"


def test_a_concluded_session_is_forked_and_compared(old: Cli) -> None:
    """A fork takes over what is on record; a fork that was made then still tells where it parts."""
    script = old.cwd / "scripts" / "ship.toml"
    words = ("--at", "#2", "--swap", f"ada=script:{script}", "--swap", f"bob=script:{script}")
    old("fork", "persona-concluded", *words, "--session", "again")
    before = told_json("persona-concluded/show.json")
    assert old.json("resume", "again")["decision"] == before["decision"]
    shared = [old.json("diff", "persona-concluded", fork)["shared"] for fork in ("again", "persona-forked")]
    assert shared[0] == shared[1] > 0


# Conferences in folders.


@pytest.mark.parametrize("name", CONFERENCES)
def test_a_conference_is_sound_in_another_place(old: Cli, name: str) -> None:
    """Its folder was moved; nothing is wrong with it, and it is the same session."""
    assert old("roundtable", "check", name).out == ("没有发现问题\n" if name == "发布" else "no faults found\n")
    found, before = old.json("roundtable", "status", name), CONFERENCES[name]
    assert {**{name: found[name] for name in before}, "folder": ""} == {**before, "folder": ""}


@pytest.mark.parametrize("name", [name for name, each in CONFERENCES.items() if each["turn"]["status"] == "open"])
def test_a_conference_goes_on_in_its_folder(old: Cli, name: str) -> None:
    """Whoever's turn it is speaks, until the minutes are written."""
    folder = old.cwd / ".roundtable" / name
    speeches = {path.name: path.read_bytes() for path in folder.glob("[0-9]*.md")}
    for _ in range(10):
        turn = json.loads((folder / "turn.json").read_text(encoding="utf-8"))
        if turn["status"] == "closed":
            break
        role = turn["current_speaker"]
        old("roundtable", "join", name, "--as", role)
        old("roundtable", "say", name, "--as", role, stdin=MINUTES if role == "moderator" else SPEECH)
    assert (folder / "MINUTES.md").read_text(encoding="utf-8") == MINUTES
    for file, text in speeches.items():
        assert (folder / file).read_bytes() == text
    assert old("roundtable", "check", name).out == ("没有发现问题\n" if name == "发布" else "no faults found\n")
    is_whole(old, CONFERENCES[name]["session"])


def test_a_conference_whose_notes_and_ledger_are_lost_is_taken_in(old: Cli) -> None:
    """As from a clone of its project."""
    shutil.rmtree(old.cwd / ".roundtable" / "queue" / ".moot")
    other = Cli(old.home.with_name("other"), old.cwd)
    found = other.json("roundtable", "status", "queue")
    assert found["damage"] == []
    assert found["turn"] == CONFERENCES["queue"]["turn"]
    assert found["turns_taken"] == CONFERENCES["queue"]["turns_taken"]
    assert other("roundtable", "check", "queue").out == "no faults found\n"


# What outlives sessions.


def test_decisions_and_their_reviews_are_remembered(old: Cli) -> None:
    """All fields of decisions and reviews, all bytes of chains, the record of every source."""
    assert find_untold(old.json("decisions"), told_json("decisions.json")) == []
    for decision in ("debate-concluded", "debate-zh", "alone.1", SERVED["hosted"]["concluded"]):
        assert find_untold(old.json("decisions", "show", decision), told_json(f"decisions/{decision}.json")) == []
    # A record is scored by today's rule; whose it is and on how many cases stands as it did.
    now, before = old.json("trust")["sources"], told_json("trust.json")["sources"]
    assert [(each["source"], each["cases"]) for each in now] == [(each["source"], each["cases"]) for each in before]
    outcomes = {each["decision"]["decision"]: each["outcome"] for each in told_json("decisions.json")}
    assert (outcomes["debate-concluded"], outcomes["debate-zh"], outcomes["alone.1"]) == ("failure", "partial", "success")
    assert [hit["decision"] for hit in old.json("decisions", "search", "扩张")] == ["debate-zh"]
    assert old("verify", "--json").out == told("verify.json")


def test_a_review_adds_to_those_before_it(old: Cli) -> None:
    """A key that was used is still used; the last review counts."""
    again = ("decisions", "review", "debate-concluded", "failure", "--choice", "postgres", "--note", "locked up at noon")
    assert len(old.json(*again, "--key", "k1")["reviews"]) == 1
    found = old.json("decisions", "review", "debate-concluded", "partial")
    assert [each["outcome"] for each in found["reviews"]] == ["failure", "partial"]


def test_rules_and_circuits_are_remembered(old: Cli) -> None:
    """The policy as it was set; which circuits count failures depends on the day."""
    policy = old.json("breakers")["policy"]
    assert policy == {**policy, **told_json("breakers.json")["policy"]}
    assert (policy["deliberate_categories"], policy["scope_sources"], policy["global_sources"]) == ([], 2, 5)
    assert old.json("breakers", "reset", "category:people")["state"] == "closed"


def test_tokens_threads_and_hosted_sessions_are_served(old: Cli) -> None:
    """Tokens open what they opened; the thread stands where it stood; the hosted session goes on to its end."""
    assert find_untold(old.json("invite", "--list"), told_json("tokens.json")) == []
    tokens = {role: each["token"] for role, each in SERVED["tokens"].items()}
    with Server(old) as server:
        owner = server.client(tokens["owner"])
        assert find_untold(owner("cstp.getThreadStatus", thread="catalogue"), SERVED["thread"]) == []
        assert find_untold(owner("cstp.getAmplificationStats"), SERVED["amplification"]) == []
        assert owner("cstp.resumeThread", thread="catalogue", participant="minski")["lastVisit"] is not None
        assert server.client(tokens["observer"]).head("persona-zh") == heads()["persona-zh"]
        assert server.client(tokens["seat"]).read("debate-waiting")["deliberationId"] == "debate-waiting"
        assert "revoked" in server.client(tokens["revoked"]).refused("cstp.listThreads").message
        owner.say(HOSTED, "minski", "propose", choice="other")
        for seat in ("ada", "minski"):
            owner.say(HOSTED, seat, "pass")
        owner.say(HOSTED, "ada", "synthesize", text="The usual one.", choice="usual")
        for seat in ("ada", "minski"):
            owner.vote(HOSTED, seat)
        assert owner.read(HOSTED)["result"]["decision"] == "The usual one."
        assert owner("cstp.getDecision", decisionId=HOSTED)["decision"] == "The usual one."
    is_whole(old, HOSTED)


def heads() -> dict[str, str]:
    return {each["session"]: each["head"] for each in told_json("verify.json")}

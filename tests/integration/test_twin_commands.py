"""A command that is the twin of a call prints with `--json` what the call answers, in one JSON dialect."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.cli.main import main
from moothall.surfaces.cli.operations import call_here

SHIP = Path("docs/examples/ship.toml").absolute()
S = {"sessionId": "open"}
C = {"conference": "cache"}
SPEECH = "## Stance\nYes.\n"
TWINS: list[tuple[str, str, dict[str, Any]]] = [
    ("list", "moot.listSessions", {}),
    ("demo --list", "moot.listDemos", {}),
    ("list --tag old", "moot.listSessions", {"tag": "old"}),
    ("label open --tag new --away", "moot.labelSession", {**S, "tags": ["new"], "isAway": True}),
    ("asks open", "moot.getAsks", S),
    ("asks open --seat bob", "moot.getAsks", {**S, "seat": "bob"}),
    ("input open Hear!", "moot.giveInput", {**S, "text": "Hear!"}),
    ("answer open --seat bob Wait.", "moot.answer", {**S, "seat": "bob", "answer": "Wait."}),
    (
        "answer open --seat bob --preview Wait.",
        "moot.previewAnswer",
        {**S, "seat": "bob", "answer": "Wait."},
    ),
    ("invite --list", "moot.listTokens", {}),
    ("export ended minutes", "moot.exportSession", {"sessionId": "ended"}),
    ("verify ended", "moot.verifySession", {"sessionId": "ended"}),
    ("fork ended", "moot.forkSession", {"sessionId": "ended"}),
    ("roundtable status", "moot.listConferences", {}),
    ("roundtable status cache", "moot.conferenceStatus", C),
    ("roundtable join cache --as ada", "moot.joinConference", {**C, "role": "ada"}),
    (
        "roundtable say cache --as ada speech.md",
        "moot.sayInConference",
        {**C, "role": "ada", "text": SPEECH},
    ),
    ("roundtable input cache Hear!", "moot.giveConferenceInput", {**C, "text": "Hear!"}),
    (
        "roundtable skip cache --as ada --why ill",
        "moot.skipSpeaker",
        {**C, "role": "ada", "why": "ill"},
    ),
    ("roundtable check cache", "moot.checkConference", C),
    ("roundtable repair cache", "moot.repairConference", C),
    ("cancel open --reason late", "moot.cancelSession", {**S, "reason": "late"}),
]
ALONE = [
    "list --archived",
    "cancel open --dry-run",
    "replay ended",
    "verify",
    "diff ended open",
    "ledger archive --dry-run",
    "panel",
    "notify list",
    "invite open --seat bob",
    "access log",
    "access tools",
    "access tools --rights",
    "config list",
    "demo --list",
    "connect",
    "run Dry? --seat ada=mailbox --seat bob=mailbox --session dry --dry-run",
    "show open",
    "again ended",
]
"""Commands without a call."""
FIXED = {"agents", "answerSchema", "fields", "opened", "turn", "what"}
"""What is within these has the names of other programs, of answers and turn.json in the sources, or of a stored fact."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a session that waits and one that has ended."""
    folder = tmp_path_factory.mktemp("stage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOT_HOME", str(folder / "home"))
        patch.setenv("MOOT_CONFIG", str(folder / "none.toml"))
        run("run Ship? --seat", f"ada=script:{SHIP}", "--session ended --tag old -q")
        run(
            "run Wait? --protocol debate --seat ada=mailbox --seat bob=mailbox --session open -q",
            code=3,
        )
        run("invite open --observer")
        patch.chdir(folder)
        run("roundtable new cache Cache? --role ada --role bob")
        (folder / "speech.md").write_text(SPEECH, encoding="utf-8")
    return folder


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, [each for word in words for each in word.split(" ")])
    assert done.exit_code == code, done.output
    return done.stdout


def enter_copy(stage: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Work on a copy of the stage, which is in the same state for the command and for its call."""
    shutil.copytree(stage, folder)
    patch.setenv("MOOT_HOME", str(folder / "home"))
    patch.setenv("MOOT_CONFIG", str(folder / "none.toml"))
    patch.chdir(folder)


def mask(value: Any) -> Any:
    """Without the id of a conference, which is another one in each folder, and without the times of what is done here."""
    return json.loads(
        re.sub(r'"(rt_[0-9a-f]{12}|20\d\d-[-\d]+T[:.\d]+Z)"', '""', json.dumps(value))
    )


def make_call(name: str, params: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(call_here(lambda call: TABLE[name].invoke(call, params)))


def list_snake_case(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (name for name in value if re.search(r"[a-z]_[a-z]", name) or name == "session")
        value = [inner for name, inner in value.items() if name not in FIXED]
    for each in value if isinstance(value, list) else ():
        yield from list_snake_case(each)


@pytest.mark.parametrize(
    ("command", "name", "params"), TWINS, ids=[f"{command}" for command, *_ in TWINS]
)
def test_a_command_prints_what_its_call_answers(
    stage: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    params: dict[str, Any],
) -> None:
    """Field by field, on the same ledger."""
    enter_copy(stage, tmp_path / "a", monkeypatch)
    printed = json.loads(run(f"{command} --json"))
    enter_copy(stage, tmp_path / "b", monkeypatch)
    assert mask(printed) == mask(make_call(name, params))
    assert list(list_snake_case(printed)) == []


def test_a_dry_run_prints_the_plan_of_the_server(
    stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And beside it what alone a command knows: the id that was asked for, and the fact that would be recorded."""
    enter_copy(stage, tmp_path / "a", monkeypatch)
    printed = json.loads(
        run("run Dry? --seat ada=mailbox --seat bob=mailbox --session dry --dry-run --json")
    )
    wanted = {"topic": "Dry?", "seats": ["ada=mailbox", "bob=mailbox"]}
    planned = make_call("moot.planSession", wanted)
    assert printed.pop("sessionId") == "dry"
    assert printed.pop("opened")["topic"] == "Dry?"
    assert printed == planned


def test_a_session_reads_alike_by_command_and_by_call(
    stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the cursor, with those who are waited for, and with the words for people; what is sealed the server leaves out."""
    enter_copy(stage, tmp_path / "a", monkeypatch)
    for session, code in (("open", 3), ("ended", 0)):
        answered = make_call("moot.getSession", {"sessionId": session})
        assert {"cursor", "waitingFor", "memo"} <= answered.keys()
        for command in ("show", "resume"):
            printed = json.loads(
                run(f"{command} {session} --json", code=code if command == "resume" else 0)
            )
            assert {name: printed[name] for name in answered} == answered
            assert session == "open" or printed == answered


@pytest.mark.parametrize("command", ALONE)
def test_a_command_without_a_call_speaks_the_same_dialect(
    stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    enter_copy(stage, tmp_path / "a", monkeypatch)
    assert list(list_snake_case(json.loads(run(f"{command} --json")))) == []

"""Every opener × every option of a session: it takes effect, or it is refused with the reason. Nothing is silently ignored."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic.alias_generators import to_camel
from tests.acceptance.doors import Cli

from moothall import Moot
from moothall.app.features import index_openers, index_protocols
from moothall.app.protocols import find_plugin, get_protocol
from moothall.app.session_options import (
    SESSION_OPTIONS,
    Opener,
    Options,
    find_refusal,
    list_public_options,
)
from moothall.codec.adapters import as_json
from moothall.domain.ids import parse_session_id
from moothall.errors import CallerError
from moothall.scoring.depth import Depth
from moothall.surfaces.api.method import Call, Caller
from moothall.surfaces.api.methods import TABLE, open_server_context

MODEL = "openai:gpt-5-mini"
OPENERS = ("run", "swarm", "consult", "pipeline", "roundtable", "review", "demo")


@dataclass(frozen=True)
class Sample:
    """A value of an option, and how to see in the opening that it was taken."""

    value: Any
    """As the library takes it."""
    words: list[str]
    """As the command line takes it."""
    seen: Callable[[Mapping[str, Any]], Any] = lambda opened: True
    wire: Any = None
    """As a call takes it, where that is another value."""
    told: str = ""
    """What it is refused with where it is honoured: it names something that does not exist."""
    others: Mapping[str, "Sample"] = field(default_factory=dict)
    """Samples of single openers and protocols."""


def has_platform(platform: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda opened: platform in {seat["platform"] for seat in opened["seats"]}


def has_seat(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda opened: name in {seat["id"] for seat in opened["seats"]}


def setting(name: str, value: Any) -> Sample:
    return Sample(
        {name: value},
        ["--set", f"{name}={value}"],
        lambda opened: opened["settings"][name] == value,
    )


ZED = Sample({"zed": "mailbox"}, ["--seat", "zed=mailbox"], has_seat("zed"), wire=["zed"])
AGENT = Sample(
    {"modeler": MODEL},
    ["--seat", f"modeler={MODEL}"],
    has_platform(MODEL),
    wire=[{"id": "modeler", "platform": MODEL}],
)
KIND = Sample(
    {"kind": "feedback"},
    ["--set", "kind=feedback"],
    lambda opened: opened["request"]["kind"] == "feedback",
)
SAMPLES: dict[str, Sample] = {
    "seats": Sample(ZED.value, ZED.words, ZED.seen, ZED.wire, others={"pipeline": AGENT}),
    "panel": Sample("red-team", ["--panel", "red-team"], lambda opened: len(opened["seats"]) > 2),
    "models": Sample([MODEL, "mailbox"], ["--model", MODEL], has_platform(MODEL)),
    "protocol": Sample(
        "debate", ["--protocol", "debate"], lambda opened: opened["protocol"] == "debate"
    ),
    "language": Sample("zh", ["--language", "zh"], lambda opened: opened["language"] == "zh"),
    "turns": Sample(7, ["--turns", "7"], lambda opened: opened["budget"]["turns"] == 7),
    "tokens": Sample(
        5_000, ["--tokens", "5000"], lambda opened: opened["budget"]["tokens"] == 5_000
    ),
    "money": Sample(0.5, ["--money", "0.5"], lambda opened: opened["budget"]["money"] == 500_000),
    "time": Sample("10m", ["--time", "10m"], lambda opened: opened["budget"]["seconds"] == 600),
    "category": Sample(
        "c", ["--category", "c"], lambda opened: opened["subject"]["category"] == "c"
    ),
    "stakes": Sample(
        "high", ["--stakes", "high"], lambda opened: opened["subject"]["stakes"] == "high"
    ),
    "tags": Sample(
        ["t", "u"],
        ["--tag", "t", "--tag", "u"],
        lambda opened: opened["subject"]["tags"] == ["t", "u"],
    ),
    "options": Sample(
        ["A", "B"],
        ["--option", "A", "--option", "B"],
        lambda opened: opened["subject"]["options"] == ["A", "B"],
    ),
    "thread": Sample("gone", ["--thread", "gone"], told="gone"),
    "built_on": Sample(["gone"], ["--built-on", "gone"], told="no decision 'gone' is stored"),
    "review_in": Sample(
        "30d", ["--review-in", "30d"], lambda opened: opened["subject"]["review_days"] == 30
    ),
    "files": Sample(
        ["plan.md"],
        ["--file", "plan.md"],
        lambda opened: (
            [(each["name"], each["size"]) for each in opened["subject"]["context"]]
            == [("plan.md", 6)]
        ),
        wire=[{"name": "plan.md", "text": "# Plan"}],
    ),
    "settings": Sample(
        {"window": 8},
        ["--set", "window=8"],
        lambda opened: opened["settings"]["window"] == 8,
        others={
            **dict.fromkeys(("debate", "advisory", "consensus"), setting("rounds", 2)),
            "roundtable": setting("max_rounds", 2),
            "swarm": setting("collisions", 1),
            **dict.fromkeys(("pipeline", "review"), setting("patience", 50)),
            "consult": KIND,
            "consultation": KIND,
        },
    ),
    "depth": Sample(
        "auto",
        ["--depth", "auto"],
        lambda opened: opened["settings"]["depth"] == "auto",
        others={
            name: Sample("auto", ["--depth", "auto"], told="the protocol debate")
            for name in sorted({*index_protocols()} - {"debate"})
        },
    ),
    "allow_secrets": Sample(True, ["--allow-secrets"]),
    "facts": Sample(
        "on",
        ["--facts", "on"],
        lambda opened: opened["facts_first"] == "on",
        others={
            name: Sample("on", ["--facts", "on"], told="facts: ")
            for name in ("pipeline", "review", "roundtable", "consult", "consultation")
        },
    ),
    "seed": Sample(7, ["--seed", "7"], lambda opened: opened["seed"] == 7),
    "session": Sample("mine", ["--session", "mine"], lambda opened: opened["session"] == "mine"),
    "patience": Sample(
        "3d", ["--patience", "3d"], lambda opened: opened["outside_patience"] == 3 * 86_400
    ),
    "consult": Sample(True, ["--consult"], lambda opened: opened["consult"]["folder"]),
    "consult_limit": Sample(
        2, ["--consult-limit", "2"], lambda opened: opened["consult"]["per_seat"] == 2
    ),
    "consult_total": Sample(
        5, ["--consult-total", "5"], lambda opened: opened["consult"]["per_session"] == 5
    ),
    "consult_patience": Sample(
        "90s", ["--consult-patience", "90s"], lambda opened: opened["consult"]["patience"] == 90
    ),
    "gate": Sample(True, ["--gate"], lambda opened: opened["consult"]["gate"] is True),
    "project": Sample(
        "mine", ["--project", "mine"], lambda opened: opened["consult"]["folder"].endswith("/mine")
    ),
    "chance": Sample(True, ["--chance"], lambda opened: opened["chance"] is True),
    "reading": Sample(
        "strict", ["--reading", "strict"], lambda opened: opened["reading"] == "strict"
    ),
    "kind": Sample(
        "number",
        ["--kind", "number"],
        lambda opened: opened["frame"] == {"kind": "number", "made_by": "opener"},
        others={
            "consult": Sample("feedback", ["--kind", "feedback"]),
            "consultation": Sample("number", ["--kind", "number"], told="is answered in words"),
        },
    ),
    "frame": Sample("off", ["--frame", "off"], lambda opened: not opened.get("frame")),
    "tools": Sample("on", ["--tools", "on"], lambda opened: opened["tools"]["switch"] == "on"),
    "tool_budget": Sample(
        {"seat.calls": 20},
        ["--tool-budget", "seat.calls=20"],
        lambda opened: opened["tools"]["seat"]["calls"] == 20,
    ),
    "tool_calls": Sample(3, ["--tool-calls", "3"], lambda opened: opened["tools"]["calls"] == 3),
    # What these do is not in the opening; the tests of memory and of refusals show it.
    "memory": Sample(False, ["--no-memory"]),
    "check": Sample(False, ["--no-check"]),
}

COMMANDS: dict[str, list[str]] = {
    "run": ["run", "Q?", "--panel", "duo", "--model", "mailbox"],
    "swarm": ["swarm", "Q?", "--model", "mailbox"],
    "consult": ["consult", "Q?", "--from", "ada", "--to", "bob", "--model", "mailbox"],
    "pipeline": ["pipeline", "run", "contest", "--model", "mailbox"],
    "roundtable": ["roundtable", "new", "cache", "Q?", "--role", "ada", "--role", "bob"],
    "review": ["review", "plan.md", "--panel", "duo", "--model", "mailbox"],
    "demo": ["demo", "persona", "--fast"],
}


def test_no_option_and_no_opener_is_forgotten() -> None:
    assert SAMPLES.keys() == list_public_options().keys()
    assert COMMANDS.keys() == set(OPENERS)
    assert {name for name, option in SESSION_OPTIONS.items() if option.is_internal} == {
        "hosted",
        "demo",
        "words_digest",
        "tree",
    }
    for opener in index_openers().values():
        assert opener.refuses.keys() <= list_public_options().keys()
    for protocol in index_protocols():
        assert get_protocol(protocol).refuses.keys() <= list_public_options().keys()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "plan.md").write_text("# Plan")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("opener", OPENERS)
def test_a_command_honours_an_option_or_says_why_not(
    folder: Path, opener: Opener, name: str
) -> None:
    cli, sample = Cli(folder / "home", folder), SAMPLES[name].others.get(opener, SAMPLES[name])
    reason = find_refusal(name, opener)
    how = [] if opener == "demo" else ["--dry-run"]
    # One unfilled seat takes the first model: the sample's, not that of the command.
    begin = COMMANDS[opener][: -2 if name == "models" and opener == "consult" else None]
    command = [*begin, *sample.words, *how, "--json"]
    if reason or sample.told:
        error = json.loads(cli(*command, code=2).out)["error"]["message"]
        assert error == f"{sample.words[0]}: {reason}" if reason else sample.told in error
        assert json.loads(cli("list", "--json").out)["sessions"] == []
    elif opener == "demo":
        assert cli(*command).code == 0
    else:
        # Last, so that it wins where the sample is the check itself.
        plan = json.loads(cli(*command, "--no-check").out)
        assert sample.seen(
            {"protocol": plan["protocol"], "session": plan.get("sessionId"), **plan["opened"]}
        )


def test_every_depth_is_taken_or_refused_in_one_sentence(folder: Path) -> None:
    """G-4: where a protocol starts with one mind, where it is only told to go all the way, and where it knows no depth."""
    cli = Cli(folder / "home", folder)
    for depth in get_args(Depth):
        for command in (
            [*COMMANDS["run"], "--protocol", name] for name in ("debate", "consensus", "persona")
        ):
            is_taken = command[-1] == "debate" or (command[-1] == "consensus" and depth == "full")
            done = cli(
                *command,
                "--depth",
                depth,
                *(["--dry-run", "--json"] if is_taken else []),
                code=0 if is_taken else 2,
            )
            assert is_taken or (done.err.startswith("moot: ") and done.err.count("\n") == 1), (
                command,
                done.err,
            )
            assert (
                not is_taken
                or json.loads(done.out)["opened"]["settings"].get("depth", "full") == depth
            )
    assert json.loads(cli("list", "--json").out)["sessions"] == []


@pytest.mark.parametrize("opener", OPENERS)
def test_every_command_waits_and_plans_or_says_why_not(folder: Path, opener: Opener) -> None:
    cli = Cli(folder / "home", folder)
    for flag, honoured in {
        "--wait": opener not in {"roundtable", "demo"},
        "--dry-run": opener != "demo",
    }.items():
        words = [
            *COMMANDS[opener],
            flag,
            *(["--dry-run"] if honoured and flag != "--dry-run" else []),
        ]
        done = cli(*words, code=0 if honoured else 2)
        assert honoured or done.err.startswith(f"moot: {flag}: ")
    assert json.loads(cli("list", "--json").out)["sessions"] == []


@pytest.mark.parametrize("opener", OPENERS)
def test_the_help_of_a_command_lists_what_it_honours(folder: Path, opener: Opener) -> None:
    words = COMMANDS[opener][:2] if opener in {"pipeline", "roundtable"} else COMMANDS[opener][:1]
    shown = Cli(folder / "home", folder)(*words, "--help").out
    words_of_help = set(shown.replace(",", " ").replace("/", " ").split())
    for name, sample in SAMPLES.items():
        assert (sample.words[0] in words_of_help) is not bool(find_refusal(name, opener)), name
    assert ("--wait" in words_of_help) is (opener not in {"roundtable", "demo"})


SEATS = {
    "pipeline": {"modeler": "mailbox"},
    "roundtable": {"ada": "mailbox", "moderator": "mailbox"},
}
STEP = {"name": "write", "agent": "modeler", "task": "Write it."}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("protocol", sorted(index_protocols()))
def test_the_library_honours_an_option_or_says_why_not(
    folder: Path, protocol: str, name: str
) -> None:
    sample = SAMPLES[name].others.get(protocol, SAMPLES[name])
    options: Options = {
        "protocol": protocol,
        "seats": SEATS.get(protocol, {"ada": "mailbox", "bob": "mailbox"}),
    }
    if name == "models":
        options = (
            {"protocol": protocol, "panel": "default"}
            if protocol not in {"pipeline", "roundtable"}
            else options
        )
    if protocol == "pipeline":
        options["settings"] = {"steps": [STEP]}
    if protocol == "review":
        options["files"] = ["plan.md"]
    if name == "settings":
        options["settings"] = {**(options.get("settings") or {}), **sample.value}
    elif name == "seats":
        options["seats"] = {**SEATS.get(protocol, {"ada": "mailbox"}), **sample.value}
    elif name != "protocol":
        options[name] = sample.value  # type: ignore[literal-required]  # a key of the table
    if name == "panel":
        options["models"] = ["mailbox"]
    options["check"] = options.get("check", False)

    async def plan() -> Mapping[str, Any]:
        async with Moot(
            environ={"MOOT_HOME": str(folder / "home"), "MOOT_LEDGER": "memory:"}
        ) as moot:
            planned = await moot.plan_session("Q?", **options)
            opened = as_json(planned.opened)
            assert isinstance(opened, dict)
            return {"session": planned.session, **opened}

    reason = get_protocol(protocol).refuses.get(name, "")
    if reason or sample.told:
        with pytest.raises(CallerError) as refused:
            asyncio.run(plan())
        assert (
            str(refused.value) == f"{name}: {reason} (protocol {protocol})"
            if reason
            else sample.told in str(refused.value)
        )
    elif name != "protocol" and (name, protocol) not in {
        ("models", "pipeline"),
        ("models", "roundtable"),
    }:
        assert sample.seen(asyncio.run(plan()))


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "run": ("moot.openSession", {"topic": "Q?", "panel": "duo", "models": ["mailbox"]}),
    "swarm": ("moot.swarmOpen", {"task": "Q?"}),
    "consult": (
        "moot.consult",
        {"to": "bob", "question": "Q?", "models": ["mailbox"], "timeoutSeconds": 0},
    ),
    "pipeline": ("moot.openPipeline", {"pipeline": "contest", "models": ["mailbox"]}),
    "roundtable": (
        "moot.newConference",
        {"conference": "cache", "topic": "Q?", "roles": ["ada", "bob"]},
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("opener", CALLS)
def test_a_call_honours_an_option_or_says_why_not(folder: Path, opener: Opener, name: str) -> None:
    sample = SAMPLES[name].others.get(opener, SAMPLES[name])
    method, given = CALLS[opener]
    params = {**given, to_camel(name): sample.value if sample.wire is None else sample.wire}

    async def call() -> Mapping[str, Any]:
        environ = {
            "MOOT_HOME": str(folder / "home"),
            "MOOT_LEDGER": "memory:",
            "OPENAI_API_KEY": "none",
        }
        async with Moot(environ=environ) as moot, open_server_context(moot) as context:
            made = await TABLE[method].invoke(Call(context=context, caller=Caller()), params)
            snapshot = await moot.engine.load_snapshot(parse_session_id(made["sessionId"]))
            opened = as_json(snapshot.session_state.opened)
            assert isinstance(opened, dict)
            return {"protocol": find_plugin(snapshot.session_state.opened).name, **opened}

    reason = find_refusal(name, opener, is_server=True)
    if reason or sample.told:
        with pytest.raises(CallerError) as refused:
            asyncio.run(call())
        assert (
            f"{to_camel(name)}: {reason}" in str(refused.value)
            if reason
            else sample.told in str(refused.value)
        )
    else:
        if name in {"seats", "models"}:
            params["check"] = False
        if name == "panel":
            params["models"] = ["mailbox"]
        assert sample.seen(asyncio.run(call()))

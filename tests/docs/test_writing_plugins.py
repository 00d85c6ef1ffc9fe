"""The two pages for extenders: their examples run, as packages that another distribution would bring."""

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, Done, facts

DOCS = Path(__file__).parents[2] / "docs"
DEADLINE = 240.0
ESTIMATES = """
[[seats.ada.estimate]]
value = 100
reason = "One for 30,000 people.\\n# Not a heading <b>"
[[seats.ada.estimate]]
value = 210
reason = "The others convinced me."
[[seats.bob.estimate]]
value = 220
[[seats.bob.estimate]]
value = 205
[[seats.cy.estimate]]
fail = "timeout"
[[seats.cy.estimate]]
raw = "about two hundred"
"""


def read_examples(page: str, language: str = "python") -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```",
        (DOCS / page).read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )


def install(site: Path, module: str, code: str, name: str) -> None:
    """Put a module and the entry point of its feature where Python finds them, as pip would."""
    info = site / f"{module}-0.1.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 0.1\n"
    )
    (info / "entry_points.txt").write_text(f"[moothall.features]\n{name} = {module}:FEATURE\n")


class Machine:
    """A home, a folder of installed packages, and the `moot` command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"
        self.site.mkdir()
        self.environ = {
            **os.environ,
            "MOOT_HOME": str(folder / "home"),
            "PYTHONPATH": str(self.site),
        }
        self.cli = Cli(folder / "home", folder, PYTHONPATH=str(self.site))

    def run(self, *words: str, code: int = 0, has_plugins: bool = True) -> str:
        done = self.run_whole(*words, has_plugins=has_plugins)
        assert done.code == code, (words, done)
        return done.out

    def run_whole(self, *words: str, has_plugins: bool = True) -> Done:
        cli = self.cli if has_plugins else Cli(self.cli.home, self.folder)
        return cli(*words, code=None)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "moothall.surfaces.cli.main", *words]
        return subprocess.Popen(
            command, env=self.environ, cwd=self.folder, stdout=subprocess.PIPE, text=True
        )

    def python(self, code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def install_delphi(machine: Machine) -> list[str]:
    example, _ = read_examples("writing-a-protocol.md")
    install(machine.site, "moot_delphi", example, "delphi")
    script = machine.folder / "estimates.toml"
    script.write_text(ESTIMATES)
    return [f"--seat={name}=script:{script}" for name in ("ada", "bob", "cy")]


def test_the_example_of_a_protocol_is_short_and_imports_only_the_public_names() -> None:
    example, _ = read_examples("writing-a-protocol.md")
    nodes = list(ast.walk(ast.parse(example)))
    assert sum(isinstance(node, ast.stmt) for node in nodes) <= 110
    roots = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {root for root in roots if root and root.startswith("moothall")} == {"moothall.plugins"}


def test_a_protocol_of_another_package_runs_everywhere(machine: Machine) -> None:
    """D-10: in the terminal, in exports, in replays, in decision memory."""
    seats = install_delphi(machine)
    # The installed script, which has loaded nothing before.
    words = (
        "run",
        "How many tuners?",
        "--protocol",
        "delphi",
        *seats,
        "--session",
        "d1",
        "--set",
        "rounds=3",
    )
    told = machine.cli.fresh(*words).out
    assert "= round 1: median 160, spread 60" in told
    assert "207.5 (±2.5)" in told
    decision = json.loads(machine.run("show", "d1", "--json"))
    assert (decision["choice"], decision["endedBy"], decision["lost"][0]["seat"]) == (
        "207.5",
        "settled",
        "cy",
    )
    minutes = machine.run("export", "d1", "minutes")
    assert "- Round 2: median 207.5, spread 2.5" in minutes
    assert "> # Not a heading &lt;b>" in minutes
    page = machine.run("export", "d1", "html")
    assert '<p class="heading">Not a heading &lt;b&gt;</p>' in page
    assert "d1\tdelphi (script)\tdecided\t" in (listed := machine.run("list"))
    assert listed.endswith("\tHow many tuners?\t2 of 3\t207.5.\n")
    assert "no model called" in machine.run("replay", "d1")
    machine.run("verify", "d1")
    assert "How many tuners?" in machine.run("decisions", "search", "tuners")


def test_the_example_of_a_protocol_passes_its_own_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, contract = read_examples("writing-a-protocol.md")
    (tmp_path / "moot_delphi.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module: dict[str, Any] = {"__name__": "test_delphi"}
    exec(contract.replace("max_examples=25", "max_examples=3, database=None"), module)
    module["test_every_session_keeps_the_contract"]()


@pytest.mark.parametrize("page", ["writing-a-protocol.md", "writing-a-participant.md"])
def test_a_package_by_the_guide_needs_the_distribution_that_is_ours(page: str) -> None:
    """L-1: the word `moot` is another's on the package index."""
    found = re.findall(
        r"^dependencies = .*$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert found == ['dependencies = ["moothall"]']


def test_a_package_by_the_guide_holds_its_texts_and_not_its_tests(tmp_path: Path) -> None:
    """L-1: what stands beside the module, and the catalogues of several languages, do not break the build."""
    project = read_examples("writing-a-protocol.md", "toml")[0]
    for name, text in {
        "moot_delphi/__init__.py": "",
        "moot_delphi/locale/en/delphi.toml": "",
        "test_delphi.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    names = zipfile.ZipFile(next((tmp_path / "dist").iterdir())).namelist()
    assert [name for name in names if "dist-info" not in name] == [
        "moot_delphi/__init__.py",
        "moot_delphi/locale/en/delphi.toml",
    ]


def test_a_blind_protocol_by_the_guide_leaks_no_number_at_any_door(machine: Machine) -> None:
    """D-10, D-23: run, show, watch, sit, exports and calls say who has written, and not what, until the session ends."""
    install_delphi(machine)
    secret, why = "31415", "because-of-the-census"
    script = machine.folder / "one.toml"
    script.write_text(f'[[seats.ada.estimate]]\nvalue = {secret}\nreason = "{why}"\n')
    seats = (f"--seat=ada=script:{script}", "--seat=bob=mailbox", "--seat=cy=mailbox")
    told = [
        machine.run(
            "run",
            "How many?",
            "--protocol",
            "delphi",
            *seats,
            "--session",
            "d1",
            "--set",
            "rounds=1",
            code=3,
        )
    ]
    answer = {"value": 27182, "reason": "a-guess-of-bob"}
    machine.run("answer", "d1", "--seat", "bob", json.dumps(answer))
    told += [machine.run("show", "d1", *words) for words in ((), ("--json",))]
    told += [machine.run("export", "d1", form) for form in ("minutes", "html")]
    told.append(machine.run("asks", "d1"))
    told.append(machine.run_whole("sit", "d1", "--seat", "cy").out)
    watching = machine.start("watch", "d1")
    assert watching.stdout is not None
    told.append(watching.stdout.readline() + watching.stdout.readline())
    told.append(
        machine.python(
            """
import asyncio, json
from moothall.app.moot import Moot
from moothall.app.runner import LocalRunner
from moothall.surfaces.api.method import Call, Caller, ServerContext
from moothall.surfaces.api.methods import TABLE

async def main():
    async with Moot() as moot, LocalRunner(moot.engine, moot.seating, moot.remembering.remember_if_possible) as runner:
        call = Call(context=ServerContext(moot, runner), caller=Caller())
        for name in ("moot.getSession", "moot.getEntries", "moot.getView", "moot.getAsks"):
            params = {"sessionId": "d1", **({"seat": "cy"} if name == "moot.getAsks" else {})}
            print(json.dumps(await TABLE[name].invoke(call, params)))

asyncio.run(main())
"""
        )
    )
    for text in told:
        assert not re.search(f"{secret}|{why}|27182|a-guess-of-bob", text), text
    assert "ada" in told[0], "who has written is told"
    machine.run("answer", "d1", "--seat", "cy", json.dumps({"value": 30000}))
    machine.run("resume", "d1")
    rest, _ = watching.communicate(timeout=DEADLINE)
    assert "round 1: median 30000" in rest
    assert secret in machine.run("show", "d1") + machine.run("export", "d1", "minutes")


def test_a_protocol_of_another_package_is_opened_over_the_wire(machine: Machine) -> None:
    install_delphi(machine)
    told = machine.python(
        """
import asyncio, json
from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot
from moothall.app.runner import LocalRunner
from moothall.surfaces.api.method import Call, Caller, ServerContext
from moothall.surfaces.api.methods import TABLE

async def main():
    moot = Moot()
    async with moot, LocalRunner(moot.engine, moot.seating, moot.remembering.remember_if_possible) as runner:
        call = Call(context=ServerContext(moot, runner), caller=Caller())
        asked = {"topic": "How many?", "protocol": "delphi", "participants": ["ada", "bob"]}
        opened = await TABLE["cstp.openDeliberation"].invoke(call, asked)
        session = opened["deliberationId"]
        for value, seat in ((10, "ada"), (10.5, "bob")):
            await TABLE["moot.answer"].invoke(call, {"sessionId": session, "seat": seat, "answer": {"value": value}})
        found = await TABLE["moot.getSession"].invoke(call, {"sessionId": session})
        print(json.dumps([opened["protocol"], found["status"], found["memo"]["result"]]))

asyncio.run(main())
"""
    )
    assert json.loads(told) == [
        "delphi",
        "concluded",
        "Decided, 2 of 2 took part: 10.25.",
    ]


def test_a_session_of_a_protocol_that_is_not_installed_is_listed_and_explained(
    machine: Machine,
) -> None:
    machine.run(
        "run",
        "How many tuners?",
        "--protocol",
        "delphi",
        *install_delphi(machine),
        "--session",
        "d1",
    )
    assert "d1\tdelphi\tnot_installed" in machine.run("list", has_plugins=False)
    shown = machine.run_whole("show", "d1", has_plugins=False)
    assert shown.code != 0
    assert "install the package that brings 'delphi'" in shown.err
    assert "Traceback" not in shown.err
    machine.run("verify", "d1", has_plugins=False)
    assert '"delphi.opened"' in machine.run("export", "d1", "jsonl", has_plugins=False).replace(
        "\\", ""
    )
    refused = machine.run_whole(
        "run", "x", "--protocol", "delphi", "--seat", "a=mailbox", has_plugins=False
    )
    assert "unknown protocol 'delphi'" in refused.err


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import a_module_that_is_not_there", "cannot be imported (ModuleNotFoundError"),
        ("raise RuntimeError('boom\\nboom')", "cannot be imported (RuntimeError: boom boom)"),
        ("FEATURE = {'name': 'x'}", "is a dict, not a "),
    ],
)
def test_a_broken_plugin_is_named_in_one_sentence_and_hurts_nobody(
    machine: Machine, code: str, reason: str
) -> None:
    install(machine.site, "moot_broken", code, "broken")
    script = machine.folder / "talk.toml"
    script.write_text("[[intent]]\nreaction_score = 0.1\nintent_to_speak = false\n")
    done = machine.run_whole(
        "run", "Ship?", "--seat", f"ada=script:{script}", "--turns", "1", "--session", "s1"
    )
    assert "session s1" in done.out
    lines = [
        line for line in done.err.splitlines() if "moot_broken" in line or "moot-broken" in line
    ]
    assert len(lines) == 1
    assert reason in lines[0]
    assert "Traceback" not in done.err
    doctor = json.loads(machine.run_whole("doctor", "--json").out)
    (check,) = [each for each in doctor if each["what"] == "plugin broken"]
    assert check["ok"] is False
    assert reason in check["result"]


def test_the_examples_of_participants_run(machine: Machine) -> None:
    function, named, kind, _ = read_examples("writing-a-participant.md")
    assert "Ship on Friday, behind a flag." in machine.python(function)
    machine.python(named)
    install(machine.site, "moot_proverb", kind, "proverb")
    (machine.folder / "sayings.txt").write_text("Haste makes waste.\n")
    words = (
        "--protocol",
        "roundtable",
        "--seat",
        "ada=proverb:sayings.txt",
        "--seat",
        "moderator=proverb:sayings.txt",
    )
    told = machine.run("run", "Ship?", *words, "--set", "max_rounds=1", "--session", "p1")
    assert "001 ada: Haste makes waste." in told
    assert f"proverb:{machine.folder}" in machine.run("export", "p1", "jsonl")
    refused = machine.run_whole("run", "Ship?", "--seat", "ada=proverb:nothing.txt")
    assert "cannot be read: No such file" in refused.err
    assert "proverb:FILE" in machine.run_whole("run", "Ship?", "--seat", "ada=nonsense").err


def test_a_remote_caller_may_seat_only_kinds_that_say_so(machine: Machine) -> None:
    *_, kind, _ = read_examples("writing-a-participant.md")
    install(machine.site, "moot_proverb", kind, "proverb")
    told = machine.python(
        """
from moothall.errors import BadRoster, UnknownPlatform
from moothall import Moot
from moothall.surfaces.api.session_options import build_seat
from moothall.surfaces.api.fields import ParticipantIn
from moothall.surfaces.api.method import Call, Caller, ServerContext

context = ServerContext(Moot(), None)
owner, local = (Call(context=context, caller=Caller(role=role)) for role in ("owner", "local"))

for platform in ("proverb:/etc/passwd", "python:os", "script:x", "human", "embedded", "command:codex", "SCRIPT:x",
                 "http://10.0.0.1/v1", "ollama://x", "ollama:llama3.2"):
    try:
        build_seat(owner, ParticipantIn(id="ada", platform=platform))
        print("TAKEN", platform)
    except (BadRoster, UnknownPlatform):
        pass
for platform in ("mailbox", "openai:gpt-5-mini"):
    build_seat(owner, ParticipantIn(id="ada", platform=platform))
build_seat(local, ParticipantIn(id="ada", platform="proverb:/etc/hosts"))
"""
    )
    assert told == ""


def test_a_measure_of_another_package_compares_the_ideas_of_a_swarm(machine: Machine) -> None:
    """S-8: by its name; the record has what it found, one that fails is lost and words compare, and an unknown one is refused."""
    letters = read_examples("writing-a-participant.md")[-1]
    broken = letters.replace("letters", "broken").replace(
        "known = set(one)", 'raise RuntimeError("no letters today")'
    )
    install(machine.site, "moot_letters", letters, "letters")
    install(machine.site, "moot_broken", broken, "broken")
    script = machine.folder / "swarm.toml"
    # Without a judge nothing is compared; this one is silent.
    script.write_text(
        (DOCS / "examples" / "swarm.toml").read_text(encoding="utf-8") + "\n[seats.validator]\n",
        encoding="utf-8",
    )
    seats = [
        f"--seat={name}=script:{script}"
        for name in ("TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi", "validator")
    ]
    words = ("swarm", "How do we make the catalogue fast?", "--seed", "7", *seats)
    for measure, by in (("letters", "letters"), ("broken", "words (fallback)")):
        machine.run(*words, "--session", measure, "--set", f"measure={measure}")
        recorded = facts(machine.run("export", measure, "jsonl"))
        assert {
            fact["by"]
            for fact in recorded
            if fact["fact"] == "swarm.ideas_sorted" and fact.get("by")
        } == {by}
        assert any(fact["fact"] == "seat_lost" for fact in recorded) == (measure == "broken")
    refused = machine.run_whole(*words, "--set", "measure=lettres")
    assert (refused.code, refused.err) == (
        2,
        "moot: unknown measure 'lettres'; known: meaning, words, broken, letters\n",
    )

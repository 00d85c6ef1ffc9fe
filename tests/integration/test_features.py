"""A feature of another distribution: one module and its row bring a protocol, a command, a call, a service and a panel."""

import html
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, Terminal
from tests.acceptance.server import Server
from tests.docs.test_writing_plugins import ESTIMATES, read_examples

HATS = '''
"""Counts hats: a command, a call, a service and a panel, in one module."""

from pathlib import Path

import click

from moothall.plugins import Call, CommandRow, Feature, Operations

METHODS = Operations()


@METHODS.add("hats.count", "read", tool="count_hats")
async def count_hats(call: Call) -> dict[str, int]:
    """Count the hats."""
    return {"hats": 6}


@click.command()
def hats() -> None:
    """Count the hats."""
    click.echo("6 hats")


async def serve_hats(moot: object) -> None:
    Path(__file__).with_name("served").touch()
    raise RuntimeError("the hats have gone")


FEATURE = Feature(
    name="hats",
    package="hats",
    commands=(CommandRow(name="hats", place=":hats", group="Ask", summary="Count the hats."),),
    operations=(":METHODS",),
    services=(":serve_hats",),
    panels="panels",
    help="help",
)
'''
HELP = {"Count the hats.": "数一数帽子。"}
PANEL = """
name = "hats"
title = "Six hats"

[[seat]]
id = "white"
"""


def install(site: Path, name: str, code: str) -> None:
    package, info = site / name, site / f"{name}-0.1.dist-info"
    (package / "panels").mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(code, encoding="utf-8")
    (package / "panels" / f"{name}.en.toml").write_text(PANEL, encoding="utf-8")
    (package / "help").mkdir()
    (package / "help" / "zh.json").write_text(json.dumps(HELP), encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[moothall.features]\n{name} = {name}:FEATURE\n")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    install(tmp_path / "site", "hats", HATS)
    return Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(tmp_path / "site"))


def test_a_feature_of_another_distribution_brings_its_command_and_panel(
    cli: Cli, tmp_path: Path
) -> None:
    """D-10: by its row alone; without the distribution neither is there."""
    listed = cli("--help")
    assert "  hats         Count the hats." in listed.out
    assert cli("hats").out == "6 hats\n"
    assert "hats" in [panel["name"] for panel in cli.json("panel")]
    in_chinese = Cli(cli.home, cli.cwd, PYTHONPATH=str(tmp_path / "site"), LANG="zh_CN.UTF-8")
    assert "  hats         数一数帽子。" in in_chinese("--help").out
    assert "数一数帽子。" in in_chinese("hats", "--help").out
    alone = Cli(cli.home, cli.cwd)
    assert "hats" not in alone("--help").out
    assert "No such command 'hats'" in alone("hats", code=2).err


def test_a_feature_of_another_distribution_serves_its_calls(cli: Cli, tmp_path: Path) -> None:
    """D-10: for JSON-RPC and for MCP; its service runs, and when that fails the server goes on."""
    with Server(cli) as server:
        assert server.local("hats.count") == {"hats": 6}
        assert (tmp_path / "site" / "hats" / "served").exists()
        assert server.local("hats.count") == {"hats": 6}


BROKEN = {
    "a protocol of Moot's": 'FEATURE = Feature(name="broken", package="broken", protocols={"debate": ":X"})',
    "a feature of Moot's": 'FEATURE = Feature(name="review", package="broken")',
    "no protocol": 'X = 1\nFEATURE = Feature(name="broken", package="broken", protocols={"own": ":X"})',
    "nothing there": 'FEATURE = Feature(name="broken", package="broken", kinds=("nowhere:KIND",))',
    "no feature": "FEATURE = 1",
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=list(BROKEN))
def test_a_feature_that_cannot_be_used_is_named_and_hurts_nobody(tmp_path: Path, code: str) -> None:
    """D-10: nothing of it is used, one sentence says why, and it takes the place of nothing of Moot's."""
    install(tmp_path / "site", "broken", f"from moothall.plugins import Feature\n{code}\n")
    program = """
import json
from moothall.app.plugins import load_plugins
from moothall.app.protocols import get_protocol

loaded = load_plugins()
print(json.dumps([len(loaded.features), [str(each) for each in loaded.faults], get_protocol("debate").name]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    features, faults, debate = json.loads(done.stdout)
    assert (features, debate) == (0, "debate")
    (fault,) = faults
    assert "'broken' of the package 'broken'" in fault
    assert "Traceback" not in done.stderr


VOTING = '''

from moothall.plugins import Ballot, BallotLine, CandidateSupport, SeatsView


def build_ballot(timeline, reader):
    """The median, once it is known; before that nothing is to be voted on."""
    if timeline.closed is None:
        return Ballot()
    line = BallotLine(line=1, seat="ada", choice="the median", text="The median of all numbers.")
    got = CandidateSupport(line=1, support=1.0, unconditional=1.0, oppose=0.0)
    return Ballot(candidates=(line,), motion=1, tally=(got,))


class RoundsView(SeatsView):
    """The seats as everywhere, below the number of the round."""

    def _render(self):
        seats = super()._render()
        if self._timeline.seq:
            seats.renderables.insert(0, f"Round {self._timeline.state.round} of the oracle")
        return seats


DELPHI = replace(DELPHI, ballot=build_ballot)
FEATURE = replace(FEATURE, line_version=1, live_views={"delphi": ":RoundsView"})
'''


def test_a_protocol_of_another_distribution_is_shown_as_moots_own(tmp_path: Path) -> None:
    """D-10: the view of the page has its candidates, motion and tally where a debate's stand, and the list does not read it again."""
    site = tmp_path / "site"
    install(site, "moot_delphi", read_examples("writing-a-protocol.md")[0] + VOTING)
    (tmp_path / "estimates.toml").write_text(ESTIMATES, encoding="utf-8")
    cli = Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(site))
    seats = [f"--seat={name}=script:estimates.toml" for name in ("ada", "bob", "cy")]
    cli("run", "How many?", "--protocol", "delphi", *seats, "--session", "d1", "-q")
    cli("demo", "debate", "--pace", "fast", "--session", "d2", "-q")
    with Server(cli) as server:
        estimate, debate = (server.local("moot.getView", sessionId=name) for name in ("d1", "d2"))
    assert set(estimate) >= {"candidates", "motion", "tally"} & set(debate)
    assert estimate["candidates"][0]["choice"] == "the median"
    assert estimate["motion"] == 1
    assert estimate["tally"] == [
        {"candidate": 1, "support": 1.0, "unconditional": 1.0, "oppose": 0.0}
    ]
    assert set(estimate["tally"][0]) <= set(debate["tally"][0])
    listed = cli("list").out
    assert "d1\tdelphi (script)\t" in listed
    (stored,) = (tmp_path / "home").rglob("list-*.db")
    with closing(sqlite3.connect(stored)) as lines:
        (fields,) = lines.execute("SELECT fields FROM lines WHERE session = 'd1'").fetchone()
    assert json.loads(fields)[-1] == 1
    assert cli("list").out == listed


QUOTING = """
[[seats.ada.estimate]]
value = 100
reason = '(notes.txt:1) "The city has 400,000 people."'
[[seats.bob.estimate]]
value = 101
reason = '(notes.txt:2) "One tuner serves nobody at all."'
"""
WRONG = "“One tuner serves nobody at all.” from notes.txt:2: not found in what was given or said"


def test_what_a_protocol_of_another_distribution_quotes_is_checked_as_of_moots_own(
    tmp_path: Path,
) -> None:
    """D-10, E-4: by code, without a word of the protocol: in the terminal, the minutes, the page and the decision."""
    install(tmp_path / "site", "moot_delphi", read_examples("writing-a-protocol.md")[0])
    (tmp_path / "notes.txt").write_text("The city has 400,000 people.\nOne tuner serves 3,000.\n")
    (tmp_path / "quoting.toml").write_text(QUOTING, encoding="utf-8")
    cli = Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(tmp_path / "site"))
    seats = [f"--seat={name}=script:quoting.toml" for name in ("ada", "bob")]
    words = ["--protocol", "delphi", "--file", "notes.txt", *seats]
    cli("run", "How many?", *words, "--session", "d1")
    told = cli("show", "d1", "--report").out
    assert "1 of 2 quotations and citations stand where they are said to." in told
    assert WRONG in cli("export", "d1", "minutes").out
    assert WRONG in html.unescape(cli("export", "d1", "html").out)
    evidence = cli.json("show", "d1")["evidence"]
    assert (evidence["quotations"], evidence["quotationsHeld"]) == (2, 1)
    assert evidence["seats"] == [
        {"seat": "ada", "checked": 1, "held": 1},
        {"seat": "bob", "checked": 1, "held": 0},
    ]
    cli("verify", "d1")
    assert "no model called" in cli("replay", "d1").out


@pytest.mark.parametrize("has_view", [True, False])
def test_a_protocol_of_another_distribution_is_shown_live(tmp_path: Path, has_view: bool) -> None:
    """D-10: by the view that its row names, or with its seats; its lines scroll by above it, and the decision comes last."""
    code = read_examples("writing-a-protocol.md")[0] + (VOTING if has_view else "")
    install(tmp_path / "site", "moot_delphi", code)
    (tmp_path / "estimates.toml").write_text(ESTIMATES, encoding="utf-8")
    cli = Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(tmp_path / "site"))
    seats = [f"--seat={name}=script:estimates.toml" for name in ("ada", "bob")]
    words = ["--protocol", "delphi", *seats, "--seat=eve=mailbox", "--session", "d1"]
    with Terminal(cli, "run", "How many?", *words, "--wait", "60s") as terminal:
        terminal.wait_for("… estimate")
        assert (b"Round 1 of the oracle" in terminal.raw) == has_view
        cli("answer", "d1", "--seat", "eve", '{"value": 210}')
        terminal.wait_for("round 1: median 210")
        cli("cancel", "d1")
        terminal.ended()
    assert b"ada" in terminal.raw

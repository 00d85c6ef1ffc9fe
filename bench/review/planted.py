"""Print what a gate makes of planted critical defects and of clean changes: python -m bench.review.planted [EVERY]

Reviewers are scripted. They write the path and the quoted lines in the ways that models do, are lost, decline, or say something
that is not so. With EVERY only each so-many-th change is reviewed.
"""

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.review.fixtures import SUBJECTS, TEMPLATES, Fixture, build_fixture
from moothall import Decision, Moot
from moothall.app.requirement import Requirement, Worth, judge_decision
from moothall.domain.effects import Brief
from moothall.domain.topic import ContextFile

PATHS: Final = (
    ".github/workflows/ci.yml",
    ".circleci/config.yml",
    ".pre-commit-config.yaml",
    ".gitlab/ci/build-and-test.yml",
    ".vscode/settings.json",
    "docs/v1.2/handlers/notes.md",
    "Acme.Web.Api/Controllers/HomeController.cs",
    "src/requests.egg-info/PKG-INFO",
    "src/main/java/org/apache/kafka/clients/Metadata.java",
    "packages/react-dom/src/client/ReactDOM.js",
    "app/models/concerns/has_token.rb",
    "cmd/kubelet/app/server_linux.go",
    "drivers/net/ethernet/intel/e1000e/netdev.c",
    "crates/core/src/lib.rs",
    "lib/Doctrine/ORM/EntityManager.php",
    "web/app/[locale]/page.tsx",
    "django/db/backends/base/base.py",
    "Dockerfile",
    "charts/redis/templates/_helpers.tpl",
    "src/größe und maß.py",
)
"""Paths as they stand in repositories of many kinds."""

FORMS: Final = (
    "plain",
    "mark",
    "number",
    "prompt",
    "fence",
    "language",
    "diff",
    "tilde",
    "two lines",
    "b/ path",
    "./ path",
    "short path",
    "no line",
    "Blocker",
    "HIGH",
    "severity unread",
    "invented quotation",
    "refusal quoted",
    "declines",
    "nonsense",
    "nothing",
)
"""How the reviewer who finds the defect writes it; with the last three it is lost."""
LOST: Final = FORMS[-3:]
OTHERS: Final = ("unsure", "confirm", "dispute", "lost")
"""What the others make of it, who did not find it."""
NAMES: Final = ("correctness", "security", "maintenance", "customer")
PLANTED: Final = 200
CLEAN: Final = 100
APPROVED: Final = Requirement(("approve",))
_ASKED: Final = re.compile(r"^Finding (\d+), ", re.MULTILINE)
_LOSSES: Final[Mapping[str, Any]] = {
    "declines": "I'm sorry, but I can't help with that.",
    "nonsense": '{"findings": [{"',
    "nothing": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A change before a board. `finders` know its defect and write it in these forms; the others do as `others` says.

    Of a clean change `noise` is what its first reviewer raises for nothing: a note, a minor finding with a quotation that is not there, a
    major one that it takes back when the others dispute it, or none.
    """

    fixture: Fixture
    finders: Mapping[str, str]
    others: str = "unsure"
    noise: str = ""


class ScenePlayer:
    """One reviewer in a scene."""

    def __init__(self, name: str, scene: Scene) -> None:
        self._name = name
        self._scene = scene

    def __call__(self, brief: Brief) -> object:
        scene = self._scene
        form = scene.finders.get(self._name, "")
        is_lost = scene.others == "lost" and not form and scene.finders
        if form in LOST or (is_lost and self._name == NAMES[-1]):
            return _LOSSES.get(form, "")
        if brief.ask.kind == "inspect":
            return {"findings": self._inspect(form)}
        stand = "confirm" if form else {"lost": "unsure"}.get(scene.others, scene.others)
        numbers = _ASKED.findall(brief.own)
        return {"stands": [{"finding": int(each), "stand": stand} for each in numbers]}

    def _inspect(self, form: str) -> list[dict[str, Any]]:
        if form:
            return [write_finding(self._scene.fixture, form)]
        if self._scene.noise and self._name == NAMES[0]:
            return [write_noise(self._scene.fixture, self._scene.noise)]
        return []


def write_finding(fixture: Fixture, form: str) -> dict[str, Any]:
    """Write the planted defect as a reviewer does who writes in this form."""
    line = fixture.line
    quoted = {
        "mark": f"+    {line}",
        "number": f"2 {line}",
        "prompt": f"|      2 + {line}",
        "fence": f"```\n{line}\n```",
        "language": f"```python\n{line}\n```",
        "diff": f"```diff\n+{line}\n```",
        "tilde": f"~~~\n{line}\n~~~",
        "invented quotation": "launch_missiles(now, everywhere)",
        "refusal quoted": f"{line}",
    }
    path = {
        "b/ path": f"b/{fixture.name}",
        "./ path": f"./{fixture.name}",
        "short path": fixture.name.rpartition("/")[2],
    }
    severity = {"Blocker": "Blocker", "HIGH": "HIGH", "severity unread": "spicy"}
    claim = fixture.claim
    if form == "refusal quoted":
        claim = f"The page now says “I'm sorry, but I can't help with that.” {claim}"
    finding = {
        "file": path.get(form, fixture.name),
        "line": 1,
        "severity": severity.get(form, "critical"),
        "concern": fixture.concern,
        "claim": claim,
        "evidence": quoted.get(form, line),
    }
    if form == "no line":
        del finding["line"]
    return finding


def write_noise(fixture: Fixture, noise: str) -> dict[str, Any]:
    """Write what a reviewer raises in a clean change."""
    severity = {"note": "note", "misquoted": "minor"}.get(noise, "major")
    evidence = "launch_missiles(now)" if noise == "misquoted" else fixture.lines[0]
    return {
        "file": fixture.name,
        "severity": severity,
        "claim": "A ghost stands in this line.",
        "evidence": evidence,
    }


def build_planted() -> list[Scene]:
    """Return the planted scenes: every form with every path, from one to four who find it, and others of each kind."""
    scenes: list[Scene] = []
    for at in range(PLANTED):
        template = TEMPLATES[at % len(TEMPLATES)]
        subject = SUBJECTS[at % len(SUBJECTS)]
        fixture = build_fixture(template, subject, PATHS[at % len(PATHS)], is_broken=True)
        # One finder in three scenes of five: that is where a defect is lost most easily.
        count = (1, 1, 1, 2, 4)[at // 7 % 5]
        finders = {
            NAMES[(at + each) % 4]: FORMS[(at + 5 * each) % len(FORMS)] for each in range(count)
        }
        scenes.append(Scene(fixture=fixture, finders=finders, others=OTHERS[at // 3 % 4]))
    return scenes


def build_clean() -> list[Scene]:
    """Return the clean scenes: of ten, five without a word, three with a note, one misquoted, one with a false alarm."""
    scenes: list[Scene] = []
    for at in range(CLEAN):
        template = TEMPLATES[at % len(TEMPLATES)]
        subject = SUBJECTS[at % len(SUBJECTS)]
        fixture = build_fixture(template, subject, PATHS[at % len(PATHS)], is_broken=False)
        noise = ("", "note", "", "misquoted", "", "note", "", "alarm", "note", "")[at % 10]
        scenes.append(Scene(fixture=fixture, finders={}, others="dispute", noise=noise))
    return scenes


async def review_scene(moot: Moot, scene: Scene, names: Sequence[str] = NAMES) -> Decision:
    """Hold the review of a scene."""
    return await moot.hold(
        "Is this change ready?",
        protocol="review",
        files=[ContextFile(name="change.diff", text=scene.fixture.diff)],
        seats={name: ScenePlayer(name, scene) for name in names},
        memory=False,
    )


def passes(decision: Decision, worth: Worth = "fair") -> bool:
    """Whether a gate that requires an approval lets the change through."""
    return judge_decision(decision, replace(APPROVED, worth=worth), "en").is_met


@dataclass(slots=True)
class GateTally:
    """What a way of reviewing made of the scenes."""

    planted: int = 0
    let_through: int = 0
    upheld: int = 0
    clean: int = 0
    approved: int = 0
    false: int = 0
    """Findings that would ask for changes and are upheld in clean changes."""


async def tally(names: Sequence[str], every: int, worth: Worth = "fair") -> GateTally:
    """Review each so-many-th scene; with one name that reviewer is another one in each scene."""
    result = GateTally()
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        for at, scene in enumerate(build_planted()[::every]):
            seats = names if len(names) > 1 else (NAMES[at // 4 % 4],)
            decision = await review_scene(moot, scene, seats)
            result.planted += 1
            result.let_through += passes(decision, worth)
            findings = decision.findings or ()
            result.upheld += any(each.state == "upheld" for each in findings)
        for scene in build_clean()[::every]:
            decision = await review_scene(moot, scene, names)
            result.clean += 1
            result.approved += passes(decision, worth)
            findings = decision.findings or ()
            result.false += sum(
                each.state == "upheld" and each.severity == "major" for each in findings
            )
    return result


def render_table(every: int) -> str:
    """Review all scenes by a board and by one reviewer alone, as a Markdown table."""
    ways = {"board of four": (NAMES, "fair"), "one reviewer": (NAMES[:1], "weak")}
    lines = [
        "| | planted | let through | upheld (recall) | clean | approved | false findings upheld | precision |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, (names, worth) in ways.items():
        made = asyncio.run(tally(names, every, worth))  # type: ignore[arg-type]  # one of the worths
        share = made.upheld / (made.upheld + made.false) if made.upheld else 0.0
        recall = made.upheld / made.planted
        row = (
            way,
            made.planted,
            made.let_through,
            f"{made.upheld} ({recall:.2f})",
            made.clean,
            made.approved,
            made.false,
            f"{share:.2f}",
        )
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render_table(int(sys.argv[1]) if len(sys.argv) > 1 else 1))

"""The folder of a run as text, file by file (S-24): what stands in it follows from the ledger alone."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from moot.protocols.swarm.records.blackboard import (
    render_agent_report,
    render_blackboard,
    render_operation_log,
    render_run_config,
)
from moot.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moot.protocols.swarm.reports.timeline import SwarmTimeline
from moot.reports.markdown import render_markdown
from moot.reports.page import render_page

CONFIG: Final = "run-config.json"
LONGEST_SLUG: Final = 30
LONGEST_NAME: Final = 120
"""Bytes of a file's name; some scripts take four for one letter."""

_OTHER = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")


class RunFile(NamedTuple):
    """A file of a run's folder: its path in parts, none of which can lead out of it, and its text."""

    path: tuple[str, ...]
    text: str


def task_slug(task: str) -> str:
    """A task as a part of a folder's name: letters, digits and Han characters, at most thirty."""
    words = _OTHER.sub("-", unicodedata.normalize("NFKC", task).lower()).strip("-")
    return words[:LONGEST_SLUG].strip("-") or "task"


def folder_name(started: datetime, task: str) -> str:
    """`YYYY-MM-DD-task-slug`, by the day in UTC on which it began."""
    return f"{started:%Y-%m-%d}-{task_slug(task)}"


def file_name(seat: str) -> str:
    """An agent's name as the name of a file; one that is too long is cut, and told apart by its hash."""
    if len(seat.encode()) <= LONGEST_NAME:
        return f"{seat}.md"
    kept = seat.encode()[: LONGEST_NAME - 9].decode("utf-8", "ignore")
    return f"{kept}-{sha256(seat.encode()).hexdigest()[:8]}.md"


def run_files(timeline: SwarmTimeline, known: int = 0) -> Iterator[RunFile]:
    """Every file of the run as it stands, but for the first `known` reports of agents."""
    yield from round_files(timeline, known)
    report = build_swarm_report(timeline)
    yield RunFile(("convergence-report.md",), render_convergence_report(timeline))
    yield RunFile(("final-research-report.md",), render_markdown(report))
    yield RunFile(("final-research-report.html",), render_page(report))


def round_files(timeline: SwarmTimeline, known: int = 0) -> Iterator[RunFile]:
    """What grows from round to round; the first `known` reports of agents are left out."""
    yield RunFile((CONFIG,), render_run_config(timeline))
    yield RunFile(("blackboard.json",), render_blackboard(timeline))
    yield RunFile(("operation-log.json",), render_operation_log(timeline))
    for told in timeline.reports[known:]:
        yield RunFile(("agent-reports", f"round-{told.round}", file_name(told.seat)), render_agent_report(timeline, told))

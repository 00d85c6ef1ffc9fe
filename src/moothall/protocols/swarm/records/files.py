"""The folder of a run, file by file (S-24); its content follows from the ledger alone."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from moothall.domain.facts import Language
from moothall.locale.catalogues import SWARM_REPORT, SWARM_TEMPLATE
from moothall.protocols.swarm.records.blackboard import (
    render_agent_report,
    render_blackboard,
    render_operation_log,
    render_run_config,
)
from moothall.protocols.swarm.reports.report import build_swarm_report, list_section_titles, render_convergence_report
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.reports.markdown import render_markdown
from moothall.reports.page import render_page

CONFIG: Final = "run-config.json"
MAX_SLUG_LENGTH: Final = 30
MAX_NAME_LENGTH: Final = 120
"""The most bytes of a file name; some scripts need four per letter."""

_OTHER = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")


class RunFile(NamedTuple):
    """A file in a run's folder: the parts of its path, none of which can leave the folder, and its text."""

    path: tuple[str, ...]
    text: str


def task_slug(task: str) -> str:
    """Return a task as part of a folder name: letters, digits and Han characters, at most thirty."""
    words = _OTHER.sub("-", unicodedata.normalize("NFKC", task).lower()).strip("-")
    return words[:MAX_SLUG_LENGTH].strip("-") or "task"


def folder_name(started: datetime, task: str) -> str:
    """Return `YYYY-MM-DD-task-slug`, by the UTC day on which the run began."""
    return f"{started:%Y-%m-%d}-{task_slug(task)}"


def file_name(seat: str) -> str:
    """Return the file name of an agent's report; a name that is too long is cut and made unique by its hash."""
    if len(seat.encode()) <= MAX_NAME_LENGTH:
        return f"{seat}.md"
    # Nine bytes for the hyphen and the hash; "ignore" drops a character that the cut splits.
    start = seat.encode()[: MAX_NAME_LENGTH - 9].decode("utf-8", "ignore")
    return f"{start}-{sha256(seat.encode()).hexdigest()[:8]}.md"


def list_template_files(language: Language) -> Iterator[RunFile]:
    """Yield the files of `.template/`: what the folder of a run holds, and the parts of its report in their order."""
    words = SWARM_TEMPLATE[language]
    yield RunFile(("README.md",), words.readme)
    titles = (title.format(idea="idea-1", threshold="67 %") for title in list_section_titles(SWARM_REPORT[language]))
    yield RunFile(("report-template.md",), "\n\n".join((words.head, *(f"## {title}\n\n…" for title in titles))) + "\n")


def run_files(timeline: SwarmTimeline, known: int = 0) -> Iterator[RunFile]:
    """Yield every file of the run in its current state, without the first `known` agent reports."""
    yield from round_files(timeline, known)
    report = build_swarm_report(timeline)
    yield RunFile(("convergence-report.md",), render_convergence_report(timeline))
    yield RunFile(("final-research-report.md",), render_markdown(report))
    yield RunFile(("final-research-report.html",), render_page(report))


def round_files(timeline: SwarmTimeline, known: int = 0) -> Iterator[RunFile]:
    """Yield the files that grow from round to round, without the first `known` agent reports."""
    yield RunFile((CONFIG,), render_run_config(timeline))
    yield RunFile(("blackboard.json",), render_blackboard(timeline))
    yield RunFile(("operation-log.json",), render_operation_log(timeline))
    for received in timeline.reports[known:]:
        yield RunFile(
            ("agent-reports", f"round-{received.round}", file_name(received.seat)), render_agent_report(timeline, received)
        )

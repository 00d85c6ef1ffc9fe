"""The folder of a run, file by file (S-24); its content follows from the ledger alone."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from moothall.domain.facts import Language
from moothall.protocols.swarm.records.blackboard import (
    render_agent_report,
    render_blackboard,
    render_operation_log,
    render_run_config,
)
from moothall.protocols.swarm.reports.report import build_swarm_report, list_section_titles, render_convergence_report
from moothall.protocols.swarm.reports.report_text import REPORT_TEXT
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.reports.markdown import render_markdown
from moothall.reports.page import render_page
from moothall.reports.two_languages import TwoLanguages, both, in_each_language

CONFIG: Final = "run-config.json"
LONGEST_SLUG: Final = 30
LONGEST_NAME: Final = 120
"""The most bytes of a file name; some scripts need four per letter."""

_OTHER = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")


class RunFile(NamedTuple):
    """A file in a run's folder: the parts of its path, none of which can leave the folder, and its text."""

    path: tuple[str, ...]
    text: str


def task_slug(task: str) -> str:
    """Return a task as part of a folder name: letters, digits and Han characters, at most thirty."""
    words = _OTHER.sub("-", unicodedata.normalize("NFKC", task).lower()).strip("-")
    return words[:LONGEST_SLUG].strip("-") or "task"


def folder_name(started: datetime, task: str) -> str:
    """Return `YYYY-MM-DD-task-slug`, by the UTC day on which the run began."""
    return f"{started:%Y-%m-%d}-{task_slug(task)}"


def file_name(seat: str) -> str:
    """Return the file name of an agent's report; a name that is too long is cut and made unique by its hash."""
    if len(seat.encode()) <= LONGEST_NAME:
        return f"{seat}.md"
    # Nine bytes for the hyphen and the hash; "ignore" drops a character that the cut splits.
    kept = seat.encode()[: LONGEST_NAME - 9].decode("utf-8", "ignore")
    return f"{kept}-{sha256(seat.encode()).hexdigest()[:8]}.md"


def list_template_files(language: Language) -> Iterator[RunFile]:
    """Yield the files of `.template/`: what the folder of a run holds, and the parts of its report in their order."""
    words = TEMPLATE_TEXT[language]
    yield RunFile(("README.md",), words.readme)
    titles = (title.format(idea="idea-1", threshold="67 %") for title in list_section_titles(REPORT_TEXT[language]))
    yield RunFile(("report-template.md",), "\n\n".join((words.head, *(f"## {title}\n\n…" for title in titles))) + "\n")


class TemplateText(TwoLanguages):
    """The words of `.template/`."""

    head = both("# Swarm report: SESSION\n\n> TASK", "# Swarm 协作完成报告：会话编号\n\n> 任务")
    readme = both(
        """# Runs of swarms

Each run has a folder `YYYY-MM-DD-task-slug/` beside this one; a second run of the same day and task gets a suffix.

| file | |
|---|---|
| `run-config.json` | the task, the seats, the seed and every setting |
| `blackboard.json` | the whole blackboard: directions, findings, ideas, figures, votes, events |
| `operation-log.json` | every operation that was asked for, and its result |
| `agent-reports/round-N/NAME.md` | what each agent reported |
| `convergence-report.md` | the figures of each round |
| `final-research-report.md`, `.html` | the report; `report-template.md` shows its parts |

All files follow from the ledger: `moot swarm-report SESSION --folder DIR` writes them again. Moot writes this folder once
and does not change it.
""",
        """# 蜂群运行目录

每次运行在本目录旁有自己的目录 `YYYY-MM-DD-task-slug/`；同一天同一任务的第二次运行带后缀。

| 文件 | |
|---|---|
| `run-config.json` | 任务、席位、随机种子与全部设置 |
| `blackboard.json` | 整个黑板：方向、发现、观点、指标、表决、事件 |
| `operation-log.json` | 每个请求的操作及其结果 |
| `agent-reports/round-N/NAME.md` | 每个 Agent 的报告 |
| `convergence-report.md` | 逐轮指标 |
| `final-research-report.md`、`.html` | 最终报告；其结构见 `report-template.md` |

所有文件都由账本得出：`moot swarm-report 会话编号 --folder 目录` 可重新写出。本目录只写一次，此后不再改动。
""",
    )


TEMPLATE_TEXT: Final = in_each_language(TemplateText)


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

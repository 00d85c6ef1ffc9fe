"""The folders of swarm runs: `swarm-runs/YYYY-MM-DD-task-slug/`, written after every round and at the end.

The service of one protocol: the swarm's classes are known here. A folder belongs to the run in its run-config.json; another run
never writes into it. Files are replaced atomically, so that a reader sees the old one or the new one.
"""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from moothall.app.moot import Moot
from moothall.disk.private import write_atomically
from moothall.domain.facts import Closed, Language
from moothall.domain.ids import parse_session_id
from moothall.engine.context import EntryAdded
from moothall.errors import BadSetting, FolderUnwritable
from moothall.ports.feature import SessionFolder
from moothall.ports.plugin import AnyPlugin
from moothall.protocols.swarm.facts import ConvergenceMeasured
from moothall.protocols.swarm.reports.files import (
    CONFIG,
    folder_name,
    list_template_files,
    render_run_config,
    render_standing,
    run_files,
)
from moothall.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.reports.page import render_page
from moothall.reports.plain_text import render_markdown

RUNS: Final = "swarm-runs"
TEMPLATE: Final = ".template"
MAX_SUFFIXES: Final = 10_000

log = logging.getLogger("moot")


def check_writable(base: Path) -> None:
    """Check, before anything is spent, that folders can be created here. Raises FolderUnwritable."""
    there = next(path for path in (base.absolute(), *base.absolute().parents) if path.exists())
    with _explain_unwritable(base), tempfile.TemporaryDirectory(prefix=".", dir=there):
        pass


@contextmanager
def _explain_unwritable(base: Path) -> Iterator[None]:
    """Raise FolderUnwritable for what the system says while files are written below `base`."""
    try:
        yield
    except OSError as cause:
        where = f"{cause.filename or base}: {cause.strerror}"
        raise FolderUnwritable(
            f"the run's folder cannot be written ({where}); choose another with --runs"
        ) from cause


class RunFolder(SessionFolder):
    """The folder of one session below `base`; the first write creates it, or finds it again."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.base = base
        self._written: dict[tuple[str, ...], str] = {}
        self._seq = 0
        self._lock = Lock()

    def write_template(self, language: Language) -> None:
        """Write `.template`, which says what the folders hold, once: a person's change to it stays. Raises FolderUnwritable."""
        path = self.base / TEMPLATE
        with _explain_unwritable(self.base):
            for parts, text in list_template_files(language) if not path.exists() else ():
                _replace_file(path.joinpath(*parts), text)

    def write(self, timeline: SwarmTimeline) -> None:
        """Write what has changed since the last call; an older timeline changes nothing. Raises FolderUnwritable."""
        with self._lock:
            if timeline.seq < self._seq:
                return
            with _explain_unwritable(self.base):
                self.path = self.path or _find_own_folder(self.base, timeline)
                for path, text in run_files(timeline):
                    if self._written.get(path) != text:
                        _replace_file(self.path.joinpath(*path), text)
                        self._written[path] = text
            self._seq = timeline.seq


def _find_own_folder(base: Path, timeline: SwarmTimeline) -> Path:
    """Return the session's folder: its existing one, else a new one under the first free name."""
    base.mkdir(parents=True, exist_ok=True)
    name, config = (
        folder_name(timeline.opened_at, timeline.state.opened.topic),
        render_run_config(timeline),
    )
    for number in range(1, MAX_SUFFIXES):
        path = base / (name if number == 1 else f"{name}-{number}")
        if _is_own(path, config) or (not path.exists() and _make_folder(path, config)):
            return path
    raise OSError(0, f"there are already {MAX_SUFFIXES} runs with this name", str(base / name))


def _is_own(path: Path, config: str) -> bool:
    """Whether a folder belongs to this run: another ledger may have a session of the same name."""
    try:
        return (path / CONFIG).read_text(encoding="utf-8") == config
    except (OSError, ValueError):
        return False


def _make_folder(path: Path, config: str) -> bool:
    """Create the folder together with its run-config.json, atomically; False if another process was first."""
    # Built under a hidden name and renamed: a folder without its config would belong to nobody.
    made = Path(tempfile.mkdtemp(prefix=".", dir=path.parent))
    try:
        (made / CONFIG).write_text(config, encoding="utf-8")
        made.chmod(0o755)
        made.rename(path)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if path.exists():
            return False
        raise
    return True


def _replace_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)


async def _load_swarm(moot: Moot, session: str) -> SwarmTimeline:
    timeline = await moot.load_timeline(session)
    if not isinstance(timeline, SwarmTimeline):
        raise BadSetting(
            f"{session!r} is not a swarm",
            command=f"use `moot show {session}`",
            tool="get_session shows it",
        )
    return timeline


async def write_run_folder(moot: Moot, session: str, base: str | None) -> Path | None:
    """Write the folder of a swarm again, and return it; raises BadSetting and FolderUnwritable."""
    folder = RunFolder(Path(base or RUNS))
    folder.write(await _load_swarm(moot, session))
    return folder.path


async def stream_apart(
    moot: Moot, session: str, form: str, apart: Collection[str]
) -> AsyncIterator[str]:
    """Yield a form of a swarm with joins undone and every figure recomputed; raises BadSetting."""
    if form not in {"minutes", "html", "convergence", "standing"}:
        raise BadSetting(
            f"--apart applies only to the forms minutes, html, convergence and standing, not to {form!r}"
        )
    timeline = await _load_swarm(moot, session)
    if form in {"convergence", "standing"}:
        yield (
            render_standing(timeline, apart)
            if form == "standing"
            else render_convergence_report(timeline, apart)
        )
        return
    report = build_swarm_report(timeline, apart)
    yield render_page(report) if form == "html" else render_markdown(report)


@asynccontextmanager
async def keep_run_folder(
    moot: Moot, plugin: AnyPlugin, session: str, base: Path | None = None
) -> AsyncIterator[SessionFolder]:
    """Maintain the folder of a swarm while it runs here; a demo has none."""
    snapshot = await moot.engine.load_snapshot(parse_session_id(session))
    if snapshot.session_state.opened.demo:
        yield SessionFolder()
        return
    folder = RunFolder(base or Path(RUNS))
    keeper = asyncio.create_task(_write_rounds(moot, plugin, session, folder))
    try:
        yield folder
        timeline = await moot.load_timeline(session)
        await asyncio.to_thread(folder.write, timeline)
        await asyncio.to_thread(folder.write_template, timeline.language)
    finally:
        keeper.cancel()
        # A failure to write is reported by the last write, or by the session itself.
        await asyncio.gather(keeper, return_exceptions=True)


async def _write_rounds(moot: Moot, plugin: AnyPlugin, session: str, folder: RunFolder) -> None:
    """Write after every round. A failure is retried with the next round, and reported at the end."""
    timeline = plugin.timeline(parse_session_id(session))
    async for event in moot.watch(session):
        if not isinstance(event, EntryAdded):
            continue
        timeline.add(event.entry)
        if isinstance(event.entry.fact, Closed):
            return
        if isinstance(event.entry.fact, ConvergenceMeasured):
            try:
                await asyncio.to_thread(folder.write, timeline)
            except FolderUnwritable as error:
                log.warning("%s", error)

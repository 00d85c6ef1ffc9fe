"""The folders of runs: one for each, whoever comes at the same time (S-24)."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.play_swarm import SwarmRun, build_swarm_plan, build_valid_report

from moothall.app.swarm_runs import RunFolder
from moothall.domain.ids import SessionId
from moothall.errors import FolderUnwritable
from moothall.protocols.swarm.facts import ConvergenceMeasured
from moothall.protocols.swarm.reports.timeline import SwarmTimeline


def timeline(session: str, seed: int = 1) -> SwarmTimeline:
    run = SwarmRun(build_swarm_plan(2, seed=seed, max_rounds=1, collisions=0, vote=False))
    run.play(
        lambda ask, brief, state: (
            build_valid_report(state, ask.seat, "x", "Idea")
            if ask.kind == "explore"
            else NotImplemented
        )
    )
    told = SwarmTimeline(SessionId(session))
    for entry in run.entries:
        told.add(entry)
    return told


def test_runs_that_begin_at_once_get_folders_of_their_own(tmp_path: Path) -> None:
    timelines = [timeline(f"run_{number}") for number in range(8)]
    folders = [RunFolder(tmp_path / "runs") for _ in timelines]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: each[0].write(each[1]), zip(folders, timelines, strict=True)))
    assert len({folder.path for folder in folders}) == 8
    assert len(list((tmp_path / "runs").iterdir())) == 8
    for folder, told in zip(folders, timelines, strict=True):
        assert folder.path is not None
        assert told.session in (folder.path / "run-config.json").read_text(encoding="utf-8")


def test_the_same_run_finds_its_folder_again_and_another_ledgers_does_not(tmp_path: Path) -> None:
    first, again, other = (RunFolder(tmp_path) for _ in range(3))
    first.write(timeline("one"))
    again.write(timeline("one"))
    other.write(timeline("one", seed=2))
    assert first.path == again.path
    assert other.path == tmp_path / f"{first.path.name}-2" if first.path is not None else False


def test_what_is_older_than_what_was_written_changes_nothing(tmp_path: Path) -> None:
    whole = timeline("one")
    folder = RunFolder(tmp_path)
    folder.write(whole)
    assert folder.path is not None
    before = (folder.path / "blackboard.json").read_bytes()
    younger = SwarmTimeline(SessionId("one"))
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=0, vote=False))
    run.step()
    for entry in run.entries:
        younger.add(entry)
    folder.write(younger)
    assert (folder.path / "blackboard.json").read_bytes() == before


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(FolderUnwritable, match="choose another with --runs"):
        RunFolder(tmp_path / "file").write(timeline("one"))


def test_a_round_adds_to_the_folder_and_the_end_completes_it(tmp_path: Path) -> None:
    """S-24: what was told of a round is not written again."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=2, collisions=0, vote=False))
    run.play(
        lambda ask, brief, state: (
            build_valid_report(state, ask.seat, "x", "Idea")
            if ask.kind == "explore"
            else NotImplemented
        )
    )
    folder, told = RunFolder(tmp_path / "by rounds"), SwarmTimeline(SessionId("one"))
    for entry in run.entries:
        told.add(entry)
        if isinstance(entry.fact, ConvergenceMeasured):
            folder.write(told)
            assert folder.path is not None
            first = folder.path / "agent-reports" / "round-1" / "TanWei.md"
            if entry.fact.round == 1:
                first.write_text("read me", encoding="utf-8")
            assert first.read_text(encoding="utf-8") == "read me"
    folder.write(told)
    at_once = RunFolder(tmp_path / "at once")
    at_once.write(told)
    assert folder.path is not None
    assert at_once.path is not None
    names = sorted(path.relative_to(at_once.path) for path in at_once.path.rglob("*.*"))
    assert names == sorted(path.relative_to(folder.path) for path in folder.path.rglob("*.*"))
    for name in names:
        if name.parts[-2:] != ("round-1", "TanWei.md"):
            assert (folder.path / name).read_bytes() == (at_once.path / name).read_bytes()

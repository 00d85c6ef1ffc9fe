"""G-7: reviewers read and search the repository at the reviewed commit, through git's objects and within bounds."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moothall import Moot
from moothall.domain.facts import Language, ToolUsed
from moothall.domain.topic import RepositoryTree
from moothall.features.review.library import review_change
from moothall.features.review.material import Reviewed, find_tree
from moothall.participants.git_tree import (
    MAX_BLOB,
    MAX_NAMES,
    GitTree,
    find_repository,
    resolve_commit,
)
from moothall.participants.tool_desk import read_tree
from moothall_testkit.stub_server import Request, StubReply, StubServer

HOSTILE = ("-rf --all.py", 'quo"te\\.py', "new\nline.py", "größe 文.py", ":(glob)*.py", "a*b?.py")


def git(folder: Path, *words: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=environ, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what may stand in one; its work tree and its last commit differ from the one that is read."""
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q")
    (root / "src").mkdir()
    (root / "src" / "charge.py").write_text(
        "def charge(amount, currency):\n    return amount\n", encoding="utf-8"
    )
    (root / "src" / "shop.py").write_text(
        "".join(f"# line {n}\n" for n in range(300)) + "total = charge(5)\n", encoding="utf-8"
    )
    for name in HOSTILE:
        (root / name).write_text(f"hostile = {name!r}\n", encoding="utf-8")
    (root / "latin.txt").write_bytes("größer\n".encode("latin-1"))
    (root / "picture.png").write_bytes(b"\x89PNG\0\0" * 9)
    (root / "nothing.py").write_text("", encoding="utf-8")
    (root / "huge.txt").write_text("x" * (MAX_BLOB + 1), encoding="utf-8")
    (root / "passwords").symlink_to("/etc/passwd")
    (root / "many").mkdir()
    for number in range(MAX_NAMES + 5):
        (root / "many" / f"{number:04}.txt").write_text(f"{number}\n", encoding="utf-8")
    git(root, "add", "-A")
    digest = "1" * 40
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{digest},vendored")
    git(root, "commit", "-qm", "1")
    (root / "src" / "charge.py").write_text("changed later\n", encoding="utf-8")
    git(root, "commit", "-qam", "2")
    # What is in the work tree alone is nobody's to read.
    (root / "secret.env").write_text("TOKEN=abc\n", encoding="utf-8")
    (root / "src" / "shop.py").write_text("TOKEN=abc\n", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def tree(folder: Path) -> RepositoryTree:
    found = find_tree(Reviewed(commits="HEAD~1..HEAD~1", folder=folder))
    assert found is not None
    return found


def run(tree: RepositoryTree, tool: str, language: Language = "en", **given: Any) -> Any:
    return GitTree(tree, language).run(tool, given)


def test_a_file_is_read_as_it_is_at_the_commit(tree: RepositoryTree) -> None:
    """G-7: not as the work tree or a later commit has it; lines have their numbers, and a place."""
    read = run(tree, "read", file="src/charge.py")
    assert read.outcome == "answered"
    assert "| 1: def charge(amount, currency):" in read.text
    assert read.places == ("src/charge.py:1-2",)
    last = run(tree, "read", file="./src/shop.py", first=300, last=301)
    assert "| 301: total = charge(5)" in last.text
    assert "TOKEN" not in last.text
    assert "größer" in run(tree, "read", file="latin.txt").text


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(tree: RepositoryTree, name: str) -> None:
    """G-7: no option, no pattern, no second line."""
    read = run(tree, "read", file=name)
    assert read.outcome == "answered"
    assert f"hostile = {name!r}" in read.text
    assert all(line.startswith(("[file ", "| ")) for line in read.text.splitlines())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("secret.env", "No file is called secret.env at this commit"),
        ("shop.py", "Files of that name: src/shop.py"),
        ("../../etc/passwd", "No file is called"),
        ("/etc/passwd", "No file is called"),
        ("*.py", "No file is called"),
        ("--output=/tmp/x", "No file is called"),
        ("a\0b", "No file is called"),
        ("x" * 9_000, "No file is called"),
        ("passwords", "passwords is a link to /etc/passwd; links are not followed"),
        ("vendored", "vendored is a submodule"),
        ("picture.png", "picture.png is binary, 54 bytes"),
        ("huge.txt", f"huge.txt is too large: {MAX_BLOB + 1} bytes"),
        ("nothing.py", "nothing.py is empty"),
    ],
)
def test_what_cannot_be_shown_is_said(tree: RepositoryTree, name: str, said: str) -> None:
    """G-7: links, submodules, binary and huge files, and paths that lead elsewhere."""
    read = run(tree, "read", file=name)
    assert (read.outcome, said in read.text) == ("refused", True)
    assert len(read.text) < 2_000
    assert "root:" not in read.text
    assert run(tree, "read", "zh", file=name).outcome == "refused"


def test_a_folder_is_listed(tree: RepositoryTree) -> None:
    """G-7: bounded, each name on a line of its own behind a mark."""
    root = run(tree, "read", file="").text
    assert "| src/" in root
    assert "| new line.py" in root
    many = run(tree, "read", file="many/").text
    assert many.count("\n") == MAX_NAMES + 1
    assert many.endswith("| … +5")


def test_callers_are_searched_for(tree: RepositoryTree) -> None:
    """G-7: the rarest words lead; nothing of the work tree, of links or of binary files comes back."""
    result = run(tree, "search", words="charge(amount")
    assert {"src/charge.py", "src/shop.py"} == {each.rpartition(":")[0] for each in result.places}
    assert run(tree, "search", words="TOKEN").places == ()
    assert run(tree, "search", words="daemon nologin").places == ()
    assert run(tree, "search", words="-e --open-files-in-pager=sh").outcome == "answered"
    assert run(tree, "search", words="((").outcome in {"answered", "refused"}
    assert len(run(tree, "search", words="line " * 3_000).text) < 9_000


def test_a_repository_sets_no_program_to_run(folder: Path, tmp_path: Path) -> None:
    """G-7: what its settings and its environment name is not started."""
    mark = tmp_path / "started"
    root = tmp_path / "trap"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("word\n", encoding="utf-8")
    (root / ".gitattributes").write_text("*.txt diff=trap filter=trap\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "1")
    for key in ("core.fsmonitor", "core.pager", "diff.trap.textconv", "filter.trap.smudge"):
        git(root, "config", key, f"touch {mark}; cat")
    trap = RepositoryTree(repository=find_repository(root), commit=git(root, "rev-parse", "HEAD"))
    assert "word" in run(trap, "read", file="a.txt").text
    assert run(trap, "search", words="word").places
    assert not mark.exists()


def test_only_a_repository_that_was_named_is_read(
    tree: RepositoryTree, monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    """G-7: a record that came from elsewhere opens no repository of this machine."""
    given = {"file": "src/charge.py"}
    monkeypatch.chdir(tmp_path)
    assert "may not be read here" in read_tree(tree, "en", "read", given, box=None).text
    monkeypatch.chdir(folder)
    assert "def charge" in read_tree(tree, "en", "read", given, box=None).text
    gone = RepositoryTree(repository=tree.repository, commit="2" * 40)
    assert "does not have the commit" in read_tree(gone, "en", "read", given, box=None).text
    odd = RepositoryTree(repository=tree.repository, commit="--upload-pack=sh")
    assert "does not have the commit" in read_tree(odd, "en", "read", given, box=None).text


@pytest.mark.parametrize(
    ("commits", "is_read"),
    [("HEAD~1..HEAD", True), ("HEAD~1...", True), ("HEAD~1", False), ("HEAD..nowhere", False)],
)
def test_the_tree_is_that_of_the_last_commit(folder: Path, commits: str, *, is_read: bool) -> None:
    """G-7: of one revision alone git compares the work tree: then there is no tree."""
    found = find_tree(Reviewed(commits=commits, folder=folder))
    assert (found is not None) == is_read
    if found is not None:
        assert found.commit == git(folder, "rev-parse", "HEAD")
    assert resolve_commit(find_repository(folder), "HEAD:src") == ""


def review_by(
    answer: Callable[[Request], StubReply], folder: Path, **options: Any
) -> tuple[Any, list[Request], list[ToolUsed]]:
    stub = StubServer([answer] * 60)

    async def work() -> Any:
        async with stub, Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            decision = await review_change(
                moot,
                commits="HEAD~1..HEAD",
                folder=folder,
                seats={"a": f"{stub.base_url}#m", "b": f"{stub.base_url}#n"},
                check=False,
                **options,
            )
            entries = await moot.engine.entries(decision.session)
            return decision, [each.fact for each in entries if isinstance(each.fact, ToolUsed)]

    decision, uses = asyncio.run(work())
    return decision, stub.asked, uses


def test_a_reviewer_looks_up_the_callers_within_a_budget(folder: Path) -> None:
    """G-7: a model searches and reads, each use is an entry, and after the budget it is asked without tools."""

    def answer(request: Request) -> StubReply:
        if request.body.get("tools"):
            arguments = json.dumps({"file": "src/shop.py", "first": 300})
            return StubReply(calls=(("read", arguments),))
        return StubReply(text='{"findings": []}')

    decision, asked, uses = review_by(answer, folder)
    assert decision.choice == "approve"
    assert len([each for each in uses if each.outcome == "answered"]) == 2 * 4
    assert {each.places for each in uses if each.places} == {("src/shop.py:300-301",)}
    first = asked[0].text
    assert "With read and search you can look at other files" in first
    described = json.dumps(asked[0].body["tools"])
    assert "repository as it is after the change" in described
    assert "TOKEN" not in json.dumps([each.body for each in asked])


def test_without_tools_nothing_is_offered(folder: Path) -> None:
    """G-7: `tools="off"` reads the change alone, and the forecast counts no reads."""

    def answer(request: Request) -> StubReply:
        assert not request.body.get("tools")
        return StubReply(text='{"findings": []}')

    _, asked, uses = review_by(answer, folder, tools="off")
    assert uses == []
    assert "With read and search" not in asked[0].text

    async def forecast(**options: Any) -> Any:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            return await review_change(
                moot,
                commits="HEAD~1..HEAD",
                folder=folder,
                models=["openai:gpt-5-mini"],
                dry_run=True,
                **options,
            )

    reads, none = asyncio.run(forecast()), asyncio.run(forecast(tools="off"))
    assert (reads.calls.least, none.calls.least) == (4, 4)
    assert reads.calls.most == none.calls.most + 4 * 4

"""Find the tests that are nearest to a change, by imports: python -m checks.nearest_tests [--run] [FILE …]

Without files it looks at what differs from the main branch. The unit tests that import a changed module come first; where none
does, those that import a module that imports it, and so on. `--run` runs them; files of long
property tests only if they changed themselves.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from checks.source_figures import list_imported_names

ROOT = Path(__file__).parents[1]
PACKAGES = {"moothall": ROOT / "src", "moothall_testkit": ROOT / "testkit/src", "tests": ROOT}
MAX_FILES = 8
"""Of the tests of one run: a quick answer, not a whole one."""
MAX_DISTANCE = 4


def main() -> int:
    words = sys.argv[1:]
    changed = [ROOT / word for word in words if not word.startswith("--")] or list(
        list_changed_files()
    )
    chosen = [
        path
        for path in choose_tests(changed, ("tests/unit",))
        if path in changed or not path.stem.endswith("_properties")
    ]
    chosen = chosen[:MAX_FILES]
    names = [str(path.relative_to(ROOT)) for path in chosen]
    print("\n".join(names) if names else "no unit test is near to what changed")
    if "--run" not in words or not names:
        return 0
    options = ("-q", "-x", "-n", "2", "--dist", "worksteal", "--durations=3")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *names], cwd=ROOT, check=False
    ).returncode


def list_changed_files() -> Iterator[Path]:
    """What differs from where this branch left the main one, with what is not committed or not added yet."""
    for main_branch in ("origin/main", "main", "HEAD"):
        base = run_git("merge-base", "HEAD", main_branch)
        if base:
            break
    for name in {
        *run_git("diff", "--name-only", *base),
        *run_git("ls-files", "--others", "--exclude-standard"),
    }:
        if name.endswith(".py") and (ROOT / name).exists():
            yield ROOT / name


def run_git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


def choose_tests(changed: Iterable[Path], folders: tuple[str, ...]) -> list[Path]:
    """The test modules in the folders, nearest to the changed files first; of equally near ones, those that import least."""
    importers = build_importers()
    graph = build_imports()
    distances: dict[str, int] = {}
    for path in changed:
        start = name_module(path)
        if start is None:
            continue
        for test, distance in find_nearest_tests(start, importers, folders).items():
            distances[test] = min(distance, distances.get(test, distance))
    ordered = sorted(distances, key=lambda test: (distances[test], len(graph[test]), test))
    return [locate_module(test) for test in ordered]


def find_nearest_tests(
    start: str, importers: Mapping[str, set[str]], folders: tuple[str, ...]
) -> dict[str, int]:
    """The tests at the smallest distance at which there are any, and those one step further."""
    seen, level = {start}, {start}
    nearest: dict[str, int] = {}
    for distance in range(MAX_DISTANCE + 1):
        tests = {module for module in level if is_test_in(module, folders)}
        is_last = bool(nearest)
        nearest.update(dict.fromkeys(tests, distance))
        if is_last:
            break
        level = {importer for module in level for importer in importers.get(module, ())} - seen
        seen |= level
    return nearest


def is_test_in(module: str, folders: tuple[str, ...]) -> bool:
    return module.rpartition(".")[2].startswith("test_") and module.replace(".", "/").startswith(
        folders
    )


@cache
def build_imports() -> dict[str, set[str]]:
    """What each module of the packages imports of them, wherever in its text."""
    paths = [
        path for name, folder in PACKAGES.items() for path in sorted((folder / name).rglob("*.py"))
    ]
    modules = {name: path for path in paths if (name := name_module(path))}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = set(list_imported_names(ast.parse(path.read_text(encoding="utf-8"))))
        graph[name] = {
            target if target in modules else target.rpartition(".")[0] for target in targets
        } & modules.keys() - {name}
    return graph


@cache
def build_importers() -> dict[str, set[str]]:
    importers: dict[str, set[str]] = {}
    for name, targets in build_imports().items():
        for target in targets:
            importers.setdefault(target, set()).add(name)
    return importers


def name_module(path: Path) -> str | None:
    for name, folder in PACKAGES.items():
        if path.is_relative_to(folder / name):
            return ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(
                ".__init__"
            )
    return None


def locate_module(name: str) -> Path:
    path = PACKAGES[name.partition(".")[0]] / name.replace(".", "/")
    return path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"


if __name__ == "__main__":
    sys.exit(main())

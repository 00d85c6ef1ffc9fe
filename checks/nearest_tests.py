"""Find the tests that are nearest to a change, by imports: python -m checks.nearest_tests [--run] [FILE …]

Without files it looks at what differs from the main branch. The unit tests that import or name a changed module come first, then
those that import a module that imports it, and so on. Where fewer than two name it, tests of integration that do follow, then those
of acceptance whose names share a word with it. `--run` runs them, the wider ones for a minute at most; files of long property
tests only if they changed themselves.
"""

import ast
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from checks.source_figures import list_imported_names

ROOT = Path(__file__).parents[1]
PACKAGES = {"moothall": ROOT / "src", "moothall_testkit": ROOT / "testkit/src", "tests": ROOT}
MAX_FILES = 8
"""Of the tests of one run: a quick answer, not a whole one."""
MAX_DISTANCE = 4
UNIT = ("tests/unit",)
WIDER = (("tests/integration", "tests/conformance"), ("tests/acceptance", "tests/docs"))
"""Where a module is looked for that fewer than two unit tests name, in this order."""
ENOUGH = 2
MAX_WIDER = 3
WIDER_SECONDS = 60
RUN = ("-m", "pytest", "-q", "-x", "-n", "2", "--dist", "worksteal", "--durations=3")


def main() -> int:
    words = sys.argv[1:]
    changed = [ROOT / word for word in words if not word.startswith("--")] or list(
        list_changed_files()
    )
    units = [str(path.relative_to(ROOT)) for path in choose_units(changed)]
    wider = [str(path.relative_to(ROOT)) for path in choose_wider(changed)]
    print("\n".join([*units, *wider]) or "no test is near to what changed")
    if "--run" not in words:
        return 0
    if units:
        done = subprocess.run([sys.executable, *RUN, *units], cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
    return run_for_a_while(wider) if wider else 0


def run_for_a_while(names: list[str]) -> int:
    """Run tests until they end or the time is over; only a test that failed until then is a failure."""
    running = subprocess.Popen([sys.executable, *RUN, *names], cwd=ROOT)
    try:
        return running.wait(WIDER_SECONDS)
    except subprocess.TimeoutExpired:
        # As by Ctrl-C: what the tests started is ended by them.
        running.send_signal(signal.SIGINT)
        running.wait()
    print(f"stopped after {WIDER_SECONDS} seconds: {' '.join(names)}")
    return 0


def choose_units(changed: Sequence[Path]) -> list[Path]:
    """The unit tests that name what changed, then those that are near by imports."""
    chosen = [path for path in changed if is_unit_test(path)]
    for path in changed:
        chosen += list_naming_tests(path, UNIT)
    chosen += choose_tests(changed, UNIT)
    return [
        path
        for path in dict.fromkeys(chosen)
        if path in changed or not path.stem.endswith("_properties")
    ][:MAX_FILES]


def is_unit_test(path: Path) -> bool:
    return path.stem.startswith("test_") and path.is_relative_to(ROOT / UNIT[0])


def choose_wider(changed: Sequence[Path]) -> list[Path]:
    """Wider tests of the modules that fewer than two unit tests name."""
    chosen: list[Path] = []
    for path in changed:
        known = list_naming_tests(path, UNIT)
        for folders in WIDER:
            if len(known) < ENOUGH and not is_unit_test(path):
                wider = [*list_naming_tests(path, folders), *find_by_words(path, folders)]
                wider = list(dict.fromkeys(wider))[:ENOUGH]
                known += wider
                chosen += wider
    return list(dict.fromkeys(chosen))[:MAX_WIDER]


def list_naming_tests(path: Path, folders: tuple[str, ...]) -> list[Path]:
    """The tests that import a module, or say its name; those first that import least."""
    module = name_module(path)
    if module is None:
        return []
    importers, graph = build_importers().get(module, set()), build_imports()
    words = find_telling_words(module)
    naming: list[tuple[bool, int, str]] = []
    for test, targets in graph.items():
        if is_test_in(test, folders):
            is_importer = test in importers
            if is_importer or words <= list_words(test):
                naming.append((not is_importer, len(targets), test))
    return [locate_module(test) for _, _, test in sorted(naming)]


def find_telling_words(module: str) -> set[str]:
    """What a test that is about a module says: its name, and where that is one plain word, its folder's too."""
    *_, folder, name = ("", *module.split("."))
    if "_" in name:
        return {name}
    return {folder, name}


@cache
def list_words(test: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", locate_module(test).read_text(encoding="utf-8")))


def find_by_words(path: Path, folders: tuple[str, ...]) -> list[Path]:
    """The tests of commands and calls whose names have a word of the module's: they import nothing of what they test."""
    module = name_module(path) or ""
    words = {word for part in module.split(".")[2:] for word in part.split("_") if len(word) > 3}
    # By their first letters: "invite" is tested with "invitations".
    stems = {word[:5] for word in words}
    shared: dict[Path, int] = {}
    for folder in folders:
        for test in sorted((ROOT / folder).glob("test_*.py")):
            count = len({word[:5] for word in test.stem.split("_")} & stems)
            if count:
                shared[test] = count
    return sorted(shared, key=lambda test: -shared[test])


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

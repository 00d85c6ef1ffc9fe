"""Run the whole suite; what fails among the tests that start programs runs once more, alone, and is named.

A browser or a server that shares two cores with two others can be late in a way that no user would see. Such a test has to
pass by itself, in a new process, and the report names it, so that it is mended and not forgotten. Tests of logic alone have
one chance.
"""

import json
import subprocess
import sys
from pathlib import Path

BESIDE = ["-n", "3", "--dist", "worksteal"]
STARTS_PROGRAMS = ("tests/acceptance/", "tests/browser/")
MAX_AGAIN = 5
FAILED = 1


def run_tests(root: Path, *words: str) -> int:
    """The exit code of pytest with these words."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=root, check=False
    ).returncode


def find_failed(root: Path) -> list[str]:
    """The tests that failed in the run before this moment."""
    stored = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return sorted(json.loads(stored.read_text(encoding="utf-8"))) if stored.exists() else []


def run_suite(root: Path, beside: list[str] = BESIDE) -> int:
    """0 if every test has passed, beside others or alone."""
    # What an earlier run left says nothing of this one.
    code = run_tests(root, "--cache-clear", *beside)
    failed = find_failed(root)
    if (
        code != FAILED
        or not failed
        or len(failed) > MAX_AGAIN
        or not all(name.startswith(STARTS_PROGRAMS) for name in failed)
    ):
        return code
    print(
        f"\nfailed beside others, run again alone: {len(failed)}", *failed, sep="\n  ", flush=True
    )
    code = run_tests(root, "-n", "0", *failed)
    if code == 0:
        print("\npassed only alone, to be mended:", *failed, sep="\n  ", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(run_suite(Path(__file__).parents[1]))

"""Find a Chromium for the browser tests; install one where none is found.

    python checks/install_browser.py

MOOT_CHROMIUM names one that is somewhere else.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

LIGHT = "chromium-headless-shell"
"""The same engine without the windows that nobody sees: every page takes a third less of the machine. Playwright's own is one."""
NAMES = (LIGHT, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = (LIGHT, "chromium")
"""The first of these that there is."""
FONTS = ("fonts-wqy-microhei",)
"""So that Chinese is not empty boxes in screenshots; no test needs it."""
OPTIONS = ("install", "-y", "-qq", "--no-install-recommends")
LONGEST = 1_800
"""Seconds that one step of the installation may take."""
REMEDY = (
    "The browser tests need Chromium, and it could not be installed here. Install it (Debian, Ubuntu: "
    "`sudo apt-get install chromium`; others: `.venv/bin/playwright install chromium`), "
    "or say where one is: MOOT_CHROMIUM=/path/to/chromium"
)


def find_browser() -> str | None:
    """The program of a Chromium: the one that MOOT_CHROMIUM names, one on PATH, or Playwright's own."""
    named = os.environ.get("MOOT_CHROMIUM")
    if named:
        if shutil.which(named) is None:
            raise SystemExit(
                f"MOOT_CHROMIUM={named} is not a program that can be run; expected the path of a Chromium"
            )
        return named
    for name in NAMES:
        if found := shutil.which(name):
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def install_browser() -> None:
    """Install Chromium in the ways that this machine offers, until one is there."""
    # A machine that has not listed its packages yet knows none.
    if (apt := name_apt()) and (
        install_package(apt) or (run(*apt, "update", "-qq") and install_package(apt))
    ):
        run(*apt, *OPTIONS, *FONTS)
        return
    run(sys.executable, "-m", "playwright", "install", "chromium")


def name_apt() -> list[str]:
    """How packages are installed here, if it is with apt-get and this account may."""
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    may = shutil.which("apt-get") and (not root or shutil.which("sudo"))
    return [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"] if may else []


def install_package(apt: Sequence[str]) -> bool:
    """Whether one of the packages could be installed."""
    return any(run(*apt, *OPTIONS, each) for each in PACKAGES)


def run(*command: str) -> bool:
    """Whether a command ended well; what it said is shown if not."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return False
    if done.returncode != 0:
        print(
            f"{' '.join(command)}:\n{done.stdout.decode(errors='replace')[-600:]}", file=sys.stderr
        )
    return done.returncode == 0


def main(words: Sequence[str]) -> int:
    if words:
        raise SystemExit("usage: python checks/install_browser.py")
    found = find_browser()
    if found is None:
        print("Installing Chromium for the browser tests (once) …")
        install_browser()
        found = find_browser()
    if found is None:
        print(REMEDY, file=sys.stderr)
        return 1
    print(f"ok  browser tests use {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

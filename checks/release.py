"""Build what a release publishes: check the changelog and the version, build twice, compare, look inside, list what it needs.

    python checks/release.py 0.1.0

It writes the wheel, the source archive, the wheel of the test kit, a bill of materials (CycloneDX) and checksums to
`dist`, and publishes nothing.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
IN_WHEEL = (
    "moothall/py.typed",
    "moothall/surfaces/http/page/app.js",
    "licenses/LICENSE",
    "licenses/THIRD_PARTY.txt",
)
IN_ARCHIVE = (
    "tests/conftest.py",
    "checks/release.py",
    "deploy/Dockerfile",
    "Makefile",
    "mkdocs.yml",
    "THIRD_PARTY.txt",
)
IN_KIT = ("moothall_testkit/rulebook_contract.py", "moothall_testkit/py.typed", "licenses/LICENSE")
MAX_WHEEL = 4_000_000


def main(version: str) -> None:
    """Check, build and describe a release; end with a sentence at the first fault."""
    check_texts(version)
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    shutil.rmtree(DIST, ignore_errors=True)
    build(DIST, stamp)
    with tempfile.TemporaryDirectory() as again:
        build(Path(again), stamp)
        for path in sorted(DIST.iterdir()):
            if path.read_bytes() != (Path(again) / path.name).read_bytes():
                sys.exit(
                    f"{path.name} differs when it is built again: the build is not reproducible"
                )
    check_contents(version)
    (DIST / "moothall.cdx.json").write_text(
        json.dumps(list_materials(version), indent=2) + "\n", encoding="utf-8"
    )
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in sorted(DIST.iterdir())
    ]
    (DIST / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    print("\n".join(sums))
    print(f"{version} is built and checked; publish dist/ from the tag v{version}")


def check_texts(version: str) -> None:
    """Refuse a version that the source or the changelog does not have."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"VERSION={version!r}: expected such as 0.1.0 or 0.2.0rc1")
    source = (ROOT / "src/moothall/app/version.py").read_text(encoding="utf-8")
    if f'VERSION: Final = "{version}"' not in source:
        sys.exit(f"src/moothall/app/version.py does not say {version}; set it there first")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)\n+(- .+)", changes, re.MULTILINE
    )
    if section is None:
        sys.exit(f"CHANGELOG.md has no section `## {version} (YYYY-MM-DD)` with a line in it")


def build(folder: Path, stamp: str) -> None:
    """Build wheel, source archive and the wheel of the test kit with the time of the last commit."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": stamp}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True)
    # Its version is read from Moot's source, which an archive of its own would not have: Moot's archive has both.
    subprocess.run(
        [*command, "-t", "wheel"],
        cwd=ROOT / "testkit",
        env=environ,
        check=True,
        capture_output=True,
    )


def check_contents(version: str) -> None:
    """Look for what must be in the archives, and for what must not."""
    wheel, archive = (
        DIST / f"moothall-{version}-py3-none-any.whl",
        DIST / f"moothall-{version}.tar.gz",
    )
    kit = DIST / f"moothall_testkit-{version}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(archive) as file:
        packed = file.getnames()
    for expected, held in (
        (IN_WHEEL, names),
        (IN_ARCHIVE, packed),
        (IN_KIT, zipfile.ZipFile(kit).namelist()),
    ):
        missing = [each for each in expected if not any(name.endswith(each) for name in held)]
        if missing:
            sys.exit(f"missing: {', '.join(missing)}")
    strays = [
        name
        for name in names
        if not name.startswith(("moothall/", f"moothall-{version}.dist-info/"))
    ]
    if strays or wheel.stat().st_size > MAX_WHEEL:
        sys.exit(f"the wheel is {wheel.stat().st_size:,} bytes and has these beside Moot: {strays}")


def list_materials(version: str) -> dict[str, object]:
    """Return a CycloneDX bill of materials of what `requirements.lock` installs with Moot."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(
        r"^([a-zA-Z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)((?:[^\n]*\\\n\s+--hash=\S+)*)",
        lock,
        re.MULTILINE,
    )
    components = [
        {
            "type": "library",
            "name": name,
            "version": pinned,
            "purl": f"pkg:pypi/{name.lower()}@{pinned}",
            "hashes": [
                {"alg": "SHA-256", "content": each}
                for each in re.findall(r"sha256:([0-9a-f]{64})", hashes)
            ],
        }
        for name, pinned, hashes in pins
    ]
    root = {
        "type": "application",
        "name": "moothall",
        "version": version,
        "purl": f"pkg:pypi/moothall@{version}",
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
    }


if __name__ == "__main__":
    main(*sys.argv[1:2] or ("",))

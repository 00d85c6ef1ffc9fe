"""The README as the page of the package: hatchling asks for it at each build.

Links of the README lead to files of the tree, which a package page does not have. Hosted CI knows the address of the
repository (`GITHUB_SERVER_URL`, `GITHUB_REPOSITORY`; elsewhere `MOOT_REPOSITORY`), and they lead there, as the project's
addresses do. Where nobody knows it, no address is made up: links become plain words and pictures are left out.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)#]+)\)")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)]+)\)")


def find_repository(environ: Mapping[str, str]) -> str:
    """Return the address of the repository; empty where it is not known."""
    named, server, name = (
        environ.get(key, "")
        for key in ("MOOT_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY")
    )
    return named.rstrip("/") or (f"{server}/{name}" if server and name else "")


def build_package_page(readme: str, repository: str, version: str) -> str:
    """Return the README with links that work outside the tree."""
    if repository:
        pictured = _PICTURE.sub(rf"![\1]({repository}/raw/v{version}/\2)", readme)
        return _LINK.sub(rf"[\1]({repository}/blob/v{version}/\2)", pictured)
    without = [part for part in readme.split("\n\n") if not _PICTURE.search(part)]
    return _LINK.sub(r"\1", "\n\n".join(without))


def list_addresses(repository: str) -> dict[str, str]:
    """Return the addresses of the project; none where the repository is not known."""
    pages = {
        "Source": "",
        "Documentation": "/tree/main/docs",
        "Changes": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    return {name: f"{repository}{path}" for name, path in pages.items()} if repository else {}


class PackagePage(MetadataHookInterface):
    """Fills in what pyproject.toml leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = find_repository(os.environ)
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = build_package_page(text, repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        metadata["urls"] = list_addresses(repository)

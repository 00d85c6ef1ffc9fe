"""What a release is made of, and under which name."""

import re
import tomllib
from pathlib import Path

import pytest
from checks import release
from checks.site_front import build_decisions, build_front

from moothall.app.version import VERSION
from moothall.errors import DISTRIBUTION, describe_install

ROOT = Path(__file__).resolve().parents[2]


def test_every_text_names_the_distribution_that_is_ours() -> None:
    """L-1: no message, page or example tells anyone to install a name that is not ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], set(project["scripts"])) == (DISTRIBUTION, {"moot", DISTRIBUTION})
    assert describe_install("pdf") == f'pip install "{DISTRIBUTION}[pdf]"'
    texts = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    wrong = re.compile(r"(?:pip|pipx|uv tool) install \?[\"']?moot\b|uvx moot\b")
    assert [path.name for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_a_release_needs_its_version_and_its_changes() -> None:
    """L-3: a version that the source or the changelog does not have is refused in a sentence."""
    for version, words in {"9": "expected such as", "9.9.9": "does not say 9.9.9"}.items():
        with pytest.raises(SystemExit, match=words):
            release.check_texts(version)


def test_the_bill_of_materials_has_every_locked_package_with_its_hashes() -> None:
    """L-3: what is installed with a release is listed, by name, version and hash."""
    listed = release.list_materials(VERSION)["components"]
    assert isinstance(listed, list)
    locked = re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
    assert [each["name"] for each in listed] == locked
    assert all(each["hashes"] for each in listed)


def test_the_front_page_of_the_site_links_to_pages_that_are_there() -> None:
    front = build_front((ROOT / "README.md").read_text(encoding="utf-8"))
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", front) if "://" not in link]
    assert [link for link in links if link != "decisions/index.md" and not (ROOT / "docs" / link).exists()] == []
    assert len(build_decisions(ROOT / "docs" / "decisions").splitlines()) > 50

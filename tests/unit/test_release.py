"""What a release is made of, and under which name."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from checks import pictures, release, site_reference
from checks.site_front import build_decisions, build_front
from checks.site_links import list_faults
from deploy.package_page import build_package_page, find_repository, list_addresses

from moothall.app.version import VERSION
from moothall.errors import DISTRIBUTION, describe_install

ROOT = Path(__file__).resolve().parents[2]


def test_every_text_names_the_distribution_that_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """L-1: no message, page or example tells anyone to install a name that is not ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], set(project["scripts"])) == (DISTRIBUTION, {"moot", DISTRIBUTION})
    package = f'"{DISTRIBUTION}[pdf]"'
    ways = {
        "/h/.local/share/uv/tools/moothall": f"uv tool install {package}",
        "/h/.local/pipx/venvs/moothall": f"pipx install --force {package}",
        "/h/.cache/uv/archive-v0/x": f"uvx --from {package} {DISTRIBUTION}",
    }
    for place, way in ways.items():
        monkeypatch.setattr(sys, "prefix", place)
        assert describe_install("pdf") == way
    monkeypatch.setattr(sys, "prefix", "/venv")
    monkeypatch.setattr(sys, "executable", "/my venv/bin/python")
    monkeypatch.setattr("moothall.errors.find_spec", lambda name: object())
    assert describe_install("pdf") == f"pip install {package}"
    # uv makes environments without pip.
    monkeypatch.setattr("moothall.errors.find_spec", lambda name: None)
    assert describe_install("pdf") == f"uv pip install --python '/my venv/bin/python' {package}"
    texts = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.toml"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
    ]
    wrong = re.compile(r"(?:pip|pipx|uv tool) install \?[\"']?moot\b|uvx moot\b")
    assert [path.name for path in texts if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_a_release_needs_its_version_and_its_changes() -> None:
    """L-3: a version that the source or the changelog does not have is refused in a sentence."""
    for version, words in {"9": "expected such as", "9.9.9": "does not say 9.9.9"}.items():
        with pytest.raises(SystemExit, match=words):
            release.check_texts(version)


def test_a_release_has_the_test_kit_that_the_guides_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L-1, L-3: both distributions are built; the kit as a wheel, as its archive would lack Moot's version."""
    built: list[tuple[object, list[str]]] = []
    monkeypatch.setattr(
        "checks.release.subprocess.run", lambda command, cwd, **_: built.append((cwd, command[-2:]))
    )
    release.build(tmp_path, "0")
    assert built == [(ROOT, ["-d", str(tmp_path)]), (ROOT / "testkit", ["-t", "wheel"])]


def test_the_bill_of_materials_has_every_locked_package_with_its_hashes() -> None:
    """L-3: what is installed with a release is listed, by name, version and hash."""
    listed = release.list_materials(VERSION)["components"]
    assert isinstance(listed, list)
    locked = re.findall(
        r"^([\w.-]+)(?:\[[^\]]*\])?==",
        (ROOT / "requirements.lock").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [each["name"] for each in listed] == locked
    assert all(each["hashes"] for each in listed)


def test_the_front_page_of_the_site_links_to_pages_that_are_there() -> None:
    front = build_front((ROOT / "README.md").read_text(encoding="utf-8"))
    links = [
        link.partition("#")[0]
        for link in re.findall(r"\]\(([^)\s]+)\)", front)
        if "://" not in link
    ]
    assert [
        link
        for link in links
        if link != "decisions/index.md" and not (ROOT / "docs" / link).exists()
    ] == []
    assert len(build_decisions(ROOT / "docs" / "decisions").splitlines()) > 50


def test_the_page_of_the_package_has_no_link_into_the_tree() -> None:
    """L-2: links lead to the repository where its address is known; no address is made up where it is not."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = {"GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "o/moot"}
    pages = {
        name: build_package_page(readme, name, VERSION)
        for name in (find_repository(ci), find_repository({}))
    }
    assert list(pages) == ["https://git.example/o/moot", ""]
    for repository, page in pages.items():
        links = re.findall(r"\]\(([^)\s]+)\)", page)
        assert [link for link in links if not link.startswith(("https://", "#"))] == []
        assert bool(list_addresses(repository)) == bool(repository) == ("/raw/v" in page)


def test_pictures_are_drawn_from_what_the_program_prints() -> None:
    """L-2: the animated terminal of the README is the output of the command that it names, and small."""
    for path, drawn in pictures.draw_all():
        assert path.read_text(encoding="utf-8") == drawn, "run `make pictures`"
        assert len(drawn) < 100_000


def test_the_reference_is_written_from_the_code(tmp_path: Path) -> None:
    """L-3: every command, public name, call and option is on a page of the site."""
    site_reference.write_pages(tmp_path)
    assert "## moot roundtable relay" in (tmp_path / "commands.md").read_text(encoding="utf-8")
    assert "| `built_on` | `--built-on` |" in (tmp_path / "settings.md").read_text(encoding="utf-8")
    assert "## moothall.LostSeat" in (tmp_path / "python.md").read_text(encoding="utf-8")
    assert "## moot.openSession" in (tmp_path / "calls.md").read_text(encoding="utf-8")


def test_a_link_of_the_site_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    """L-3"""
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">b</a><a href="#top">up</a><a href="c.html">c</a>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="there"></p><script src="https://elsewhere.example/x.js"></script>'
    )
    expected = [
        "a.html: b.html#here has no such heading",
        "a.html: c.html does not exist",
        "b.html: loads https://elsewhere.example/x.js",
    ]
    assert list_faults(tmp_path) == expected

"""The ignore rules of a folder say what Git says, and a rule that is made to cost hours costs nothing (E-1)."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.growth import measure_growth

from moothall.app.given_files import read_given_files
from moothall.app.ignore_rules import MAX_RULES, IgnoreRules, parse_rules
from moothall.errors import BadSetting

NAMES = (
    *("a", "b", "ab", "ba", "aab", "a b", "a ", "a*b", "a?", "[a]", "a-b", "a]", "]", "b!", "#a"),
    *("!a", "a\\", "a\\b", "ä", "aä", "文", "A", "1", "_", "a:", "a[", "a.b", "b.a", "^"),
)
FOLDERS = ("a", "ab", "b", "a/b", "a/b/a", "a/ab", "b/a", "b/a/b", "a b", "ab/[a]", "aab")
SIGNS = (
    *("a", "b", "*", "**", "/", "?", "[ab]", "[!a]", "[^a]", "[a-b]", "[]a]", "[a", "[[:alpha:]]"),
    *(
        "[[:digit:]_]",
        "[[:nope:]]",
        "[[:alpha:]",
        "[a-]",
        "[-b]",
        "[\\]]",
        "\\",
        "\\a",
        "\\*",
        "\\ ",
    ),
    *(
        " ",
        "!",
        "#",
        "]",
        "-",
        ".",
        "ä",
        "**/",
        "/**",
        "/**/",
        "*/",
        "\\/",
        "[!",
        "[[:",
        ":]]",
        "\r",
        "***",
    ),
)
LINES = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=7).map("".join)
FILES = st.lists(LINES, min_size=1, max_size=3).map("\n".join)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree with names of every kind."""
    top = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "-q", str(top)], check=True, env=build_environ(top))
    for folder in ("", *FOLDERS):
        (top / folder).mkdir(exist_ok=True, parents=True)
    for folder in ("", *FOLDERS):
        for name in NAMES:
            if not (top / folder / name).exists():
                (top / folder / name).write_text("x")
    return top


def build_environ(top: Path) -> dict[str, str]:
    """No settings of whoever runs the tests."""
    null = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return {"PATH": os.environ["PATH"], "HOME": str(top), "XDG_CONFIG_HOME": str(top), **null}


def list_taken_by_git(top: Path) -> set[str]:
    command = ["git", "ls-files", "--others", "--exclude-per-directory=.gitignore", "-z"]
    done = subprocess.run(command, cwd=top, capture_output=True, check=True, env=build_environ(top))
    names = {os.fsdecode(each) for each in done.stdout.split(b"\0") if each}
    return {each for each in names if not each.rpartition("/")[2].startswith(".")}


def list_taken(top: Path) -> set[str]:
    try:
        given = read_given_files([top], {})
    except BadSetting:
        return set()
    return {each.name.partition("/")[2] for each in given.files}


@pytest.mark.timeout(300)
@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rules=FILES, nested=FILES)
@example(rules="a/**/b\n!a/b", nested="*")
@example(rules="aa**/b\n/a**/b", nested="**/")
@example(rules="a\\ \n\\#a\n\\!a\n", nested="a \r\n")
@example(rules="**", nested="!**")
@example(rules="/a/\n//a\na//", nested="/")
@example(rules="[a-\\b]\n[[:alpha:]-b]\n[]-a]", nested="a[")
@example(rules="a/b/", nested="!a")
@example(rules="\ufeffa", nested="\\")
def test_rules_say_what_git_says(project: Path, rules: str, nested: str) -> None:
    """E-1: as `git ls-files` lists the files, with `*`, `**`, `?`, classes, `!`, escapes and spaces at the end."""
    (project / ".gitignore").write_bytes(rules.encode())
    (project / "a" / ".gitignore").write_bytes(nested.encode())
    assert list_taken(project) == list_taken_by_git(project)


ORDINARY = (
    *("[!a-z]", "[^a-z]", "[]a]", "[!]a]", "[]-a]", "[z-a]", "[a-c-e]", "[a-]", "[-a]", "[--/]"),
    *(
        "[a\\-c]",
        "[\\]]",
        "[!\\]]",
        "[a\\]",
        "[\\",
        "[",
        "[]",
        "[!]",
        "[!]]",
        "[[]",
        "[[]]",
        "[a/b]",
    ),
    *("[[:alpha:]]", "[![:alpha:]]", "[[:alpha:]-1]", "[a-[:digit:]]", "[[:digit:][:upper:]]"),
    *("[[:lower:]]", "[[:space:]]", "[[:blank:]]", "[[:punct:]]", "[[:cntrl:]]", "[[:graph:]]"),
    *(
        "[[:print:]]",
        "[[:xdigit:]]",
        "[[:alnum:]]",
        "[[:word:]]",
        "[[:alpha]",
        "[:alpha:]",
        "[[=a=]]",
    ),
    *(
        "a ",
        "a\\ ",
        "a\\  ",
        "a\\\\ ",
        "a\t",
        " a",
        "a\\",
        "a\r",
        "a\0b",
        "\\#a",
        "\\!a",
        "#a",
        "!a",
    ),
    *("/a", "//a", "a/", "a//", "/a/", "a/b", "a/b/", "b/a", "./a", "a/*", "a/**", "a/**/", "*/a"),
    *(
        "**",
        "**/",
        "**/a",
        "**/a/**",
        "a/**/b",
        "a/**/**/b",
        "a**/b",
        "a/**b",
        "/**/a",
        "*/*",
        "?/a",
    ),
)


@pytest.mark.parametrize("rule", ORDINARY)
def test_one_rule_names_what_git_names(project: Path, rule: str) -> None:
    """E-1: each rule by itself, as `git check-ignore` reads it: classes, their names and order, escapes, spaces, folders."""
    (project / "a" / ".gitignore").unlink(missing_ok=True)
    (project / ".gitignore").write_bytes(rule.encode())
    paths = [f"{folder}/{name}" for folder in FOLDERS for name in NAMES]
    rules = IgnoreRules()
    rules.read(project, "")
    ignored = {each for each in paths if is_ignored(rules, project, each)}
    assert ignored == list_ignored_by_git(project, paths)


def list_ignored_by_git(top: Path, paths: list[str]) -> set[str]:
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    given = b"\0".join(map(os.fsencode, paths))
    environ = build_environ(top)
    done = subprocess.run(
        command, cwd=top, input=given, capture_output=True, check=False, env=environ
    )
    # 1 says that no path is ignored.
    assert done.returncode in {0, 1}, done.stderr
    return {os.fsdecode(each) for each in done.stdout.split(b"\0") if each}


def is_ignored(rules: IgnoreRules, project: Path, path: str) -> bool:
    """Whether the rules name a path or one of the folders in which it stands."""
    parts = path.split("/")
    folders = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    if any(rules.ignores(each, is_folder=True) for each in folders):
        return True
    return rules.ignores(path, is_folder=(project / path).is_dir())


HOSTILE = (
    "*a*a*a*a*a*a*a*a*b",
    "**/a**/a**/a**/b",
    "**/*a*a*a*a*a*a*b",
    "a/**/a/**/a/**/a/**/b",
    "[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*1",
    "?*?*?*?*?*?*?*?*?*1",
    "*a" * 1_000,
    "**/" * 1_000 + "b",
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("word", HOSTILE)
def test_a_rule_costs_as_much_as_a_name_is_long(word: str) -> None:
    """E-1: eight times the name is no sixty-four times the work."""
    (rule,) = parse_rules(word.encode())

    def match(size: int) -> None:
        assert not rule.fits(b"a" * size + b".txt", is_folder=False)
        assert not rule.fits(b"a/" * (size // 2) + b".txt", is_folder=False)

    match(200)
    assert measure_growth(match, 10_000, 80_000) < 24


@pytest.mark.parametrize("raw", [b"a\n" * (MAX_RULES + 1), b"a" * 20_000, b"#" * 2_000_000])
def test_a_file_of_too_many_rules_is_refused_by_its_name(tmp_path: Path, raw: bytes) -> None:
    """E-1: reading half of the rules would give what was to be left out."""
    (tmp_path / ".gitignore").write_bytes(raw)
    (tmp_path / "a.md").write_text("x")
    with pytest.raises(BadSetting, match="gitignore is too large"):
        read_given_files([tmp_path], {})


def test_rules_that_are_no_file_are_not_read(tmp_path: Path) -> None:
    """E-1: a pipe would never end."""
    (tmp_path / "a.md").write_text("x")
    os.mkfifo(tmp_path / ".gitignore")
    assert [each.name for each in read_given_files([tmp_path], {}).files] == [
        f"{tmp_path.name}/a.md"
    ]

"""What a start costs: each command loads what it needs, and nothing else."""

import ast
import json
import os
import pkgutil
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from moothall import plugins
from moothall.app.features import ENTRY_POINT, may_have_other_features
from moothall.surfaces.cli.main import (
    LINES,
    FeatureCommand,
    LanguageFormatter,
    LazyCommand,
    extract_first_sentence,
    main,
)

SOURCE = Path(plugins.__file__).parent


def list_lazy_commands(group: click.Group) -> list[LazyCommand]:
    """Return the commands that are loaded when they are called, also those within groups."""
    lazy = [command for command in group.commands.values() if isinstance(command, LazyCommand)]
    groups = [*group.commands.values(), *(command.load() for command in lazy)]
    return lazy + [
        each
        for inner in groups
        if isinstance(inner, click.Group)
        for each in list_lazy_commands(inner)
    ]


def test_the_list_of_commands_says_what_each_command_says() -> None:
    """MOOT_SNAPSHOTS=write writes the lines of the list anew."""
    commands = list_lazy_commands(main)
    of_features = [command for command in commands if isinstance(command, FeatureCommand)]
    assert [each.get_short_help_str() for each in of_features] == [
        extract_first_sentence(each.load()) for each in of_features
    ]
    lines = {
        each.key: extract_first_sentence(each.load())
        for each in commands
        if each not in of_features
    }
    if os.environ.get("MOOT_SNAPSHOTS") == "write":
        LINES.write_text(
            json.dumps(lines, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
        )
    assert json.loads(LINES.read_text(encoding="utf-8")) == lines
    assert [key for key, line in lines.items() if not line.endswith(".") or len(line) > 130] == []


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("moothall", ["pydantic", "moothall.app"]),
        ("moothall.plugins", ["pydantic", "moothall.app", "moothall.domain", "moothall.errors"]),
        ("moothall.surfaces.cli.main", ["asyncio", "pydantic", "rich", "moothall.app.moot"]),
        (
            "moothall.surfaces.cli.sessions",
            [
                "rich",
                "pydantic_ai",
                "openai",
                "mcp",
                "starlette",
                "asyncpg",
                "moothall.memory.memory_state",
            ],
        ),
        ("moothall.surfaces.http.app", ["pydantic_ai", "openai", "mcp", "mcp_types"]),
    ],
)
def test_a_module_is_loaded_without_what_it_does_not_need(module: str, heavy: list[str]) -> None:
    script = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "folder",
    ["hats-0.1.dist-info", "hats-0.1.egg-info", "hats-0.1.egg/EGG-INFO", ""],
)
def test_a_feature_is_seen_however_its_distribution_is_installed(
    folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """D-10: as `importlib.metadata` sees it, which help does without where nothing names the entry point."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), str(tmp_path / "nothing")])
    assert not may_have_other_features()
    metadata, points = (
        "Metadata-Version: 2.1\nName: hats\nVersion: 0.1\n",
        f"[{ENTRY_POINT}]\nhats = hats:FEATURE\n",
    )
    if folder:
        info = tmp_path / folder
        info.mkdir(parents=True)
        for name in ("METADATA", "PKG-INFO"):
            (info / name).write_text(metadata, encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        if folder.endswith("EGG-INFO"):
            sys.path.append(str(info.parent))
    else:
        with zipfile.ZipFile(tmp_path / "hats.zip", "w") as archive:
            archive.writestr("hats-0.1.dist-info/METADATA", metadata)
            archive.writestr("hats-0.1.dist-info/entry_points.txt", points)
        sys.path.append(str(tmp_path / "hats.zip"))
    assert [point.name for point in entry_points(group=ENTRY_POINT)] == ["hats"]
    assert may_have_other_features()


def test_help_is_in_the_readers_language_and_fits_its_columns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """M-11: by the settings, else by the terminal; a Chinese letter takes two columns; what is not translated is English."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("MOOT_CONFIG", str(tmp_path / "config.toml"))
    assert "Take part:" in (english := main.get_help(click.Context(main, terminal_width=60)))
    (tmp_path / "config.toml").write_text('language = "zh"\n', encoding="utf-8")
    for width in (60, 80, 120):
        chinese = main.get_help(click.Context(main, terminal_width=width))
        assert {"参与：", "  run          就 TOPIC 开会并打印决定。"} <= set(chinese.splitlines())
        assert len(chinese.splitlines()) <= len(english.splitlines())
        # Of a terminal's columns Click leaves two blank.
        assert max(map(cell_len, chinese.splitlines())) <= width + 1
    assert (
        LanguageFormatter().translate("Nobody has translated this.")
        == "Nobody has translated this."
    )
    monkeypatch.setenv("MOOT_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "选项：\n" in main.get_help(click.Context(main))


def list_typed_names() -> dict[str, str]:
    """Return where each public name stands, as type checkers read it."""
    tree = ast.parse(Path(plugins.__file__).read_text(encoding="utf-8"))
    places = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("moothall."):
            for each in node.names:
                assert each.asname == each.name
                places[each.name] = f"{node.module}.{each.name}"
    return places


def test_the_public_names_are_those_that_type_checkers_read() -> None:
    """D-10: each is loaded at its first use, from where it is typed."""
    typed = list_typed_names()
    listed = {name for name in dir(plugins) if not name.startswith("_")}
    assert listed - {"TYPE_CHECKING", "import_module"} == set(typed)
    for name, place in typed.items():
        assert getattr(plugins, name) is pkgutil.resolve_name(place)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(plugins, "nothing")  # noqa: B009 - a type checker knows that there is none


def list_deep_names(folder: Path) -> set[str]:
    """Return what a feature or a protocol imports of Moot that is not its own and not public."""
    package = ".".join(folder.relative_to(SOURCE.parent).parts)
    public = {*list_typed_names().values()}
    deep = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
            is_own = module == "moothall.plugins" or module.startswith(package)
            if isinstance(node, ast.ImportFrom) and module.startswith("moothall.") and not is_own:
                deep |= {f"{module}.{each.name}" for each in node.names} - public
    return deep


def test_what_three_features_use_is_public_and_reviews_could_leave() -> None:
    """D-10: a feature of ours needs little that a feature of others may not use."""
    users: dict[str, set[str]] = {}
    for room in ("features", "protocols"):
        for folder in (SOURCE / room).iterdir():
            if not folder.name.startswith("_"):
                for name in list_deep_names(folder):
                    users.setdefault(name, set()).add(folder.name)
    own = tuple(f"moothall.{room}." for room in ("features", "protocols"))
    # A feature of others takes the `dataclass` of the standard library: it is the same to use.
    users.pop("moothall.domain.replace.dataclass")
    assert [
        name for name, them in users.items() if len(them) >= 3 and not name.startswith(own)
    ] == []
    assert len(list_deep_names(SOURCE / "features" / "review")) <= 12

"""TOML from outside is parsed within bounds."""

import tomllib
from pathlib import Path

import pytest

from moothall.app.panels import load_panel
from moothall.disk.text_files import MAX_KEY_PARTS, parse_toml
from moothall.domain.ids import SeatId
from moothall.errors import BadPanel, BadScript, BadSetting
from moothall.participants.recipes import load_recipe
from moothall.participants.script import ScriptParticipant

LONG = ".".join(["a"] * 50_000)
KINDS = {
    "key": f"{LONG} = 1",
    "indented": f"\n\t {LONG}=1",
    "table": f"[{LONG}]",
    "array of tables": f"[[{LONG}]]",
    "inline": f"x = {{ {LONG} = 1 }}",
    "quoted": ".".join(['"a b"'] * 50_000) + " = 1",
    "literal": " . ".join(["'a'"] * 50_000) + " = 1",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(kind: str) -> None:
    """The parser would take a minute for each of these."""
    with pytest.raises(
        BadSetting, match=f"the pipeline has a dotted key of more than {MAX_KEY_PARTS} parts"
    ):
        parse_toml(KINDS[kind], "the pipeline")


@pytest.mark.parametrize(
    "text",
    [
        'task = "' + "one. two. three… " * 5_000 + '"',
        'task = """\n' + "Wait ... and see.\n1.2.3.4.5.6.7.8\n" * 500 + '"""',
        "[a.b.c]\nd.e.f = 1.5",
        "x = " + "[" + "1.5, " * 1_000 + "]",
        ".".join(["a"] * MAX_KEY_PARTS) + " = 1",
        "x" * 100_000 + " = 1",
        " " * 100_000 + "x = 1",
    ],
)
def test_what_has_dots_elsewhere_is_read_as_it_stands(text: str) -> None:
    assert parse_toml(text, "the file") == tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("a = ", "is not valid TOML"), ("a = " + "[" * 50_000, "is nested too deeply|is not valid")],
)
def test_what_cannot_be_parsed_is_said_in_a_sentence(text: str, fault: str) -> None:
    with pytest.raises(BadSetting, match=fault):
        parse_toml(text, "the file")


def test_a_panel_a_script_and_a_recipe_are_read_within_the_same_bounds(tmp_path: Path) -> None:
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 50_000, encoding="utf-8")
    fault = r"deep\.toml is nested too deeply"
    with pytest.raises(BadPanel, match=fault):
        load_panel(str(deep), "en", {})
    with pytest.raises(BadPanel, match=fault):
        load_recipe(deep)
    with pytest.raises(BadScript, match=fault):
        ScriptParticipant(deep, SeatId("ada"))

"""Names that become files (R-12): what is taken, what is refused, and that no name leads anywhere."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.errors import BadName
from moothall.features.roundtable.files import (
    DEVICES,
    MAX_BYTES,
    RESERVED,
    format_speech_file_name,
    parse_speech_file_name,
    validate_conference_name,
    validate_role_name,
)

TAKEN = (
    "cache",
    "Ada",
    "角色",
    "架构师-2",
    "_x",
    "x_1",
    "2026",
    "é",
    "ß",
    "𠀀" * 45,
    "a" * 64,
    "कि",
    "turns",
    "moderator2",
    "con1",
)
REFUSED = (
    *(
        "",
        " ",
        "../x",
        "a/b",
        "a\\b",
        ".",
        "..",
        ".moot",
        "a.md",
        "x.",
        "a b",
        "a:b",
        "a*",
        "a\0b",
        "\0",
        "a\nb",
        "a\tb",
    ),
    *(
        "CON",
        "con",
        "nul",
        "AUX",
        "com1",
        "LPT9",
        "turn",
        "TURN",
        "Moderator",
        "moderator",
        "guide",
        "AGENDA",
        "Minutes",
        "aside",
    ),
    *(
        "a" * 65,
        "a" * 200,
        "𠀀" * 64,
        "🙂",
        "-x",
        "--dir",
        " x",
        "x ",
        "x\n",
        "user",
        "USER",
        "e\u0301",
        "\u202ex",
        "a\u200bb",
    ),
    *("$(x)", "`x`", "a;b", "%2e%2e", "~", "a|b", "\ud800", "…"),
)


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_that_is_taken_stays_as_it_is(name: str) -> None:
    """R-12"""
    assert validate_conference_name(name) == name
    assert validate_role_name(name) == name
    assert parse_speech_file_name(format_speech_file_name(7, name)) is not None


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    """R-12: path tricks, reserved names, devices, what is too long, what does not show."""
    for check in (validate_conference_name, validate_role_name):
        with pytest.raises(BadName, match="cannot be called"):
            check(name)


@given(st.text(max_size=80))
def test_whatever_is_taken_is_one_plain_file_name(name: str) -> None:
    """R-12: one part of a path, not hidden, no option, short enough for every disk, the same under another spelling."""
    try:
        found = validate_role_name(name)
    except BadName:
        return
    assert found == name == unicodedata.normalize("NFC", name).strip()
    assert Path(name).name == name
    assert name[0] not in ".-"
    assert not set(name) & set('/\\\0\n\r:*?"<>| .')
    assert len(format_speech_file_name(999_999, name).encode()) <= 255 - len(
        "10000_.draft-0123456789abcdef"
    )
    assert len(name.encode()) <= MAX_BYTES
    assert name.casefold() not in RESERVED | DEVICES


@given(
    st.integers(min_value=1, max_value=999_999),
    st.from_regex(r"[a-zé角_][a-z0-9_é角-]{0,20}", fullmatch=True),
)
def test_a_speech_file_says_its_number_and_role(number: int, role: str) -> None:
    """R-1: also for a role that looks like a number with a role."""
    found = parse_speech_file_name(format_speech_file_name(number, role))
    assert found is not None
    assert (found.number, found.role) == (number, role)


@pytest.mark.parametrize(
    "name",
    [
        "1_a.md",
        "01_a.md",
        "0001_a.md",
        "001-a.md",
        "001_.md",
        "001_a.MD",
        "001_a.txt",
        "٠٠١_a.md",
        "a.md",
    ],
)
def test_a_name_written_otherwise_is_no_speech(name: str) -> None:
    """R-11: a number has exactly one spelling, so that no two files can have one number and role."""
    assert parse_speech_file_name(name) is None

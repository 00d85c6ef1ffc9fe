"""Change one entry of a settings file and leave every other byte as it is: JSON with comments, and TOML.

Each change is made in the text, then both texts are parsed and compared: a change that would touch anything else is refused.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from moothall.disk.text_files import parse_toml
from moothall.errors import BadSetting

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
# A comma right after a bracket is a fault: it is matched to stay one.
_TOKEN = re.compile(
    rf'[{{\[]{_SPACE.pattern},|"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|\A\ufeff|,(?={_SPACE.pattern}[}}\]])',
    re.DOTALL,
)
_LINE_END = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n|$)")
INDENT: Final = "  "
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    value: "_Node"


@dataclass(frozen=True, slots=True)
class _Node:
    """A value's place in the text; the members of an object, in order."""

    start: int
    end: int
    members: tuple[_Member, ...] | None = None

    def find(self, key: str) -> _Member | None:
        # Of a key that stands twice the last one counts, as with every parser.
        return next((each for each in reversed(self.members or ()) if each.key == key), None)


def parse_json(text: str) -> Any:
    """The value of JSON with comments and trailing commas; raises BadSetting with the line of the fault."""
    return _parse(text)[1]


def set_json_entry(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at the path, which is made where it is missing; raises BadSetting."""
    node, before = _parse(text) if text.strip("\ufeff \t\r\n") else (None, {})
    if node is None:
        return json.dumps(_nest(path, value), indent=2, ensure_ascii=False) + "\n"
    after = _set(text, node, list(path), value)
    return _check(after, _replace_at(before, list(path), value), parse_json)


def remove_json_entry(text: str, path: Sequence[str]) -> str:
    """The text without the entry at the path; unchanged where there is none. Raises BadSetting."""
    node, before = _parse(text)
    *parents, key = path
    for each in parents:
        member = node.find(each)
        if member is None:
            return text
        node = member.value
    entry = node.find(key)
    if entry is None or node.members is None:
        return text
    return _check(
        _cut(text, node, node.members.index(entry)), _remove_at(before, list(path)), parse_json
    )


def set_toml_table(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """The text with this table, in place of one of that name; raises BadSetting."""
    before = parse_toml(text)
    rest = remove_toml_table(text, path) if _has(before, path) else text
    body = "".join(f"{_toml_key(key)} = {_toml_value(each)}\n" for key, each in values.items())
    gap = "\n" if rest.endswith("\n") else "\n\n"
    if not rest:
        gap = ""
    after = f"{rest}{gap}[{'.'.join(map(_toml_key, path))}]\n{body}"
    return _check(after, _replace_at(before, list(path), values), parse_toml)


def remove_toml_table(text: str, path: Sequence[str]) -> str:
    """The text without this table and those below it; raises BadSetting."""
    before = parse_toml(text)
    if not _has(before, path):
        return text
    lines, is_inside = [], False
    for line in text.splitlines(keepends=True):
        if (header := _toml_header(line)) is not None:
            is_inside = header[: len(path)] == list(path)
        if not is_inside:
            lines.append(line)
    rest = "".join(lines)
    # The empty line that stood before the table goes with it.
    if not text.endswith("\n\n") and rest.endswith("\n\n"):
        rest = rest[:-1]
    return _check(rest, _remove_at(before, list(path)), parse_toml)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
            + " }"
        )
    # Strings, numbers, booleans and lists of them are written alike in both.
    return json.dumps(value, ensure_ascii=False)


def _toml_header(line: str) -> list[str] | None:
    """The keys of a table's header line; None for any other line."""
    match = re.match(r"\s*\[(?!\[)(.+?)\]\s*(?:#.*)?$", line)
    if match is None:
        return [] if re.match(r"\s*\[\[.+\]\]\s*(?:#.*)?$", line) else None
    try:
        value = tomllib.loads(f"[{match[1]}]\n")
    except tomllib.TOMLDecodeError:
        return None
    keys = []
    while value:
        (key, value), *_ = value.items()
        keys.append(key)
    return keys


def _parse(text: str) -> tuple[_Node, Any]:
    """The places in the text, and the value."""
    # Strings stay; of a comment, and of a comma before a bracket, only the room, so that every place stays.
    clean = _TOKEN.sub(
        lambda token: token[0] if token[0][0] in '"{[' else re.sub(r"[^\n]", " ", token[0]), text
    )
    try:
        value = json.loads(clean)
        if not isinstance(value, dict):
            raise BadSetting("it is not a JSON object: expected { … }")
        return _find_members(clean, clean.index("{")), value
    except json.JSONDecodeError as cause:
        raise BadSetting(
            f"it is not valid JSON: line {cause.lineno}: {cause.msg.lower()}"
        ) from cause
    except RecursionError:
        raise BadSetting("it is not valid JSON: objects within objects, too deep") from None


def _find_members(clean: str, start: int) -> _Node:
    """The place of an object and of all in it; `clean` is valid JSON."""
    members, at = [], _skip(clean, start + 1)
    while clean[at] == '"':
        key, end = _DECODER.raw_decode(clean, at)
        first = _skip(clean, clean.index(":", end) + 1)
        is_object = clean[first] == "{"
        node = (
            _find_members(clean, first)
            if is_object
            else _Node(first, _DECODER.raw_decode(clean, first)[1])
        )
        members.append(_Member(key, at, node))
        at = _skip(clean, node.end)
        at = _skip(clean, at + 1) if clean[at] == "," else at
    return _Node(start, at + 1, tuple(members))


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None, "the pattern takes also nothing"
    return match.end()


def _set(text: str, node: _Node, path: list[str], value: Any) -> str:
    key, *rest = path
    entry = node.find(key)
    if entry is not None and rest and entry.value.members is not None:
        return _set(text, entry.value, rest, value)
    if entry is not None and rest:
        raise BadSetting(f"{key!r} is not an object there; expected {{ … }}")
    if entry is not None:
        written = _dump(value, _find_indent(text, entry.start))
        return text[: entry.value.start] + written + text[entry.value.end :]
    return _insert(text, node, key, _nest(rest, value) if rest else value)


def _insert(text: str, node: _Node, key: str, value: Any) -> str:
    assert node.members is not None
    outer = _find_indent(text, node.start)
    if not node.members:
        inner = outer + INDENT
        member = f"\n{inner}{json.dumps(key)}: {_dump(value, inner)}"
        rest = text[node.start + 1 :]
        is_empty = not text[node.start + 1 : node.end - 1].strip()
        return (
            text[: node.start + 1]
            + member
            + (f"\n{outer}{rest[rest.index('}') :]}" if is_empty else rest)
        )
    last = node.members[-1]
    inner = _find_indent(text, last.start)
    comma = _skip(text, last.value.end)
    has_comma = text[comma : comma + 1] == ","
    at = comma + 1 if has_comma else last.value.end
    line_end = _LINE_END.match(text, at)
    # A comment on the last member's line stays on that line.
    end = line_end.end() if line_end is not None else at
    member = f"\n{inner}{json.dumps(key)}: {_dump(value, inner)}"
    if has_comma:
        return text[:end] + member + "," + text[end:]
    return text[:at] + "," + text[at:end] + member + text[end:]


def _cut(text: str, node: _Node, at: int) -> str:
    assert node.members is not None
    member = node.members[at]
    end = _skip(text, member.value.end)
    has_comma = text[end : end + 1] == ","
    # With its own comma; the last one without a comma of its own takes the one before it.
    stop = end + 1 if has_comma else member.value.end
    start = member.start
    if not has_comma and at > 0:
        before = node.members[at - 1].value.end
        comma = _skip(text, before)
        text = text[:comma] + text[comma + 1 :]
        start, stop = start - 1, stop - 1
    line_start = text.rfind("\n", 0, start) + 1
    line_end = re.compile(r"[ \t]*\r?\n").match(text, stop)
    if not text[line_start:start].strip() and line_end is not None:
        return text[:line_start] + text[line_end.end() :]
    return text[:start] + text[stop:]


def _find_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))].lstrip("\ufeff")


def _dump(value: Any, indent: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _has(value: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _replace_at(value: Any, path: list[str], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    table = value if isinstance(value, dict) else {}
    return {**table, key: _replace_at(table.get(key), rest, new)}


def _remove_at(value: Any, path: list[str]) -> Any:
    key, *rest = path
    if rest:
        return {**value, key: _remove_at(value[key], rest)}
    return {name: each for name, each in value.items() if name != key}


def _check(text: str, expected: Any, parse: Any) -> str:
    """The text, if it means what it should and nothing else."""
    try:
        parsed = parse(text)
    except BadSetting:
        parsed = None
    # A table that held nothing else is gone with its last entry: TOML has no empty parents.
    if _without_empty(parsed) != _without_empty(expected):
        raise BadSetting(
            "it cannot be changed without touching other settings; add the entry by hand"
        )
    return text


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    held = {key: _without_empty(each) for key, each in value.items()}
    return {key: each for key, each in held.items() if each != {}}

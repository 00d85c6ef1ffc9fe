"""Reads an answer kindly: brings what somebody wrote into the schema of its ask, and says what was changed.

| given | read as | code of the note |
|---|---|---|
| `"#3"`, `"line 3"`, `"three"`, `[3]` for 3; `"80%"`, `"high"` for a share | the number | `read` |
| `"B. Postgres"`, `"赞成"` for an option; `"yes"` for true | the option | `read` |
| another spelling of a field, a field under another name, one object around the answer | the field | `read` |
| a text, list or number over its limit | cut at a word, the first items | `cut` |
| a reference to nothing, a field of another ask, a list item or optional value that cannot be read | left out | `left_out` |
| items by their number, `{"#5": "support"}` or `["#5: support"]` | the items | `read` |
| one value for a list, a list for one text, a field given twice | the list, the text, the last | `read` |
| broken JSON: a comma too many, single quotes, no end | what it holds | `repaired` |
| words without any JSON | the text of the answer; its choice, if the words make one | `words` |
| a needed field that is missing, where the others say it | the field (`AnswerForm.infer`) | `words` |

What is not there is not invented. An answer in which something that is needed cannot be read is asked for again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from moothall.codec.choice_words import PositionRead, build_choices, find_choice, has_meaning, is_line_mark
from moothall.codec.json_text import extract_object, find_object, fold_name
from moothall.codec.value_words import is_blank, is_empty, read_flag, read_integer, read_share, split_numbers
from moothall.domain.claims import cut_text
from moothall.domain.effects import InferField, Schema
from moothall.domain.safe_text import one_line
from moothall.errors import BadAnswer

MOST_NOTES: Final = 20
DEEPEST: Final = 8
LONGEST_GIVEN: Final = 60
_MISSING: Final = object()
_CONDITION: Final = "condition"
_NO_OBJECT: Final = "a JSON object was expected, and none was found in the answer"
_NUMBERED: Final = re.compile(r"\s*(#?\d{1,6})\s*[:：.)、=–-]?\s*(\S.*)", re.DOTALL)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)、])\s+")


class AnswerMender:
    """Brings one answer into a schema; `notes` collects what was changed, each with its code, its field and what was given.

    With `is_strict` nothing is left out or cut: then the fault is raised. `known` are fields that code has a value for; `infer`
    finds a needed field in the others.
    """

    def __init__(
        self,
        schema: Schema,
        known: Mapping[str, object] | None = None,
        *,
        infer: InferField | None = None,
        is_strict: bool = False,
    ) -> None:
        self._schema = schema
        self._known = known or {}
        self._infer = infer
        self._is_strict = is_strict
        self.notes: list[str] = []

    def mend_text(self, text: str) -> object:
        """Read an answer from text: the JSON object in it, or its words; raises BadAnswer with what was expected."""
        found = self._find_object(text)
        if found is not None:
            return self.mend_value(found)
        if self._is_strict or "{" in text[:20]:
            raise BadAnswer(_NO_OBJECT)
        return self._read_words(text)

    def mend_value(self, value: object) -> object:
        """Read an answer from decoded JSON; raises BadAnswer with what was expected."""
        if isinstance(value, list) and len(value) == 1 and self._schema.get("type") != "array":
            value = value[0]
            self._note("read", "the answer", "[…]")
        return self._mend(self._choose_branch(value), value, "", 0)

    def find_fields(self, text: str) -> dict[str, object] | None:
        """Return the fields of an answer in words that came as JSON; None if it holds none of them."""
        found = self._find_object(text)
        fields: Mapping[str, Schema] = self._schema.get("properties", {})
        if not isinstance(found, dict) or not any(fold_name(key) in {fold_name(name) for name in fields} for key in found):
            return None
        self._note("read", "", "JSON")
        return self._mend_object(self._schema, found, "", 0)

    def _choose_branch(self, value: object) -> Schema:
        """Return the form of the answer that a value means: the one whose choices it names, else the first."""
        branches = self._schema.get("anyOf")
        if not branches:
            return self._schema
        given: dict[str, object] = value if isinstance(value, dict) else {}
        found: Schema = max(branches, key=lambda branch: _count_matches(branch, given))
        return found

    def _note(self, code: str, path: str, given: object = _MISSING, result: object = _MISSING) -> None:
        if len(self.notes) < MOST_NOTES:
            parts = [code, path or "the answer"]
            parts += [show_value(given)] if given is not _MISSING else []
            parts += ["→", show_value(result)] if result is not _MISSING else []
            self.notes.append(" ".join(parts))

    # Values

    def _mend(self, schema: Schema, value: object, path: str, depth: int) -> object:
        if depth > DEEPEST:
            raise BadAnswer(f"{path}: nested too deeply")
        if "anyOf" in schema and depth:
            return self._mend_any(schema["anyOf"], value, path, depth)
        if "const" in schema or "enum" in schema:
            return self._mend_choice(schema.get("enum") or [schema["const"]], value, path)
        match schema.get("type"):
            case "object" if "properties" in schema:
                return self._mend_object(schema, value, path, depth)
            case "array":
                return self._mend_list(schema, value, path, depth)
            case "string":
                return self._mend_string(schema, value, path)
            case "number" | "integer":
                return self._mend_number(schema, value, path)
            case "boolean":
                return self._mend_flag(value, path)
            case "null":
                if is_empty(value):
                    return None
                raise BadAnswer(f"{path}: nothing was expected (given: {show_value(value)})")
            case _:
                return value

    def _mend_any(self, branches: Sequence[Schema], value: object, path: str, depth: int) -> object:
        if value is None and any(each.get("type") == "null" for each in branches):
            return None
        fault: BadAnswer | None = None
        # A branch that takes the value as it is comes before one that would have to change it.
        for is_exact in (True, False):
            for branch in branches:
                before = len(self.notes)
                try:
                    mended = self._mend(branch, value, path, depth)
                except BadAnswer as error:
                    fault = fault or error
                else:
                    if not is_exact or len(self.notes) == before:
                        return mended
                del self.notes[before:]
        assert fault is not None
        raise fault

    def _mend_choice(self, allowed: Sequence[object], value: object, path: str) -> object:
        if any(value == each and type(value) is type(each) for each in allowed):
            return value
        value = _unwrap_one(value)
        found: object | None = None
        if all(isinstance(each, int) for each in allowed):
            number = read_integer(value)
            found = number if number in allowed else None
        elif isinstance(value, str | int | float):
            read = _find_allowed(str(value), allowed)
            found = None if read is None else read.value
        if found is None:
            shown = ", ".join(str(each) for each in allowed[:12]) or "none"
            raise BadAnswer(f"{path}: expected one of: {shown} (given: {show_value(value)})")
        self._note("read", path, value, found)
        return found

    def _mend_string(self, schema: Schema, value: object, path: str) -> str:
        text = value
        if isinstance(value, list) and value and all(isinstance(each, str | int | float) for each in value):
            text = "\n".join(str(each) for each in value)
        elif isinstance(value, dict):
            inner = [each for each in value.values() if isinstance(each, str) and not is_blank(each)]
            text = max(inner, key=len, default=value)
        elif isinstance(value, bool | int | float):
            text = json.dumps(value)
        if not isinstance(text, str):
            raise BadAnswer(f"{path}: a text was expected (given: {show_value(value)})")
        if text is not value:
            self._note("read", path, value)
        if schema.get("minLength") and is_blank(text):
            raise BadAnswer(f"{path}: a text was expected, and it is empty")
        longest = schema.get("maxLength")
        if longest is not None and len(text) > longest:
            if self._is_strict:
                raise BadAnswer(f"{path}: a text of at most {longest} characters was expected, and it has {len(text)}")
            self._note("cut", path, f"{len(text)} > {longest}")
            text = cut_text(text, longest)
        return text

    def _mend_number(self, schema: Schema, value: object, path: str) -> float | int:
        is_whole = schema.get("type") == "integer"
        low, high = schema.get("minimum"), schema.get("maximum")
        low = schema.get("exclusiveMinimum") if low is None else low
        high = schema.get("exclusiveMaximum") if high is None else high
        plain = _unwrap_one(value)
        least, most = (-float("inf") if low is None else low), (float("inf") if high is None else high)
        number: float | int | None = read_integer(plain) if is_whole else read_share(plain, least, most)
        # NaN is within no limits, and infinity is no JSON.
        if number is None or not least <= number <= most or number in {float("inf"), -float("inf")}:
            limits = f" from {low:g} to {high:g}" if low is not None and high is not None else ""
            raise BadAnswer(f"{path}: a number{limits} was expected (given: {show_value(value)})")
        if number == value and not isinstance(value, bool):
            return value
        self._note("read", path, value, number)
        return number

    def _mend_flag(self, value: object, path: str) -> bool:
        if isinstance(value, bool):
            return value
        flag = read_flag(_unwrap_one(value))
        if flag is None:
            raise BadAnswer(f"{path}: true or false was expected (given: {show_value(value)})")
        self._note("read", path, value, flag)
        return flag

    def _mend_list(self, schema: Schema, value: object, path: str, depth: int) -> list[object]:
        item = schema.get("items", {})
        if not self._is_strict and (named := _name_items(item, value)) is not None:
            self._note("read", path, value)
            value = named
        if not isinstance(value, list | tuple):
            given = [] if is_empty(value) else _split_list(item, value)
            if value is not None:
                self._note("read", path, value)
            value = given
        mended: list[object] = []
        for number, each in enumerate(value):
            if is_empty(each) and not _takes_empty(item, each):
                self._note("left_out", f"{path}.{number}", each)
                continue
            try:
                mended.append(self._mend(item, each, f"{path}.{number}", depth + 1))
            except BadAnswer:
                if self._is_strict:
                    raise
                self._note("left_out", f"{path}.{number}", each)
        if len(mended) < schema.get("minItems", 0):
            raise BadAnswer(f"{path}: a list with at least one item was expected (given: {show_value(value)})")
        most = schema.get("maxItems")
        if most is not None and len(mended) > most:
            if self._is_strict:
                raise BadAnswer(f"{path}: at most {most} items were expected, and there are {len(mended)}")
            self._note("cut", path, f"{len(mended)} > {most}")
        return mended[:most]

    # Objects

    def _mend_object(self, schema: Schema, value: object, path: str, depth: int) -> dict[str, object]:
        fields: Mapping[str, Schema] = schema["properties"]
        required: Sequence[str] = schema.get("required", ())
        given, extra = self._match_names(fields, self._open_object(fields, required, value, path), path)
        mended: dict[str, object] = {}
        faults: dict[str, BadAnswer] = {}
        for name, field in fields.items():
            if name not in given:
                continue
            where = f"{path}.{name}" if path else name
            if is_empty(given[name]) and name not in required and not _takes_empty(field, given[name]):
                if given[name] not in ("", None):
                    self._note("left_out", where, given[name])
                continue
            try:
                mended[name] = self._mend(field, given[name], where, depth + 1)
            except BadAnswer as error:
                faults[name] = error
                if self._is_strict:
                    raise
                if name not in required:
                    self._note("left_out", where, given[name])
        for name in required:
            if name not in mended:
                where = f"{path}.{name}" if path else name
                found = self._find_elsewhere(where, fields[name], extra, given.get(name), depth)
                if found is _MISSING:
                    found = self._find_in_words(where, fields[name], [each for key, each in given.items() if key != name])
                is_list = fields[name].get("type") == "array"
                if found is _MISSING and (is_empty(given.get(name)) or is_list):
                    found = self._infer_field(where, name, {**extra, **given, **mended})
                if found is _MISSING and not path and name in self._known:
                    continue
                if found is _MISSING:
                    raise faults.get(name) or BadAnswer(f"{where}: it is needed, and missing")
                mended[name] = found
        self._add_condition(fields, given, mended, path)
        for name, left in extra.items():
            if name not in {"$schema", "additionalProperties"}:
                self._note("left_out", f"{path}.{name}" if path else name, left)
        return {name: mended[name] for name in fields if name in mended}

    def _add_condition(
        self, fields: Mapping[str, Schema], given: Mapping[str, object], mended: dict[str, object], path: str
    ) -> None:
        """Add the condition of a position that was given as "support, if the tests pass"."""
        if _CONDITION not in fields or mended.get(_CONDITION):
            return
        for name, value in mended.items():
            word = given.get(name)
            if isinstance(word, str) and isinstance(value, str) and value.startswith(_CONDITION) and "enum" in fields[name]:
                read = _find_allowed(word, fields[name]["enum"])
                if read is not None and read.condition:
                    where = f"{path}.{_CONDITION}" if path else _CONDITION
                    mended[_CONDITION] = self._mend_string(fields[_CONDITION], read.condition, where)
                    return

    def _open_object(self, fields: Mapping[str, Schema], required: Sequence[str], value: object, path: str) -> dict[str, object]:
        """Return the object that holds the fields: unwrapped from a list, from text, or from one object around it."""
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, str):
            inner = self._find_object(value) if "{" in value else None
            if inner is None and len(required) == 1 and not is_blank(value):
                # One word where an object with one needed field was expected.
                self._note("read", f"{path}.{required[0]}" if path else required[0], value)
                return {required[0]: value}
            value = inner
        if not isinstance(value, dict):
            raise BadAnswer(f"{path or 'the answer'}: an object was expected (given: {show_value(value)})")
        names = {fold_name(name) for name in fields}
        if not any(fold_name(str(key)) in names for key in value):
            wrapped = [each for each in value.values() if isinstance(each, dict)]
            if len(wrapped) == 1 and any(fold_name(str(key)) in names for key in wrapped[0]):
                self._note("read", path, dict.fromkeys(value, "…"))
                return {str(key): each for key, each in wrapped[0].items()}
        return {str(key): each for key, each in value.items()}

    def _match_names(
        self, fields: Mapping[str, Schema], value: dict[str, object], path: str
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Return the values of the known fields, in whatever spelling, and the others."""
        spellings = {fold_name(name): name for name in fields}
        given: dict[str, object] = {}
        extra: dict[str, object] = {}
        for key, each in value.items():
            name = key if key in fields else spellings.get(fold_name(key))
            if name is None or (name in given and name != key):
                extra[key] = each
                continue
            if name != key:
                self._note("read", f"{path}.{name}" if path else name, key)
            given[name] = each
        return given, extra

    def _find_elsewhere(self, where: str, field: Schema, extra: dict[str, object], given: object, depth: int) -> object:
        """Find a needed value under another name; takes it out of `extra`."""
        for key, each in sorted(extra.items(), key=lambda pair: -len(str(pair[1]))):
            if is_empty(each) or (_is_free_text(field) and not _says_something(each)):
                continue
            before = len(self.notes)
            try:
                found = self._mend(field, each, where, depth + 1)
            except BadAnswer:
                del self.notes[before:]
                continue
            del self.notes[before:], extra[key]
            self._note("read", where, f"{key}: {each}")
            return found
        item = field.get("items", {}).get("properties", {}) if field.get("type") == "array" and given is None else {}
        inner = {key: each for key, each in extra.items() if fold_name(key) in {fold_name(name) for name in item}}
        if not inner:
            return _MISSING
        before = len(self.notes)
        self._note("read", where, "{…}")
        try:
            found = self._mend_list(field, [inner], where, depth + 1)
        except BadAnswer:
            del self.notes[before:]
            return _MISSING
        for key in inner:
            del extra[key]
        return found

    def _find_in_words(self, where: str, field: Schema, others: Sequence[object]) -> object:
        """Find a needed choice in the first words of another field; the only choice needs no words."""
        allowed = field.get("enum", ())
        if not allowed or not all(isinstance(each, str) for each in allowed):
            return _MISSING
        for each in others:
            read = _find_allowed(each, allowed) if isinstance(each, str) else None
            if read is not None:
                self._note("words", where, each, read.value)
                return read.value
        if len(allowed) > 1:
            return _MISSING
        self._note("filled", where, _MISSING, allowed[0])
        return allowed[0]

    def _infer_field(self, where: str, name: str, others: Mapping[str, object]) -> object:
        """Find a needed value in what else was said, where the protocol knows how."""
        # Whoever sends an answer from outside is told what it lacks.
        found = None if self._infer is None or self._is_strict else self._infer(name, others)
        if found is None:
            return _MISSING
        self._note("words", where, next((each for each in others.values() if isinstance(each, str)), _MISSING), found)
        return found

    # Words

    def _find_object(self, text: str) -> dict[str, object] | None:
        branches = self._schema.get("anyOf", [self._schema])
        found = find_object(text, {fold_name(name) for branch in branches for name in branch.get("properties", {})})
        if found is None:
            return None
        for name in found.doubled:
            self._note("read", name, "twice")
        if found.broken:
            self._note("repaired", "", found.broken[-LONGEST_GIVEN:])
            # The end of a cut-off answer may have said it, and its last value may be half of one.
            self._infer = None
        return found.fields

    def _read_words(self, text: str) -> object:
        """Read an answer without any JSON: its words are the text, and a choice must be in its first words."""
        schema = self._choose_branch(None)
        fields: Mapping[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        if is_blank(text) or schema.get("type") != "object":
            raise BadAnswer(_NO_OBJECT)
        read: dict[str, object] = {}
        words = next((name for name in (*required, *fields) if _is_free_text(fields[name])), None)
        for name in required:
            field = fields[name]
            if name == words:
                read[name] = text.strip()
            elif "enum" in field and all(isinstance(each, str) for each in field["enum"]):
                option = PositionRead(field["enum"][0]) if len(field["enum"]) == 1 else _find_allowed(text, field["enum"])
                if option is None:
                    raise BadAnswer(f"a JSON object was expected, or words that begin with one of: {', '.join(field['enum'])}")
                read[name] = option.value
                if option.condition and _CONDITION in fields:
                    read[_CONDITION] = option.condition
            elif field.get("type") == "array" and (inner := _find_one_text(field.get("items", {}))) is not None:
                read[name] = [{inner: each} for each in _split_lines(text)]
            elif (inner := _find_one_text(field)) is not None and _says_something(text.strip()):
                read[name] = {inner: text.strip()}
            elif (found := self._infer_field(name, name, {"": text})) is not _MISSING:
                read[name] = found
            else:
                raise BadAnswer(_NO_OBJECT)
        if not read:
            raise BadAnswer(_NO_OBJECT)
        if words is not None:
            read.setdefault(words, text.strip())
        self._note("words", "")
        return self._mend_object(schema, read, "", 0)


def _find_allowed(text: str, allowed: Sequence[object]) -> PositionRead | None:
    """Return the allowed choice that a text makes. A line number counts where names without numbers are listed."""
    choices = build_choices(tuple(str(each) for each in allowed))
    is_numbered = not has_meaning(choices) and not any(re.search(r"\d", choice.text) for choice in choices)
    return find_choice(text, choices) if is_numbered or not is_line_mark(text, choices) else None


def is_pass(raw: object) -> bool:
    """Whether an answer says that it is none: the word for it, or an object with that word alone."""
    found = extract_object(raw) if isinstance(raw, str) else raw
    words = [*found.values()] if isinstance(found, dict) else [raw]
    return len(words) == 1 and isinstance(words[0], str) and find_choice(words[0], build_choices(("pass",))) is not None


def _count_matches(branch: Schema, given: dict[str, object]) -> int:
    choices = {name: each["enum"] for name, each in branch.get("properties", {}).items() if "enum" in each and name in given}
    return sum(1 if given[name] in allowed else -1 for name, allowed in choices.items())


def _is_free_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def _says_something(value: object) -> bool:
    """Whether it is a sentence rather than a word for a choice."""
    return isinstance(value, str) and (len(value.split()) > 1 or len(value.encode()) >= 12)


def _find_one_text(schema: Schema) -> str | None:
    """Return the one text that an object needs; None if it needs more."""
    needed = schema.get("required", ())
    return needed[0] if len(needed) == 1 and _is_free_text(schema["properties"][needed[0]]) else None


def _split_lines(text: str) -> list[str]:
    lines = [_BULLET.sub("", line).strip() for line in text.strip().splitlines() if not is_blank(line)]
    return lines if any(_BULLET.match(line) for line in text.splitlines()) else [" ".join(lines)]


def _name_items(item: Schema, value: object) -> list[object] | None:
    """Return items that were given by their number, as keys or on a line each; None if they were not."""
    fields, required = item.get("properties", {}), item.get("required", ())
    key = next((name for name in required if all(isinstance(each, int) for each in fields[name].get("enum", [""]))), None)
    rest = [name for name in required if name != key]
    if key is None or len(rest) != 1:
        return None
    if isinstance(value, Mapping) and not {fold_name(name) for name in value} & {fold_name(name) for name in fields}:
        return [{key: name, **each} if isinstance(each, Mapping) else {key: name, rest[0]: each} for name, each in value.items()]
    if not isinstance(value, list | tuple) or not any(isinstance(each, str) for each in value):
        return None
    found = [_NUMBERED.match(each) if isinstance(each, str) else None for each in value]
    return [each if mark is None else {key: mark[1], rest[0]: mark[2]} for each, mark in zip(value, found, strict=True)]


def _split_list(item: Schema, value: object) -> list[object]:
    """Return the items that one value stands for: "3, 5" are two lines, a text is one item."""
    kinds = item.get("enum", ())
    is_number = item.get("type") in {"integer", "number"} or (kinds and all(isinstance(each, int) for each in kinds))
    if isinstance(value, str) and is_number:
        return list(split_numbers(value))
    return [value]


def _unwrap_one(value: object) -> object:
    """Return the one item of a list, or the one number of a small object such as {"line": 3}."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, dict) and len(value) == 1:
        inner = next(iter(value.values()))
        return inner if isinstance(inner, int) else value
    return value


def _takes_empty(schema: Schema, value: object) -> bool:
    """Whether an empty value is a value of this field: an empty text or an empty list."""
    if any(_takes_empty(each, value) for each in schema.get("anyOf", ())):
        return True
    if value in schema.get("enum", ()):
        return True
    if value == []:
        return schema.get("type") == "array"
    if value == {}:
        return schema.get("type") == "object" and not schema.get("required")
    return isinstance(value, str) and schema.get("type") == "string" and "enum" not in schema and not schema.get("minLength")


def show_value(value: object) -> str:
    """Return a value on one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = one_line(text)
    line = line if len(line) <= LONGEST_GIVEN else f"{line[: LONGEST_GIVEN - 1]}…"
    return repr(line) if isinstance(value, str) else line

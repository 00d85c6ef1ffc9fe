"""Parses an answer leniently: brings what was written into the schema of its ask, and notes what was changed.

docs/reading-answers.md lists what is read as what. The codes of the notes: `read` (written in another way), `words` (taken from
words), `repaired` (broken JSON), `cut` (over its limit), `left_out` (not readable and not needed), `filled` (the only choice).
What is not there is not invented. An answer in which something that is needed cannot be read is asked for again.

The path of an answer leads one way: text, JSON and its structure (`json_text`), values (`field_values`), words (`choice_rule`,
`value_words`). This module walks the schema.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from moothall.codec import field_values, json_text
from moothall.codec.choice_rule import PositionRead, build_choices, is_plain_name, is_sentence
from moothall.codec.non_answers import check_beside
from moothall.codec.value_words import is_blank, is_empty
from moothall.domain.effects import InferField, Schema
from moothall.errors import BadAnswer

MAX_DEPTH: Final = 8
_CONDITION: Final = "condition"
_NO_OBJECT: Final = "a JSON object was expected, and none was found in the answer"
_MISSING: Final = object()
# What a model copies from the schema that it was sent.
_REASONS: Final = frozenset({"text", "reason", "reasons", "rationale", "why", "explanation", "comment"})
"""Names of a text beside a choice."""
_WORDS: Final = ("text", "position")
"""The fields that hold such a text."""
_OF_SCHEMA: Final = frozenset({"$schema", "additionalProperties"})


class LenientParser:
    """Parses one answer by a schema; `notes` lists what was changed, each with its code, its field and what was given.

    With `is_strict` nothing is left out or cut: then the fault is raised. `known` are fields that code has a value for; `infer`
    finds a needed field in the others; `seat` is whose answer it is.
    """

    def __init__(
        self,
        schema: Schema,
        known: Mapping[str, object] | None = None,
        *,
        infer: InferField | None = None,
        seat: str = "",
        is_strict: bool = False,
        is_whole: bool = False,
    ) -> None:
        self._schema = schema
        self._known = known or {}
        self._infer = infer
        self._seat = seat
        self._is_strict = is_strict
        self._is_whole = is_whole
        self._notes = field_values.ReadingNotes(is_strict=is_strict)

    @property
    def notes(self) -> list[str]:
        return self._notes.lines

    def parse_text(self, text: str) -> object:
        """Parse an answer: the JSON object in a text, or its words; raises BadAnswer with what was expected."""
        fields = self._find_object(text)
        if fields is not None:
            return self.normalize(fields)
        if self._is_strict or "{" in text[:20]:
            raise BadAnswer(_NO_OBJECT)
        schema = json_text.choose_branch(self._schema, None)
        said = self._split_words(schema, text)
        self._notes.add("words", "")
        return self._read_object(schema, said, "", 0)

    def normalize(self, value: object) -> object:
        """Bring decoded JSON into the schema; raises BadAnswer with what was expected."""
        objects = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
        if objects and self._schema.get("type") != "array" and (len(objects) == 1 or any(json_text.list_owners(objects))):
            value = json_text.choose_object(objects, json_text.list_field_names(self._schema), self._seat)
            self._notes.add("read", "the answer", "[…]")
        return self._read(json_text.choose_branch(self._schema, value), value, "", 0)

    def find_fields(self, text: str) -> dict[str, object] | None:
        """Return the fields of an answer in words that came as JSON; None if it holds none of them."""
        given = self._find_object(text)
        if given is None or not json_text.fold_names(given) & json_text.fold_names(self._schema.get("properties", {})):
            return None
        self._notes.add("read", "", "JSON")
        return self._read_object(self._schema, given, "", 0)

    def _find_object(self, text: str) -> dict[str, object] | None:
        parsed = json_text.find_object(text, json_text.list_field_names(self._schema), self._seat)
        if parsed is None:
            return None
        for name in parsed.doubled:
            self._notes.add("read", name, "twice")
        if parsed.broken:
            self._notes.add("repaired", "", parsed.broken[-field_values.MAX_GIVEN :])
            # The end of a cut-off answer may have said it, and its last value may be half of one.
            self._infer = None
        return parsed.fields

    def _split_words(self, schema: Schema, text: str) -> dict[str, object]:
        """Return the fields that words without JSON fill: they are the text, and a choice must be in their beginning."""
        fields: Mapping[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        if is_blank(text) or schema.get("type") != "object":
            raise BadAnswer(_NO_OBJECT)
        said: dict[str, object] = {}
        words = next((name for name in (*required, *fields) if json_text.is_free_text(fields[name])), None)
        for name in required:
            field = fields[name]
            if name == words:
                said[name] = text.strip()
            elif json_text.is_choice_of_words(field):
                option = (
                    PositionRead(field["enum"][0]) if len(field["enum"]) == 1 else field_values.find_allowed(text, field["enum"])
                )
                if option is None:
                    raise BadAnswer(f"a JSON object was expected, or words that begin with one of: {', '.join(field['enum'])}")
                said[name] = option.value
                if len(field["enum"]) > 1 and is_sentence(text, build_choices(tuple(map(str, field["enum"])))):
                    self._notes.add("words", name, text, option.value)
                if option.condition and _CONDITION in fields:
                    said[_CONDITION] = option.condition
            elif field.get("type") == "array" and (inner := json_text.find_one_text(field.get("items", {}))) is not None:
                said[name] = [{inner: each} for each in json_text.split_bullets(text)]
            elif (inner := json_text.find_one_text(field)) is not None and json_text.says_something(text.strip()):
                said[name] = {inner: text.strip()}
            elif (inferred := self._infer_field(name, name, {"": text})) is not _MISSING:
                said[name] = inferred
            else:
                raise BadAnswer(_NO_OBJECT)
        if not said:
            raise BadAnswer(_NO_OBJECT)
        if words is not None:
            said.setdefault(words, text.strip())
        return said

    def _read(self, schema: Schema, value: object, path: str, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise BadAnswer(f"{path}: nested too deeply")
        if "anyOf" in schema and depth:
            return self._read_any(schema["anyOf"], value, path, depth)
        if "enum" not in schema and "const" not in schema:
            if schema.get("type") == "object" and "properties" in schema:
                return self._read_object(schema, value, path, depth)
            if schema.get("type") == "array":
                return self._read_list(schema, value, path, depth)
        return field_values.read_value(schema, value, path, self._notes)

    def _read_any(self, branches: Sequence[Schema], value: object, path: str, depth: int) -> object:
        if value is None and any(each.get("type") == "null" for each in branches):
            return None
        fault: BadAnswer | None = None
        # A branch that takes the value as it is comes before one that would have to change it.
        for is_exact in (True, False):
            for branch in branches:
                before = len(self.notes)
                try:
                    value_read = self._read(branch, value, path, depth)
                except BadAnswer as error:
                    fault = fault or error
                else:
                    if not is_exact or len(self.notes) == before:
                        return value_read
                self._notes.drop_after(before)
        assert fault is not None
        raise fault

    def _read_list(self, schema: Schema, value: object, path: str, depth: int) -> list[object]:
        item = schema.get("items", {})
        if not self._is_strict and (named := json_text.name_items(item, value)) is not None:
            self._notes.add("read", path, value)
            value = named
        if not isinstance(value, list | tuple):
            given = [] if is_empty(value) else json_text.split_list(item, value)
            if value is not None:
                self._notes.add("read", path, value)
            value = given
        items: list[object] = []
        for number, each in enumerate(value):
            if is_empty(each) and not json_text.takes_empty(item, each):
                self._notes.add("left_out", f"{path}.{number}", each)
                continue
            try:
                items.append(self._read(item, each, f"{path}.{number}", depth + 1))
            except BadAnswer:
                if self._is_strict or (self._is_whole and not json_text.names_nothing(item, each)):
                    raise
                self._notes.add("left_out", f"{path}.{number}", each)
        if len(items) < schema.get("minItems", 0):
            raise BadAnswer(f"{path}: a list with at least one item was expected (given: {field_values.show_value(value)})")
        most = schema.get("maxItems")
        if most is not None and len(items) > most:
            if self._is_strict:
                raise BadAnswer(f"{path}: at most {most} items were expected, and there are {len(items)}")
            self._notes.add("cut", path, f"{len(items)} > {most}")
        return items[:most]

    def _read_object(self, schema: Schema, value: object, path: str, depth: int) -> dict[str, object]:
        """Read an object in four steps: its fields by name, each value, what is needed and missing, what is left over."""
        fields: Mapping[str, Schema] = schema["properties"]
        required: Sequence[str] = schema.get("required", ())
        given, extra = self._match_names(fields, self._open_object(fields, required, value, path), path)
        read, faults = self._read_fields(schema, given, path, depth)
        for name in required:
            if name not in read:
                needed_value = self._find_needed(name, fields[name], given=given, extra=extra, read=read, path=path, depth=depth)
                if needed_value is _MISSING and not path and name in self._known:
                    continue
                if needed_value is _MISSING:
                    raise faults.get(name) or BadAnswer(f"{field_values.join_path(path, name)}: it is needed, and missing")
                read[name] = needed_value
        self._add_condition(fields, given, read, path)
        words = next((name for name in _WORDS if name not in read and json_text.is_free_text(fields.get(name, {}))), None)
        for name, left in extra.items():
            if isinstance(left, str) and (is_plain_name(name) or name in _REASONS):
                check_beside(read, name, left)
            if words is not None and words not in read and name in _REASONS and isinstance(left, str) and not is_blank(left):
                self._notes.add("read", field_values.join_path(path, words), f"{name}: {left}")
                read[words] = field_values.read_text(fields[words], left, words, self._notes)
            elif name not in _OF_SCHEMA:
                self._notes.add("left_out", field_values.join_path(path, name), left)
        return {name: read[name] for name in fields if name in read}

    def _open_object(self, fields: Mapping[str, Schema], required: Sequence[str], value: object, path: str) -> dict[str, object]:
        """Return the object that holds the fields: unwrapped from a list, from text, or from one object around it."""
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, str):
            inner = self._find_object(value) if "{" in value else None
            if inner is None and len(required) == 1 and not is_blank(value):
                # One word where an object with one needed field was expected.
                self._notes.add("read", field_values.join_path(path, required[0]), value)
                return {required[0]: value}
            value = inner
        if not isinstance(value, dict):
            raise BadAnswer(f"{path or 'the answer'}: an object was expected (given: {field_values.show_value(value)})")
        wrapped = json_text.find_wrapped(fields, value, self._seat)
        if wrapped is not None:
            self._notes.add("read", path, dict.fromkeys(value, "…"))
        return {str(key): each for key, each in (value if wrapped is None else wrapped).items()}

    def _match_names(
        self, fields: Mapping[str, Schema], value: dict[str, object], path: str
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Return the values of the known fields, in whatever spelling, and the others."""
        spellings = {json_text.fold_name(name): name for name in fields}
        given: dict[str, object] = {}
        extra: dict[str, object] = {}
        for key, each in value.items():
            name = key if key in fields else spellings.get(json_text.fold_name(key))
            if name is None or (name in given and name != key):
                extra[key] = each
                continue
            if name != key:
                self._notes.add("read", field_values.join_path(path, name), key)
            given[name] = each
        return given, extra

    def _read_fields(
        self, schema: Schema, given: Mapping[str, object], path: str, depth: int
    ) -> tuple[dict[str, object], dict[str, BadAnswer]]:
        """Return the values that can be read, and what is wrong with the others."""
        required: Sequence[str] = schema.get("required", ())
        read: dict[str, object] = {}
        faults: dict[str, BadAnswer] = {}
        for name, field in schema["properties"].items():
            if name not in given:
                continue
            where = field_values.join_path(path, name)
            if is_empty(given[name]) and name not in required and not json_text.takes_empty(field, given[name]):
                if given[name] not in ("", None):
                    self._notes.add("left_out", where, given[name])
                continue
            try:
                read[name] = self._read(field, given[name], where, depth + 1)
            except BadAnswer as error:
                faults[name] = error
                if self._is_strict:
                    raise
                if name not in required:
                    self._notes.add("left_out", where, given[name])
        return read, faults

    def _find_needed(
        self,
        name: str,
        field: Schema,
        *,
        given: Mapping[str, object],
        extra: dict[str, object],
        read: Mapping[str, object],
        path: str,
        depth: int,
    ) -> object:
        """Find a needed value: under another name, in the first words of another field, or in all that was said."""
        where = field_values.join_path(path, name)
        value = self._find_elsewhere(where, field, extra, given.get(name), depth)
        if value is _MISSING:
            value = self._find_in_words(where, field, [each for key, each in given.items() if key != name])
        if value is _MISSING and (is_empty(given.get(name)) or field.get("type") == "array"):
            value = self._infer_field(where, name, {**extra, **given, **read})
        return value

    def _find_elsewhere(self, where: str, field: Schema, extra: dict[str, object], given: object, depth: int) -> object:
        """Find a needed value under another name; takes it out of `extra`."""
        for key, each in sorted(extra.items(), key=lambda pair: -len(str(pair[1]))):
            # {"previous_position": "support"} and {"bob": "oppose"} say nothing of what is chosen.
            is_apart = json_text.is_choice_of_words(field) and not is_plain_name(key)
            if is_apart or is_empty(each) or (json_text.is_free_text(field) and not json_text.says_something(each)):
                continue
            before = len(self.notes)
            try:
                value = self._read(field, each, where, depth + 1)
            except BadAnswer:
                self._notes.drop_after(before)
                continue
            self._notes.drop_after(before)
            del extra[key]
            self._notes.add("read", where, f"{key}: {each}")
            return value
        item = field.get("items", {}).get("properties", {}) if field.get("type") == "array" and given is None else {}
        inner = {key: each for key, each in extra.items() if json_text.fold_name(key) in json_text.fold_names(item)}
        if not inner:
            return _MISSING
        before = len(self.notes)
        self._notes.add("read", where, "{…}")
        try:
            items = self._read_list(field, [inner], where, depth + 1)
        except BadAnswer:
            self._notes.drop_after(before)
            return _MISSING
        for key in inner:
            del extra[key]
        return items

    def _find_in_words(self, where: str, field: Schema, others: Sequence[object]) -> object:
        """Find a needed choice in the first words of another field; the only choice needs no words."""
        allowed = field.get("enum", ())
        if not allowed or not json_text.is_choice_of_words(field):
            return _MISSING
        for each in others:
            choice = field_values.find_allowed(each, allowed) if isinstance(each, str) else None
            if choice is not None:
                self._notes.add("words", where, each, choice.value)
                return choice.value
        if len(allowed) > 1:
            return _MISSING
        self._notes.add("filled", where, field_values.NOT_GIVEN, allowed[0])
        return allowed[0]

    def _infer_field(self, where: str, name: str, others: Mapping[str, object]) -> object:
        """Find a needed value in what else was said, where the protocol knows how."""
        # Whoever sends an answer from outside is told what it lacks.
        inferred = None if self._infer is None or self._is_strict else self._infer(name, others)
        if inferred is None:
            return _MISSING
        self._notes.add(
            "words", where, next((each for each in others.values() if isinstance(each, str)), field_values.NOT_GIVEN), inferred
        )
        return inferred

    def _add_condition(
        self, fields: Mapping[str, Schema], given: Mapping[str, object], read: dict[str, object], path: str
    ) -> None:
        """Add the condition of a position that was given as "support, if the tests pass"."""
        if _CONDITION not in fields or read.get(_CONDITION):
            return
        for name, value in read.items():
            word = given.get(name)
            if isinstance(word, str) and isinstance(value, str) and value.startswith(_CONDITION) and "enum" in fields[name]:
                choice = field_values.find_allowed(word, fields[name]["enum"])
                if choice is not None and choice.condition:
                    where = field_values.join_path(path, _CONDITION)
                    read[_CONDITION] = field_values.read_text(fields[_CONDITION], choice.condition, where, self._notes)
                    return

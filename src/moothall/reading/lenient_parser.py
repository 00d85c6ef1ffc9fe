"""Parses an answer leniently: brings what was written into the schema of its ask, and notes what was changed.

docs/reading-answers.md lists what is read as what. The codes of the notes: `read` (written in another way), `words` (taken from
words), `repaired` (broken JSON), `cut` (over its limit), `left_out` (not readable and not needed), `filled` (the only choice).
What is not there is not invented. An answer in which something that is needed cannot be read is asked for again.

The path of an answer leads one way: text and its JSON (`json_text`), the schema (this module), values (`field_values`), words
that make a choice (`choices`, `stated`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from moothall.domain.effects import InferField, ReadWord, Schema, UnreadItem
from moothall.domain.facts import list_worded_choices
from moothall.domain.safe_text import compile_late
from moothall.domain.text.signs import fold_text
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import PATTERNS
from moothall.errors import BadAnswer, UnclearChoice, UnclearSide
from moothall.reading import field_values as values
from moothall.reading.choices import build_choices
from moothall.reading.json_text import (
    choose_object,
    find_list,
    find_list_of,
    find_object,
    find_wrapped,
    list_owners,
    split_labelled_lines,
)
from moothall.reading.non_answers import (
    ItemGuard,
    check_beside,
    check_refusal,
    list_allowed_words,
)
from moothall.reading.schemas import OPEN_LIST
from moothall.reading.stated import PositionRead, is_label_name, is_sentence

MAX_DEPTH: Final = 8
PASS: Final = "pass"  # noqa: S105 - a contribution that says nothing
_CONDITION: Final = "condition"
_NO_OBJECT: Final = "a JSON object was expected, and none was found in the answer"
_REASONS: Final = frozenset(
    {"text", "reason", "reasons", "rationale", "why", "explanation", "comment"}
)
"""Names of a text beside a choice."""
_WORDS: Final = ("text", "position")
"""The fields that hold such a text."""
_NUMBERED: Final = compile_late(r"\s*+(#?\d{1,6})\s*+[:：.)、=–-]?\s*+(\S.*)", re.DOTALL)
# White space is looked through from its beginning alone: from each place in it that would be quadratic.
_ITEM_END: Final = compile_late(r"(?:(?<!\s)\s+)?[;；\n]\s*")
_OF_SCHEMA: Final = frozenset({"$schema", "additionalProperties"})
"""What a model copies from the schema that it was sent."""


MIN_LABELLED: Final = 2
"""How many labelled lines make words an answer with fields."""


@dataclass(slots=True)
class LenientParser:
    """Parses one answer; `notes` lists what was changed, each with its code, its field and what was given."""

    schema: Schema
    known: Mapping[str, object] = field(default_factory=dict)
    """Fields that code has a value for."""
    infer: InferField | None = None
    """Finds a needed field in the others."""
    seat: str = ""
    """Whose answer it is."""
    is_strict: bool = False
    """Whether nothing is left out or cut: then the fault is raised."""
    is_whole: bool = False
    """Whether an item of a list that cannot be read is a fault."""
    options: tuple[str, ...] = ()
    """What a `choice` is one of."""
    readers: Mapping[str, ReadWord] = field(default_factory=dict)
    """Reads what people write in place of the listed words of a field."""
    keeps_unread: bool = False
    """Whether an item of a list that cannot be read is set apart, and the others count."""
    settled: Mapping[str, str] = field(default_factory=dict)
    """What its seat said it meant, by the path of the choice: that is not read again. Empty: it meant none."""
    guard: ItemGuard = field(default_factory=ItemGuard)
    """Looks at what was read, part by part."""
    _unread: dict[str, list[UnreadItem]] = field(default_factory=dict)
    _notes: values.ReadingNotes = field(init=False)

    def __post_init__(self) -> None:
        self._notes = values.ReadingNotes(is_strict=self.is_strict)

    @property
    def notes(self) -> list[str]:
        return self._notes.lines

    @property
    def unread(self) -> list[UnreadItem]:
        """The items that could not be read, where they are set apart."""
        return list(chain.from_iterable(self._unread.values()))

    def parse_text(self, text: str) -> object:
        """Parse an answer: the JSON object in a text, or its words; raises BadAnswer with what was expected."""
        fields = find_list(text) or self._find_object(text)
        if fields is not None:
            return self.normalize(fields)
        if self.is_strict or "{" in text[:20]:
            raise BadAnswer(_NO_OBJECT)
        # Of words a list is made whose bad items cost themselves alone; an apology is all that was said.
        check_refusal(text)
        schema = _choose_branch(self.schema, None)
        said = self._read_labelled_lines(schema, text) or self._split_words(schema, text)
        self._notes.add("words", "")
        return self._read_object(schema, said, "", 0)

    def _read_labelled_lines(self, schema: Schema, text: str) -> dict[str, object]:
        """Return what lines such as `**Rating:** 0.8` say of the fields, whatever stands above them.

        Empty unless they name two fields, each once, and all that are needed. In a list a label that was there before begins the next item.
        """
        fields: Mapping[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        names = {values.fold_name(name): name for name in fields}
        listed = next((name for name in required if "items" in fields[name]), "")
        of_item: Mapping[str, Schema] = {}
        if listed:
            of_item = fields[listed]["items"].get("properties", {})
            del names[values.fold_name(listed)]
        item_names = {values.fold_name(name): name for name in of_item}
        texts = _list_text_names({**of_item, **fields})
        labelled, prose = split_labelled_lines(text, {*names, *item_names}, texts)
        said: dict[str, object] = {}
        items: list[dict[str, object]] = []
        for label, value in labelled:
            key = values.fold_name(label)
            if key in item_names:
                name = item_names[key]
                if not items or name in items[-1]:
                    items.append({})
                items[-1][name] = value
            elif key in names and said.setdefault(names[key], value) != value:
                # Two of one field: which of them is meant, the words do not say.
                return {}
        if items:
            said[listed] = items
        if len(labelled) < MIN_LABELLED or not said.keys() >= {*required}:
            return {}
        # What stands above the lines may say another side than they do.
        check_beside(said, "the text", prose, self.options, list_allowed_words(schema))
        words = next((name for name in fields if values.is_free_text(fields[name])), "")
        if prose and words and words not in said:
            said[words] = prose
        return said

    def normalize(self, value: object) -> object:
        """Bring decoded JSON into the schema; raises BadAnswer with what was expected."""
        objects = []
        if isinstance(value, list):
            objects = [each for each in value if isinstance(each, dict)]
        if objects and (name := find_list_of(_choose_branch(self.schema, None), objects)):
            self._notes.add("read", name, "[…]")
            value = {name: value}
        elif (
            objects
            and self.schema.get("type") != "array"
            and (len(objects) == 1 or any(list_owners(objects)))
        ):
            value = choose_object(objects, _list_field_names(self.schema), self.seat)
            self._notes.add("read", "the answer", "[…]")
        return self._read(_choose_branch(self.schema, value), value, "", 0)

    def find_fields(self, text: str) -> dict[str, object] | None:
        """Return the fields of an answer in words that came as JSON; None if it holds none of them."""
        given = self._find_object(text)
        if given is None or not values.fold_names(given) & values.fold_names(
            self.schema.get("properties", {})
        ):
            return None
        self._notes.add("read", "", "JSON")
        return self._read_object(self.schema, given, "", 0)

    def _find_object(self, text: str) -> dict[str, object] | None:
        parsed = find_object(text, _list_field_names(self.schema), self.seat)
        if parsed is None:
            return None
        for name in parsed.doubled:
            self._notes.add("read", name, "twice")
        if parsed.broken:
            self._notes.add("repaired", "", parsed.broken[-values.MAX_GIVEN :])
            # The end of a cut-off answer may have said it, and its last value may be half of one.
            self.infer = None
        return parsed.fields

    def _split_words(self, schema: Schema, text: str) -> dict[str, object]:
        """Return the fields that words without JSON fill: they are the text, and a choice must be in their beginning."""
        fields: Mapping[str, Schema] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        rest, sureness = values.split_sureness(text)
        if not text.strip() or schema.get("type") != "object":
            raise BadAnswer(_NO_OBJECT)
        said: dict[str, object] = {}
        if rest and sureness is not None and "confidence" in fields:
            self._notes.add("read", "confidence", text.removeprefix(rest))
            said["confidence"], text = sureness, rest
        words = next(
            (name for name in (*required, *fields) if values.is_free_text(fields[name])), None
        )
        for name in required:
            field = fields[name]
            if name == words:
                said[name] = text.strip()
            elif _is_choice_of_words(field):
                try:
                    option = self._read_choice_in_words(name, field["enum"], text)
                except BadAnswer:
                    # Of an open list a text need name nothing at its beginning: it may be asked which one it means.
                    if OPEN_LIST in field:
                        continue
                    raise
                said[name] = option.value
                if option.condition and _CONDITION in fields:
                    said[_CONDITION] = option.condition
            elif (
                field.get("type") == "array"
                and (inner := _find_one_text(field.get("items", {}))) is not None
            ):
                said[name] = [{inner: each} for each in values.split_bullets(text)]
            elif (inner := _find_one_text(field)) is not None and values.says_something(
                text.strip()
            ):
                said[name] = {inner: text.strip()}
            elif (inferred := self._infer_field(name, name, {"": text})) is not values.NOT_GIVEN:
                said[name] = inferred
            else:
                raise BadAnswer(_NO_OBJECT)
        if not said:
            raise BadAnswer(_NO_OBJECT)
        # What a list or an object has taken is said: a title beside it is another text.
        is_said = any(isinstance(each, dict | list) for each in said.values())
        if words is not None and not is_said:
            said.setdefault(words, text.strip())
        return said

    def _read_choice_in_words(self, name: str, allowed: Sequence[str], text: str) -> PositionRead:
        """Return the choice in words without JSON, the only one without looking; raises UnclearChoice."""
        if name in self.settled:
            return PositionRead(self.settled[name])
        if len(allowed) == 1:
            return PositionRead(allowed[0])
        option = values.find_allowed(text, allowed)
        if option is None and PASS in allowed and self._repeats_answer(text):
            # It says nothing of what others said; its word stands beside the pass.
            self._notes.add("read", name, text, PASS)
            return PositionRead(PASS)
        if option is None:
            fault = (
                f"a JSON object was expected, or words that begin with one of: {', '.join(allowed)}"
            )
            values.raise_unread_choice(fault, name, allowed, text)
        if is_sentence(text, build_choices(tuple(map(str, allowed)))):
            self._notes.add("words", name, text, option.value)
        return option

    def _repeats_answer(self, text: str) -> bool:
        """Whether a text is an answer to the question of the meeting, and nothing else."""
        label = normalize_label(text)
        return any(label == normalize_label(option) for option in self.options)

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
        return values.read_value(schema, value, path, self._notes)

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
        if not self.is_strict and (named := _name_items(item, value)) is not None:
            self._notes.add("read", path, value)
            value = named
        if not isinstance(value, list | tuple):
            given = [] if values.is_empty(value) else values.split_list(item, value)
            if value is not None:
                self._notes.add("read", path, value)
            value = given
        items: list[object] = []
        unread: list[UnreadItem] = []
        guarded: BadAnswer | None = None
        for number, each in enumerate(value):
            if values.is_empty(each) and not _takes_empty(item, each):
                self._notes.add("left_out", f"{path}.{number}", each)
                continue
            try:
                item_read = self._read(item, each, f"{path}.{number}", depth + 1)
                try:
                    self.guard.check_item(item_read, item, f"{path}.{number}")
                except BadAnswer as fault:
                    guarded = fault
                    raise
                items.append(item_read)
            except UnclearSide:
                raise
            except BadAnswer as fault:
                is_lost = not _names_nothing(item, each)
                if self.is_strict or (self.is_whole and is_lost):
                    raise
                if is_lost:
                    unread.append(UnreadItem(given=each, why=str(fault)))
                self._notes.add("left_out", f"{path}.{number}", each)
        if guarded is not None and not items:
            # Nothing else was said there.
            raise guarded
        if self.keeps_unread:
            self._keep_unread(path, items, unread, schema.get("maxItems"))
        if len(items) < schema.get("minItems", 0):
            raise BadAnswer(
                f"{path}: a list with at least one item was expected (given: {values.show_value(value)})"
            )
        most = schema.get("maxItems")
        if most is not None and len(items) > most:
            if self.is_strict:
                raise BadAnswer(
                    f"{path}: at most {most} items were expected, and there are {len(items)}"
                )
            self._notes.add("cut", path, f"{len(items)} > {most}")
        return items[:most]

    def _keep_unread(
        self, path: str, items: Sequence[object], unread: list[UnreadItem], most: int | None
    ) -> None:
        """Keep what of a list could not be read; raises BadAnswer where nothing of it could."""
        if unread and not items:
            raise BadAnswer(unread[0].why)
        # A list may be read twice, until its place is known: the last time counts.
        self._unread[path] = [*unread]
        if most is not None:
            for each in items[most:]:
                cut = UnreadItem(given=each, why=f"{path}: more than {most} items")
                self._unread[path].append(cut)

    def _read_object(
        self, schema: Schema, value: object, path: str, depth: int
    ) -> dict[str, object]:
        """Read an object in four steps: its fields by name, each value, what is needed and missing, what is left over."""
        fields: Mapping[str, Schema] = schema["properties"]
        required: Sequence[str] = schema.get("required", ())
        given, extra = self._match_names(
            fields, self._open_object(fields, required, value, path), path
        )
        self._take_sureness(fields, given, path)
        read, faults = self._read_fields(schema, given, path, depth)
        for name in required:
            if name not in read:
                where = values.join_path(path, name)
                needed_value = self._find_elsewhere(
                    where, fields[name], extra, given.get(name), depth
                )
                if needed_value is values.NOT_GIVEN:
                    needed_value = self._find_in_words(where, fields[name], given)
                if needed_value is values.NOT_GIVEN and (
                    values.is_empty(given.get(name)) or fields[name].get("type") == "array"
                ):
                    needed_value = self._infer_field(where, name, {**extra, **given, **read})
                if needed_value is values.NOT_GIVEN and not path and name in self.known:
                    continue
                if (
                    needed_value is values.NOT_GIVEN
                    and name in _WORDS
                    and self.options
                    and not self.is_strict
                ):
                    # An option that is named is the substance (M-2), as where it is the whole answer.
                    needed_value = read.get("choice") or needed_value
                    self._notes.add("missing", where)
                if needed_value is values.NOT_GIVEN:
                    needed_value = self.settled.get(where, values.NOT_GIVEN)
                if needed_value is values.NOT_GIVEN:
                    raise faults.get(name) or _explain_missing(where, fields[name], given, extra)
                read[name] = needed_value
        self._add_condition(fields, given, read, path)
        words = next(
            (
                name
                for name in _WORDS
                if name not in read and values.is_free_text(fields.get(name, {}))
            ),
            None,
        )
        allowed = list_allowed_words(schema)
        unsettled = {
            name: value
            for name, value in read.items()
            if values.join_path(path, name) not in self.settled
        }
        for name, left in extra.items():
            if (flag := values.read_flag(left)) is not None:
                # {"support": false} is a label, too.
                said = name.replace("_", " ") if flag else f"not {name}"
                check_beside(unsettled, name, said, self.options, allowed, path=path)
            if isinstance(left, str) and (is_label_name(name) or name in _REASONS):
                check_beside(unsettled, name, left, self.options, allowed, path=path)
            if (
                words is not None
                and words not in read
                and name in _REASONS
                and isinstance(left, str)
                and left.strip()
            ):
                self._notes.add("read", values.join_path(path, words), f"{name}: {left}")
                read[words] = values.read_text(fields[words], left, words, self._notes)
            elif name not in _OF_SCHEMA:
                self._notes.add("left_out", values.join_path(path, name), left)
        return {name: read[name] for name in fields if name in read}

    def _open_object(
        self, fields: Mapping[str, Schema], required: Sequence[str], value: object, path: str
    ) -> dict[str, object]:
        """Return the object that holds the fields: unwrapped from a list, from text, or from one object around it."""
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, str):
            inner = None
            if "{" in value:
                inner = self._find_object(value)
            if inner is None and len(required) == 1 and value.strip():
                # One word where an object with one needed field was expected.
                self._notes.add("read", values.join_path(path, required[0]), value)
                return {required[0]: value}
            value = inner
        if not isinstance(value, dict):
            raise BadAnswer(
                f"{path or 'the answer'}: an object was expected (given: {values.show_value(value)})"
            )
        wrapped = find_wrapped(fields, value, self.seat)
        if wrapped is not None:
            self._notes.add("read", path, dict.fromkeys(value, "…"))
            value = wrapped
        return {str(key): each for key, each in value.items()}

    def _match_names(
        self, fields: Mapping[str, Schema], value: dict[str, object], path: str
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Return the values of the known fields, in whatever spelling, and the others."""
        spellings = {values.fold_name(name): name for name in fields}
        given: dict[str, object] = {}
        extra: dict[str, object] = {}
        for key, each in value.items():
            name: str | None = key
            if key not in fields:
                folded = values.fold_name(key)
                name = spellings.get(folded) or spellings.get(folded.removesuffix("s"))
            if name is None or (name in given and name != key):
                extra[key] = each
                continue
            if name != key:
                self._notes.add("read", values.join_path(path, name), key)
            given[name] = each
        return given, extra

    def _take_sureness(
        self, fields: Mapping[str, Schema], given: dict[str, object], path: str
    ) -> None:
        """Take the words behind a choice that say how sure its writer is for the confidence: "redis, 90% sure"."""
        for name, value in [*given.items()]:
            if not isinstance(value, str):
                continue
            if name != "choice" and not _is_choice_of_words(fields[name]):
                continue
            rest, share = values.split_sureness(value)
            if rest and share is not None:
                self._notes.add("read", values.join_path(path, name), value, rest)
                given[name] = rest
                if "confidence" in fields and values.is_empty(given.get("confidence")):
                    given["confidence"] = share

    def _read_fields(
        self, schema: Schema, given: Mapping[str, object], path: str, depth: int
    ) -> tuple[dict[str, object], dict[str, BadAnswer]]:
        """Return the values that can be read, and what is wrong with the others."""
        required: Sequence[str] = schema.get("required", ())
        read: dict[str, object] = {}
        faults: dict[str, BadAnswer] = {}
        for name, of_field in schema["properties"].items():
            if name not in given:
                continue
            where = values.join_path(path, name)
            if where in self.settled:
                if not self.settled[where]:
                    raise BadAnswer(f"{where}: which one was meant stays unclear")
                read[name] = self.settled[where]
                continue
            says_none = name == _CONDITION and PATTERNS["no_condition"].fullmatch(
                fold_text(str(given[name]))
            )
            is_none = values.is_empty(given[name]) or bool(says_none)
            if (
                is_none
                and name not in required
                and (name == _CONDITION or not _takes_empty(of_field, given[name]))
            ):
                if given[name] not in ("", None):
                    self._notes.add("left_out", where, given[name])
                continue
            if name not in required and _names_none(of_field, given[name]):
                continue
            before = len(self.notes)
            value = self._replace_word(name, given[name], where)
            try:
                read[name] = self._read(of_field, value, where, depth + 1)
            except UnclearSide:
                raise
            except BadAnswer as error:
                faults[name] = error
                self._notes.drop_after(before)
                if self.is_strict:
                    raise
                if name not in required:
                    self._notes.add("left_out", where, given[name])
        while echo := self.guard.find_echo(read, schema):
            self._notes.add("left_out", values.join_path(path, echo), read.pop(echo))
        return read, faults

    def _replace_word(self, name: str, value: object, where: str) -> object:
        """Return the listed word that a value means, where the protocol knows what people write in its place."""
        reader = self.readers.get(name)
        if reader is None or not isinstance(value, str):
            return value
        word = reader(value)
        if word is None or word == value:
            return value
        self._notes.add("read", where, value, word)
        return word

    def _find_elsewhere(
        self, where: str, field: Schema, extra: dict[str, object], given: object, depth: int
    ) -> object:
        """Find a needed value under another name; takes it out of `extra`."""
        for key, each in sorted(extra.items(), key=lambda pair: -len(str(pair[1]))):
            # {"previous_position": "support"} and {"bob": "oppose"} say nothing of what is chosen.
            is_apart = _is_choice_of_words(field) and not is_label_name(key)
            if (
                is_apart
                or values.is_empty(each)
                or (values.is_free_text(field) and not values.says_something(each))
            ):
                continue
            before = len(self.notes)
            try:
                meant = self._replace_word(where.rpartition(".")[2], each, where)
                value = self._read(field, meant, where, depth + 1)
            except BadAnswer:
                self._notes.drop_after(before)
                continue
            is_worded = bool(list_worded_choices(self.notes[before:]))
            self._notes.drop_after(before)
            del extra[key]
            self._notes.add("words" if is_worded else "read", where, f"{key}: {each}")
            return value
        if field.get("type") != "array" or given is not None:
            return values.NOT_GIVEN
        names = values.fold_names(field.get("items", {}).get("properties", {}))
        inner = {key: each for key, each in extra.items() if values.fold_name(key) in names}
        if not inner:
            return values.NOT_GIVEN
        before = len(self.notes)
        self._notes.add("read", where, "{…}")
        try:
            items = self._read_list(field, [inner], where, depth + 1)
        except BadAnswer:
            self._notes.drop_after(before)
            return values.NOT_GIVEN
        for key in inner:
            del extra[key]
        return items

    def _find_in_words(self, where: str, field: Schema, others: Mapping[str, object]) -> object:
        """Find a needed choice in the first words of another field; the only choice needs no words."""
        allowed, (inside, _, name) = field.get("enum", ()), where.rpartition(".")
        if not allowed or not _is_choice_of_words(field):
            return values.NOT_GIVEN
        for key, each in others.items():
            if key == name or not isinstance(each, str):
                continue
            choice = values.find_allowed(each, allowed)
            if choice is not None:
                # What was left out of its own field is read here.
                left_out = f"left_out {values.join_path(inside, key)} "
                self.notes[:] = [note for note in self.notes if not note.startswith(left_out)]
                self._notes.add("words", where, each, choice.value)
                return choice.value
        if len(allowed) > 1:
            return values.NOT_GIVEN
        self._notes.add("filled", where, values.NOT_GIVEN, allowed[0])
        return allowed[0]

    def _infer_field(self, where: str, name: str, others: Mapping[str, object]) -> object:
        """Find a needed value in what else was said, where the protocol knows how."""
        # Whoever sends an answer from outside is told what it lacks.
        if self.infer is None or self.is_strict:
            return values.NOT_GIVEN
        inferred = self.infer(name, others)
        if inferred is None:
            return values.NOT_GIVEN
        texts = (each for each in others.values() if isinstance(each, str))
        self._notes.add("words", where, next(texts, values.NOT_GIVEN), inferred)
        return inferred

    def _add_condition(
        self,
        fields: Mapping[str, Schema],
        given: Mapping[str, object],
        read: dict[str, object],
        path: str,
    ) -> None:
        """Add the condition of "support, if the tests pass"; a support beside a condition is the conditional one (M-2)."""
        if _CONDITION not in fields:
            return
        if read.get(_CONDITION):
            for name, value in [*read.items()]:
                if value != "support":
                    continue
                conditional = _find_conditional(_list_allowed(fields[name]))
                if conditional is not None:
                    where = values.join_path(path, name)
                    self._notes.add("read", where, f"support, {_CONDITION}", conditional)
                    read[name] = conditional
            return
        for name, value in read.items():
            word, allowed = given.get(name), _list_allowed(fields[name])
            if (
                isinstance(word, str)
                and isinstance(value, str)
                and value.startswith(_CONDITION)
                and allowed
            ):
                choice = values.find_allowed(word, allowed)
                if choice is not None and choice.condition:
                    where = values.join_path(path, _CONDITION)
                    read[_CONDITION] = values.read_text(
                        fields[_CONDITION], choice.condition, where, self._notes
                    )
                    return


def _explain_missing(
    where: str, field: Schema, given: Mapping[str, object], extra: Mapping[str, object]
) -> BadAnswer:
    """Return what is wrong where a needed field is missing: a choice is asked for where there are words to ask about."""
    fault = f"{where}: it is needed, and missing"
    said = {
        name: value for name, value in {**given, **extra}.items() if values.says_something(value)
    }
    if not said or not _is_choice_of_words(field):
        return BadAnswer(fault)
    words = "\n".join(f"{name}: {value}" for name, value in said.items())
    return UnclearChoice(fault, field=where, choices=tuple(field["enum"]), words=words)


def _list_allowed(schema: Schema) -> list[object]:
    """Return the values that a field may have in any of its forms; none where they are not listed."""
    allowed: list[object] = []
    for form in schema.get("anyOf", (schema,)):
        allowed += form.get("enum", ())
    return allowed


def _find_conditional(allowed: Sequence[object]) -> object | None:
    """Return the choice that is a support with a condition."""
    for value in allowed:
        if str(value).startswith(_CONDITION):
            return value
    return None


def _is_choice_of_words(schema: Schema) -> bool:
    return "enum" in schema and all(isinstance(each, str) for each in schema["enum"])


def _names_nothing(schema: Schema, value: object) -> bool:
    """Whether an object refers by number to something that is not there."""
    if not isinstance(value, dict):
        return False
    rows: Mapping[str, Schema] = schema.get("properties", {})
    for name, row in rows.items():
        if "enum" not in row or _is_choice_of_words(row):
            continue
        if values.read_integer(value.get(name)) not in row["enum"]:
            return True
    return False


def _find_one_text(schema: Schema) -> str | None:
    """Return the one text that an object needs; None if it needs more."""
    needed: Sequence[str] = schema.get("required", ())
    if len(needed) != 1 or not values.is_free_text(schema["properties"][needed[0]]):
        return None
    return needed[0]


def _name_items(item: Schema, value: object) -> list[object] | None:
    """Return items that were given by their number, as keys or on a line each; None if they were not."""
    fields, required = item.get("properties", {}), item.get("required", ())
    key = next(
        (name for name in required if values.are_integers(fields[name].get("enum", [""]))), None
    )
    choices = [name for name, schema in fields.items() if _is_choice_of_words(schema)]
    rest = [name for name in required if name != key] or choices
    if key is None or len(rest) != 1:
        return None
    if isinstance(value, Mapping) and not values.fold_names(value) & values.fold_names(fields):
        rows: list[object] = []
        for name, each in value.items():
            others = each if isinstance(each, Mapping) else {rest[0]: each}
            rows.append({key: name, **others})
        return rows
    if isinstance(value, str):
        value = _ITEM_END.split(value.strip())
    if not isinstance(value, list | tuple) or not any(isinstance(each, str) for each in value):
        return None
    return [_name_line(each, key, rest[0]) for each in value]


def _name_line(item: object, key: str, name: str) -> object:
    """Return an item that is a numbered line with its number and its words by name; any other unchanged."""
    if not isinstance(item, str):
        return item
    mark = _NUMBERED.match(item)
    if mark is None:
        return item
    return {key: mark[1], name: mark[2]}


def _names_none(schema: Schema, value: object) -> bool:
    """Whether a value stands for none: 0 where an answer names a line, because no line has it, or [] where one item is the least."""
    if value == []:
        return bool(schema.get("minItems", 0) > 0)
    if isinstance(value, bool) or value not in (0, "0", "#0"):
        return False
    if "enum" in schema:
        return values.are_integers(schema["enum"]) and 0 not in schema["enum"]
    return bool(schema.get("type") == "integer" and schema.get("minimum", 0) > 0)


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
    return isinstance(value, str) and values.is_free_text(schema) and not schema.get("minLength")


def _list_text_names(fields: Mapping[str, Schema]) -> set[str]:
    """Return the names of the fields that hold a text, folded."""
    return {values.fold_name(name) for name, each in fields.items() if values.is_free_text(each)}


def _choose_branch(schema: Schema, value: object) -> Schema:
    """Return the form of the answer that a value means: the one whose choices it names, else the first."""
    branches = schema.get("anyOf")
    if not branches:
        return schema
    given: dict[str, object] = value if isinstance(value, dict) else {}

    def count_matches(branch: Schema) -> int:
        matches = 0
        for name, each in branch.get("properties", {}).items():
            if "enum" not in each or name not in given:
                continue
            if given[name] in each["enum"]:
                matches += 1
            else:
                matches -= 1
        return matches

    branch: Schema = max(branches, key=count_matches)
    return branch


def _list_field_names(schema: Schema) -> set[str]:
    """Return the folded names of all fields, in any form of the answer."""
    names: set[str] = set()
    for branch in schema.get("anyOf", [schema]):
        names |= values.fold_names(branch.get("properties", {}))
    return names

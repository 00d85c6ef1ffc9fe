"""The stored form of a fact: one canonical JSON object, `{"fact": kind, "v": version, …fields}`.

Canonical means: fields in the order of their declaration, without those that have their default, no white space, UTF-8. The
default of a stored field therefore never changes; a field that must change gets a new version and an upcast. `v` is omitted while
it is 1.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from moothall.codec.adapters import get_adapter
from moothall.domain.facts import CORE_KINDS, Fact
from moothall.domain.safe_text import compile_late
from moothall.errors import BadAnswer, LedgerDamaged, LedgerNewer, ProtocolMissing

Upcast = Callable[[dict[str, Any]], dict[str, Any]]
FindKinds = Callable[[str | type[Fact]], Mapping[str, type[Fact]]]


MAX_CHECKED = 1_024
# The kind stands first, and is followed by a field that is not the version, or by nothing.
_HEAD = compile_late(rb'\{"fact":"([a-z0-9_.]+)"(?!,"v":)[,}]')
_get_adapter: Callable[..., TypeAdapter[Fact]] = get_adapter


def _dump_fields(fact: Fact) -> bytes:
    try:
        return _get_adapter(type(fact)).dump_json(fact, exclude_defaults=True, warnings="error")
    except PydanticSerializationError as cause:
        raise _refuse(fact, cause) from cause


def _refuse(fact: Fact, cause: Exception) -> BadAnswer:
    return BadAnswer(
        f"a {type(fact).__name__} cannot be written down: {' '.join(str(cause).split())[:200]}"
    )


def read_topic(body: bytes) -> str:
    """The topic in the opening of a session whose protocol is not installed; empty where there is none."""
    try:
        topic = json.loads(body)["topic"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return topic if isinstance(topic, str) else ""


def read_texts(body: bytes) -> dict[str, tuple[str, ...]]:
    """The texts of a stored fact by its fields, for readers that need nothing else of it; raises LedgerDamaged."""
    try:
        fields = json.loads(body).items()
    except (ValueError, AttributeError, RecursionError) as cause:
        raise LedgerDamaged(f"an entry is no stored fact: {body[:80]!r}") from cause
    texts: dict[str, tuple[str, ...]] = {}
    for name, value in fields:
        values = value if isinstance(value, list) else [value]
        texts[name] = tuple(each for each in values if isinstance(each, str))
    return texts


class FactCodec:
    """Encodes and decodes the facts of all registered protocols."""

    def __init__(
        self,
        kinds: Mapping[str, type[Fact]],
        upcasts: Mapping[tuple[str, int], Upcast] | None = None,
        find_kinds: FindKinds | None = None,
    ) -> None:
        """Register the kinds of facts; `upcasts[kind, v]` converts the stored fields of version v into those of v + 1.

        `find_kinds` returns further kinds, those of the protocol that has a stored kind or a class of facts, at its first use.
        """
        self._upcasts = dict(upcasts or {})
        self._facts: dict[str, type[Fact]] = {}
        self._versions: dict[str, int] = {}
        self._prefixes: dict[type[Fact], bytes] = {}
        # The fields of facts that were checked and are about to be encoded, by the identity of the fact.
        self._checked: dict[int, tuple[Fact, bytes]] = {}
        self._find_kinds = find_kinds
        self._register({**CORE_KINDS, **kinds})

    def _register(self, kinds: Mapping[str, type[Fact]]) -> None:
        self._facts.update(kinds)
        for kind, fact in kinds.items():
            version = 1 + max((v for k, v in self._upcasts if k == kind), default=0)
            # The head of each kind is constant: it is encoded once, and `encode` only appends the fields.
            head = f'{{"fact":{json.dumps(kind)}'
            if version > 1:
                head += f',"v":{version}'
            self._versions[kind] = version
            self._prefixes[fact] = head.encode()

    def encode(self, fact: Fact) -> bytes:
        """Return the canonical bytes of a fact; raises BadAnswer if it holds something that cannot be serialized."""
        if type(fact) not in self._prefixes and self._find_kinds is not None:
            self._register(self._find_kinds(type(fact)))
        head = self._prefixes[type(fact)]
        checked = self._checked.pop(id(fact), None)
        if checked is not None and checked[0] is fact:
            fields = checked[1]
        else:
            fields = _dump_fields(fact)
        if fields == b"{}":
            return head + b"}"
        # Splices the fields into the head: `{"fact":"x"` + `,` + `"a":1}`.
        return head + b"," + fields[1:]

    def check(self, fact: Fact) -> None:
        """Raise BadAnswer if a fact could not be decoded again."""
        fields = _dump_fields(fact)
        try:
            # A round trip, because Python values can break the declared types: the dataclasses do not validate themselves.
            _get_adapter(type(fact)).validate_json(fields)
        except ValidationError as cause:
            raise _refuse(fact, cause) from cause
        # Kept for `encode`, which follows, unless the answer came too late: then it is dropped with the next ones.
        if len(self._checked) >= MAX_CHECKED:
            self._checked.clear()
        self._checked[id(fact)] = (fact, fields)

    def decode(self, body: bytes) -> Fact:
        """Decode a fact; raises ProtocolMissing, LedgerNewer or LedgerDamaged."""
        # Most facts are of a known kind and its first version, as `encode` wrote them: one pass reads such a body.
        if (head := _HEAD.match(body)) and self._versions.get(kind := head[1].decode()) == 1:
            try:
                return _get_adapter(self._facts[kind]).validate_json(body)
            except ValidationError:
                pass  # what follows finds out what is wrong with it
        try:
            fields = json.loads(body)
            kind = fields.pop("fact")
            version = fields.pop("v", 1)
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as cause:
            raise LedgerDamaged(f"an entry is no stored fact: {body[:80]!r}") from cause
        # `type(...) is not int` also rejects `true`, which is an int in Python.
        if not isinstance(kind, str) or type(version) is not int or version < 1:
            raise LedgerDamaged(f"an entry is no stored fact: {body[:80]!r}")
        # A kind that is still unknown afterwards is of a protocol that is not installed, or of a newer Moot.
        if kind not in self._facts and self._find_kinds is not None:
            self._register(self._find_kinds(kind))
        shape = self._facts.get(kind)
        if shape is None and (protocol := self._find_missing_protocol(kind)):
            raise ProtocolMissing(protocol)
        if shape is None or version > self._versions[kind]:
            raise LedgerNewer(
                f"the ledger holds a {kind!r} fact of version {version} that this Moot does not know; upgrade Moot"
            )
        while version < self._versions[kind]:
            fields = self._upcasts[kind, version](fields)
            version += 1
        try:
            return _get_adapter(shape).validate_python(fields)
        except ValidationError as cause:
            raise LedgerDamaged(
                f"a stored {kind!r} fact does not hold what it should: {cause.errors()[0]['msg']}"
            ) from cause

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._facts)

    def _find_missing_protocol(self, kind: str) -> str:
        """The protocol that a stored kind belongs to, if none that is installed has kinds of its name; empty if one has."""
        protocol, dot, _ = kind.partition(".")
        if not dot or any(known.startswith(f"{protocol}.") for known in self._facts):
            return ""
        return protocol

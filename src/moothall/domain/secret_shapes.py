"""Known shapes of keys, tokens and passwords in a text (E-9): what is named before anything is sent.

Each pattern is bounded, so that a text is read in linear time whatever stands in it. A shape that a provider gives its keys is
certain; an assignment such as `PASSWORD=…` is judged by its value, because code and docs are full of names of secrets without one.
The secret itself is never part of a result.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late

MAX_PLACES: Final = 200
"""How many places of one text are listed."""
MIN_ENTROPY: Final = 2.6
"""Bits per character that an assigned value has at least; words of a language have fewer letters that differ."""
MIN_LENGTH: Final = 8
MIN_PASSWORD: Final = 6
KEY_BODY: Final = 40
"""So many letters of base64 follow the head of a private key; a head alone is code or prose about keys."""
LOOKED_AHEAD: Final = 400

_SHAPES: Final = r"""
AWS access key: (?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])
Google API key: (?<![\w-])AIza[\w-]{35}(?![\w-])
Google client secret: (?<![\w-])GOCSPX-[\w-]{28}(?![\w-])
Azure storage key: AccountKey=[A-Za-z0-9+/]{86}==
Azure client secret: (?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,37}(?![\w~.-])
Azure shared access signature: [?&]sig=[A-Za-z0-9%]{43,60}%3D
GitHub token: (?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,255}
GitHub token: (?<![A-Za-z0-9])github_pat_\w{50,255}
GitLab token: (?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|ptt)-[\w-]{20,255}
Slack token: (?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}
Slack webhook: hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{16,40}
Stripe key: (?<![A-Za-z0-9])(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}
Stripe webhook secret: (?<![A-Za-z0-9])whsec_[A-Za-z0-9+/]{24,255}
Anthropic key: (?<![A-Za-z0-9])sk-ant-[a-z0-9]{2,12}-[\w-]{20,255}
OpenAI key: (?<![A-Za-z0-9-])sk-(?:proj-|svcacct-|admin-)?(?!ant-)(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{32,255}
npm token: (?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])
PyPI token: (?<![A-Za-z0-9])pypi-AgE[\w-]{40,255}
Hugging Face token: (?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,40}(?![A-Za-z0-9])
SendGrid key: (?<![A-Za-z0-9])SG\.[\w-]{22}\.[\w-]{43}
JSON web token: (?<![\w-])eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{16,1000}
"""
"""The shapes that providers give their keys: a line for each, its kind and its pattern."""


def _compile_shapes() -> list[tuple[str, re.Pattern[str]]]:
    shapes: list[tuple[str, re.Pattern[str]]] = []
    for line in _SHAPES.strip().splitlines():
        kind, _, pattern = line.partition(": ")
        shapes.append((kind, compile_late(pattern)))
    return shapes


_KNOWN: Final = _compile_shapes()
_PRIVATE_KEY: Final = compile_late(
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
)
_BASE64_RUN: Final = compile_late(rf"[A-Za-z0-9+/]{{{KEY_BODY}}}")
_LINE_BREAKS: Final = compile_late(r"\\r|\\n|\s|\"|'|\+")
_ADDRESS: Final = compile_late(
    r"(?<![A-Za-z0-9])[a-z][a-z0-9+]{1,15}://[^\s:/@\"'`<>{}$]{1,64}:(?P<value>[^\s/@\"'`<>{}$]{4,128})@[\w.-]"
)
_ASSIGNED: Final = compile_late(
    r"(?P<name>passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credentials?)"
    r"(?P<rest>[A-Za-z0-9_-]{0,24})[\"']?[ \t]{0,4}(?::=|=>|=|:)[ \t]{0,4}(?P<mark>[\"']?)"
    r"(?P<value>[^\s\"'`,;<>{}()\[\]]{6,200})(?P<next>[(\[]?)",
    re.IGNORECASE,
)
_STAND_IN: Final = compile_late(
    r"example|sample|placeholder|dummy|fake|change.?me|your|redacted|secret.?here|xxx|\*\*\*|\.\.\.|…|todo|insert|replace|test|foo|bar(?![a-z])"
    r"|abc123|123456|0000|password|passw0rd|secret|token|none|null|true|false|undefined|required|optional",
    re.IGNORECASE,
)
"""What stands where a secret would stand."""
_REFERENCE: Final = compile_late(
    r"\$.*|%.*|@.*|&.*|\\.*|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Z][A-Z0-9_]*_[A-Z0-9_]*|[a-z]+(?:[_-][a-z]+)+\d{0,2}"
    r"|https?:.*|file:.*|/.*|\./.*|~/.*|arn:.*|vault:.*|\w+://.*|enc:.*|ENC\[.*"
)
"""A name, a path, an address or a variable: it says where the secret is."""
_OTHER: Final = compile_late(
    r"hash|digest|count|limit|length|type|name|field|ur[li]|path|file|id\b|expir|ttl|policy|regex|version|arn",
    re.IGNORECASE,
)
"""What a name ends with that is about a secret and holds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPlace:
    """Where a secret stands in a text, and of what kind it is."""

    line: int
    kind: str


def find_secrets(text: str) -> list[SecretPlace]:
    """Return where keys, tokens and passwords stand in a text, each line and kind once, in order."""
    starts = [0, *(match.end() for match in re.finditer(r"\n", text))]
    places: dict[tuple[int, str], SecretPlace] = {}
    known_lines: set[int] = set()
    # Known shapes come first: a key in an assignment is that key.
    for start, kind in islice(_iterate_secrets(text), MAX_PLACES):
        line = bisect_right(starts, start)
        if kind != GENERIC:
            known_lines.add(line)
        elif line in known_lines:
            continue
        places.setdefault((line, kind), SecretPlace(line=line, kind=kind))
    return sorted(places.values(), key=lambda place: (place.line, place.kind))


GENERIC: Final = "password or token"


def _iterate_secrets(text: str) -> Iterator[tuple[int, str]]:
    for kind, pattern in _KNOWN:
        for match in pattern.finditer(text):
            if not _is_stand_in(match[0]):
                yield match.start(), kind
    for match in _PRIVATE_KEY.finditer(text):
        ahead = _LINE_BREAKS.sub("", text[match.end() : match.end() + LOOKED_AHEAD])
        if _BASE64_RUN.search(ahead):
            yield match.start(), "private key"
    for match in _ADDRESS.finditer(text):
        value = match["value"]
        if _STAND_IN.search(value) is None and _mixes_letters(value):
            yield match.start(), "password in an address"
    for match in _ASSIGNED.finditer(text):
        if _is_assigned_secret(match):
            yield match.start(), GENERIC


def _is_stand_in(key: str) -> bool:
    """Whether a key of a known shape is one of the examples of docs: it says so, or repeats a letter."""
    body = key[-24:]
    says_so = re.search(r"EXAMPLE|example|xxxx|XXXX|your|YOUR|0{8}|1234567890", key) is not None
    return says_so or len(set(body)) < 7


def _is_assigned_secret(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".\\")
    # A call or an index follows a name, not a secret.
    if match["next"] or _names_another(match["rest"]):
        return False
    is_password = match["name"].casefold().startswith(("passw", "pwd", "passphrase"))
    least = MIN_PASSWORD if is_password else MIN_LENGTH
    if len(value) < least or _STAND_IN.search(value) or _REFERENCE.fullmatch(value):
        return False
    if not _mixes_letters(value):
        return False
    return _compute_entropy(value) >= MIN_ENTROPY - (0.4 if is_password else 0.0)


def _names_another(rest: str) -> bool:
    """Whether a name goes on so that it names something else: `tokenizer`, `passwordField`, `secret_name`."""
    if not rest or rest == "s" or rest[0].isdigit():
        return False
    return not rest.startswith(("_", "-")) or _OTHER.search(rest) is not None


def _mixes_letters(value: str) -> bool:
    """Whether a value has letters and digits: words have no digits, and amounts no letters."""
    has_digit = any(char.isdigit() for char in value)
    has_letter = any(char.isalpha() for char in value)
    return has_digit and has_letter


def _compute_entropy(value: str) -> float:
    """Return how many bits each character of a value has, by how often each occurs in it."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())

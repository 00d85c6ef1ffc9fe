"""References in scripts: `@label` stands for an entry or a text, so that no script depends on numbers that may drift.

    [texts]                       # a text that several answers share
    cache = "Serve the catalogue from a cache."

    [[seats.ada.speech]]
    name = "costs"                # other answers refer to the entry that this one becomes
    content = "…"

    [[seats.bob.stand]]
    moved_by = "@costs"           # the number is read from the prompt, where a model reads it
    verdict = "support"

Within a sentence it is written `{@costs}`. What the prompt does not show is left out of the answer.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moothall.domain.effects import Brief
from moothall.domain.safe_text import FENCE

NAME: Final = "name"
ABOUT: Final = "about"
_SHOWN: Final = 24
"""How many characters of a text have to agree: prompts may cut the rest."""
_ENTRY = re.compile(rf"^\[#(\d+) ([^\s,\]]+)[^\n]*\]\n((?:{re.escape(FENCE)}[^\n]*\n?)*)", re.MULTILINE)
_INLINE = re.compile(r"\{@([\w-]+)\}")
_FINDINGS: Final = frozenset({"finding", "targetFindingId"})
_NUMBERED: Final = frozenset({"votes.idea", "ratings.direction"})


class _Unshown:
    """Stands for a reference to something that the prompt does not show."""


_UNSHOWN: Final = _Unshown()


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """An answer that others refer to: whose it is, which of its kind (from 1), and its words."""

    seat: str
    number: int
    text: str


class ScriptLabels:
    """The labels of one script."""

    def __init__(self, texts: Mapping[str, str], seats: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> None:
        self.texts = texts
        self._answers: dict[str, NamedAnswer] = {}
        for seat, kinds in seats.items():
            for items in kinds.values():
                for number, item in enumerate(items, 1):
                    if NAME in item:
                        text = str(item.get("content") or item.get("text") or "")
                        self._answers[str(item[NAME])] = NamedAnswer(seat, number, text)

    def fill_samples(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The answer with any number for each reference: what can be checked before there is a prompt."""
        return self._fill(item, self._sample)

    def resolve(self, item: Mapping[str, Any], brief: Brief) -> dict[str, Any]:
        """The answer with what its references stand for in this prompt."""
        return self._fill(item, lambda path, label: self._find(path, label, brief))

    def is_shown(self, label: str, brief: Brief) -> bool:
        """Whether what this seat alone reads mentions a text."""
        return self.texts.get(label, label)[:_SHOWN] in brief.own

    def _fill(self, item: Mapping[str, Any], find: Callable[[str, str], object]) -> dict[str, Any]:
        filled = {key: self._walk(value, key, find) for key, value in item.items()}
        return {key: value for key, value in filled.items() if value is not _UNSHOWN}

    def _walk(self, value: object, path: str, find: Callable[[str, str], object]) -> object:
        if isinstance(value, list):
            return [each for each in (self._walk(one, path, find) for one in value) if each is not _UNSHOWN]
        if isinstance(value, dict):
            filled = {key: self._walk(each, f"{path}.{key}", find) for key, each in value.items()}
            # A vote on what is not on the ballot is no vote.
            return _UNSHOWN if any(each is _UNSHOWN for each in filled.values()) else filled
        if not isinstance(value, str):
            return value
        if value.startswith("@") and (value[1:] in self.texts or value[1:] in self._answers):
            return find(path, value[1:])
        return _INLINE.sub(lambda match: self._mention(find, match[1]), value)

    def _mention(self, find: Callable[[str, str], object], label: str) -> str:
        found = find("finding" if label in self.texts else "", label)
        return "…" if found is _UNSHOWN else f"#{found}" if isinstance(found, int) else str(found)

    def _sample(self, path: str, label: str) -> object:
        if path.rpartition(".")[2] in _FINDINGS:
            return "finding-001"
        return self.texts[label] if label in self.texts and path not in _NUMBERED else 1

    def _find(self, path: str, label: str, brief: Brief) -> object:
        if label in self._answers:
            return self._find_entry(self._answers[label], brief)
        text = re.escape(self.texts[label])
        if path.rpartition(".")[2] in _FINDINGS:
            found = re.search(rf"(finding-\d+) \S+ \[[^\]]*\] {text}", f"{brief.own}\n{brief.shared}")
            return found[1] if found else _UNSHOWN
        if path in _NUMBERED:
            numbered = re.search(rf"^{re.escape(FENCE)}(\d+)\. {text}", brief.own, re.MULTILINE)
            return int(numbered[1]) if numbered else _UNSHOWN
        return self.texts[label]

    def _find_entry(self, answer: NamedAnswer, brief: Brief) -> object:
        entries = [match for match in _ENTRY.finditer(f"{brief.shared}\n{brief.own}") if match[2] == answer.seat]
        wanted = _squeeze(answer.text)[:_SHOWN]
        for match in entries:
            if wanted and _squeeze(match[3].replace(FENCE, "")).startswith(wanted):
                return int(match[1])
        # An older entry stands there as a digest, in words of its own choice: then the speaker's n-th entry is meant.
        return int(entries[answer.number - 1][1]) if len(entries) >= answer.number else _UNSHOWN


def _squeeze(text: str) -> str:
    return "".join(text.split())

"""What a synthesis cites, checked against the findings that there are (S-33)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm.state import Finding

# `\b` would not do: Han characters count as letters, and nothing separates them from an id.
_CITED: Final = re.compile(r"(?<![A-Za-z0-9])finding[-_ #]{0,2}(\d{1,9})(?![0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSynthesis:
    """A text whose citations of no finding, and of refuted ones, are marked where they stand."""

    text: str
    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()


def check_citations(text: str, findings: Sequence[Finding], words: SwarmReportText) -> CheckedSynthesis:
    """Check every finding that a text names: one that does not exist or was refuted is marked, not passed on as a fact."""
    cited: dict[str, None] = {}
    unknown: dict[str, None] = {}
    refuted: dict[str, None] = {}

    def mark(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(findings):
            unknown[match[0]] = None
            return f"{match[0]} ({words.no_such_finding})"
        finding = findings[number - 1]
        cited[finding.id] = None
        if finding.verdict != "refuted":
            return match[0]
        refuted[finding.id] = None
        return f"{match[0]} ({words.refuted_finding})"

    marked = _CITED.sub(mark, text)
    return CheckedSynthesis(text=marked, cited=tuple(cited), unknown=tuple(unknown), refuted=tuple(refuted))

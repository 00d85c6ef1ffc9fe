"""Findings as SARIF 2.1.0, the form in which forges and editors take the results of an analysis."""

from hashlib import sha256
from posixpath import normpath
from typing import Any, Final, get_args
from urllib.parse import quote

from moothall.domain.quotations import fold_quotation
from moothall.features.review.facts import Concern
from moothall.features.review.timeline import ReviewTimeline, build_decision
from moothall.plugins import BadSetting, dump_json
from moothall.reports.decision import DecidedFinding

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"critical": "error", "major": "error", "minor": "warning", "note": "note"}


def render_sarif(timeline: ReviewTimeline) -> str:
    """Render what was upheld; what was dropped, or quotes what is not there, is no result.

    Raises BadSetting without a verdict: forges take the alerts that a run does not name for mended.
    """
    decision = build_decision(timeline)
    if not decision.choice:
        raise BadSetting(
            "there is no SARIF without a verdict: it would close the alerts of earlier runs"
        )
    concerns = list(get_args(Concern))
    results = [
        _build_result(each, concerns)
        for each in decision.findings or ()
        if each.state in {"upheld", "open"}
    ]
    rules = [
        {"id": f"moot/{each}", "name": each.capitalize(), "shortDescription": {"text": each}}
        for each in concerns
    ]
    run = {
        "tool": {
            "driver": {
                "name": "Moot",
                "informationUri": "https://pypi.org/project/moothall/",
                "rules": rules,
            }
        },
        "automationDetails": {"id": "moot-review/"},
        "columnKind": "utf16CodeUnits",
        "results": results,
        "properties": {
            "session": decision.session,
            "verdict": decision.choice or None,
            "endedBy": decision.ended_by,
        },
    }
    return dump_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _build_result(finding: DecidedFinding, concerns: list[str]) -> dict[str, Any]:
    # The same fault on moved lines is the same alert: the quoted words count, not their place.
    mark = sha256(
        "\n".join((finding.file, finding.concern, fold_quotation(finding.evidence))).encode()
    ).hexdigest()[:32]
    region = {
        "startLine": max(1, finding.first_line),
        "endLine": max(1, finding.first_line, finding.last_line),
    }
    # Forges take paths below the root of the repository: what leads elsewhere is taken as if it began there.
    path = normpath(f"/{finding.file}").lstrip("/") or "?"
    uri = quote(path, errors="replace")
    result = {
        "ruleId": f"moot/{finding.concern}",
        "ruleIndex": concerns.index(finding.concern),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.claim.strip() or finding.concern},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {**region, "snippet": {"text": finding.evidence}},
                }
            }
        ],
        "partialFingerprints": {"mootFinding/v1": mark},
        "properties": {
            "finding": finding.number,
            "file": finding.file,
            "severity": finding.severity,
            "state": finding.state,
            "heldBy": list(finding.held_by),
            "disputedBy": list(finding.disputed_by),
            "settles": finding.settles,
        },
    }
    if finding.fix:
        result["fixes"] = [_build_fix(finding, uri)]
    return result


def _build_fix(finding: DecidedFinding, uri: str) -> dict[str, Any]:
    """Whole lines in place of whole lines: from the first letter of the first one to that of the line after the last one."""
    deleted = {
        "startLine": finding.first_line,
        "startColumn": 1,
        "endLine": finding.last_line + 1,
        "endColumn": 1,
    }
    replacement = {"deletedRegion": deleted, "insertedContent": {"text": f"{finding.fix}\n"}}
    change = {"artifactLocation": {"uri": uri}, "replacements": [replacement]}
    return {"description": {"text": "Suggested by a reviewer"}, "artifactChanges": [change]}

"""The figures as plain text."""

from collections.abc import Sequence

from bench.decisions.confidences import Pairs, forecasts, groups, mean_effective, measured_correlations
from bench.decisions.data import Recording
from bench.decisions.stops import quorums, stops
from bench.decisions.tallies import accuracy, debated, latest, paired, plurality, rights, rights_by_trust, single
from moot.scoring.calibration import build_reliability_table, compute_brier_score, compute_calibration_gap
from moot.scoring.confidence import ALONE, JOINED
from moot.scoring.independence import OTHER_FAMILY, SAME_FAMILY


def report(recording: Recording) -> str:
    """Everything that is measured on one recording."""
    rounds = max(len(case.rounds) for case in recording.cases)
    parts = [_title(recording), _accuracies(recording, rounds), _independence(recording), _calibration(recording)]
    if rounds > 1:
        parts += [_stopping(recording), _quorums(recording)]
    return "\n\n".join(parts)


def _title(recording: Recording) -> str:
    text = f"{recording.name}: {len(recording.cases)} cases"
    return f"{text}\n{'=' * len(text)}"


def _accuracies(recording: Recording, rounds: int) -> str:
    cases = recording.cases
    baseline = rights(cases, lambda case: plurality(case.blind))
    ways = {"weighed by trust": rights_by_trust(recording)}
    if any(case.category for case in cases):
        ways["weighed by trust in the category"] = rights_by_trust(recording, by_category=True)
    if rounds > 1:
        ways["plurality after debate"] = rights(cases, debated)
        ways["plurality of everyone's latest choice"] = rights(cases, latest)
    rows = [
        ("one seat alone, blind", f"{single(cases):.4f}", "", "", ""),
        ("plurality, blind", f"{accuracy(baseline):.4f}", "", "", ""),
    ]
    for name, found in ways.items():
        against = paired(found, baseline)
        difference = f"{against.difference:+.4f} ± {against.standard_error:.4f}"
        rows.append((name, f"{accuracy(found):.4f}", difference, str(against.gained), str(against.lost)))
    return _table(("decided by", "right", "against blind plurality", "gained", "lost"), rows)


def _independence(recording: Recording) -> str:
    heads, effective = mean_effective(recording)
    same, other = measured_correlations(recording)
    rows = [
        ("seats that chose, per case", f"{heads:.2f}", ""),
        ("effective votes among them", f"{effective:.2f}", ""),
        ("error correlation, one family", _figure(same, 2), f"presumed {SAME_FAMILY}"),
        ("error correlation, other family", _figure(other, 2), f"presumed {OTHER_FAMILY}"),
    ]
    return _table(("independence", "measured", ""), rows)


def _calibration(recording: Recording) -> str:
    found = forecasts(recording)
    spread = " ".join(f"{alone:.1f}/{joined:.1f}" for alone, joined in found.fits)
    rows = [
        _scores("always the base rate", found.base_rate, ""),
        _scores("as shipped, trust learned", found.shipped, f"{ALONE:.1f}/{JOINED:.1f}"),
        _scores("as shipped, neutral trust", found.neutral, f"{ALONE:.1f}/{JOINED:.1f}"),
        _scores("constants fitted on this file's other fifths", found.fitted, spread),
    ]
    scores = _table(("group confidence", "Brier", "gap", "constants"), rows)
    bins = [
        (f"{one.low:.1f}–{one.high:.1f}", str(one.cases), f"{one.stated:.3f}", f"{one.true:.3f}")
        for one in build_reliability_table(found.shipped)
    ]
    table = _table(("as shipped, trust learned", "cases", "stated", "came true"), bins)
    return f"{scores}\n\n{table}\n\n{_groups(recording)}"


def _groups(recording: Recording) -> str:
    found = groups(recording)
    rows = [
        _scores("as shipped", found.shipped, f"{ALONE:.1f}/{JOINED:.1f}"),
        _scores("fitted on all of them", found.fitted, f"{found.alone:.1f}/{found.joined:.1f}"),
    ]
    return _table((f"{found.count} groups of every size", "Brier", "gap", "constants"), rows)


def _scores(name: str, pairs: Pairs, constants: str) -> tuple[str, str, str, str]:
    return (
        name,
        _figure(compute_brier_score(pairs), 4),
        _figure(compute_calibration_gap(build_reliability_table(pairs)), 3),
        constants,
    )


def _stopping(recording: Recording) -> str:
    found = stops(recording)
    rows = [
        (stop.rule, f"{stop.accuracy:.4f}", f"{stop.replies:.2f}", f"{1 - stop.replies / found[0].replies:.0%}") for stop in found
    ]
    return _table(("stopping", "right", "replies per case", "saved"), rows)


def _quorums(recording: Recording) -> str:
    rows = []
    for name, blind in (("among the blind", True), ("only after reading", False)):
        found = quorums(recording, blind=blind)
        share = f"{found.wrong / found.formed:.1%}" if found.formed else "–"
        rows.append((name, str(found.formed), str(found.wrong), share))
    return _table((f"quorum of {recording.quorum}", "formed", "wrong", "share wrong"), rows)


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    lines = [heading, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)

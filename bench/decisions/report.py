"""The figures as plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.decisions.calibration import (
    build_reliability_table,
    compute_brier_score,
    compute_calibration_gap,
)
from bench.decisions.confidences import (
    Forecasts,
    Pairs,
    forecasts,
    groups,
    list_chosen,
    mean_effective,
    measured_correlations,
)
from bench.decisions.data import Recording
from bench.decisions.debates import (
    CHOICES,
    choose_blind,
    forecast_decisions,
    is_debated,
    measure_gates,
    score_ways,
)
from bench.decisions.differences import compare_brier, compare_gaps
from bench.decisions.earlier import ALONE, JOINED
from bench.decisions.panels import hold_panels
from bench.decisions.posteriors import Posteriors, compute_posteriors
from bench.decisions.stated import ACCURACIES, CASES, EARLIER, GROUPS, LATENT, OURS, Simulation
from bench.decisions.stops import quorums, stops
from bench.decisions.tallies import (
    LESS,
    Paired,
    accuracy,
    count_in_full,
    debated,
    latest,
    paired,
    plurality,
    rights,
    rights_by_log_odds,
    rights_by_trust,
    share_alike,
    single,
)
from moothall.scoring.independence import OTHER_FAMILY, SAME_FAMILY


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One recording, and the forecasts of its cases by both rules."""

    recording: Recording
    before: Forecasts
    after: Posteriors


def measure(recording: Recording) -> Measured:
    """Forecast every case of a recording."""
    return Measured(
        recording=recording, before=forecasts(recording), after=compute_posteriors(recording)
    )


def report(measured: Measured) -> str:
    """Everything that is measured on one recording."""
    recording = measured.recording
    rounds = max(len(case.rounds) for case in recording.cases)
    parts = [
        _title(recording),
        _accuracies(recording, rounds),
        _independence(recording),
        _calibration(measured),
        _groups(recording),
        _panels(recording),
    ]
    if rounds > 1:
        parts += [_debates(recording), _stopping(recording), _quorums(recording)]
    return "\n\n".join(parts)


def _title(recording: Recording) -> str:
    text = f"{recording.name}: {len(recording.cases)} cases"
    return f"{text}\n{'=' * len(text)}"


def _accuracies(recording: Recording, rounds: int) -> str:
    cases = recording.cases
    baseline = rights(cases, lambda case: plurality(case.blind))
    in_proportion = {
        False: rights_by_trust(recording),
        True: rights_by_trust(recording, by_category=True),
    }
    ways = {"in proportion to trust": in_proportion[False]}
    rivals: dict[str, dict[str, bool]] = {}
    if any(case.category for case in cases):
        ways["in proportion to trust in the category"] = in_proportion[True]
    for by_category in (False, True) if any(case.category for case in cases) else (False,):
        name = f"log-odds of the record{' in the category' if by_category else ''}"
        ways[name] = rights_by_log_odds(recording, by_category=by_category)
        rivals[name] = in_proportion[by_category]
    for name, worths in (
        ("log-odds, f = n_eff/n", share_alike),
        ("log-odds, f = 1", count_in_full),
    ):
        ways[name] = rights_by_log_odds(recording, worths=worths)
        rivals[name] = in_proportion[False]
    if rounds > 1:
        ways["plurality after debate"] = rights(cases, debated)
        ways["plurality of everyone's latest choice"] = rights(cases, latest)
    rows = [
        ("one seat alone, blind", f"{single(cases):.4f}", "", "", "", ""),
        ("plurality, blind", f"{accuracy(baseline):.4f}", "", "", "", ""),
    ]
    for name, found in ways.items():
        against = paired(found, baseline)
        rival = _difference(paired(found, rivals[name])) if name in rivals else ""
        rows.append(
            (
                name,
                f"{accuracy(found):.4f}",
                _difference(against),
                str(against.gained),
                str(against.lost),
                rival,
            )
        )
    return _table(
        (
            "decided by",
            "right",
            "against blind plurality",
            "gained",
            "lost",
            "against in proportion",
        ),
        rows,
    )


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


BEFORE = "in proportion, trust learned"
AFTER = "posterior, record learned"
MOTION = "posterior of a motion, record learned"
UNKNOWN = "posterior, record unknown"
BEFORE_LEARNED = "posterior by the whole table, record learned (the rule before)"
BEFORE_UNKNOWN = "posterior by the whole table, record unknown (the rule before)"


def list_ways(measured: Measured) -> dict[str, Pairs]:
    """Every way of forecasting, by name."""
    before, after = measured.before, measured.after
    return {
        "always the base rate": before.base_rate,
        BEFORE: before.shipped,
        "in proportion, neutral trust": before.neutral,
        "in proportion, constants fitted on this file's other fifths": before.fitted,
        AFTER: after.learned,
        UNKNOWN: after.unknown,
        BEFORE_LEARNED: after.before_learned,
        BEFORE_UNKNOWN: after.before_unknown,
        "sum over all, f = n_eff/n": after.shared_alike,
        f"sum over all, correlations × {LESS}": after.less_shared,
        "sum over all, f = 1": after.in_full,
        MOTION: after.motion,
        "posterior of a motion, record unknown": after.motion_unknown,
    }


def _calibration(measured: Measured) -> str:
    ways = list_ways(measured)
    scores = _score_ways(f"group confidence, K = {measured.recording.options}", ways, BEFORE)
    fits = " ".join(f"{alone:.1f}/{joined:.1f}" for alone, joined in measured.before.fits)
    tables = [_bins(name, ways[name]) for name in (BEFORE, AFTER, MOTION)]
    against = _compare_rules(ways)
    return "\n\n".join([f"{scores}\nconstants {ALONE}/{JOINED}; fitted: {fits}", against, *tables])


def _compare_rules(ways: Mapping[str, Pairs]) -> str:
    rows = []
    for now, before in ((AFTER, BEFORE_LEARNED), (UNKNOWN, BEFORE_UNKNOWN)):
        rows.append((now, str(compare_brier(ways[now], ways[before]))))
    return _table(("the rule now against the rule before", "Brier"), rows)


def _score_ways(heading: str, ways: Mapping[str, Pairs], baseline: str) -> str:
    gaps = compare_gaps(ways, baseline)
    rows = []
    for name, pairs in ways.items():
        brier = _figure(compute_brier_score(pairs), 4)
        gap = gaps[name]
        if name == baseline:
            rows.append((name, _right(pairs), brier, "", gap.gap.unsigned(), ""))
        else:
            against = compare_brier(pairs, ways[baseline])
            rows.append(
                (name, _right(pairs), brier, str(against), gap.gap.unsigned(), str(gap.against))
            )
    rival = f"against {baseline.partition(',')[0]}"
    return _table((heading, "right", "Brier", rival, "gap", rival), rows)


def _right(pairs: Pairs) -> str:
    return f"{sum(right for _, right in pairs) / len(pairs):.4f}"


def _bins(name: str, pairs: Pairs) -> str:
    rows = [
        (f"{one.low:.1f}–{one.high:.1f}", str(one.cases), f"{one.stated:.3f}", f"{one.true:.3f}")
        for one in build_reliability_table(pairs)
    ]
    return _table((name, "cases", "stated", "came true"), rows)


def _groups(recording: Recording) -> str:
    found = groups(recording)
    rows = [
        _scores("in proportion", found.shipped, f"{ALONE:.1f}/{JOINED:.1f}"),
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


def _panels(recording: Recording) -> str:
    rows = [
        (
            each.rule,
            f"{each.accuracy:.4f}",
            _difference(each.against),
            f"{each.replies:.2f}",
            f"{each.saved:.0%}",
        )
        for each in hold_panels(recording)
    ]
    return _table(
        (
            "asked one after another until",
            "right",
            "against all asked",
            "replies per case",
            "saved",
        ),
        rows,
    )


def report_simulations(found: Sequence[Simulation]) -> str:
    """The simulated votes that state a confidence."""
    text = f"Simulated votes with stated confidences: {GROUPS} groups of {len(ACCURACIES)} seats, {CASES} cases each"
    seats = ", ".join(f"{each:.2f}" for each in ACCURACIES)
    head = (
        f"{text}\n{'=' * len(text)}\n\nseats right with {seats}; records of {EARLIER} earlier cases"
    )
    parts = [head]
    for panel in LATENT:
        each = [one for one in found if one.panel == panel]
        parts.append(f"{panel}, errors correlate by {each[0].correlation:.2f}")
        gaps = [compare_gaps(one.forecasts, OURS, CASES) for one in each]
        for heading, cell in (
            ("right", lambda _at, one, name: _right(one.forecasts[name])),
            ("Brier, against ours", _compare_with_ours),
            ("gap", lambda at, _one, name, gaps=gaps: gaps[at][name].gap.unsigned()),
        ):
            rows = [
                (name, *(cell(at, one, name) for at, one in enumerate(each)))
                for name in each[0].forecasts
            ]
            parts.append(_table((heading, *(one.kind for one in each)), rows))
    return "\n\n".join(parts)


def _compare_with_ours(_at: int, one: Simulation, name: str) -> str:
    if name == OURS:
        return _figure(compute_brier_score(one.forecasts[name]), 4)
    return str(compare_brier(one.forecasts[name], one.forecasts[OURS], CASES))


def _difference(found: Paired) -> str:
    return f"{found.difference:+.4f} ± {found.standard_error:.4f}"


def _debates(recording: Recording) -> str:
    """What votes after reading decide, how sure of it one may be, and when a debate pays."""
    cases = [case for case in recording.cases if is_debated(case)]
    baseline = rights(recording.cases, choose_blind)
    choices = []
    for name, choose in CHOICES.items():
        found = rights(recording.cases, choose)
        choices.append((name, f"{accuracy(found):.4f}", _difference(paired(found, baseline))))
    parts = [_table(("what is decided", "right", "against blind plurality"), choices)]
    ways = forecast_decisions(recording)
    for heading, scored in (
        ("all cases", list_chosen(recording.cases)),
        ("debated cases", list_chosen(cases)),
    ):
        rows = [
            (
                each.name,
                each.right.unsigned(),
                f"{each.brier:.4f}",
                str(each.against),
                f"{each.gap:.3f}",
            )
            for each in score_ways(ways, scored)
        ]
        parts.append(
            _table(
                (
                    f"how sure of it, {len(scored)} {heading}",
                    "right",
                    "Brier",
                    "against the rule now",
                    "gap",
                ),
                rows,
            )
        )
    gates = [
        (each.name, f"{each.debated:.0%}", each.right.unsigned(), f"{each.replies:.2f}")
        for each in measure_gates(recording)
    ]
    parts.append(_table(("debate", "debated", "right", "replies per case"), gates))
    return "\n\n".join(parts)


def _stopping(recording: Recording) -> str:
    found = stops(recording)
    rows = [
        (
            stop.rule,
            f"{stop.accuracy:.4f}",
            f"{stop.replies:.2f}",
            f"{1 - stop.replies / found[0].replies:.0%}",
        )
        for stop in found
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
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )

"""The figures as plain text."""

import math
from collections.abc import Mapping, Sequence

from bench.swarm.cells import Played
from bench.swarm.cost import Round, Whole, exponent
from bench.swarm.runs import Outcome, share


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be, the first to the left."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def qualities(title: str, played: Played, base: Sequence[Outcome]) -> str:
    """Shares in percent with their standard errors; `gain` is the answer that is right, against `base`, run by run."""
    rows = []
    for name, found in played.items():
        rows.append(
            (
                name,
                str(share(found, lambda each: each.converged and each.is_best)),
                str(share(found, lambda each: each.converged and not each.is_best)),
                str(share(found, lambda each: not each.converged)),
                _rounds(found),
                str(share(found, lambda each: each.is_best)),
                "" if found is base else _gain(found, base),
                str(share(found, lambda each: each.marked_best)),
                str(share(found, lambda each: each.held_best)),
                str(share(found, lambda each: each.alone_best)),
                str(share(found, lambda each: each.plurality_best)),
                str(share(found, lambda each: each.pooled_best)),
            )
        )
    head = (
        title,
        "on best",
        "on worse",
        "neither",
        "rounds",
        "right",
        "gain",
        "marked",
        "held",
        "alone",
        "plurality",
        "pooled",
    )
    return table(head, rows)


def _rounds(found: Sequence[Outcome]) -> str:
    """Rounds until it converged, in the runs that did."""
    counts = [each.rounds for each in found if each.converged]
    if len(counts) < 2:
        return "–"
    mean = math.fsum(counts) / len(counts)
    spread = math.sqrt(
        math.fsum((each - mean) ** 2 for each in counts) / (len(counts) - 1) / len(counts)
    )
    return f"{mean:.1f} ± {spread:.1f}"


def _gain(found: Sequence[Outcome], base: Sequence[Outcome]) -> str:
    pairs = [int(one.is_best) - int(other.is_best) for one, other in zip(found, base, strict=True)]
    mean = math.fsum(pairs) / len(pairs)
    error = math.sqrt(math.fsum((each - mean) ** 2 for each in pairs)) / len(pairs)
    return f"{100 * mean:+.0f} ± {100 * error:.0f}"


def costs(title: str, found: Mapping[int, Round]) -> str:
    """Milliseconds of CPU, and how they grow."""
    rows = [
        (
            f"{number:,}",
            f"{each.findings:,}",
            f"{1e3 * each.rules:.1f}",
            f"{1e3 * each.measure:.1f}",
        )
        for number, each in found.items()
    ]
    last = sorted(found)[-3:]
    grows = "grows with the power"
    rows.append(
        (grows, "", _power(found, sorted(found), "rules"), _power(found, sorted(found), "measure"))
    )
    rows.append(
        (
            f"{grows}, {last[0]:,} … {last[-1]:,}",
            "",
            _power(found, last, "rules"),
            _power(found, last, "measure"),
        )
    )
    return table((title, "findings", "rules ms", "measure ms"), rows)


def _power(found: Mapping[int, Round], at: Sequence[int], part: str) -> str:
    points = [(float(number), float(getattr(found[number], part))) for number in at]
    return f"{exponent(points):.2f}" if all(y > 1e-4 for _, y in points) else "–"


def wholes(found: Mapping[str, Whole]) -> str:
    """Whole runs in the engine."""
    rows = [
        (
            name,
            f"{each.rounds}",
            f"{each.findings:,}",
            f"{each.entries:,}",
            str(each.lost),
            f"{each.seconds:.1f}",
            f"{each.rss / 1e6:.0f}",
        )
        for name, each in found.items()
    ]
    return table(
        (
            "64 explorers, whole runs",
            "rounds",
            "findings",
            "entries",
            "measure lost",
            "CPU s",
            "peak RSS MB",
        ),
        rows,
    )


def memory(found: Whole) -> str:
    """Traced memory by rounds, with the ledger on disk."""
    rows = [
        (
            str(number),
            f"{kept / 1e6:.2f}",
            f"{found.peak[number] / 1e6:.2f}" if number in found.peak else "",
        )
        for number, kept in sorted(found.kept.items())
    ]
    return table(("at the beginning of round", "held MB", "most in the round MB"), rows)

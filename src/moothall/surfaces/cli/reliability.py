"""`moot reliability`: how often decisions proved right beside how sure they were said to be: table, plot and CSV (D-25)."""

from collections.abc import Iterator
from typing import Final

from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SHARED_REPORT
from moothall.scoring.reliability import ReliabilityBin
from moothall.surfaces.api.memory import METHODS, ReliabilityOut
from moothall.surfaces.cli.operations import Command
from moothall.surfaces.cli.output import Note

WIDTH: Final = 40
"""Characters of the plot from 0 to 1."""


def show_reliability(result: ReliabilityOut) -> Iterator[str]:
    if not result.groups:
        yield Note("Nothing to compare yet: review decisions (`moot decisions review`) as success or failure.")
        return
    for group in result.groups:
        said = "" if group.said is None else f"; said {group.said:.2f} on average, Brier {group.brier:.3f}"
        family = f" ({one_line(group.family)})" if group.family else ""
        share = f"{group.right} of {group.cases} right ({group.right / group.cases:.0%})"
        agreed = SHARED_REPORT["en"].agreement_kinds.get(group.agreement, group.agreement)
        yield f"{group.protocol}, {agreed}{family}: {share}{said}"
    if result.bins:
        yield ""
        yield f"{'said':<11}{'share right, │ marks what was said':<{WIDTH + 2}}right of cases"
        yield from map(draw_bin, result.bins)


def draw_bin(each: ReliabilityBin) -> str:
    """Return one line of the plot: a bar as long as the share that was right, and a mark where it should have ended."""
    filled, mark = round(each.right / each.cases * WIDTH), min(round(each.said * WIDTH), WIDTH - 1)
    bar = ["█" if place < filled else "·" for place in range(WIDTH)]
    bar[mark] = "│"
    return f"{each.low:.1f} – {each.high:.1f}  {''.join(bar)}  {each.right} of {each.cases} ({each.right / each.cases:.0%})"


def show_csv(result: ReliabilityOut) -> Iterator[str]:
    yield "protocol,agreement,family,low,high,cases,right,said"
    for group in result.groups:
        family = group.family.replace('"', '""')
        for each in group.bins:
            figures = f"{each.low},{each.high},{each.cases},{each.right},{each.said}"
            yield one_line(f'{group.protocol},{group.agreement},"{family}",{figures}')


reliability = Command(
    method=METHODS["cstp.getReliability"],
    show=show_reliability,
    examples="moot reliability\nmoot reliability --protocol debate\nmoot reliability csv > reliability.csv",
    help="Show how often decisions proved right beside how sure they were said to be. Counted from reviews.",
).build_group(
    "reliability",
    {
        "csv": Command(
            method=METHODS["cstp.getReliability"],
            show=show_csv,
            examples="moot reliability csv > reliability.csv",
            help="Print the same as CSV: one line for each kind of decision and each tenth of confidence.",
        ).build("csv")
    },
)

"""Plays simulated swarms and times rounds: `python -m bench.swarm [--runs N] [--only quality|speech|unkind|cost|tokens]`."""

import argparse
import asyncio
from collections.abc import Iterable
from pathlib import Path

from bench.swarm import cost, picture, report, settlement
from bench.swarm.cells import Played, one_at_a_time, safeguards
from bench.swarm.runs import Case, outcomes
from bench.swarm.tokens import print_tokens

DOCS = Path(__file__).resolve().parents[2] / "docs"


def played(cells: Iterable[tuple[str, Case]], runs: int) -> Played:
    return {name: outcomes(case, runs) for name, case in cells}


def quality(runs: int, pictures: Path) -> None:
    """What swarms find."""
    print(f"{runs} runs a row, shares in percent ± standard error", end="\n\n", flush=True)
    others = played(one_at_a_time(), runs)
    base = others["as shipped"]
    print(report.qualities("one thing changed", others, base), end="\n\n", flush=True)
    kept = played(safeguards(), runs)
    print(report.qualities("safeguards", kept, base), end="\n\n", flush=True)
    (pictures / "bench-swarm.svg").write_text(picture.outcomes(kept, runs), encoding="utf-8")


def prices(pictures: Path) -> None:
    """What rounds and whole runs cost."""
    cost.warm()
    agents = (cost.by_agents(is_new=False), cost.by_agents(is_new=True))
    print(
        report.costs("agents, ideas repeated", agents[0]),
        report.costs("agents, ideas new", agents[1]),
        sep="\n\n",
        flush=True,
    )
    findings = (cost.by_findings(is_new=False), cost.by_findings(is_new=True))
    print(
        "",
        report.costs("findings, ideas repeated", findings[0]),
        "",
        report.costs("findings, ideas new", findings[1]),
        sep="\n",
    )
    print(
        "",
        report.costs("64 agents, new findings in one round", cost.in_one_round()),
        sep="\n",
        flush=True,
    )
    whole = {
        name: asyncio.run(cost.whole(64, count, each))
        for name, (count, each) in cost.WHOLES.items()
    }
    print("", report.wholes(whole), "", report.memory(cost.traced(64, 10, cost.REPEATED)), sep="\n")
    (pictures / "bench-swarm-cost.svg").write_text(
        picture.growth(agents, findings), encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what swarms find and what they cost.")
    parser.add_argument(
        "--runs", type=int, help="runs of each kind of swarm (150, of those that speak 200)"
    )
    parser.add_argument(
        "--only", choices=("quality", "speech", "unkind", "cost", "tokens"), help="one part of it"
    )
    parser.add_argument("--first", type=int, default=1, help="with --only unkind: the first seed")
    parser.add_argument(
        "--pictures", type=Path, default=DOCS, help="the folder that gets the pictures"
    )
    options = parser.parse_args()
    if options.only in {None, "quality"}:
        quality(options.runs or 150, options.pictures)
    if options.only in {None, "speech"}:
        settlement.print_settlement(options.runs or 200)
    if options.only == "unkind":
        settlement.print_unkind(options.runs or 200, options.first, 5)
    if options.only in {None, "tokens"}:
        print_tokens()
    if options.only in {None, "cost"}:
        prices(options.pictures)


if __name__ == "__main__":
    main()

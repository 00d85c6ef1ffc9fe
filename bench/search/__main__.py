"""Measures how well and how fast decisions are found: `python -m bench.search [--decisions 5000]`."""

import argparse
import asyncio

from bench.search.measure import report_search
from bench.search.new_process import report_new_process


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure search over decisions, by words and by meaning."
    )
    parser.add_argument(
        "--decisions",
        type=int,
        default=5_000,
        help="how many decisions the times are measured with",
    )
    parser.add_argument(
        "--in-new-process",
        type=int,
        default=2_000,
        help="how many the first search of a process is over",
    )
    options = parser.parse_args()
    print("\n".join(asyncio.run(report_search(options.decisions))))
    print("\n".join(report_new_process(options.in_new_process)))


if __name__ == "__main__":
    main()

"""Measures how well and how fast decisions are found: `python -m bench.search [--decisions 5000]`."""

import argparse
import asyncio

from bench.search.measure import report_search


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure search over decisions, by words and by meaning.")
    parser.add_argument("--decisions", type=int, default=5_000, help="how many decisions the times are measured with")
    print("\n".join(asyncio.run(report_search(parser.parse_args().decisions))))


if __name__ == "__main__":
    main()

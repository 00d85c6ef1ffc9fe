"""Measures the tally, the trust and the group's confidence on recorded votes: `python -m bench.decisions [--data FOLDER]`."""

import argparse
from pathlib import Path

from bench.decisions.data import DATA, recordings
from bench.decisions.report import report


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure decisions on recorded votes.")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with the three recordings")
    options = parser.parse_args()
    print("\n\n\n".join(report(recording) for recording in recordings(options.data)))


if __name__ == "__main__":
    main()

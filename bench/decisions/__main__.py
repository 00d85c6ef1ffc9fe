"""Measures both rules on recorded and simulated votes: `python -m bench.decisions [--data FOLDER] [--pictures FOLDER]`."""

import argparse
from pathlib import Path

from bench.decisions.data import DATA, recordings
from bench.decisions.picture import draw_calibration
from bench.decisions.report import (
    AFTER,
    BEFORE,
    MOTION,
    list_ways,
    measure,
    report,
    report_simulations,
)
from bench.decisions.stated import OURS, PROPORTION, simulate_panels


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure decisions on recorded votes.")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="a folder with the three recordings"
    )
    parser.add_argument(
        "--pictures", type=Path, help="a folder that gets the calibration as pictures"
    )
    options = parser.parse_args()
    measured = [measure(recording) for recording in recordings(options.data)]
    simulated = simulate_panels()
    print("\n\n\n".join([*map(report, measured), report_simulations(simulated)]))
    if options.pictures is not None:
        recorded = {
            each.recording.name: {name: list_ways(each)[name] for name in (BEFORE, AFTER, MOTION)}
            for each in measured
        }
        stated = {
            str(each.kind): {name: each.forecasts[name] for name in (PROPORTION, OURS)}
            for each in simulated
            if each.panel == "five families"
        }
        for file, title, panels in (
            ("bench-decisions.svg", "Group confidence on recorded votes", recorded),
            (
                "bench-decisions-stated.svg",
                "Group confidence on simulated votes that state a confidence",
                stated,
            ),
        ):
            (options.pictures / file).write_text(draw_calibration(title, panels), encoding="utf-8")


if __name__ == "__main__":
    main()

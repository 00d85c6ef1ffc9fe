"""Measures which ideas count as one: `python -m bench.likeness [--wrong]`."""

import argparse

from bench.likeness.report import report


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure which ideas count as one, on pairs written for it."
    )
    parser.add_argument(
        "--wrong", action="store_true", help="list the pairs that are judged wrongly"
    )
    print(report(wrong=parser.parse_args().wrong))


if __name__ == "__main__":
    main()

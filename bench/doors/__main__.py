"""All calls by all roles (`python -m bench.doors [CALLS] [SECONDS] [SEED]`); 1 if one failed inside, or wrote though refused."""

import asyncio
import logging
import sys
import time

from bench.doors.fuzz import run_calls


def main() -> int:
    calls, seconds, seed = (
        int(each) for each in (*sys.argv[1:], *("100000", "480", "1")[len(sys.argv) - 1 :])
    )
    logging.disable(logging.WARNING)
    began = time.monotonic()
    result = asyncio.run(run_calls(calls, seconds, seed))
    print(
        f"{result.calls} of {calls} calls in {time.monotonic() - began:.0f} s, seed {seed}; {result.left} waited and were left"
    )
    print(
        f"internal errors: {len(result.internal)}; refused and written: {len(result.wrote)}; slowest {result.slowest:.2f} s"
    )
    for line in [*result.internal[:20], *result.wrote[:20]]:
        print(line)
    for name, count in sorted(result.outcomes.items()):
        print(f"{count:7}  {name}")
    return 1 if result.internal or result.wrote else 0


if __name__ == "__main__":
    sys.exit(main())

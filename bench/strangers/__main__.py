"""Strangers' texts, broken and made to hurt (`python -m bench.strangers [TEXTS] [SEED]`); 1 where one did more than be refused."""

import asyncio
import sys

from bench.strangers.fuzz import IN_LOOP, run_texts


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    tally = asyncio.run(run_texts(count, seed))
    print(f"{tally.texts} texts, seed {seed}: {tally.refused} refused in a sentence")
    print(f"other errors: {len(tally.failed)}; over 0.25 s in the event loop: {len(tally.slow)}")
    print(f"memory of the process: at most {tally.memory} MB")
    for kind, seconds in sorted(tally.slowest.items()):
        place = "in the event loop" if kind in IN_LOOP else "on a thread"
        print(
            f"{kind:10} {tally.by_kind[kind]:6} texts, {place}: at most {seconds:.3f} s of processor time"
        )
    for line in [*tally.failed[:20], *tally.slow[:20]]:
        print(line)
    return 1 if tally.failed or tally.slow else 0


if __name__ == "__main__":
    sys.exit(main())

"""A worker whose participants write their calls down: python -m bench.scale.counted_worker LOG SECONDS LEASE [SESSIONS [SLOW]]

The participant `counted` takes SECONDS over an answer, `counted_slow` takes SLOW. LOG gets a line `CALLED_AT SEED ASK PID` for
each call.
"""

import asyncio
import logging
import os
import sys

from moothall.app.resources import SystemClock
from moothall.app.shared_runner import run_worker
from moothall.domain.effects import Brief
from moothall.surfaces.cli.serve import quiet_libraries

PLATFORM = "counted"
SLOW_PLATFORM = "counted_slow"


class CountedParticipant:
    """Answers a debate after a while; each call is on disk before it begins."""

    def __init__(self, log: str, seconds: float) -> None:
        self._file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._seconds = seconds
        # The clock that dates entries: the machine's own may be set while the bench runs.
        self._clock = SystemClock()

    async def __call__(self, brief: Brief) -> object:
        os.write(
            self._file,
            f"{self._clock.now().timestamp():.6f} {brief.seed} {brief.ask.id} {os.getpid()}\n".encode(),
        )
        await asyncio.sleep(self._seconds)
        return build_words(brief.ask.kind)


def build_words(phase: str) -> dict[str, object]:
    """What is said in a phase of a debate."""
    return {
        "propose": {"type": "propose", "text": "Yes, in two steps.", "confidence": 0.8},
        "argue": {"type": "support", "text": "It holds.", "confidence": 0.7, "refers_to": 2},
        "synthesize": {"type": "synthesize", "text": "In two steps.", "confidence": 0.8},
        "vote": {"type": "vote", "position": "support", "confidence": 0.9},
    }[phase]


def main() -> None:
    log, seconds, lease = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    sessions = int(sys.argv[4]) if len(sys.argv) > 4 else 500
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(message)s")
    quiet_libraries()
    slow = float(sys.argv[5]) if len(sys.argv) > 5 else seconds
    participants = {
        PLATFORM: CountedParticipant(log, seconds),
        SLOW_PLATFORM: CountedParticipant(log, slow),
    }
    asyncio.run(
        run_worker(os.environ, participants=participants, concurrency=sessions, lease=lease)
    )


if __name__ == "__main__":
    main()

"""Debates raced by threads: whatever comes first, the votes decide, and they decide the same (D-7)."""

import random
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.wire import DEADLINE, ApiModel, serve_within

RACES = 50
SEATS = ("ada", "bob", "cy")
SHARED: Mapping[str, str] = {
    "ada": "support oppose support",
    "bob": "oppose support support",
    "cy": "oppose oppose support",
}
"""What each thinks of S-ada, S-bob and S-cy: all can live with the last."""

OWN: Mapping[str, str] = {
    "ada": "support oppose oppose",
    "bob": "oppose support oppose",
    "cy": "oppose oppose support",
}
"""Everyone wants its own: a tie, which the roster breaks."""


class Agent(threading.Thread):
    """Waits for its turns and says what it always says, after a moment that chance decides."""

    def __init__(self, wire: ApiModel, session: str, seat: str, wants: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._wire, self._session, self._seat = wire, session, seat
        self._wants = wants.split()
        self._chance = random.Random(f"{seed} {seat}")

    def run(self) -> None:
        cursor = 0
        while True:
            turn = self._call("cstp.waitForTurn", cursor=cursor, timeoutSeconds=20)
            cursor = turn["cursor"]
            if turn["status"] == "closed":
                return
            if turn["status"] == "your_turn":
                time.sleep(self._chance.random() * 0.003)
                self._call("cstp.contribute", **self._answer(turn["ask"]["phase"]))

    def _answer(self, phase: str) -> dict[str, Any]:
        if phase == "vote":
            candidates = {
                each["participant"]: each["candidate"]
                for each in self._call("cstp.getDeliberation")["candidates"]
            }
            ballot = [
                {"candidate": candidates[seat], "position": position}
                for seat, position in zip(SEATS, self._wants, strict=True)
            ]
            return {"type": "vote", "ballot": ballot, "confidence": 0.8}
        if phase == "argue":
            return {"type": "pass"}
        kind = "propose" if phase == "propose" else "synthesize"
        return {
            "type": kind,
            "text": f"{kind[0].upper()}-{self._seat}",
            "choice": f"plan {self._seat}",
            "confidence": 0.8,
        }

    def _call(self, method: str, **params: Any) -> Any:
        return self._wire(method, deliberationId=self._session, participant=self._seat, **params)


def race(wire: ApiModel, wants: Mapping[str, str], seed: int) -> tuple[Any, ...]:
    """Hold one debate, the agents started in any order; what came of it, without what names a line by its number."""
    session = wire.open(*SEATS)
    agents = [Agent(wire, session, seat, wants[seat], seed) for seat in SEATS]
    random.Random(seed).shuffle(agents)
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join(DEADLINE)
        assert not agent.is_alive()
    read = wire.read(session)
    result, authors = (
        read["result"],
        {each["candidate"]: each["participant"] for each in read["candidates"]},
    )
    tally = tuple(
        (authors[each["candidate"]], each["support"], each["oppose"], each["confidence"])
        for each in result["tally"]
    )
    arrived = tuple(line["participant"] for line in read["contributions"])
    return (
        arrived,
        result["motion"],
        result.get("decision"),
        result["consensusType"],
        result["confidence"],
        tally,
    )


@pytest.mark.parametrize(("wants", "motion"), [(SHARED, "S-cy"), (OWN, "S-ada")])
def test_a_hundred_raced_debates_have_one_outcome(
    tmp_path: Path, wants: Mapping[str, str], motion: str
) -> None:
    """D-7: the order of arrival differs, the motion, the outcome and every figure do not."""
    with serve_within(tmp_path) as wire:
        found = [race(wire, wants, seed) for seed in range(RACES)]
    assert len({each[0] for each in found}) > 1, "no two races differ: nothing was raced"
    assert len({each[1:] for each in found}) == 1
    assert found[0][1] == motion

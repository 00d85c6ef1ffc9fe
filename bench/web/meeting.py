"""A long meeting that still goes on: a roundtable whose seats are outside: the bench decides when something is said."""

from pathlib import Path
from typing import Final

from moothall.app.moot import Moot

SEATS: Final = tuple(f"seat{number:02}" for number in range(1, 26))
PARAGRAPH: Final = (
    "Measured on **staging** last week: {number} requests a second, and the slowest hundredth waited for 180 ms. "
    "I take from it that the queue is not where the time goes.\n\n"
    "- the database answers within 4 ms\n- the page asks it 11 times\n\n"
    "See #{earlier} for the table. `cache.get(key)` is called before the key is known, and that is the half of it.\n"
)


def environ_of(home: Path) -> dict[str, str]:
    return {"MOOT_HOME": str(home), "HOME": str(home.parent)}


async def record_meeting(home: Path, spoken: int) -> str:
    """Let the seats speak so many times in all; the session."""
    async with Moot(environ=environ_of(home)) as moot:
        session = await moot.open(
            "Where does the time go?",
            protocol="roundtable",
            seats=dict.fromkeys(SEATS, "mailbox"),
            settings={"max_rounds": 100},
            session="long",
        )
        await moot.run(session)
        for number in range(1, spoken + 1):
            [ask] = await moot.asks(session)
            await moot.answer(
                session,
                str(ask.ask.id),
                PARAGRAPH.format(number=number, earlier=max(1, number - 3)),
            )
    return str(session)

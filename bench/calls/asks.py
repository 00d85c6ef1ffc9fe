"""What one ask of each kind sends beyond its matter, in every protocol and both languages."""

from collections.abc import Mapping

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.ports.participant import Answer, NoAnswer
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_instructions

PROTOCOLS: Mapping[str, Mapping[str, object]] = {
    "persona": {"window": 3},
    "roundtable": {"max_rounds": 1},
    "debate": {},
    "advisory": {},
    "consensus": {},
    "swarm": {"max_rounds": 4},
}
TOPICS: Mapping[Language, str] = {"en": "Shall we?", "zh": "要不要？"}


async def measure_asks(protocol: str, language: Language) -> dict[str, int]:
    """Hold a session; return the most tokens beyond its matter that an ask of each kind sent."""
    most: dict[str, int] = {}

    class Measuring(CarelessModel):
        async def __call__(self, brief: Brief) -> Answer | NoAnswer:
            most[brief.ask.kind] = max(most.get(brief.ask.kind, 0), count_instructions(brief))
            return await super().__call__(brief)

    seats = {f"m{number}": Measuring(number, rate=0.0) for number in range(4)}
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        await moot.hold(
            TOPICS[language],
            protocol=protocol,
            seats=seats,
            language=language,
            seed=1,
            settings=dict(PROTOCOLS[protocol]),
            turns=4 if protocol == "persona" else None,
        )
    return most


async def report_instructions() -> list[str]:
    """Return a line for each kind of ask."""
    lines = [f"{'protocol':<12}{'ask':<12}{'en':>6}{'zh':>6}"]
    for protocol in PROTOCOLS:
        english, chinese = await measure_asks(protocol, "en"), await measure_asks(protocol, "zh")
        lines += [
            f"{protocol:<12}{kind:<12}{most:>6}{chinese.get(kind, 0):>6}"
            for kind, most in english.items()
        ]
    return lines

"""A careless mind: the embedded model without its grammar answers each kind of ask (`python -m bench.reading [TIMES [FILE]]`).

For every protocol one session is held by seats that answer well; the first asks of each kind are kept with their prompts. Then
the model answers each kind TIMES times (default 100), and each answer is read twice: strictly (JSON that fits as it stands, as
every answer was read before) and kindly (as answers are read now). It needs the extra `embedded` and its weights. With FILE each
answer is kept in it as a line of JSON, so that another version can read the same answers.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.calls.asks import PROTOCOLS
from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.errors import BadAnswer
from moothall.participants.local_model import LocalModel, fetch_weights
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.answers import read_answer
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.careless_model import CarelessModel

MAX_BRIEFS = 5
MAX_TOKENS = 160
MODELS = Path(__file__).resolve().parents[2] / ".cache" / "models"


async def collect_briefs(protocol: str) -> Mapping[str, list[Brief]]:
    """Hold a session; return some briefs of each kind of ask."""
    kept: dict[str, list[Brief]] = {}

    class Keeping(CarelessModel):
        async def __call__(self, brief: Brief) -> Answer | NoAnswer:
            briefs = kept.setdefault(brief.ask.kind, [])
            if len(briefs) < MAX_BRIEFS:
                briefs.append(brief)
            return await super().__call__(brief)

    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        await moot.hold(
            "Should we keep the cache at the edge of the network?",
            protocol=protocol,
            seats={f"m{number}": Keeping(number, rate=0.0) for number in range(3)},
            seed=1,
            settings=dict(PROTOCOLS[protocol]),
            turns=3 if protocol == "persona" else None,
        )
    return kept


def answer(model: LocalModel, brief: Brief, seed: int) -> str:
    """Let the model write, with no grammar to hold it."""
    messages = [
        {"role": "system", "content": brief.system},
        {"role": "user", "content": build_user_prompt(brief)[:9_000]},
    ]
    sampling = {"temperature": 0.7, "seed": seed}
    done = model.complete(
        messages,
        max_tokens=MAX_TOKENS,
        sampling=sampling,
        on_text=lambda text: None,
        is_cancelled=lambda: False,
    )
    return done.text


def counts(brief: Brief, text: str, *, is_strict: bool) -> bool:
    """Whether an answer counts."""
    try:
        read_answer(brief, text, is_strict=is_strict)
    except BadAnswer:
        return False
    return True


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    model = LocalModel(fetch_weights(MODELS))
    print(f"{'protocol':<12}{'ask':<12}{'answers':>8}{'strictly':>10}{'kindly':>8}", flush=True)
    for protocol in PROTOCOLS:
        for kind, briefs in asyncio.run(collect_briefs(protocol)).items():
            # One brief after another: the model reads the same prompt once.
            asked = [briefs[number * len(briefs) // times] for number in range(times)]
            texts = [answer(model, brief, seed) for seed, brief in enumerate(asked)]
            if len(sys.argv) > 2:
                with Path(sys.argv[2]).open("a", encoding="utf-8") as file:
                    for number, text in enumerate(texts):
                        file.write(
                            json.dumps([protocol, kind, number * len(briefs) // times, text]) + "\n"
                        )
            shares = [
                sum(
                    counts(brief, text, is_strict=is_strict)
                    for brief, text in zip(asked, texts, strict=True)
                )
                / times
                for is_strict in (True, False)
            ]
            print(
                f"{protocol:<12}{kind:<12}{times:>8}{shares[0]:>10.0%}{shares[1]:>8.0%}", flush=True
            )


if __name__ == "__main__":
    main()

"""How an agent's text becomes the answer of its seat: asked once, and once more with the fault where it cannot be used."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from moothall.domain.budget import FREE, Usage
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss
from moothall.errors import BadAnswer, UnclearChoice
from moothall.ports.participant import Answer, NoAnswer, OnText, UnclearAnswer
from moothall.reading.answers import read_answer

ONE_CALL: Final = Usage(calls=1)


class AgentFault(Exception):
    """Why an agent gives no answer. What the call that failed has cost is not known: it counts as one."""

    def __init__(self, reason: Loss, detail: str, usage: Usage = ONE_CALL) -> None:
        super().__init__(detail)
        self.reason: Loss = reason
        self.detail = detail
        self.usage = usage

    def to_no_answer(self, before: Usage = FREE) -> NoAnswer:
        """Return the loss of its seat, with the usage of the calls before."""
        return NoAnswer(reason=self.reason, detail=self.detail, usage=before + self.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReply:
    """What an agent answered to one prompt; `session` is where it can be asked on, if it says so."""

    text: str
    usage: Usage = ONE_CALL
    session: str = ""
    model: str = ""


async def ask_with_correction(
    brief: Brief, on_text: OnText, ask: Callable[[str], Awaitable[AgentReply]], origin: str = ""
) -> Answer | NoAnswer:
    """Return the answer to a brief. `ask` gets what was wrong with the reply before, "" at first, and may raise AgentFault.

    Raises UnclearAnswer for a reply that makes no choice plainly.
    """
    usage, fault = FREE, BadAnswer()
    for attempt in range(2):
        try:
            reply = await ask(str(fault))
        except AgentFault as cause:
            return cause.to_no_answer(usage)
        usage += reply.usage
        try:
            read = read_answer(brief, reply.text, is_last=attempt > 0)
        except UnclearChoice as unclear:
            raise UnclearAnswer(unclear, usage, model=reply.model, origin=origin) from unclear
        except BadAnswer as cause:
            fault = cause
            continue
        if brief.form.form == "text":
            on_text(reply.text)
        return Answer(
            said=read.said, corrections=read.mends, usage=usage, model=reply.model, origin=origin
        )
    return NoAnswer(reason=fault.loss, detail=str(fault), usage=usage)

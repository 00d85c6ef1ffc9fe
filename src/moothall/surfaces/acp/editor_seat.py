"""The seat of an editor's user: what it is asked is put in the chat, one question at a time, and the next prompts answer."""

from dataclasses import dataclass, field
from typing import Any, Final

from moothall.surfaces.api.chat import ChatMeeting
from moothall.surfaces.api.method import Call
from moothall.surfaces.api.methods import TABLE

SEAT: Final = "you"


@dataclass(slots=True)
class EditorSeat:
    """What the user is asked now, and what they have answered of it."""

    meeting: ChatMeeting
    last_entry: int = 0  # up to which entry the editor was sent the meeting
    ask: str = ""
    step: str = ""
    answers: dict[str, str] = field(default_factory=dict)

    async def find_question(self, call: Call) -> str:
        """The next question in Markdown; empty where the user is asked nothing."""
        asked = await self._load_ask(call)
        if asked is None:
            return ""
        parts: list[str] = []
        if asked["ask"]["ask"] != self.ask:
            self.ask, self.answers, parts = asked["ask"]["ask"], {}, [asked["about"], asked["intro"]]
        step = self._find_step(asked["steps"])
        assert step is not None, "an ask without a question is answered by code"
        self.step = step["key"]
        choices = "\n".join(f"- `{choice['value']}`: {choice['text']}" for choice in step["choices"])
        commands = "\n".join(f"- `{command['word']}`: {command['text']}" for command in asked["commands"])
        return "\n\n".join(filter(None, (*parts, f"**{step['text']}**", choices, commands)))

    async def answer(self, call: Call, text: str) -> None:
        """Take a prompt as the answer to the question that was put; raises MootError, and asks anew after that."""
        asked = await self._load_ask(call)
        if asked is None or asked["ask"]["ask"] != self.ask:
            return
        given: dict[str, Any] = {"sessionId": self.meeting.session, "seat": SEAT, "ask": self.ask}
        text = text.strip()
        if text in {command["word"] for command in asked["commands"]}:
            given["command"] = text
        else:
            step = next(each for each in asked["steps"] if each["key"] == self.step)
            values = {each[key].casefold(): each["value"] for each in step["choices"] for key in ("value", "text")}
            self.answers[self.step] = values.get(text.casefold(), text)
            if self._find_step(asked["steps"]) is not None:
                return
            given["answers"] = self.answers
        self.ask, self.answers = "", {}
        await TABLE["moot.answerAsPerson"].invoke(call, given)

    async def _load_ask(self, call: Call) -> dict[str, Any] | None:
        asks = (await TABLE["moot.getPersonAsks"].invoke(call, {"sessionId": self.meeting.session, "seat": SEAT}))["asks"]
        return asks[0] if asks else None

    def _find_step(self, steps: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The next question: the first, then each that needs an answer."""
        open_steps = [step for step in steps if step["key"] not in self.answers and self._is_put(step.get("onlyAfter"))]
        return next((step for step in open_steps if step["needed"] or not self.answers), None)

    def _is_put(self, after: list[Any] | None) -> bool:
        return after is None or self.answers.get(after[0]) in after[1]

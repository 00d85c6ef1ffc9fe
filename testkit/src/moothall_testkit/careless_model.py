"""A model that answers as live ones did: what it means is there, and one answer in three has a fault in its form.

It is asked as a model is: once, and once more with the fault, when its answer could not be used.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from moothall.domain.budget import Usage
from moothall.domain.effects import Brief, Schema
from moothall.domain.seeded_random import random_unit
from moothall.errors import BadAnswer, UnclearChoice
from moothall.ports.participant import Answer, NoAnswer, UnclearAnswer
from moothall.reading.answers import read_answer
from moothall.reading.ask_back import WHICH
from moothall.reading.schemas import build_asked_schema, get_own_schema
from moothall_testkit.schema_values import draw_value

FAULT_RATE: Final = 1 / 3
"""How many answers of a live model of 1.5 billion parameters had a fault."""
ATTEMPTS: Final = 2
_LONG: Final = (
    "The team is free to choose among these ways, and each of them has its price, which somebody must pay. "
    * 3
)
_SPEECHES: Final = {
    "en": "I would start with a pilot, because we do not know the load yet; 20 users are enough to measure it.",
    "zh": "我主张先做试点，因为我们还不清楚负载；二十个用户足以测出来。",
}
_OTHER: Final = {
    "support": "支持",
    "oppose": "反对",
    "conditional_support": "有条件支持",
    "abstain": "弃权",
    "challenge": "质疑",
    "adopted": "采纳",
    "declined": "拒绝",
    "confirmed": "证实",
    "refuted": "证伪",
}
_ONES: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

Fields = dict[str, Any]
Spoil = Callable[[Fields, Schema, Random], str]


class CarelessModel:
    """Answers any brief; `rate` is the share of answers with a fault, and `faults` may restrict which ones it makes.

    `made` counts the faults that it made, `asked` the asks, `lost` those that could not be used even the second time. `intended` is
    what it last meant by its answer to each ask.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        rate: float = FAULT_RATE,
        faults: tuple[str, ...] = (),
        shares: Mapping[str, int] | None = None,
    ) -> None:
        """With `shares` each of the faults that it names is made in proportion to its number."""
        self._seed = seed
        self._rate = rate
        self._faults = faults or tuple(FAULTS)
        self._shares = shares
        self.made: Counter[str] = Counter()
        self.asked = 0
        self.lost: list[str] = []
        self.intended: dict[str, Fields] = {}

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind != WHICH:
            self.asked += 1
        fault, usage = "", Usage()
        for attempt in range(ATTEMPTS):
            usage += Usage(tokens_in=300, tokens_out=60, cost=0, calls=1)
            random = Random(random_unit(self._seed, brief.seed, brief.ask.id, brief.again, attempt))  # noqa: S311
            try:
                read = read_answer(brief, self.write(brief, random), is_last=attempt > 0)
            except UnclearChoice as unclear:
                raise UnclearAnswer(unclear, usage, model="careless") from unclear
            except BadAnswer as error:
                fault = str(error)
            else:
                return Answer(said=read.said, corrections=read.mends, usage=usage, model="careless")
        self.lost.append(f"{brief.ask.kind}: {fault}")
        return NoAnswer(reason="malformed", detail=fault, usage=usage)

    def write(self, brief: Brief, random: Random) -> str:
        """Write the text of an answer."""
        is_faulty = random.random() < self._rate
        fault = self._draw_fault(random)
        schema = build_asked_schema(get_own_schema(brief))
        branch = schema["anyOf"][0] if "anyOf" in schema else schema
        if brief.form.form == "text":
            if is_faulty:
                self.made[fault] += 1
            return self._write_words(brief, random, fault if is_faulty else "")
        meant = draw_value(branch, random)
        if brief.form.kind == WHICH:
            # It copies none of its words.
            words = branch["properties"]["meant"]["enum"]
            meant = {"words": "", "meant": self._choose_meant(brief, words, random)}
        else:
            self.intended[brief.ask.id] = meant
        plain = _dump(meant)
        if not is_faulty:
            return plain
        written = _ALL_FAULTS[fault](meant, branch, random)
        # A form without the field that a fault spoils gets an answer without it.
        if written != plain:
            self.made[fault] += 1
        return written

    def _choose_meant(self, brief: Brief, words: list[str], random: Random) -> str:
        """Return what it meant: the one of these words that its answer holds, any of them where it holds none or several."""
        held = [word for word in words if word in _list_texts(self.intended.get(brief.ask.id))]
        if len(held) == 1:
            return held[0]
        return words[random.randrange(2)]

    def _draw_fault(self, random: Random) -> str:
        if self._shares is None:
            return random.choice(self._faults)
        return random.choices([*self._shares], [*self._shares.values()])[0]

    def _write_words(self, brief: Brief, random: Random, fault: str) -> str:
        words = _SPEECHES["zh" if (brief.language == "zh") != (fault == "other_language") else "en"]
        verdicts = ("APPROVED", "REJECTED")
        if "verdict" in get_own_schema(brief).get("properties", {}):
            verdict = random.choice(verdicts)
            forms = {
                "fenced": f"```\n{verdict}\n```\n{words}",
                "apologetic": f"I am sorry for the delay.\n{words}\n{verdict}",
            }
            return forms.get(fault, f"{verdict}\n{words}")
        match fault:
            case "fenced":
                return f"```json\n{json.dumps({'content': words}, ensure_ascii=False)}\n```"
            case "apologetic":
                return f"I apologize for my earlier reply. {words}"
            case "empty":
                return ""
            case _:
                return words


def _list_texts(value: Any) -> list[str]:
    """Return all texts in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    texts: list[str] = []
    if isinstance(value, list):
        for each in value:
            texts += _list_texts(each)
    return texts


def _dump(meant: Fields) -> str:
    return json.dumps(meant, ensure_ascii=False)


def _name_other_phase(meant: Fields, schema: Schema, random: Random) -> str:
    allowed = schema["properties"].get("type", {}).get("enum", ())
    others = [
        each
        for each in ("propose", "support", "challenge", "vote", "synthesize")
        if each not in allowed
    ]
    return _dump(
        {**meant, "type": random.choice(others)}
        if "type" not in meant
        else {**meant, "phase": random.choice(others)}
    )


def _add_other_fields(meant: Fields, schema: Schema, random: Random) -> str:
    extra = {
        "position": "challenge",
        "taken": [],
        "reaction_score": 7,
        "refers_to": 1,
        "id": "x-1",
        "answers": ["cyd"],
    }
    return _dump(
        {
            **meant,
            **{name: each for name, each in extra.items() if name not in schema["properties"]},
        }
    )


def _number_with_signs(meant: Fields, schema: Schema, random: Random) -> str:
    def change(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | list | dict):
            return value
        if isinstance(value, int):
            return random.choice((f"#{value}", f"line {value}", f"{value}.0"))
        return (
            [change(each) for each in value]
            if isinstance(value, list)
            else {key: change(each) for key, each in value.items()}
        )

    return _dump(change(meant))


def _leave_empty(value: Any) -> Spoil:
    def spoil(meant: Fields, schema: Schema, random: Random) -> str:
        optional = [name for name in schema["properties"] if name not in schema.get("required", ())]
        return _dump({**meant, **dict.fromkeys(optional, value)})

    return spoil


def _refer_to_nothing(meant: Fields, schema: Schema, random: Random) -> str:
    fields = {
        "refers_to": 99,
        "moved_by": 77,
        "answers": [1, 98],
        "accepts": ["cyd"],
        "targetFindingId": "finding-999",
    }
    known = {name: each for name, each in fields.items() if name in schema["properties"]}
    return _dump({**meant, **known} if known else {**meant, "refers_to": 99})


def _write_too_much(meant: Fields, schema: Schema, random: Random) -> str:
    def lengthen(value: Any, known: Schema) -> Any:
        if isinstance(value, str) and "maxLength" in known:
            return (_LONG * 200)[: known["maxLength"] + 1] if known["maxLength"] <= 2_000 else value
        if isinstance(value, list):
            return [lengthen(each, known.get("items", {})) for each in value]
        if isinstance(value, dict):
            return {
                key: lengthen(each, known.get("properties", {}).get(key, {}))
                for key, each in value.items()
            }
        return value

    return _dump(lengthen(meant, schema))


def _use_the_other_language(meant: Fields, schema: Schema, random: Random) -> str:
    def change(value: Any) -> Any:
        if isinstance(value, list):
            return [change(each) for each in value]
        if isinstance(value, dict):
            return {key: change(each) for key, each in value.items()}
        return _OTHER.get(value, value) if isinstance(value, str) else value

    return _dump(change(meant))


def _write_numbers_in_words(meant: Fields, schema: Schema, random: Random) -> str:
    def change(value: Any) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, int) and 0 <= value < len(_ONES):
            return _ONES[value]
        if isinstance(value, float) and 0 <= value <= 1:
            return random.choice((f"{round(value * 100)}%", f"{value:.1f}", "high"))
        if isinstance(value, list):
            return [change(each) for each in value]
        return (
            {key: change(each) for key, each in value.items()} if isinstance(value, dict) else value
        )

    return _dump(change(meant))


def _double_keys(meant: Fields, schema: Schema, random: Random) -> str:
    name = random.choice([*meant]) if meant else "text"
    return f"{{{json.dumps(name)}: null, {_dump(meant)[1:]}" if meant else "{}"


def _cut_off(meant: Fields, schema: Schema, random: Random) -> str:
    text = _dump(meant)
    return text[: max(2, len(text) - random.randint(1, max(2, len(text) // 4)))]


def _label_choices(meant: Fields, schema: Schema, random: Random) -> str:
    labelled = {
        name: f"{value}. {value.capitalize()}, as I said"
        if "enum" in schema["properties"].get(name, {})
        else value
        for name, value in meant.items()
        if isinstance(value, str)
    }
    return _dump({**meant, **labelled})


def _drop_confidence(meant: Fields, schema: Schema, random: Random) -> str:
    return _dump(
        {
            name: value
            for name, value in meant.items()
            if name not in {"confidence", "reason", "view"}
        }
    )


def _speak_plainly(meant: Fields, schema: Schema, random: Random) -> str:
    choices = [
        str(value) for name, value in meant.items() if "enum" in schema["properties"].get(name, {})
    ]
    texts = [
        value
        for name, value in meant.items()
        if isinstance(value, str) and value not in choices and value
    ]
    # One position on each candidate: nobody means two.
    ballot = {
        each["candidate"]: each["position"]
        for each in meant.get("ballot") or ()
        if isinstance(each, dict)
    }
    if ballot:
        return " ".join(
            f"#{candidate}: {position}.\n" for candidate, position in ballot.items()
        ) + ". ".join(texts)
    return ". ".join([*choices[:1], *texts]) or _dump(meant)


def _put_where_known(name: str, value: Any) -> Spoil:
    """Return what spoils a field of the form; another form gets an answer without a fault."""

    def spoil(meant: Fields, schema: Schema, random: Random) -> str:
        if name not in schema["properties"]:
            return _dump(meant)
        return _dump({**meant, name: value})

    return spoil


def _leave_out(name: str) -> Spoil:
    def spoil(meant: Fields, schema: Schema, random: Random) -> str:
        return _dump({each: value for each, value in meant.items() if each != name})

    return spoil


def _name_own_position(meant: Fields, schema: Schema, random: Random) -> str:
    """A side where none is asked for; where one is, it stands."""
    return _dump({"position": "support", **meant})


FAULTS: Final[dict[str, Spoil]] = {
    "other_phase": _name_other_phase,
    "other_fields": _add_other_fields,
    "pass": lambda meant, schema, random: '{"type": "pass"}',
    "signs": _number_with_signs,
    "list_for_null": _leave_empty([]),
    "empty_strings": _leave_empty(""),
    "no_confidence": _drop_confidence,
    "no_such_line": _refer_to_nothing,
    "too_long": _write_too_much,
    "other_language": _use_the_other_language,
    "numbers_in_words": _write_numbers_in_words,
    "labelled": _label_choices,
    "doubled_keys": _double_keys,
    "cut_off": _cut_off,
    "fenced": lambda meant, schema, random: f"```json\n{_dump(meant)}\n```",
    "apologetic": lambda meant, schema, random: (
        f"I am sorry for the confusion. Here it is:\n{_dump(meant)}\nI hope this helps!"
    ),
    "comma": lambda meant, schema, random: f"{_dump(meant)[:-1]},}}",
    "single_quotes": lambda meant, schema, random: str(meant),
    "wrapped": lambda meant, schema, random: _dump({"answer": meant}),
    "plain_words": _speak_plainly,
    "empty": lambda meant, schema, random: "",
}
"""What it does wrong, by name; all were seen in answers of live models."""
_MORE_FAULTS: Final[dict[str, Spoil]] = {
    "no_type": _leave_out("type"),
    "needless_position": _name_own_position,
    "no_such_side": _put_where_known("position", "challenge"),
    "names_for_lines": _put_where_known("answers", ["cyd", "#2"]),
    "accepts_none": _put_where_known("accepts", ["None"]),
    "moved_by_list": _put_where_known("moved_by", "[]"),
    "moved_by_nothing": _put_where_known("moved_by", 95),
    "empty_evidence": _put_where_known("evidence", [""]),
    "no_position": _leave_out("position"),
}
LIVE_SHARES: Final[Mapping[str, int]] = {
    "other_phase": 20,
    "no_such_line": 10,
    "no_confidence": 7,
    "needless_position": 5,
    "no_position": 4,
    "plain_words": 3,
    "no_such_side": 3,
    "names_for_lines": 3,
    "no_type": 1,
    "moved_by_nothing": 1,
    "moved_by_list": 1,
    "accepts_none": 1,
    "empty_evidence": 1,
    "cut_off": 1,
    "too_long": 1,
    "pass": 1,
}
"""How often a live model of 1.5 billion parameters made which fault, in 62 answers that were refused and one pass too early."""
_ALL_FAULTS: Final[Mapping[str, Spoil]] = {**FAULTS, **_MORE_FAULTS}

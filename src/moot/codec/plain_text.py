"""Reads what people write in plain text: a position, an option, a number, a confidence; and a whole answer in one text.

Only what is certain is read. "Nobody can support this" is not support: such a text is refused with what can be said instead.
"""

import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from moot.domain.person import CONDITION, WHY, PersonAsk, PersonChoice, PersonStep, build_key
from moot.domain.topic import normalize_label
from moot.errors import BadAnswer

LONGEST_SENTENCE: Final = 400
"""Where a position is looked for: in the first sentence, and not beyond so many characters."""

# Words that may stand before a position, as in "I would strongly support". No filler is made of others: a text of fillers alone must
# not be matched in many ways.
_FILLER: Final = (
    r"(?:(?:i|i'm|i'd|i'll|we|we'd|my|our|vote|votes|position|is|am|are|do|would|will|can|have|to|be|it|hereby|strongly|fully|"
    r"clearly|firmly|still|also|therefore|so|well|hm|in|the|motion|decision|proposal|this|that|and|a|an|on|as|for|me|personally|"
    r"think)(?![a-z0-9_'])|"
    r"(?:我们|我|投票|投|表示|对此|对|这个|该|动议|决定|提案|完全|坚决|还是|也|就|会|选择|的|意见|态度|是|给|认为|应该|应当))"
)
_NOT: Final = r"(?:not|never|cannot|can't|cant|don't|dont|won't|wouldn't|doesn't|isn't)"
# A short word is a position only where nothing hangs on it: "no problem" is not "no".
_SHORT: Final = frozenset(
    {"yes", "no", "ok", "okay", "aye", "nay", "second", "是", "好", "不", "否", "可以", "true", "false", "add"}
)
_AFTER_SHORT: Final = (
    r"(?=\s*(?:$|[,.;:!?，。；：！？、—–-]|(?:because|since|as|if|unless|but|to|on|provided|so)\b|因为|如果|只要|但))"
)
_IF: Final = (
    r"(?:but\s+)?(?:only\s+)?(?:if|when|once|unless|assuming|provided(?:\s+that)?|as\s+long\s+as|so\s+long\s+as|"
    r"on\s+(?:the\s+)?condition(?:\s+that)?|如果|只要|只有|前提是|条件是|但须|但需|除非|假如|若)"
)
_OBJECT: Final = r"(?:\s*(?:it|this|that|the\s+(?:motion|proposal|decision|resolution|idea)|#\d+|它|该动议|动议|这个决定|提案))?"
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？;；\n]")
_ENTRY = re.compile(r"[#＃]\s*(\d{1,9})")
_ITEM = re.compile(r"[#＃]?(\d{1,9})(?:[ \t]*+[.:、)）：,，-]|[ \t])\s*+(?=\S)")
_LETTER = re.compile(r"(?:option\s+|answer\s+|选项\s*)?(?P<mark>[a-z]|\d{1,2})\s*(?:[.):、）：]|$)\s*(?P<rest>.*)", re.DOTALL)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?|\.\d+)\s*([%％]?)")


@dataclass(frozen=True, slots=True)
class PositionRead:
    """A position that was found in a text, and its condition, if it has one."""

    value: str
    condition: str = ""


def read_position(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the position that a text takes, such as "Yes, if it ships by May."; None if that is not certain."""
    plain = unicodedata.normalize("NFKC", text).strip()
    chosen = read_choice(plain, choices)
    if chosen is not None:
        return PositionRead(chosen)
    end = _SENTENCE_END.search(plain)
    sentence = plain[: end.start() if end else len(plain)][:LONGEST_SENTENCE].replace("’", "'")
    pattern, values = _build_position_pattern(tuple(choices))
    found = pattern.match(sentence.casefold())
    if found is None:
        return _read_late_position(sentence, pattern, values, choices)
    return _judge_position(found, sentence, values, choices)


@lru_cache(maxsize=64)
def _build_position_pattern(choices: tuple[PersonChoice, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of a sentence that begins with a position, and the value of each word."""
    values: dict[str, str] = {}
    for choice in choices:
        for word in (choice.value, choice.text, *choice.words):
            values.setdefault(" ".join(word.casefold().replace("_", " ").split()), choice.value)
    # Longest first: "no opinion" before "no", "不支持" before "不".
    words = "|".join(_word_pattern(word) for word in sorted(values, key=len, reverse=True))
    lead = rf"[\W_]*(?:{_FILLER}[\s,，:：*]*)*"
    negated = rf"(?P<not>{_NOT}\s+)?"
    return re.compile(rf"{lead}{negated}(?P<word>{words})(?P<rest>.*)", re.DOTALL), values


def _word_pattern(word: str) -> str:
    escaped = re.escape(word).replace(r"\ ", r"\s+")
    if word in _SHORT:
        return escaped + _AFTER_SHORT
    # Chinese is written without spaces, so only a Latin word has an end that can be seen.
    return rf"{escaped}(?![a-z0-9_])" if word.isascii() else escaped


def _judge_position(
    found: re.Match[str], sentence: str, values: dict[str, str], choices: Sequence[PersonChoice]
) -> PositionRead | None:
    value = values[" ".join(found["word"].split())]
    known = {choice.value for choice in choices}
    if found["not"]:
        # "I cannot support it" opposes it; what "I do not oppose it" means is for the person to say.
        against = next((side for side in ("oppose", "challenge", "REJECTED", "declined") if side in known), None)
        is_for = value in {"support", "APPROVED", "adopted"}
        return PositionRead(against) if is_for and against is not None else None
    # As it was written, and not in lower case.
    rest = sentence[len(sentence) - len(found["rest"]) :] if len(sentence.casefold()) == len(sentence) else found["rest"]
    conditional = next((each for each in ("conditional", "conditional_support") if each in known), None)
    if value == conditional:
        condition = re.sub(
            rf"^[\s,，:：.-]*(?:{_OBJECT}\s*)?[,，:：]?\s*(?:{_IF}[\s,，:：]*)?", "", rest, count=1, flags=re.IGNORECASE
        )
        return PositionRead(value, condition.strip())
    if value != "support" or conditional is None:
        return PositionRead(value)
    tail = re.match(rf"{_OBJECT}[\s,，:：—–-]*(?P<if>{_IF})\s*(?P<what>.+)", rest, re.IGNORECASE | re.DOTALL)
    if tail is None:
        return PositionRead(value)
    is_unless = tail["if"].casefold().split()[-1] in {"unless", "除非"}
    return PositionRead(conditional, tail[0].strip(" ,，:：—–-") if is_unless else tail["what"].strip())


def _read_late_position(
    sentence: str, pattern: re.Pattern[str], values: dict[str, str], choices: Sequence[PersonChoice]
) -> PositionRead | None:
    """Read a position that comes after a clause: "After all that, I support it", or "If it is cheap, I support it"."""
    folded = sentence.casefold()
    if len(folded) != len(sentence):
        return None
    for start in re.finditer(r"[,，:：]\s*(?=(?:i|we|my|then)\b|我|就)", folded):
        clause = sentence[: start.start()].strip()
        found = pattern.match(re.sub(r"^(?:then\s+|就)", "", folded[start.end() :]))
        if found is None:
            continue
        read = _judge_position(found, found.string, values, choices)
        condition = re.match(rf"\W*{_IF}\s*(?P<what>.+)", clause, re.IGNORECASE | re.DOTALL)
        if condition is None or read is None:
            return read
        known = {choice.value for choice in choices}
        conditional = next((each for each in ("conditional", "conditional_support") if each in known), None)
        is_support = read.value == "support" and conditional is not None
        return PositionRead(conditional, condition["what"].strip()) if is_support and conditional else None
    return None


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return what was chosen from a numbered list: by number, by letter, or by word; None if that is not certain."""
    typed = normalize_label(text)
    for choice in choices:
        if typed and typed in {normalize_label(each) for each in (choice.value, choice.text, *choice.words)}:
            return choice.value
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], normalize_label(mark["rest"]), choices)
    begun = [choice.value for choice in choices if len(typed) >= 2 and normalize_label(choice.text).startswith(typed)]
    return begun[0] if len(begun) == 1 else None


def _read_marked_choice(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "2", "b" or "B. Postgres"; where options bear marks themselves, the name must be the one of its mark."""
    if rest:
        named = [choice.value for choice in choices if rest in {normalize_label(choice.text), normalize_label(choice.value)}]
        own = [choice.value for choice in choices if normalize_label(choice.text).startswith(f"{mark}.")]
        return named[0] if named and (not own or own == named) else None
    # An option that is called "B. Postgres" itself comes before the second of the list.
    lettered = [choice.value for choice in choices if re.match(rf"{re.escape(mark)}\W", choice.text.casefold())]
    if lettered:
        return lettered[0] if len(lettered) == 1 else None
    at = int(mark) - 1 if mark.isdigit() else ord(mark) - ord("a")
    return choices[at].value if 0 <= at < len(choices) else None


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a sentence names, such as "I propose Postgres, because …"; None if none or several."""
    whole = read_choice(text, choices)
    if whole is not None:
        return whole
    end = _SENTENCE_END.search(text, 3)
    first = text[: end.start()] if end else text
    return _find_named_option(first, choices) or _find_named_option(text, choices)


def _find_named_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    named = []
    for choice in choices:
        names = {normalize_label(each) for each in (choice.value, choice.text)}
        names |= {name for each in tuple(names) if (mark := _LETTER.fullmatch(each)) and (name := mark["rest"].strip())}
        if any(_holds_name(folded, name) for name in names if name):
            named.append(choice.value)
    return named[0] if len(named) == 1 else None


def _holds_name(text: str, name: str) -> bool:
    # A name of one letter is also a word ("a"): it must begin the text like a mark, or stand behind "option".
    if len(name) == 1 and name.isascii():
        mark = re.escape(name)
        return re.search(rf"^\s*{mark}\s*(?:$|[.):,，：;—–-])|(?:option\s+|answer\s+|选项?\s*){mark}(?:\W|$)", text) is not None
    edge = r"(?<![a-z0-9_])" if name[0].isascii() else ""
    after = r"(?![a-z0-9_])" if name[-1].isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{after}", text) is not None


def read_confidence(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return a confidence: one of the words, or a number between 0 and 1, also in percent; None for anything else."""
    typed = unicodedata.normalize("NFKC", text).strip()
    given = _PERCENT.fullmatch(typed)
    # 1, 2 and 3 are the lines of the list.
    if given is not None and (given[2] or "." in given[1] or given[1] == "0"):
        value = float(given[1]) / (100 if given[2] else 1)
        return f"{value:g}" if value <= 1 else None
    return read_choice(typed, choices)


def read_numbers(text: str, step: PersonStep) -> str | None:
    """Return the numbers that were typed, such as "#3"; None unless each is one of those that may be named."""
    typed = unicodedata.normalize("NFKC", text).replace("#", " ").replace(",", " ").replace("、", " ").split()
    if not typed or (step.kind != "numbers" and len(typed) > 1):
        return None
    known = all(word.isascii() and word.isdigit() and len(word) < 10 and int(word) in step.numbers for word in typed)
    return " ".join(str(int(word)) for word in typed) if known else None


def read_step(step: PersonStep, text: str) -> str | None:
    """Return the value of what was typed for one question; None if it is not an answer to it."""
    match step.kind:
        case "position":
            found = read_choice(text, step.choices)
            if found is not None:
                return found
            position = read_position(text, step.choices)
            # "Yes, if …" typed at the list: the condition would be lost, so that the list is shown again.
            return position.value if position is not None and not position.condition and len(text) < 40 else None
        case "option":
            return read_choice(text, step.choices) if step.choices else text.strip()
        case "confidence":
            return read_confidence(text, step.choices)
        case "number" | "numbers" | "reference":
            return read_numbers(text, step)
        case "text":
            return text.strip() or None


def suggest_choice(text: str, choices: Sequence[PersonChoice]) -> str:
    """Return the choice that a mistyped word is nearest to; empty if none is near."""
    known = {normalize_label(word): choice.text for choice in choices for word in (choice.text, choice.value, *choice.words)}
    near = difflib.get_close_matches(normalize_label(text)[:60], known, n=1, cutoff=0.7)
    return known[near[0]] if near else ""


def read_plain_answer(person: PersonAsk, text: str) -> object:
    """Read a whole answer from one text, as a person writes it in a message; raises BadAnswer with what can be said."""
    said = text.strip()
    command = find_command(person, said)
    if command is not None:
        return command
    if not said:
        raise BadAnswer(f"the answer is empty; expected {describe_plain_answer(person)}")
    if not person.steps:
        return person.build({})
    groups = list(dict.fromkeys(step.group for step in person.steps))
    parts = _split_items(said, [group for group in groups if group])
    answers: dict[str, str] = {}
    for group in groups:
        part = parts.get(group, "" if group else said)
        _read_group(person, [step for step in person.steps if step.group == group], part, answers)
    return person.build(answers)


def find_command(person: PersonAsk, text: str) -> object | None:
    """Return the answer that a command such as `/pass` or its word stands for; None if it is not one."""
    typed = normalize_label(text)
    for command in person.commands:
        if typed in {command.word, *(normalize_label(word) for word in command.words)}:
            return command.answer
    return None


def _split_items(text: str, groups: list[str]) -> dict[str, str]:
    """Split a text that answers several questions, one on each line that begins with the number of its item."""
    if len(groups) == 1:
        return {groups[0]: text}
    parts: dict[str, str] = {}
    current = ""
    for line in map(str.strip, text.splitlines()):
        item = _ITEM.match(line)
        number = item[1] if item else ""
        is_next = item is not None and number in groups
        current = number if is_next else current
        words = line[item.end() :] if item is not None and is_next else line
        if current:
            parts[current] = f"{parts[current]}\n{words}" if current in parts else words
    return parts


def _read_group(person: PersonAsk, steps: list[PersonStep], text: str, answers: dict[str, str]) -> None:
    is_read = False
    for step in steps:
        value = ""
        match step.kind:
            case "position":
                found = read_position(text, step.choices) if text else None
                if found is not None:
                    value = found.value
                    answers[build_key(CONDITION, step.group)] = found.condition
                    is_read = read_choice(text, step.choices) is not None
            case "option":
                value = read_option(text, step.choices) or ""
                is_read = is_read or read_choice(text, step.choices) is not None
            case "reference":
                number = _ENTRY.search(text)
                value = number[1] if number and int(number[1]) in step.numbers else ""
            case "text" if step.name == CONDITION:
                continue
            case "text" if (step.is_long or step.name == WHY) and not is_read and text:
                # All words are kept with the first question that takes words.
                value, is_read = text, True
        if value:
            answers[step.key] = value
    for step in steps:
        is_due = step.only_after is None or answers.get(step.only_after[0]) in step.only_after[1]
        if step.is_needed and is_due and not answers.get(step.key):
            raise BadAnswer(_explain_missing(person, step))


def _explain_missing(person: PersonAsk, step: PersonStep) -> str:
    about = f" for {step.group}" if step.group else ""
    if step.name == CONDITION:
        return f"the condition is missing{about}; say it behind an “if”: “Yes, if …”"
    if step.choices:
        return f"no answer{about} could be read from the text; expected {describe_plain_answer(person)}"
    return f"words are missing{about}; {step.text}"


def describe_plain_answer(person: PersonAsk) -> str:
    """Return what can be said in answer, in one line."""
    said = []
    first = next((step for step in person.steps if step.choices and step.is_needed), None)
    if first is not None:
        listed = " | ".join(choice.text for choice in first.choices)
        several = len({step.group for step in person.steps if step.group}) > 1
        said.append(f"on a line for each number, one of: {listed}" if several else f"one of: {listed} (a reason may follow)")
    elif person.steps:
        said.append("words of yours")
    said += [f"{command.word} ({command.text})" for command in person.commands]
    return ", or ".join(said) or "nothing more"

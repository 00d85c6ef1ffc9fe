"""A file of questions whose answers are known, and whether an answer is right."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moothall.domain.replace import dataclass
from moothall.domain.topic import build_topic, validate_topic
from moothall.plugins import PATTERNS, BadSetting, normalize_label

if TYPE_CHECKING:
    from moothall.memory.decision_memory import DecisionMemory

REVIEWED: Final = "reviewed"
"""Stands for a file: the reviewed decisions of this home."""
MAX_REVIEWED: Final = 1_000
MAX_QUESTIONS: Final = 10_000
MAX_BYTES: Final = 50_000_000
_NUMBER: Final = re.compile(r"[-+]?(?:\d[\d,\u202f_]*\d|\d)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+")
_KEYS: Final = frozenset({"question", "answer", "options", "category", "tolerance"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchQuestion:
    """A question and its answer: one of `options`, a number within `tolerance`, or words that are compared as a whole."""

    question: str
    answer: str
    options: tuple[str, ...] = ()
    category: str = ""
    tolerance: float = 1e-6
    """As a share of the answer."""

    @property
    def key(self) -> str:
        """Names the question among others, whatever its place in the file."""
        return sha256(
            json.dumps([self.question, self.options], ensure_ascii=True).encode()
        ).hexdigest()[:16]

    @property
    def is_free(self) -> bool:
        """Whether no exact rule knows every right answer: it is neither one of the options nor a number."""
        return not self.options and _parse_number(self.answer, is_whole=True) is None

    def is_right(self, said: str) -> bool:
        """Whether an answer is the right one: by label, else by its last number where nothing is denied."""
        if normalize_label(said) == normalize_label(self.answer):
            return True
        if PATTERNS["denial"].search(said):
            return False
        wanted = None if self.options else _parse_number(self.answer, is_whole=True)
        given = _parse_number(said)
        return (
            wanted is not None
            and given is not None
            and math.isclose(given, wanted, rel_tol=self.tolerance, abs_tol=1e-12)
        )


def _parse_number(text: str, *, is_whole: bool = False) -> float | None:
    numbers = _NUMBER.findall(text)
    if not numbers or (is_whole and numbers[0] != text.strip()):
        return None
    return float(re.sub(r"[,\u202f_]", "", numbers[-1]))


def load_questions(path: Path) -> list[BenchQuestion]:
    """Read a file of JSON lines, or of comma-separated values with a head. Raises BadSetting, with the line of the fault."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadSetting(f"{path.name}: larger than {MAX_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except IsADirectoryError as cause:
        raise BadSetting(
            f"{path} is a folder; give a file of questions: questions.jsonl"
        ) from cause
    except OSError as cause:
        raise BadSetting(f"{path}: cannot be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise BadSetting(f"{path.name}: not UTF-8 text: {cause}") from cause
    rows = _read_json_lines(text, path.name)
    if path.suffix.lower() == ".csv":
        rows = _read_csv(text, path.name)
    places = ((f"{path.name}, line {line}", row) for line, row in rows)
    return _collect_questions(path.name, places)


def build_questions(rows: Iterable[BenchQuestion | Mapping[str, Any]]) -> list[BenchQuestion]:
    """Return questions that a program lists; raises BadSetting, with the place of the fault."""
    places: list[tuple[str, BenchQuestion | Mapping[str, Any]]] = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, BenchQuestion | Mapping):
            raise BadSetting(
                f"questions: number {number} is not an object with question and answer"
            )
        places.append((f"questions, number {number}", row))
    return _collect_questions("questions", places)


def _collect_questions(
    name: str, rows: Iterable[tuple[str, BenchQuestion | Mapping[str, Any]]]
) -> list[BenchQuestion]:
    questions: dict[str, BenchQuestion] = {}
    for where, row in rows:
        question = row
        if not isinstance(question, BenchQuestion):
            question = _build_question(question, where)
        if question.key in questions:
            raise BadSetting(
                f"{where}: the question {question.question[:60]!r} stands in the file twice"
            )
        questions[question.key] = question
        if len(questions) > MAX_QUESTIONS:
            raise BadSetting(f"{where}: more than {MAX_QUESTIONS:,} questions")
    if not questions:
        raise BadSetting(
            f'{name}: no question; expected lines such as {{"question": "2 + 2?", "answer": "4"}}'
        )
    return list(questions.values())


async def list_reviewed_questions(memory: "DecisionMemory") -> list[BenchQuestion]:
    """Return the reviewed decisions whose right choice is known, the oldest first; of one question the last review counts."""
    questions: dict[str, BenchQuestion] = {}
    for each in reversed(await memory.list_decisions(limit=MAX_REVIEWED)):
        record, review = each.record, each.review
        right = (
            ""
            if review is None
            else review.choice or (record.choice if review.outcome == "success" else "")
        )
        options = record.options if len(record.options) > 1 else ()
        if right and (not options or normalize_label(right) in map(normalize_label, options)):
            question = BenchQuestion(
                question=record.topic, answer=right, options=options, category=record.category
            )
            questions[question.key] = question
    if not questions:
        raise BadSetting(
            "no decision with a known right choice: moot decisions review ID success, or failure with --choice"
        )
    return list(questions.values())


def _read_json_lines(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # Only the line feed ends a line: a text may hold other separators.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as cause:
            raise BadSetting(f"{name}, line {number}: not valid JSON: {cause}") from cause
        if not isinstance(row, dict):
            raise BadSetting(f"{name}, line {number}: expected an object with question and answer")
        yield number, row


def _read_csv(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise BadSetting(
                    f"{name}, line {reader.line_num}: {len(reader.fieldnames or ())} columns were expected"
                )
            yield reader.line_num, {key: value for key, value in row.items() if value}
    except csv.Error as cause:
        raise BadSetting(f"{name}, line {reader.line_num}: {cause}") from cause


def _build_question(row: Mapping[str, Any], where: str) -> BenchQuestion:
    unknown = sorted(set(row) - _KEYS)
    if unknown:
        raise BadSetting(
            f"{where}: unknown field {str(unknown[0])[:60]!r}; known are: {', '.join(sorted(_KEYS))}"
        )
    texts = {
        name: _read_text(row.get(name, ""), name, where)
        for name in ("question", "answer", "category")
    }
    for name in ("question", "answer"):
        if not texts[name]:
            raise BadSetting(f"{where}: {name} is missing")
    given = row.get("options", ())
    listed = given.split("|") if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or len(listed) == 1:
        raise BadSetting(
            f"{where}: options: expected a list of two or more, or text with | between them"
        )
    try:
        validate_topic(texts["question"])
        options = build_topic(
            category=texts["category"],
            options=[_read_text(each, "options", where) for each in listed],
        ).options
    except BadSetting as cause:
        raise BadSetting(f"{where}: {str(cause).removeprefix(f'{where}: ')}") from cause
    if options and normalize_label(texts["answer"]) not in map(normalize_label, options):
        raise BadSetting(
            f"{where}: the answer {texts['answer'][:60]!r} is not one of the options: {', '.join(options)}"
        )
    try:
        tolerance = float(row.get("tolerance", 1e-6))
    except (TypeError, ValueError):
        tolerance = -1.0
    if not 0 <= tolerance <= 1:
        raise BadSetting(f"{where}: tolerance: expected a share such as 0.01")
    return BenchQuestion(**texts, options=options, tolerance=tolerance)


def _read_text(value: object, name: str, where: str) -> str:
    is_number = (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    )
    if not (is_number or isinstance(value, str)):
        raise BadSetting(f"{where}: {name}: expected text or a number")
    return str(value).strip()

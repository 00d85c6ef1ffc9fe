"""What a bench came to: each answer of each way, the figures by way and by category, and what to use."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from moothall.domain.replace import dataclass
from moothall.features.bench.questions import BenchQuestion
from moothall.features.bench.report import build_bench_report, describe_recommendation
from moothall.features.bench.trials import (
    JudgeFigures,
    Recommendation,
    Trial,
    WayFigures,
    recommend,
    sum_up,
)
from moothall.features.bench.words import BENCH
from moothall.plugins import Language, Report

NO_CATEGORY: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOutcome:
    """All that a bench recorded of these questions."""

    name: str
    """The file of the questions."""
    questions: Sequence[BenchQuestion]
    models: tuple[str, ...]
    """The ways of one model alone: in a meeting, and by the question alone."""
    ways: Mapping[str, Mapping[str, Trial]]
    """What each way answered, by the key of the question; a question that a way was not asked is missing there."""
    unasked: Mapping[str, int]
    """How many questions were not put, or are not answered yet, by why."""
    judge: JudgeFigures | None = None
    language: Language = "en"

    @property
    def figures(self) -> dict[str, WayFigures]:
        """The figures of each way."""
        return {way: sum_up(list(trials.values())) for way, trials in self.ways.items()}

    @property
    def recommendation(self) -> Recommendation:
        return recommend(self.ways, self.models)

    @property
    def said(self) -> str:
        """What to use, and why, in one sentence."""
        return describe_recommendation(self.recommendation, self.figures, BENCH[self.language])

    @property
    def categories(self) -> dict[str, dict[str, WayFigures]]:
        """The figures of each way by category; empty where the questions name none."""
        keys: dict[str, set[str]] = {}
        for question in self.questions:
            keys.setdefault(question.category, set()).add(question.key)
        # One row for all of them would only repeat the figures above it.
        if set(keys) <= {NO_CATEGORY}:
            return {}
        figures: dict[str, dict[str, WayFigures]] = {}
        for category, members in keys.items():
            figures[category] = {}
            for way, trials in self.ways.items():
                of_category = [trial for key, trial in trials.items() if key in members]
                figures[category][way] = sum_up(of_category)
        return figures

    def list_wrong(self, way: str) -> list[BenchQuestion]:
        """Return the questions that a way was asked and did not answer right."""
        trials = self.ways[way]
        wrong: list[BenchQuestion] = []
        for question in self.questions:
            trial = trials.get(question.key)
            if trial is not None and not trial.right:
                wrong.append(question)
        return wrong

    def build_report(self) -> Report:
        """Return the report for people."""
        return build_bench_report(
            self.name,
            self.ways,
            self.models,
            self.unasked,
            self.language,
            judge=self.judge,
            questions=self.questions,
            categories=self.categories,
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it as `moot bench --json` prints it."""
        encoded: dict[str, Any] = {
            "recommendation": self.recommendation,
            "said": self.said,
            "ways": self.figures,
            "unasked": self.unasked,
            "categories": self.categories,
            "questions": [self._encode_question(each) for each in self.questions],
        }
        if self.judge is not None:
            encoded["judge"] = self.judge
        return encoded

    def _encode_question(self, question: BenchQuestion) -> dict[str, Any]:
        answers: dict[str, Trial] = {}
        for way, trials in self.ways.items():
            if question.key in trials:
                answers[way] = trials[question.key]
        encoded: dict[str, Any] = {
            "question": question.question,
            "answer": question.answer,
            "answers": answers,
        }
        if question.options:
            encoded["options"] = question.options
        if question.category:
            encoded["category"] = question.category
        return encoded

"""A judge for free answers (G-3): a model of another family than those that answered says whether two answers mean the same.

Each answer is judged twice, blind: one seat looks for what both share, the other for what sets them apart. Only what both call
the same is right. How often the judge errs is measured on answers for which an exact rule is known, and by how often its two
seats differ. Judgements are sessions like the answers: a second run asks for none again.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from moothall.app.bench_questions import BenchQuestion
from moothall.app.bench_runs import BenchPlan, BenchProgress, BenchResult, decide_once, list_blind_answers, run_jobs
from moothall.app.moot import Moot
from moothall.app.session_options import Options
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId, parse_session_id
from moothall.domain.roster import Seat
from moothall.domain.safe_text import quote_lines, shorten_text
from moothall.domain.topic import normalize_label
from moothall.errors import BadSetting
from moothall.locale.catalogues import BENCH
from moothall.scoring.independence import detect_family
from moothall.scoring.trials import JudgeFigures

SAME: Final = "same"
DIFFERENT: Final = "different"
MAX_KNOWN: Final = 20
"""How many right answers, and how many wrong ones, of those with an exact rule are judged to measure the judge."""
MAX_SHOWN: Final = 4_000
_SEATS: Final = (SeatId("judge1"), SeatId("judge2"))

_Answer = tuple[str, str]
"""The key of a question, and what was said to it."""


class BenchJudge:
    """Judges the answers of a result whose questions have no exact rule."""

    def __init__(self, moot: Moot, plan: BenchPlan, judge: str, language: Language, progress: BenchProgress) -> None:
        """Raises BadSetting for a judge of the same family as a model that is judged."""
        for model in plan.models:
            if detect_family(model, "") == detect_family(judge, "judge"):
                raise BadSetting(f"--judge {judge}: of the same family as {model}; a model favours answers of its own family")
        self._moot = moot
        self._plan = plan
        self._judge = judge
        self._language: Language = language
        self._progress = progress
        self._verdicts: dict[_Answer, tuple[str, ...] | None] = {}

    def plan_judgements(self, questions: Sequence[BenchQuestion]) -> tuple[str, Options, int] | None:
        """Return a judgement, as it is opened, and how many there are at most; None where no question has a free answer."""
        free = [each for each in questions if each.is_free]
        if not free:
            return None
        # The vote says what one of its seats said: a new answer only where more seats vote than models are tried.
        answers = min(self._plan.votes, len(self._plan.models) + 1) + len(self._plan.protocols)
        known = min(2 * MAX_KNOWN, (len(questions) - len(free)) * answers)
        return *self._describe_judgement(free[0], free[0].answer), len(free) * answers + known

    async def judge(self, questions: Sequence[BenchQuestion], result: BenchResult) -> JudgeFigures:
        """Correct which answers of the result are right; what could not be judged is taken out of it, and counted there."""
        by_key = {each.key: each for each in questions}
        given = [(key, trial) for trials in result.ways.values() for key, trial in trials.items() if trial.said]
        said = {(key, normalize_label(trial.said)): trial for key, trial in given}
        free = [each for each, trial in said.items() if by_key[each[0]].is_free and not trial.right]
        ruled = sorted(each for each in said if free and not by_key[each[0]].is_free)
        known = [each for is_right in (True, False) for each in [x for x in ruled if said[x].right is is_right][:MAX_KNOWN]]
        jobs = [self._judge_answer(by_key[each[0]], said[each].said, result) for each in (*free, *known)]
        self._progress.expected += len(jobs)
        await run_jobs(self._plan.at_once, jobs)
        for trials in result.ways.values():
            for key, trial in list(trials.items()):
                if (answer := (key, normalize_label(trial.said))) in free:
                    if (verdict := self._verdicts[answer]) is None:
                        del trials[key]
                    else:
                        trials[key] = replace(trial, right=verdict == (SAME, SAME))
        judged = {each: verdict for each in free if (verdict := self._verdicts[each]) is not None}
        checked = {each: verdict for each in known if (verdict := self._verdicts.get(each)) is not None}
        return JudgeFigures(
            judge=self._judge,
            judged=len(judged),
            split=sum(len(set(verdict)) != 1 for verdict in judged.values()),
            known=len(checked),
            wrong=sum((verdict == (SAME, SAME)) is not said[each].right for each, verdict in checked.items()),
        )

    def _describe_judgement(self, question: BenchQuestion, said: str) -> tuple[str, Options]:
        words = BENCH[self._language]
        texts = [quote_lines(shorten_text(each, MAX_SHOWN)) for each in (question.question, question.answer, said)]
        topic = words.judge_topic.format(question=texts[0], expected=texts[1], given=texts[2])
        stances = zip(_SEATS, words.judge_stances, strict=True)
        seats = [Seat(id=seat, platform=self._judge, stance=stance) for seat, stance in stances]
        options: Options = {"protocol": "debate", "settings": {"debate": "never"}, "seats": seats, "options": (SAME, DIFFERENT)}
        return topic, options | {"memory": False, "check": False, "language": self._language}

    async def _judge_answer(self, question: BenchQuestion, said: str, result: BenchResult) -> None:
        topic, options = self._describe_judgement(question, said)
        name = sha256("\n".join((self._judge, topic)).encode()).hexdigest()[:24]
        session = parse_session_id(f"judge-{name}")
        decision, status = await decide_once(self._moot, self._plan, result, topic, options | {"session": session})
        verdict: tuple[str, ...] | None = None
        if decision is not None:
            answers = list_blind_answers(await self._moot.engine.entries(session))
            verdict = tuple(answers[seat].choice if seat in answers else "" for seat in _SEATS)
        self._verdicts[question.key, normalize_label(said)] = verdict
        is_right = None if verdict is None else verdict == (SAME, SAME)
        self._progress.add(self._judge, status if verdict is None else said, is_right=is_right)

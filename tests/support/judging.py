"""A judge of answers for tests: what it says of each pair follows from a key, and sometimes from an error."""

from collections.abc import Callable, Mapping
from random import Random

from tests.support.play_council import DeliberationRun

from moothall.domain.budget import FREE
from moothall.domain.effects import Brief
from moothall.domain.groups import AnswerJudgement, AnswerJudgements, PairVerdict
from moothall.domain.ids import SeatId
from moothall.domain.session_state import JUDGE_ASK
from moothall.reading.answers import build_reply

JUDGE = "judge"
VERDICTS: tuple[PairVerdict, ...] = ("same", "opposite", "different")
Verdict = Callable[[str, str], PairVerdict]


def judge_by(meanings: Mapping[str, str]) -> Verdict:
    """Two answers are the same where they have one meaning, and exclude each other else."""
    return lambda one, other: "same" if meanings[one] == meanings[other] else "opposite"


def judge_with_errors(truth: Verdict, share: float, random: Random) -> Verdict:
    """Err in this share of the pairs, in each order on its own, to one of the other two verdicts."""

    def judge(one: str, other: str) -> PairVerdict:
        right = truth(one, other)
        if random.random() >= share:
            return right
        return random.choice([each for each in VERDICTS if each != right])

    return judge


def read_pairs(brief: Brief) -> list[tuple[str, str]]:
    """The pairs as the judge reads them, in the order in which each is shown."""
    lines = [line.removeprefix("| ") for line in brief.own.split("\n") if line.startswith("| ")]
    answers = dict(line.split(". ", 1) for line in lines if line.split(" ", 1)[0].endswith("."))
    pairs: list[tuple[str, str]] = []
    for line in lines:
        number, _, pair = line.partition(": ")
        if number.isdigit():
            one, other = pair.split(", ")
            pairs.append((answers[one], answers[other]))
    return pairs


def answer_judge(table: DeliberationRun, verdict: Verdict) -> DeliberationRun:
    """Answer all that the judge is asked now, order by order."""
    while any(ask.kind == JUDGE_ASK for ask in table.asks):
        say_as_judge(table, verdict)
    return table


def say_as_judge(table: DeliberationRun, verdict: Verdict) -> DeliberationRun:
    """Answer one ask of the judge."""
    brief = table.brief(JUDGE)
    said: list[AnswerJudgement] = []
    for number, pair in enumerate(read_pairs(brief), 1):
        said.append(AnswerJudgement(pair=number, verdict=verdict(*pair), reason="as I read them"))
    return say_judgements(table, AnswerJudgements(judgements=tuple(said)))


def say_judgements(table: DeliberationRun, said: AnswerJudgements) -> DeliberationRun:
    """Give the judge's answer as it is, brought into line as any answer is."""
    brief = table.brief(JUDGE)
    normalized, notes = brief.normalize(said)
    reply = build_reply(
        brief.form, brief.ask.id, SeatId(JUDGE), normalized, FREE, corrections=notes
    )
    return table.put(reply)

"""The judge of answers and ideas (Q-3): which words of several seats say one thing, asked of one seat that has no say.

Each pair is put to it twice, in one order and in the other, and joined only where both say the same. The second order is asked
only for what could be joined or excluded by it. What one order joins and the other does not is asked once more in both, where no
chain of other pairs joins it. A judge that is lost is not asked again, and equal words alone count as one answer
then; the record says so.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from moothall.domain.answer_table import AnswerTable, fill_brief
from moothall.domain.budget import SHORT_ANSWER, ExpectedCalls
from moothall.domain.effects import AnswerRules, Ask, Brief, Record, Schema
from moothall.domain.facts import AnswersGrouped, AnswersJudged
from moothall.domain.frame import YES_OR_NO, is_none_of_these
from moothall.domain.groups import (
    MAX_JUDGEMENTS,
    AnswerJudgement,
    AnswerJudgements,
    JudgedPair,
    Pair,
    PairVerdict,
    add_judged,
    order_pair,
)
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line, quote_lines, quote_user
from moothall.domain.session_state import JUDGE_ASK, ProtocolState
from moothall.domain.topic import normalize_label
from moothall.errors import BadSetting
from moothall.locale.catalogues import ANSWER_JUDGE, AnswerJudgeText
from moothall.scoring.likeness import measure_by_words

JudgedTexts = Literal["answers", "ideas"]
"""What a judge compares."""
MAX_ASKED: Final = 60
"""How many pairs one ask holds."""
MAX_WANTED: Final = 120
"""How many pairs are judged at once; of more, those whose words are most alike, and for each answer at least one."""
SECOND_ORDER: Final[frozenset[PairVerdict | None]] = frozenset(("same", "opposite"))
"""What a first verdict must be for the pair to be asked in the other order."""
JUDGE_FORM: Final[AnswerTable[Any]] = AnswerTable(
    kind=JUDGE_ASK,
    reply=AnswersJudged,
    shape=AnswerJudgements,
    form="json",
    max_tokens=2_500,
    asides=frozenset(("reason",)),
    # Who has nothing to say of the pairs joins none.
    silence=(),
)


def split_judge(seats: Sequence[Seat], judge: str) -> tuple[tuple[Seat, ...], Seat | None]:
    """Return the seats that have a say, and the one that judges their answers; raises BadSetting for a judge without a seat."""
    if not judge:
        return tuple(seats), None
    for seat in seats:
        if seat.id == judge:
            return tuple(other for other in seats if other is not seat), seat
    names = ", ".join(seat.id for seat in seats)
    raise BadSetting(
        f"judge = {judge!r} is not a seat; name one of {names}, or leave it empty for none"
    )


MAX_LOOKS: Final = 3
"""How often a judge is asked in a phase: the first order, the other one, and what is in doubt then; more often of very many seats."""


JUDGE_TOKENS: Final = 600
"""Of what a judge is sent, usually: the question, the answers and the pairs, and never the files."""


def expect_judge_calls(judge: str, phases: int) -> tuple[ExpectedCalls, ...]:
    """Return what a judge is asked at most in the phases that bring answers. Where all agree, it is not asked."""
    if not judge:
        return ()
    return (
        ExpectedCalls(
            seats=(SeatId(judge),),
            least=0,
            most=MAX_LOOKS * phases,
            tokens_out=SHORT_ANSWER,
            tokens_in=JUDGE_TOKENS,
            is_in_turn=True,
        ),
    )


def list_free_answers(words: Iterable[str], options: Sequence[str]) -> dict[str, str]:
    """Return the answers that no list has, as they were said, by their folded texts: nothing where one is the only one.

    Who answers yes and who answers no need no judge.
    """
    listed = {normalize_label(option) for option in options}
    answers: dict[str, str] = {}
    for text in words:
        folded = normalize_label(text)
        if folded and folded not in listed and not is_none_of_these(text):
            answers[folded] = min(text, answers.get(folded, text))
    if len(answers) < 2 or YES_OR_NO.issuperset(answers):
        return {}
    return {folded: answers[folded] for folded in sorted(answers)}


def list_due_pairs(state: ProtocolState, wanted: Sequence[Pair]) -> list[Pair]:
    """Return the pairs to put to the judge now, of those that are wanted, each in the order in which it is shown; none once all
    is said.

    All first orders come before any second one, as most pairs need none; what is in doubt then is asked once more.
    """
    said = state.hearing.said
    first = [pair for pair in wanted if pair not in said]
    if first:
        return first[:MAX_ASKED]
    second: list[Pair] = []
    for one, other in wanted:
        if said[one, other].verdict in SECOND_ORDER and (other, one) not in said:
            second.append((other, one))
    if second:
        return second[:MAX_ASKED]
    # Once only: a pair that is in doubt after two looks is not joined.
    if state.hearing.again:
        return []
    return _list_second_looks(state, wanted)


def _list_second_looks(state: ProtocolState, wanted: Sequence[Pair]) -> list[Pair]:
    """Return the pairs to ask once more, each in both orders: those on which one slip of the judge would decide.

    These are pairs that one order calls the same and the other does not, where no chain joins them, and a pair that is the only one,
    which a single word keeps apart.
    """
    pairs = [_build_pair(state, *pair) for pair in wanted]
    groups = add_judged(state.groups, pairs, state.opened.subject.options)
    is_alone = len(pairs) == 1
    looks: list[Pair] = []
    for pair in pairs:
        if groups.is_same(pair.one, pair.other):
            continue
        if pair.is_doubtful or (is_alone and pair.is_said_once):
            looks += [(pair.one, pair.other), (pair.other, pair.one)]
    return looks[:MAX_ASKED]


def list_wanted_pairs(state: ProtocolState, words: Sequence[str]) -> Sequence[Pair]:
    """Return the pairs of answers that are to be judged: those of each answer that no judge has met, in the first order."""
    answers = list_free_answers(words, state.opened.subject.options)
    groups = state.groups
    return _pair_answers(tuple(answers.items()), groups.met, frozenset(groups.owned))


# The same between two entries, and asked for several times with each: with 50 answers there are 1,225 pairs to compare.
@lru_cache(maxsize=64)
def _pair_answers(
    answers: tuple[tuple[str, str], ...], met: frozenset[str], owned: frozenset[Pair]
) -> tuple[Pair, ...]:
    wanted: list[Pair] = []
    for (one, first), (other, second) in combinations(answers, 2):
        # Of answers that were all judged before, nothing new is to be said.
        is_new = one not in met or other not in met
        if is_new and order_pair(one, other) not in owned:
            wanted.append((first, second))
    if len(wanted) > MAX_WANTED:
        wanted = _choose_nearest(wanted, len(answers))
    return tuple(wanted)


def _choose_nearest(pairs: list[Pair], texts: int) -> list[Pair]:
    """Return for each text the pairs with those that are nearest by their words, as many as there is room for."""
    room = max(1, MAX_WANTED // texts)
    ranked = sorted(pairs, key=lambda pair: (-measure_by_words(pair[0], (pair[1],))[0], pair))
    counts: Counter[str] = Counter()
    chosen: list[Pair] = []
    for one, other in ranked:
        if counts[one] < room or counts[other] < room:
            chosen.append((one, other))
            counts.update((one, other))
    return sorted(chosen)


def find_grouping_step(
    state: ProtocolState, wanted: Sequence[Pair], patience: float, timed_by: str
) -> Ask | Record | None:
    """Return what comes before texts are counted: an ask of the judge on the pairs that are wanted, or the groups; None where
    nothing is left to settle.
    """
    judge, hearing = state.judge_seat, state.hearing
    if judge is None or hearing.missed:
        return None
    missed = hearing.lost or state.stop or ""
    if not wanted and not hearing.lost:
        return None
    due = list_due_pairs(state, wanted)
    if missed or not due:
        pairs = tuple(_build_pair(state, *pair) for pair in wanted if pair in hearing.said)
        return Record(fact=AnswersGrouped(pairs=pairs, judge=judge.id, missed=missed))
    # Numbered by what came back, not by what is asked: an answer that arrives meanwhile does not withdraw the ask.
    number = hearing.asked + 1
    return Ask(
        id=ask_id(number, JUDGE_ASK, judge.id),
        seat=judge.id,
        kind=JUDGE_ASK,
        turn=number,
        patience=patience,
        firm=True,
        timed_by=timed_by,
    )


def _build_pair(state: ProtocolState, one: str, other: str) -> JudgedPair:
    said, again = state.hearing.said, state.hearing.again
    first, second = said[one, other], said.get((other, one))
    if second is None:
        return JudgedPair(one=one, other=other, first=first.verdict, reason=first.reason)
    pair = JudgedPair(
        one=one,
        other=other,
        first=first.verdict,
        second=second.verdict,
        reason=first.reason or second.reason,
    )
    third = again.get((one, other))
    if third is None:
        return pair
    # A pair that was different in its first order has its other order from the second look alone.
    fourth = again.get((other, one), second)
    return replace(pair, third=third.verdict, fourth=fourth.verdict)


def build_judge_rules(due: Sequence[Pair]) -> AnswerRules:
    """Return how an answer of the judge is read: what it says of a pair is stored with the words of the pair."""
    return AnswerRules(form=JUDGE_FORM, normalize=partial(_name_pairs, due))


def _name_pairs(pairs: Sequence[Pair], said: object) -> tuple[object, tuple[str, ...]]:
    """Return one judgement for each pair, in its words: without a verdict where the answer has none, or two that differ."""
    assert isinstance(said, AnswerJudgements)
    verdicts: dict[int, AnswerJudgement] = {}
    for each in said.judgements:
        known = verdicts.setdefault(each.pair, each)
        if known.verdict != each.verdict:
            verdicts[each.pair] = replace(known, verdict=None)
    named: list[AnswerJudgement] = []
    missing: list[str] = []
    for number, (one, other) in enumerate(pairs, 1):
        judgement = verdicts.get(number)
        if judgement is None:
            missing.append(f"#{number}")
            judgement = AnswerJudgement(pair=number, verdict=None)
        named.append(replace(judgement, one=one, other=other))
    notes: tuple[str, ...] = ()
    if missing:
        notes = (f"missing judgements {' '.join(missing)}",)
    return AnswerJudgements(judgements=tuple(named)), notes


def build_judge_brief(
    state: ProtocolState,
    ask: Ask,
    wanted: Sequence[Pair],
    about: JudgedTexts = "answers",
    details: Mapping[str, str] = MappingProxyType({}),
) -> Brief:
    """Return what the judge is sent: the question, the texts without their authors, and the pairs by number.

    `about` says what the texts are; `details` is what stands behind some of them.
    """
    text, topic = ANSWER_JUDGE[state.opened.language], state.opened.topic
    due = list_due_pairs(state, wanted)
    return fill_brief(
        state,
        ask,
        build_judge_rules(due),
        system=text.system,
        nth=ask.turn,
        shared=f"{text.question}\n{quote_user(topic)}",
        own="\n".join(
            [*_format_pairs(due, text.heads[about], text, details), text.requests[about]]
        ),
        subject=topic,
        schema=_build_schema(len(due)),
    )


def _format_pairs(
    pairs: Sequence[Pair], head: str, text: AnswerJudgeText, details: Mapping[str, str]
) -> list[str]:
    """List the texts, each once, then the pairs by the numbers of these."""
    numbers: dict[str, int] = {}
    for pair in pairs:
        for each in pair:
            numbers.setdefault(each, len(numbers) + 1)
    lines = [head]
    for each, number in numbers.items():
        lines.append(quote_lines(f"{number}. {one_line(each)}{details.get(each, '')}"))
    lines += ["", text.pairs]
    for at, (one, other) in enumerate(pairs, 1):
        # Only numbers: the words of a seat must not stand between those of the form.
        lines.append(quote_lines(f"{at}: {numbers[one]}, {numbers[other]}"))
    return lines


def _build_schema(pairs: int) -> Schema:
    judgement = {
        "type": "object",
        "properties": {
            "pair": {"type": "integer", "enum": [*range(1, pairs + 1)]},
            "reason": {"type": "string"},
            "verdict": {"type": "string", "enum": [*get_args(PairVerdict)]},
        },
        "required": ["pair", "verdict"],
        "additionalProperties": False,
    }
    listed = {"type": "array", "items": judgement, "minItems": 1, "maxItems": MAX_JUDGEMENTS}
    return {
        "type": "object",
        "properties": {"judgements": listed},
        "required": ["judgements"],
        "additionalProperties": False,
    }

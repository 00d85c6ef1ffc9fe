"""The owner's word on which answers are one (Q-3): checked against what the seats have answered."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from moothall.domain.groups import JudgedPair, PairVerdict, add_owned
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.domain.session_state import ProtocolState
from moothall.domain.topic import normalize_label
from moothall.errors import BadSetting

MAX_GROUPED: Final = 64
"""How many answers are joined or parted at once."""


def pair_answers(
    state: ProtocolState, answers: Sequence[str], *, joined: bool
) -> tuple[JudgedPair, ...]:
    """Return the pairs that join these answers, or part each from the others; one alone is parted from its whole group."""
    known = _list_known_answers(state)
    named = [_find_answer(known, each) for each in answers]
    others = [*named]
    # One answer alone is parted from everything that it is joined with now.
    if not joined and len(named) == 1:
        others = [each for each in known.values() if state.groups.is_same(each, named[0])]
    chosen = {normalize_label(each): each for each in (*named, *others)}
    if len(chosen) < 2 or len(chosen) > MAX_GROUPED:
        raise BadSetting(
            f"2 to {MAX_GROUPED} answers are needed that are written differently; the answers are: {_list(known)}"
        )
    verdict: PairVerdict = "same" if joined else "opposite"
    listed = [*combinations(sorted(chosen), 2)]
    # The rest of its group stays together.
    if len(named) == 1:
        own = normalize_label(named[0])
        listed = [pair for pair in listed if own in pair]
    pairs: list[JudgedPair] = []
    for one, other in listed:
        pairs.append(
            JudgedPair(one=chosen[one], other=chosen[other], first=verdict, second=verdict)
        )
    _check_result(state, pairs, joined=joined)
    return tuple(pairs)


def _list_known_answers(state: ProtocolState) -> dict[str, str]:
    # Nobody, the owner included, reads what is sealed: not even by a refusal that lists it.
    if state.is_sealed:
        raise BadSetting("answers are still being written blind; group them once all may read them")
    known = {normalize_label(each): one_line(each) for each in state.open_answers}
    known.pop("", None)
    if not known:
        raise BadSetting("no seat has named an answer in this session that is counted by its words")
    return known


def _find_answer(known: dict[str, str], given: str) -> str:
    answer = known.get(normalize_label(fix_surrogates(given)))
    if answer is None:
        raise BadSetting(
            f"{one_line(given)[:100]!r} is none of the answers; they are: {_list(known)}"
        )
    return answer


def _list(known: dict[str, str]) -> str:
    return ", ".join(repr(each) for each in known.values())


def _check_result(state: ProtocolState, pairs: Sequence[JudgedPair], *, joined: bool) -> None:
    """Raise BadSetting where the owner's earlier word, or the list of answers, says otherwise."""
    after = add_owned(state.groups, pairs, state.opened.subject.options)
    for pair in pairs:
        if after.is_same(pair.one, pair.other) != joined:
            raise BadSetting(
                f"{pair.one!r} and {pair.other!r} cannot be joined: they are two listed answers, or others of their groups were"
                " parted; join or part those first"
            )

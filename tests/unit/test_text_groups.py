"""Texts are grouped by verdicts that may be wrong (S-31)."""

from random import Random

from moothall.scoring.text_groups import MAX_LOOKS, TextGroups, Verdicts, order_pair


def build_verdicts(**weights: float) -> Verdicts:
    """Verdicts by the letters of both texts."""
    return {order_pair(*pair): (weight, 1) for pair, weight in weights.items()}


def group(where: dict[str, int], **weights: float) -> dict[str, int]:
    groups = TextGroups(where, build_verdicts(**weights))
    groups.regroup(where, max(where.values()) + 1)
    return groups.where


def test_a_text_stands_where_most_speaks_for_it() -> None:
    """S-31: one wrong verdict is outvoted; as much for another place as for its own leaves it."""
    where = dict.fromkeys("abx", 1) | dict.fromkeys("cd", 2)
    assert group(where, ab=1, cd=1, ax=1, cx=1, dx=1)["x"] == 2
    assert group(where, ab=1, cd=1, ax=1, cx=1)["x"] == 1
    assert group(where, ab=1, cd=1, ax=1, bx=-1, cx=1)["x"] == 2


def test_a_text_that_most_speaks_against_stands_alone() -> None:
    """S-31"""
    where = dict.fromkeys("abx", 1)
    assert group(where, ab=1, ax=-1) == {"a": 1, "b": 1, "x": 2}
    assert group(where, ab=1, ax=-1, bx=1) == where


def test_two_groups_become_one_by_two_verdicts_and_the_older_number_stays() -> None:
    """S-31: one verdict alone may be wrong."""
    where = dict.fromkeys("ab", 1) | dict.fromkeys("cd", 2)
    assert group(where, ab=1, cd=1, ac=1) == where
    assert set(group(where, ab=1, cd=1, ac=1, bd=1).values()) == {1}
    assert group(where, ab=1, cd=1, ac=1, bd=1, ad=-1) == where


def test_a_group_of_two_ideas_is_parted_and_its_oldest_text_keeps_the_number() -> None:
    """S-31: by a cut that more speaks against than for."""
    where = dict.fromkeys("abcdef", 1)
    inner = {"ab": 1.0, "bc": 1.0, "ac": 1.0, "de": 1.0, "ef": 1.0, "df": 1.0}
    parted = group(where, **inner, cd=1, ad=-1, be=-1)
    assert parted == dict.fromkeys("abc", 1) | dict.fromkeys("def", 2)
    assert group(where, **inner, cd=1, ad=-1) == where


def test_doubts_are_what_rests_on_one_verdict_or_on_none() -> None:
    """S-31: only listed texts are looked at, and not for ever."""
    where = {"a": 1, "b": 1, "c": 1, "x": 1, "y": 2}
    verdicts = build_verdicts(ab=1, bc=1, ac=1, ax=1, ay=-1)
    doubts = list(TextGroups(where, verdicts).list_doubts(set(where)))
    # `x` rests on one verdict, `y` was set apart by one: each is compared with another member than before.
    assert doubts == [("b", "x"), ("b", "y")]
    assert list(TextGroups(where, verdicts).list_doubts({"a", "b", "c"})) == []
    settled = {pair: (weight, MAX_LOOKS) for pair, (weight, _) in verdicts.items()}
    assert list(TextGroups(where, settled).list_doubts(set(where))) == []


def test_regrouping_ends_and_is_the_same_in_any_order_of_verdicts() -> None:
    """S-31, whatever the verdicts say: every text keeps exactly one place."""
    for seed in range(200):
        chance = Random(seed)
        letters = "abcdefgh"
        where = {letter: chance.randint(1, 4) for letter in letters}
        pairs = [
            one + other
            for at, one in enumerate(letters)
            for other in letters[at + 1 :]
            if chance.random() < 0.5
        ]
        weights = {pair: float(chance.choice((1, 1, -1, -2))) for pair in pairs}
        found = group(where, **weights)
        chance.shuffle(pairs)
        assert group(where, **{pair: weights[pair] for pair in pairs}) == found
        assert found.keys() == where.keys()

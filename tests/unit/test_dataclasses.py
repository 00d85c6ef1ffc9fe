"""`domain/replace.py` makes the same classes as the standard library."""

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from moothall.domain.replace import dataclass

OPTIONS = [
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "order": True},
    {"slots": True},
    {},
]


def make(decorate: Callable[..., Any], options: dict[str, bool]) -> list[Any]:
    """Make classes with nothing, one field, fields of every kind, a parent, and methods of their own."""

    @decorate(**options)
    class Nothing:
        pass

    @decorate(**options)
    class One:
        first: int

    @decorate(**options)
    class Many:
        first: int
        second: object = None
        silent: str = dataclasses.field(default="", compare=False)
        hidden: str = dataclasses.field(default="", repr=False)
        unhashed: list[int] = dataclasses.field(default_factory=list, hash=False)
        shared: ClassVar[int] = 3

    @decorate(**options)
    class Child(Many):
        last: int = 0

    @decorate(**options)
    class Own:  # noqa: PLW1641 - the decorator adds it
        first: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    class Undecorated(One):
        pass

    return [Nothing, One, Many, Child, Own, Undecorated]


def has_own(value: object, name: str) -> bool:
    """Whether its class has a method of its own in place of that of every object."""
    return getattr(type(value), name) is not getattr(object, name)


def describe(kinds: list[Any]) -> list[object]:
    """What can be seen of the values of these classes."""
    nothing, one, many, child, own, undecorated = kinds
    values = [
        nothing(),
        one(first=1),
        one(first=2),
        many(first=1),
        many(first=1, silent="x"),
        many(first=1, hidden="x"),
        many(first=1, unhashed=[1]),
        many(first=1, second=one(first=1)),
        child(first=1),
        child(first=1, last=2),
        own(first=1),
        own(first=2),
        undecorated(first=1),
    ]
    seen: list[object] = [[left == right for right in values] for left in values]
    seen.append([repr(each) for each in values if has_own(each, "__repr__")])
    seen.append([each.__match_args__ for each in kinds])
    seen.append([each.__doc__ for each in kinds])
    for each in values:
        is_hashable = type(each).__hash__ is not None
        seen.append(is_hashable)
        if is_hashable and has_own(each, "__hash__"):
            seen.append(
                [hash(each) == hash(other) for other in values if type(other) is type(each)]
            )
        try:
            each.first = 9
        except dataclasses.FrozenInstanceError as error:
            seen.append(str(error))
        except (AttributeError, TypeError) as error:
            seen.append(type(error).__name__)
        seen.append(dataclasses.asdict(each))
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_the_one_of_the_standard_library(options: dict[str, bool]) -> None:
    assert describe(make(dataclass, options)) == describe(make(dataclasses.dataclass, options))


@dataclass(frozen=True, slots=True)
class Chain:
    """A value that may hold itself."""

    links: list[object]


def test_a_value_that_holds_itself_is_printed_and_a_stored_one_is_equal() -> None:
    chain = Chain([])
    chain.links.append(chain)
    assert repr(chain) == "Chain(links=[...])"
    assert pickle.loads(pickle.dumps(Chain([1]))) == Chain([1])


def test_without_options_it_is_that_of_the_standard_library() -> None:
    @dataclass
    class Plain:
        first: int

    plain: Any = Plain(1)
    plain.first = 2
    assert plain == Plain(2)


def test_a_class_of_the_standard_library_inherits_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Longer(Chain):
        more: int = 0

    assert repr(Longer([], 2)).endswith("Longer(links=[], more=2)")
    assert Longer([], 2) != Longer([])

"""Seeded randomness: every draw is a pure function of the session's seed and a key, so that a replay is exact."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, TypeVar

T = TypeVar("T")

MAX_TURNED: Final = 24
"""How many words a list may have to be turned; a longer one stays as it is."""


def random_unit(seed: int, *key: object) -> float:
    """Return a number in [0, 1) that depends only on the seed and the key."""
    return _hash_bits(seed, key) / 2**53


def model_seed(seed: int, *key: object) -> int:
    """Return a 31-bit seed for the sampler of a model."""
    return _hash_bits(seed, key) & 0x7FFFFFFF


def turn_list(words: Sequence[T], turn: int) -> Sequence[T]:
    """Return the words of a choice turned in their circle; those of a long one stay."""
    if not 1 < len(words) <= MAX_TURNED:
        return words
    at = turn % len(words)
    return (*words[at:], *words[:at])


def _hash_bits(seed: int, key: tuple[object, ...]) -> int:
    # A unit separator between the parts keeps ("a", "bc") and ("ab", "c") apart.
    text = "\x1f".join([str(seed), *map(str, key)])
    # 53 bits are the precision of a double: the quotient by 2**53 is exact and always below 1.
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 11

"""Seeded chance: every draw is a pure function of the session's seed and a key, so that a replay is exact."""

from hashlib import sha256


def random_unit(seed: int, *key: object) -> float:
    """A number in [0, 1) that depends on the seed and the key alone."""
    return _hash_bits(seed, key) / 2**53


def model_seed(seed: int, *key: object) -> int:
    """A 31-bit seed for a model's own sampler."""
    return _hash_bits(seed, key) & 0x7FFFFFFF


def _hash_bits(seed: int, key: tuple[object, ...]) -> int:
    text = "\x1f".join([str(seed), *map(str, key)])
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 11

"""A light English stemmer, so that the forms of a word compare as equal."""

from functools import lru_cache


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a light English stem: `adopts`, `adopted` and `adopting` become one term. Other words stay unchanged."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singularize(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        # At least three letters and a vowel must remain, so that "thing" and "string" keep theirs.
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            # A doubled consonant belongs to the ending ("stopped"), except l, s and z, which words may end in ("fall", "miss").
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singularize(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word

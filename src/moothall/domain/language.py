"""Which language a text is in."""

from moothall.domain.facts import Language


def detect_language(text: str) -> Language:
    """Return `zh` if at least a fifth of the letters are Han characters, else `en`: other languages are asked for by name."""
    # A fifth and not half: one Han character carries as much text as several Latin letters.
    letters = [char for char in text if char.isalpha()]
    han = sum("\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003134f" for char in letters)
    return "zh" if letters and han * 5 >= len(letters) else "en"

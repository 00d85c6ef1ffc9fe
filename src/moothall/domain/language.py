"""Which language a text is in, and which languages there are."""

from moothall.domain.facts import Language
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages


def detect_language(text: str) -> Language:
    """Return `zh` if at least a fifth of the letters are Han characters, else `en`: other languages are asked for by name."""
    # A fifth and not half: one Han character carries as much text as several Latin letters.
    letters = [char for char in text if char.isalpha()]
    han = sum("\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003134f" for char in letters)
    return "zh" if letters and han * 5 >= len(letters) else "en"


def validate_language(language: Language) -> Language:
    """Return the language if Moot has words in it; raises BadSetting with the list of languages when it has none."""
    if language not in list_languages():
        raise BadSetting(f"language = {language[:40]!r}; expected one of: {', '.join(list_languages())}")
    return language

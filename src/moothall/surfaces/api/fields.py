"""Types of fields that many calls have."""

from typing import Annotated

from pydantic import AfterValidator, Field

from moothall.domain.safe_text import one_line


def _validate_key(key: str) -> str:
    """A key that could not be stored is refused before anything is done."""
    if key and (not key.strip() or one_line(key) != key):
        raise ValueError("it must have 1 to 100 printable characters on one line")
    return key


IdempotencyKey = Annotated[
    str, Field(max_length=100, description="A repeated call with the same key counts once."), AfterValidator(_validate_key)
]
Short = Annotated[str, Field(max_length=100)]
Score = Annotated[float, Field(ge=0, le=1)]

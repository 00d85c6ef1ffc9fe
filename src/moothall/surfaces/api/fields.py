"""Types of fields that many calls have."""

from typing import Annotated

from pydantic import Field

IdempotencyKey = Annotated[str, Field(max_length=100, description="A repeated call with the same key counts once.")]
Short = Annotated[str, Field(max_length=100)]
Score = Annotated[float, Field(ge=0, le=1)]

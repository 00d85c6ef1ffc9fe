"""The field of an answer in which a seat answers the user's later words (Q-8)."""

from typing import Any, Final

from moothall.codec.schemas import allow_list, allow_values, build_table_schema
from moothall.domain.answer_table import AnswerField
from moothall.domain.user_inputs import InputReply

_REPLY: Final[tuple[AnswerField[Any], ...]] = (
    AnswerField(
        "input",
        is_needed=True,
        allow=lambda asked: allow_values(each.number for each in asked.state.open_inputs),
    ),
    AnswerField("text", is_needed=True),
)
TO_USER: Final[AnswerField[Any]] = AnswerField(
    "to_user",
    when=lambda asked: bool(asked.state.open_inputs),
    allow=lambda asked: allow_list(
        build_table_schema(InputReply, _REPLY, asked), len(asked.state.open_inputs)
    ),
)

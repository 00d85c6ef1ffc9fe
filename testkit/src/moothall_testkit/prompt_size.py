"""What a prompt costs beyond its matter: the tokens of all that Moot itself writes into it."""

import json
import re
from typing import Final

from moothall.domain.effects import Brief
from moothall.reading.schemas import build_request_schema, build_user_prompt

_WIDE: Final = re.compile(r"[^\u0000-\u2e7f]+")


def count_tokens(text: str) -> int:
    """Count roughly: three Chinese characters are two tokens, four characters of other text are one."""
    wide = 0 if text.isascii() else len(text) - len(_WIDE.sub("", text))
    return (2 * wide + 2) // 3 + (len(text) - wide + 3) // 4


def count_instructions(brief: Brief) -> int:
    """Count the tokens of a prompt without the lines that others wrote, which have marks, and their headings."""
    lines = f"{brief.system}\n{build_user_prompt(brief)}".split("\n")
    return count_tokens(
        "\n".join(line for line in lines if not line.startswith(("> ", "| ", "[#")))
    )


def count_request(brief: Brief) -> int:
    """Count the tokens of a request beyond its matter, with its schema, which then stands in place of the form in words."""
    if brief.form.form != "json":
        return count_instructions(brief)
    user = build_user_prompt(brief, shows_form=False)
    lines = f"{brief.system}\n{user}".split("\n")
    own = "\n".join(line for line in lines if not line.startswith(("> ", "| ", "[#")))
    schema = json.dumps(
        build_request_schema(brief, is_shown=True), ensure_ascii=False, separators=(",", ":")
    )
    return count_tokens(own) + count_tokens(schema)

"""Assembles a brief into one prompt text: the prompt, the form of the answer, and what was wrong with the last one."""

import json
from collections.abc import Mapping
from typing import Final

from moot.codec.answers import build_form_schema
from moot.domain.effects import Brief
from moot.domain.facts import Language

_AS_JSON: Final[Mapping[Language, str]] = {
    "en": "One JSON object and nothing else: no explanation, no Markdown fence. It must fit this JSON Schema:",
    "zh": "只给出一个 JSON 对象，不要解释，不要 Markdown 围栏。它必须符合这个 JSON Schema：",
}
_MEND: Final[Mapping[Language, str]] = {
    "en": "(Your previous reply could not be used: {complaint})",
    "zh": "（你上一次的回答无法使用：{complaint}）",
}


def build_user_prompt(brief: Brief, complaint: str | None = None) -> str:
    """Return everything that follows the system prompt."""
    parts = [brief.shared, brief.own]
    if brief.form.form == "json":
        parts.append(f"{_AS_JSON[brief.language]}\n{json.dumps(build_form_schema(brief.form), ensure_ascii=False)}")
    if complaint is not None:
        parts.append(build_correction(brief.language, complaint))
    return "\n\n".join(parts)


def build_correction(language: Language, complaint: str) -> str:
    """Return the message about what was wrong with the last answer."""
    return _MEND[language].format(complaint=complaint)

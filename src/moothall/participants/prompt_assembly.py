"""Assembles a brief into one prompt text: the prompt, the form of the answer, and what was wrong with the last one."""

from moothall.codec.schemas import describe_schema, get_own_schema
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.locale.catalogues import PARTICIPANT_PROMPT


def build_user_prompt(brief: Brief, complaint: str | None = None) -> str:
    """Return everything that follows the system prompt."""
    parts = [brief.shared, brief.own]
    if brief.form.form == "json":
        parts.append(describe_schema(get_own_schema(brief), brief.hints, brief.language))
    if complaint is not None:
        parts.append(build_correction(brief.language, complaint))
    return "\n\n".join(parts)


def build_correction(language: Language, complaint: str) -> str:
    """Return the message about what was wrong with the last answer."""
    return PARTICIPANT_PROMPT[language].correction.format(complaint=complaint)

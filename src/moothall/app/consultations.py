"""The consultation options of a session: validated and converted into the rules that its opening records."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moothall.domain.consult import MAX_PER_SEAT, MAX_PER_SESSION, ConsultRules
from moothall.domain.effects import AnswerForm
from moothall.errors import BadSetting
from moothall.participants.record_writer import validate_project
from moothall.protocols.consultation.facts import RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Consult:
    """The consultation options of a session.

    `folder` is the project that keeps the records; by default the current folder. A session that is a validation `gate` refuses
    all consultations.
    """

    per_seat: int = 3
    per_session: int = 24
    gate: bool = False
    folder: str | Path | None = None
    patience: float = 300.0


def build_consult_rules(wanted: Consult) -> ConsultRules:
    """Build the recorded rules; raises BadSetting."""
    for what, count, most in (("seat", wanted.per_seat, MAX_PER_SEAT), ("session", wanted.per_session, MAX_PER_SESSION)):
        if not 0 <= count <= most:
            raise BadSetting(f"{count} consultations per {what}; expected 0 to {most}")
    if not 0 < wanted.patience <= 31_536_000:
        raise BadSetting(f"the patience for a consultation is {wanted.patience} seconds; it must be greater than 0")
    try:
        folder = validate_project(Path(wanted.folder) if wanted.folder is not None else Path.cwd())
    except (OSError, ValueError) as cause:
        told = f"{cause.filename}: {cause.strerror}" if isinstance(cause, OSError) and cause.filename else str(cause)
        raise BadSetting(f"consultation records cannot be written in the project: {told}; choose another folder") from cause
    return ConsultRules(
        folder=str(folder),
        token=secrets.token_hex(8),
        per_seat=wanted.per_seat,
        per_session=wanted.per_session,
        gate=wanted.gate,
        patience=wanted.patience,
    )


def select_asked_kinds(forms: Mapping[str, AnswerForm]) -> dict[str, AnswerForm]:
    """Return the kinds of answers that seats can be asked for: all but those of Moot itself."""
    return {kind: form for kind, form in forms.items() if kind != RECORD}

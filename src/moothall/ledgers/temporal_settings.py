"""Which Temporal server hands out the sessions that workers share, by the variables of a process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moothall.domain.safe_text import compile_late
from moothall.errors import BadSetting

TEMPORAL: Final = "MOOT_TEMPORAL"
"""The variable that names the server, HOST:PORT; without it PostgreSQL alone hands out sessions."""
NAMESPACE: Final = "TEMPORAL_NAMESPACE"
TASK_QUEUE: Final = "MOOT_TEMPORAL_QUEUE"

_SERVER: Final = compile_late(r"[^\s/@]+:([0-9]{1,5})")
_TASK_QUEUE: Final = compile_late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalSettings:
    """Where Temporal is. The namespace, TLS and keys are read from Temporal's own variables in `environ`, or its own file."""

    server: str
    task_queue: str
    environ: Mapping[str, str]


def read_temporal_settings(environ: Mapping[str, str]) -> TemporalSettings | None:
    """Where Temporal is; None if it is not to be used. Raises BadSetting."""
    server, task_queue = (
        environ.get(TEMPORAL, "").strip(),
        environ.get(TASK_QUEUE, "").strip() or "moot",
    )
    if not server:
        return None
    match = _SERVER.fullmatch(server)
    if match is None or not 0 < int(match[1]) < 65_536:
        raise BadSetting(
            f"{TEMPORAL} = {server!r} is not a Temporal server; expected HOST:PORT, such as localhost:7233"
        )
    if not _TASK_QUEUE.fullmatch(task_queue):
        raise BadSetting(
            f"{task_queue!r} is not a task queue; expected up to 100 letters, digits, dots, dashes and underscores"
        )
    return TemporalSettings(server=server, task_queue=task_queue, environ=environ)

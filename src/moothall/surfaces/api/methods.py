"""All calls, by name."""

from typing import Any, Final

from moothall.surfaces.api.breakers import BREAKER_METHODS
from moothall.surfaces.api.consultation import CONSULT_METHODS
from moothall.surfaces.api.decision_trace import TRACE_METHODS
from moothall.surfaces.api.deliberation import DELIBERATION_METHODS
from moothall.surfaces.api.demos import DEMO_METHODS
from moothall.surfaces.api.memory import MEMORY_METHODS
from moothall.surfaces.api.method import Method
from moothall.surfaces.api.opening import OPENING_METHODS
from moothall.surfaces.api.page import PAGE_METHODS
from moothall.surfaces.api.person_seat import PERSON_METHODS
from moothall.surfaces.api.pipelines import PIPELINE_METHODS
from moothall.surfaces.api.rights import NEEDS
from moothall.surfaces.api.roundtable import ROUNDTABLE_METHODS
from moothall.surfaces.api.sessions import SESSION_METHODS
from moothall.surfaces.api.swarm import SWARM_METHODS
from moothall.surfaces.api.trust_history import TRUST_METHODS

_METHODS: Final = (
    *CONSULT_METHODS,
    *DELIBERATION_METHODS,
    *DEMO_METHODS,
    *MEMORY_METHODS,
    *TRACE_METHODS,
    *BREAKER_METHODS,
    *PIPELINE_METHODS,
    *ROUNDTABLE_METHODS,
    *SESSION_METHODS,
    *SWARM_METHODS,
    *PAGE_METHODS,
    *PERSON_METHODS,
    *TRUST_METHODS,
    *OPENING_METHODS,
)
TABLE: Final[dict[str, Method[Any, Any]]] = {method.name: method for method in _METHODS}
assert TABLE.keys() == NEEDS.keys(), f"calls without a row in rights.py, or the reverse: {sorted(TABLE.keys() ^ NEEDS.keys())}"
TOOLS: Final[dict[str, Method[Any, Any]]] = {method.tool: method for method in TABLE.values() if method.tool}

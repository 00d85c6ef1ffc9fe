"""All calls, by name."""

from typing import Any, Final

from moot.surfaces.api.breakers import BREAKER_METHODS
from moot.surfaces.api.consultation import CONSULT_METHODS
from moot.surfaces.api.deliberation import DELIBERATION_METHODS
from moot.surfaces.api.demos import DEMO_METHODS
from moot.surfaces.api.memory import MEMORY_METHODS
from moot.surfaces.api.method import Method
from moot.surfaces.api.opening import OPENING_METHODS
from moot.surfaces.api.page import PAGE_METHODS
from moot.surfaces.api.person_seat import PERSON_METHODS
from moot.surfaces.api.pipelines import PIPELINE_METHODS
from moot.surfaces.api.rights import NEEDS
from moot.surfaces.api.roundtable import ROUNDTABLE_METHODS
from moot.surfaces.api.sessions import SESSION_METHODS
from moot.surfaces.api.swarm import SWARM_METHODS
from moot.surfaces.api.trust_history import TRUST_METHODS

_METHODS: Final = (
    *CONSULT_METHODS,
    *DELIBERATION_METHODS,
    *DEMO_METHODS,
    *MEMORY_METHODS,
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

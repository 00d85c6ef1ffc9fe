"""The tasks extension of MCP: a call that has a question decided gives a task, which its client polls until the session is over.

A task has the id of its session and nothing of its own: it is read from the ledger, so that it outlives the process and the
connection. The task of a question to one mind (`consult`) has that id with a prefix, since its result has another form. A client
that does not declare the extension polls with `get_session` instead.
"""

from collections.abc import Callable
from typing import Any, Final

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY

from moothall.domain.ids import SessionId
from moothall.surfaces.api.consultation import load_consultation
from moothall.surfaces.api.errors import NO_METHOD
from moothall.surfaces.api.method import Call, Method, encode_json
from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.mcp.greeting import MODERN_VERSIONS, TASKS

TASK: Final = {"resultType": "task"}
CONSULT: Final = "consult:"
STATES: Final = {"thinking": "working", "pending": "working", "cancelled": "cancelled"}
"""Any other state completes a task. A parked session does: what is to be done about it stands in the result, for the user."""

Ctx = ServerRequestContext[Any, Any]


def has_tasks(ctx: Ctx) -> bool:
    """Whether a request declares the extension: only then may it be answered with a task."""
    capabilities = ctx.session.client_capabilities
    extensions = None if capabilities is None else capabilities.extensions
    return ctx.session.protocol_version in MODERN_VERSIONS and TASKS in (extensions or {})


def check_tasks(ctx: Ctx) -> None:
    """Raises MCPError where the client does not have the extension, or its revision does not."""
    if ctx.session.protocol_version not in MODERN_VERSIONS:
        raise MCPError(code=NO_METHOD, message="Method not found", data=ctx.method)
    if not has_tasks(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"the client does not declare the extension {TASKS}",
            data=needed,
        )


def may_be_task(name: str, arguments: dict[str, Any]) -> bool:
    """Whether a call waits for the end of a session, for as long as that takes: those are what a task is for."""
    has_limit = {"timeoutSeconds", "timeout_seconds", "at"} & arguments.keys()
    # A consultation within a session is a step of its asker's, who is asked again.
    is_alone = name == "consult" and not {"sessionId", "session_id"} & arguments.keys()
    return name == "open_session" or ((name == "get_session" or is_alone) and not has_limit)


async def begin_task(
    call: Call, method: Method[Any, Any], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Make a call that may be a task: its result, or the task of the session that is being held.

    There is no task where seats from outside are to answer: a client that waits for one does nothing else, and may be asked.
    """
    is_consultation, waits = method.tool == "consult", "timeoutSeconds" in arguments
    result = await method.invoke(
        call, {**arguments, "timeoutSeconds": 0.0} if waits or is_consultation else arguments
    )
    if STATES.get(result["status"]) != "working":
        return result
    seats = (
        await call.moot.engine.load_snapshot(SessionId(result["sessionId"]))
    ).session_state.seats
    # Who consults is asked nothing.
    if any(seat.is_outside for seat in seats if not is_consultation or seat.id == arguments["to"]):
        return await method.invoke(call, arguments) if waits else result
    return {**await _describe_task(call, result, CONSULT if is_consultation else ""), **TASK}


async def load_task(
    call: Call, name: str, build_result: Callable[[dict[str, Any]], types.CallToolResult]
) -> dict[str, Any]:
    """A task as it stands, with its result if it is over; raises MootError."""
    session = name.removeprefix(CONSULT)
    result = await TABLE["moot.getSession"].invoke(call, {"sessionId": session})
    if session != name and result["status"] != "cancelled":
        result = encode_json(await load_consultation(call, SessionId(session)))
    task = await _describe_task(call, result, name.removesuffix(session))
    if task["status"] == "completed":
        task["result"] = build_result(result).model_dump(
            by_alias=True, mode="json", exclude_none=True
        )
    return task


async def _describe_task(call: Call, result: dict[str, Any], prefix: str) -> dict[str, Any]:
    session = SessionId(result["sessionId"])
    (first,) = await call.moot.engine.entries(session, 0, 1)
    state = (await call.moot.engine.load_snapshot(session)).session_state
    waiting = ", ".join(result.get("waitingFor", ()))
    message = result.get("parked") or result.get("choice")
    if not message:
        message = f"waiting for: {waiting}" if waiting else result["status"]
    return {
        "taskId": f"{prefix}{session}",
        "status": STATES.get(result["status"], "completed"),
        "statusMessage": message,
        "createdAt": first.at.isoformat(),
        "lastUpdatedAt": state.at.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": 2_000,
    }

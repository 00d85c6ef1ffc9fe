"""Elicitation: the person at an MCP client answers for a seat, in a form that the client shows."""

from typing import Any, Final

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.surfaces.api.method import Call
from moothall.surfaces.api.methods import TABLE

ASK_PERSON: Final = types.Tool(
    name="ask_person",
    description="Let the person at this client answer what your seat is asked now, in a form. Use it where they want to speak or "
    "vote themselves; what they answer is recorded as the seat's.",
    input_schema={"type": "object", "properties": {}},
    annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
)
ANSWER: Final = "answer"
MAX_MESSAGE_LENGTH: Final = 8_000


def can_ask_person(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client shows forms to its user, on this connection."""
    capabilities = ctx.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return _is_modern(ctx) or ctx.session.can_send_request


async def ask_person(
    ctx: ServerRequestContext[Any, Any], call: Call, params: types.CallToolRequestParams
) -> dict[str, Any] | types.InputRequiredResult:
    """Put the first open ask of the caller's seat to the person, and record the answer; raises MootError."""
    if not can_ask_person(ctx):
        raise BadSetting("this client cannot ask its user; answer for the seat yourself, or let them use the session's page")
    given = params.arguments or {}
    named = {"sessionId": given.get("sessionId") or call.caller.session, "seat": given.get("seat") or call.caller.seat}
    asks = (await TABLE["moot.getPersonAsks"].invoke(call, named))["asks"]
    if not asks:
        return {"status": "nothing_asked", "sessionId": named["sessionId"]}
    name = asks[0]["ask"]["ask"]
    form = types.ElicitRequestFormParams(message=_build_message(asks[0]), requested_schema=_build_form(asks[0]["steps"]))
    if not _is_modern(ctx):
        answered: Any = await ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)
    else:
        answered = (params.input_responses or {}).get(ANSWER)
        # An answer to an ask that is over by now answers nothing.
        if answered is None or params.request_state != name:
            return types.InputRequiredResult(input_requests={ANSWER: types.ElicitRequest(params=form)}, request_state=name)
    if not isinstance(answered, types.ElicitResult) or answered.action != "accept":
        return {"status": "declined", "sessionId": named["sessionId"]}
    answers = {key: str(value) for key, value in (answered.content or {}).items() if value is not None}
    written = await TABLE["moot.answerAsPerson"].invoke(call, {**named, "ask": name, "answers": answers})
    return {"status": "answered", **written}


def _is_modern(ctx: ServerRequestContext[Any, Any]) -> bool:
    return ctx.session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


def _build_message(ask: dict[str, Any]) -> str:
    return "\n\n".join(filter(None, (ask.get("about", ""), ask.get("intro", ""))))[-MAX_MESSAGE_LENGTH:]


def _build_form(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The steps of an ask as a flat form: what is only asked after another answer may be left out."""
    fields: dict[str, Any] = {}
    for step in steps:
        fields[step["key"]] = {"type": "string", "title": one_line(step["text"])}
        if step.get("choices"):
            choices = step["choices"]
            fields[step["key"]] |= {
                "enum": [choice["value"] for choice in choices],
                "enumNames": [one_line(choice["text"]) for choice in choices],
            }
    needed = [step["key"] for step in steps if step.get("needed") and step.get("onlyAfter") is None]
    return {"type": "object", "properties": fields, "required": needed}

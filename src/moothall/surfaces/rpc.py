"""JSON-RPC 2.0 to the letter: single requests, batches, notifications, ids, error codes."""

import json
import logging
import math
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from moothall.app.version import VERSION
from moothall.codec.settings import explain_validation_error
from moothall.domain.safe_text import dump_json
from moothall.errors import MootError
from moothall.surfaces.api import errors
from moothall.surfaces.api.method import Call, Method

MAX_IN_A_BATCH: Final = 100
DISCOVER: Final = "rpc.discover"
UNKNOWN: Final = "unknown"
"""How metrics name a method that does not exist: what a caller makes up is no label."""

log = logging.getLogger("moot")

Observe = Callable[[str, str, float], None]
"""Called after every call: method, outcome, seconds."""


@dataclass(frozen=True, slots=True)
class Fault(Exception):
    """An error to be sent back."""

    code: int
    message: str
    kind: str = ""


_TOO_MANY: Final = Fault(errors.TOO_MUCH.number, "too many calls; slow down", "TooMuch")


class Dispatcher:
    """Answers requests by a table of methods. `describe` gives the OpenRPC document."""

    def __init__(
        self,
        table: Mapping[str, Method[Any, Any]],
        describe: Callable[[], dict[str, Any]],
        observe: Observe | None = None,
    ) -> None:
        self._table = table
        self._describe = describe
        self._observe = observe or (lambda method, outcome, seconds: None)

    async def answer(
        self, call: Call, body: bytes, take: Callable[[], bool] = lambda: True
    ) -> str | None:
        """The response to a request body; None where nothing is to be sent back. `take` says whether one more call is let in."""
        try:
            request = decode_json(body)
        except Fault as fault:
            return dump_json(build_error(None, fault))
        if not isinstance(request, list):
            single = await self._answer_one(call, request)
            return None if single is None else dump_json(single)
        if not request or len(request) > MAX_IN_A_BATCH:
            return build_refusal(
                errors.INVALID_REQUEST,
                f"a batch has 1 to {MAX_IN_A_BATCH} requests, not {len(request)}",
                "InvalidRequest",
            )
        # One after another: what a caller sends together it means in that order. The first was let in with the batch.
        answers = []
        for at, each in enumerate(request):
            answer = (
                await self._answer_one(call, each)
                if at == 0 or take()
                else build_error(find_id(each), _TOO_MANY)
            )
            if answer is not None:
                answers.append(answer)
        return dump_json(answers) if answers else None

    async def _answer_one(self, call: Call, request: object) -> dict[str, Any] | None:
        try:
            checked = _validate_request(request)
        except Fault as fault:
            return build_error(find_id(request), fault)
        is_notification = "id" not in checked
        started = time.perf_counter()
        method = checked["method"]
        try:
            result = await self._call_method(call, method, checked.get("params"))
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": checked.get("id"), "result": result}
            outcome = "ok"
        except Fault as fault:
            answer = build_error(checked.get("id"), fault)
            outcome = str(fault.code)
        self._observe(
            method if method in self._table or method == DISCOVER else UNKNOWN,
            outcome,
            time.perf_counter() - started,
        )
        return None if is_notification else answer

    async def _call_method(self, call: Call, name: str, params: object) -> dict[str, Any]:
        if name == DISCOVER:
            return self._describe()
        method = self._table.get(name)
        if method is None:
            raise Fault(
                errors.NO_METHOD,
                f"no method is called {name[:100]!r}; {DISCOVER} lists those that exist",
            )
        try:
            return await method.invoke(call, _name_params(method, params))
        except Fault:
            raise
        except ValidationError as cause:
            raise Fault(
                errors.INVALID_PARAMS, explain_validation_error(cause), "InvalidParams"
            ) from None
        except MootError as cause:
            raise Fault(
                errors.find_error_code(cause), errors.explain_error(cause), type(cause).__name__
            ) from None
        except RecursionError:
            raise Fault(
                errors.INVALID_PARAMS, "the parameters are nested too deeply", "InvalidParams"
            ) from None
        except Exception:
            log.exception("the call %s failed", name)
            raise Fault(errors.INTERNAL, "the server failed; see its log", "Internal") from None


def decode_json(body: bytes) -> object:
    """The JSON in a body; raises Fault."""
    try:
        if sum(map(body.count, (b"[", b"{", b'":'))) > 1_000_000:
            raise ValueError("it has more than a million lists, objects or keys")
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as cause:
        raise Fault(errors.PARSE, f"the body is not valid JSON: {str(cause)[:200]}") from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _validate_request(request: object) -> dict[str, Any]:
    if not isinstance(request, dict):
        raise Fault(
            errors.INVALID_REQUEST, "a request is an object with jsonrpc, method, params and id"
        )
    if request.get("jsonrpc") != "2.0":
        raise Fault(errors.INVALID_REQUEST, 'jsonrpc must be "2.0"')
    if not isinstance(request.get("method"), str):
        raise Fault(errors.INVALID_REQUEST, "method must be a string")
    if "params" in request and not isinstance(request["params"], dict | list):
        raise Fault(errors.INVALID_REQUEST, "params must be an object or an array")
    if "id" in request and not _is_id(request["id"]):
        raise Fault(errors.INVALID_REQUEST, "id must be a string, a number or null")
    return request


def _is_id(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def find_id(request: object) -> object:
    identifier = request.get("id") if isinstance(request, dict) else None
    return identifier if _is_id(identifier) else None


def _name_params(method: Method[Any, Any], params: object) -> object:
    """Parameters by position as parameters by name, in the order in which the description lists them."""
    if not isinstance(params, list):
        return {} if params is None else params
    names = list(method.input_schema().get("properties", {}))
    if len(params) > len(names):
        raise Fault(
            errors.INVALID_PARAMS,
            f"{len(params)} parameters were given; the method has {len(names)}: {', '.join(names)}",
        )
    return dict(zip(names, params, strict=False))


def build_error(number: object, fault: Fault) -> dict[str, Any]:
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.kind:
        error["data"] = {"kind": fault.kind}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def build_refusal(code: int, message: str, kind: str) -> str:
    """The body of a response to a request that is refused before it is read."""
    return dump_json(build_error(None, Fault(code, message, kind)))


OPENRPC: Final = "1.3.2"


def build_document(table: Mapping[str, Method[Any, Any]]) -> dict[str, Any]:
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "Moot",
            "version": VERSION,
            "description": "Questions for a group of participants; decisions that can be audited.",
        },
        "methods": [_describe_method(method) for method in table.values()],
        "components": {"errors": {str(error["code"]): error for error in list_errors()}},
    }


def list_errors() -> list[dict[str, Any]]:
    """Every error that a call may answer with, each code once."""
    listed = dict(errors.STANDARD)
    for code in (*errors.CODES.values(), errors.TOO_MUCH):
        listed[code.number] = (
            f"{listed[code.number]}; {code.means}" if code.number in listed else code.means
        )
    return [{"code": number, "message": means} for number, means in sorted(listed.items())]


def _describe_method(method: Method[Any, Any]) -> dict[str, Any]:
    taken, given = method.input_schema(), method.output_schema()
    definitions = taken.get("$defs", {})
    required = set(taken.get("required", ()))
    params = []
    for name, shape in taken.get("properties", {}).items():
        schema = dict(shape)
        if definitions:
            schema["$defs"] = definitions
        params.append(
            {
                "name": name,
                "required": name in required,
                "description": shape.get("description", ""),
                "schema": schema,
            }
        )
    errors = [{"$ref": f"#/components/errors/{error['code']}"} for error in list_errors()]
    described = {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "either",
        "params": params,
        "result": {"name": "result", "schema": given},
        "examples": _build_examples(method.name, required, given),
        "errors": errors,
        "x-needs": method.needs,
    }
    if method.tool:
        described["x-mcp-tool"] = method.tool
    return described


@cache
def _load_examples() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "rpc_examples.toml").read_text("utf-8"))


def _build_examples(name: str, required: set[str], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Examples of a call: with what it needs, what the table of examples gives besides, and the smallest result."""
    table = _load_examples()
    needed = {each: table["values"][each] for each in sorted(required)}
    result = {"name": "result", "value": _build_instance(given, given.get("$defs", {}))}
    calls = [
        [{"name": each, "value": value} for each, value in (needed | more).items()]
        for more in table["calls"].get(name, [{}])
    ]
    return [
        {"name": f"{name} {number}", "params": params, "result": result}
        for number, params in enumerate(calls, 1)
    ]


def _build_instance(schema: dict[str, Any], parts: dict[str, Any], name: str = "") -> Any:
    """The smallest value that a schema takes; a text has the words of the parameter of that name."""
    if fixed := [schema[key] for key in ("default", "const") if key in schema] + schema.get(
        "enum", []
    ):
        return fixed[0]
    if (
        referred := [parts[schema["$ref"].rpartition("/")[2]]]
        if "$ref" in schema
        else schema.get("anyOf") or schema.get("oneOf")
    ):
        return _build_instance(referred[0], parts, name)
    if "properties" in schema:
        return {
            each: _build_instance(schema["properties"][each], parts, each)
            for each in schema.get("required", ())
        }
    known = _load_examples()["values"].get(name)
    smallest = {
        "array": [],
        "object": {},
        "boolean": False,
        "null": None,
        "string": known if isinstance(known, str) else name,
    }
    return smallest.get(schema.get("type", "object"), schema.get("minimum", 0))

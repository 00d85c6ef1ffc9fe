"""The description of all calls, generated from the table: an OpenRPC document."""

from collections.abc import Mapping
from typing import Any, Final

from moothall.app.version import VERSION
from moothall.surfaces.api.errors import CODES, STANDARD, TOO_MUCH
from moothall.surfaces.api.method import Method

OPENRPC: Final = "1.3.2"


def build_document(table: Mapping[str, Method[Any, Any]]) -> dict[str, Any]:
    """The document."""
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
    found = dict(STANDARD)
    for code in (*CODES.values(), TOO_MUCH):
        found[code.number] = f"{found[code.number]}; {code.means}" if code.number in found else code.means
    return [{"code": number, "message": means} for number, means in sorted(found.items())]


def _describe_method(method: Method[Any, Any]) -> dict[str, Any]:
    taken, given = method.input_schema(), method.output_schema()
    definitions = taken.get("$defs", {})
    required = set(taken.get("required", ()))
    return {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "either",
        "params": [
            {
                "name": name,
                "required": name in required,
                "description": shape.get("description", ""),
                "schema": {**shape, **({"$defs": definitions} if definitions else {})},
            }
            for name, shape in taken.get("properties", {}).items()
        ],
        "result": {"name": "result", "schema": given},
        "errors": [{"$ref": f"#/components/errors/{error['code']}"} for error in list_errors()],
        "x-needs": method.needs,
        **({"x-mcp-tool": method.tool} if method.tool else {}),
    }

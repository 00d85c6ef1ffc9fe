"""What SARIF 2.1.0 requires of the parts that a review writes, and what forges require beside it."""

import re
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

TEXT = {"type": "string", "minLength": 1, "pattern": r"\S"}
LINE = {"type": "integer", "minimum": 1}


def build_shape(_needed: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": _needed.split(), "properties": properties}


RULE = build_shape("id", id=TEXT, name=TEXT, shortDescription=build_shape("text", text=TEXT))
DRIVER = build_shape(
    "name rules", name=TEXT, rules={"type": "array", "uniqueItems": True, "items": RULE}
)
# A relative reference in unreserved characters and escapes alone: no scheme, no root, nothing that a parser reads otherwise.
ARTIFACT = build_shape(
    "uri", uri={"type": "string", "pattern": r"^(?!/)(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"}
)
REGION = build_shape(
    "startLine endLine",
    startLine=LINE,
    endLine=LINE,
    snippet=build_shape("text", text={"type": "string"}),
)
PLACE = build_shape("artifactLocation region", artifactLocation=ARTIFACT, region=REGION)
RESULT = build_shape(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=build_shape("text", text=TEXT),
    locations={
        "type": "array",
        "minItems": 1,
        "items": build_shape("physicalLocation", physicalLocation=PLACE),
    },
    partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": TEXT},
)
RUN = build_shape(
    "tool results",
    tool=build_shape("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
SCHEMA = build_shape(
    "$schema version runs",
    version={"const": "2.1.0"},
    runs={"type": "array", "minItems": 1, "items": RUN},
)
SCHEMA["properties"]["$schema"] = {
    "type": "string",
    "pattern": r"^https://\S*sarif\S*2\.1\.0\S*\.json$",
}


def list_sarif_faults(sarif: dict[str, Any]) -> list[str]:
    """Return what is against the shape, and what a shape cannot say: rules that exist, lines in order, paths that stay below."""
    faults = [
        f"{each.json_path}: {each.message}"
        for each in Draft202012Validator(SCHEMA).iter_errors(sarif)
    ]
    for run in sarif["runs"] if not faults else ():
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        faults += [f"rule {each} twice" for each in rules if rules.count(each) > 1]
        for result in run["results"]:
            if rules[result["ruleIndex"] : result["ruleIndex"] + 1] != [result["ruleId"]]:
                faults.append(f"{result['ruleId']} is not rule {result['ruleIndex']}")
            for place in (each["physicalLocation"] for each in result["locations"]):
                if place["region"]["endLine"] < place["region"]["startLine"]:
                    faults.append(f"lines in disorder: {place['region']}")
                if {"", ".", ".."} & set(re.split("/", unquote(place["artifactLocation"]["uri"]))):
                    faults.append(f"not a path below the root: {place['artifactLocation']['uri']}")
    return faults

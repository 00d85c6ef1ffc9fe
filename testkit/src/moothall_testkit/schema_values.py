"""Values that a JSON schema allows, drawn at random: for the schemas of asks, which use a small part of the language."""

import math
from random import Random
from typing import Any, Final

from moothall.domain.effects import Schema

WORDS: Final = (
    "Keep the cache small, because memory costs most.",
    "A pilot with 20 users first: the figures of 2023 do not settle it.",
    "先试点一个月，再决定是否推广。",
    "No; the risk (30 %) is higher than the gain.",
    'Quotes "inside", a brace } and a backslash \\ are words too.',
)


def draw_value(schema: Schema, random: Random) -> Any:
    """Return a value that a schema allows."""
    if "anyOf" in schema:
        return draw_value(random.choice(schema["anyOf"]), random)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return _draw_object(schema, random)
        case "array":
            return _draw_list(schema, random)
        case "string":
            return draw_text(schema, random)
        case "integer":
            return random.randint(
                math.ceil(schema.get("minimum", 0)), math.floor(schema.get("maximum", 30))
            )
        case "number":
            return round(random.uniform(schema.get("minimum", 0), schema.get("maximum", 1)), 3)
        case "boolean":
            return random.random() < 0.5
        case _:
            return None


def draw_text(schema: Schema, random: Random) -> str:
    """Return a text within its limits; an empty one only where one is allowed."""
    if not schema.get("minLength") and random.random() < 0.2:
        return ""
    longest = schema.get("maxLength", 400)
    text = random.choice(WORDS)[:longest]
    return text if random.random() < 0.98 else (text * math.ceil(longest / len(text)))[:longest]


def _draw_object(schema: Schema, random: Random) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: draw_value(field, random)
        for name, field in schema.get("properties", {}).items()
        if name in required or random.random() < 0.5
    }


def _draw_list(schema: Schema, random: Random) -> list[Any]:
    # What every list must hold comes first: one item for each `contains`, with the fields that it fixes.
    fixed = [
        each["contains"]["properties"] for each in schema.get("allOf", ()) if "contains" in each
    ]
    items = [
        {
            **draw_value(schema["items"], random),
            **{name: each["const"] for name, each in one.items()},
        }
        for one in fixed
    ]
    longest = schema.get("maxItems", 3)
    most = min(3, longest)
    # Now and then a list is as long as it may be: a limit that is off by one is seen there alone.
    count = (
        longest
        if random.random() < 0.1
        else random.randint(min(most, schema.get("minItems", 0)), most)
    )
    return items + [
        draw_value(schema.get("items", {}), random)
        for _ in range(min(count, max(0, longest - len(items))))
    ]

"""Every call of the OpenRPC document has an example that it would take (D-2)."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]

from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.rpc import _load_examples, build_document

METHODS = {each["name"]: each for each in build_document(TABLE)["methods"]}


@pytest.mark.parametrize("name", TABLE)
def test_a_call_takes_its_examples(name: str) -> None:
    """D-2: each is read by the same model as a call, and names only parameters of the document."""
    method: Any = TABLE[name]
    known = {each["name"] for each in METHODS[name]["params"]}
    assert METHODS[name]["examples"]
    for example in METHODS[name]["examples"]:
        given = {each["name"]: each["value"] for each in example["params"]}
        assert set(given) <= known
        method.params.model_validate(given)


@pytest.mark.parametrize("name", TABLE)
def test_the_result_of_an_example_fits_the_schema_of_results(name: str) -> None:
    """D-2: formats of times and lists of required fields too."""
    validator = Draft202012Validator(
        METHODS[name]["result"]["schema"], format_checker=FormatChecker()
    )
    for example in METHODS[name]["examples"]:
        assert set(example["result"]) == {"name", "value"}
        validator.validate(example["result"]["value"])


def test_no_example_is_for_a_call_that_is_gone() -> None:
    """D-2"""
    assert set(_load_examples()["calls"]) <= set(TABLE)
    required = {
        each["name"] for method in METHODS.values() for each in method["params"] if each["required"]
    }
    assert set(_load_examples()["values"]) == required

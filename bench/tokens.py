"""Counts tokens: roughly, or as OpenAI's models do where the vocabulary of their tokenizer is there.

The vocabulary is no part of any Python package; the npm package js-tiktoken has it:

    npm pack js-tiktoken && tar xzf js-tiktoken-*.tgz && pip install tiktoken
    MOOT_BENCH_VOCABULARY=package/dist/ranks/o200k_base.js python -m bench.calls
"""

import base64
import importlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from moothall_testkit import prompt_size

VARIABLE: Final = "MOOT_BENCH_VOCABULARY"
_BEGIN: Final = "export default "


def count_tokens(text: str) -> int:
    """Count the tokens of a text; roughly where no vocabulary is named."""
    path = os.environ.get(VARIABLE)
    if not path:
        return prompt_size.count_tokens(text)
    return len(_load_encoding(path).encode_ordinary(text))


def describe_counter() -> str:
    """Return in words how tokens are counted."""
    path = os.environ.get(VARIABLE)
    if not path:
        return "counted roughly: three Chinese characters are two tokens, four others one"
    return f"counted with {Path(path).stem}"


@cache
def _load_encoding(path: str) -> Any:
    """Load the vocabulary in the form of js-tiktoken: lines of a first rank and the tokens that follow from it."""
    given = Path(path).read_text(encoding="utf-8").strip()
    vocabulary: Mapping[str, str] = json.loads(given.removeprefix(_BEGIN).rstrip(";"))
    ranks: dict[bytes, int] = {}
    for line in vocabulary["bpe_ranks"].splitlines():
        _, first, *tokens = line.split(" ")
        for at, token in enumerate(tokens):
            ranks[base64.b64decode(token)] = int(first) + at
    tiktoken = importlib.import_module("tiktoken")
    return tiktoken.Encoding(
        Path(path).stem, pat_str=vocabulary["pat_str"], mergeable_ranks=ranks, special_tokens={}
    )

"""What one ask sends beyond its matter stays short, in every protocol and both languages (M-4)."""

import asyncio

import pytest
from bench.calls.asks import PROTOCOLS, measure_asks

from moothall.domain.facts import Language

MAX_TOKENS = 350
MAX_EXPLORE = 380
"""The prompt of an explorer is over it."""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_an_ask_sends_beyond_its_matter_is_short(protocol: str, language: Language) -> None:
    """M-4"""
    measured = asyncio.run(measure_asks(protocol, language))
    assert len(measured) >= 2
    most_of = {"explore": MAX_EXPLORE}
    for kind, most in measured.items():
        assert 60 < most <= most_of.get(kind, MAX_TOKENS), kind

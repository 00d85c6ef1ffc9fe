"""What one ask sends beyond its matter stays short, in every protocol and both languages (M-4)."""

import asyncio

import pytest
from bench.calls.asks import PROTOCOLS, measure_asks

from moothall.domain.facts import Language

MAX_TOKENS = 350


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_an_ask_sends_beyond_its_matter_is_short(protocol: str, language: Language) -> None:
    """M-4"""
    measured = asyncio.run(measure_asks(protocol, language))
    assert len(measured) >= 2
    assert {kind: most for kind, most in measured.items() if not 60 < most <= MAX_TOKENS} == {}

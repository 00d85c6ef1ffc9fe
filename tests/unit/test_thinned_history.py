"""The history in an exported page: as much of it as a file that is sent around may hold."""

import json
from typing import Any

import pytest

from moothall.surfaces.api import page


def build_history(stops: int) -> list[dict[str, Any]]:
    return [
        {"at": at, "timeline": {"total": at, "items": [[at - 1, {"seq": at}]]}}
        for at in range(1, stops + 1)
    ]


def limit_history(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(page, "MAX_HISTORY", size)


def test_a_history_of_just_the_size_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    history = build_history(4)
    limit_history(monkeypatch, len(json.dumps(history)))
    assert page._thin_out(history) == history


def test_one_that_is_longer_by_a_character_joins_every_two_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history = build_history(4)
    limit_history(monkeypatch, len(json.dumps(history)) - 1)
    thinned = page._thin_out(history)
    places = {
        change["at"]: [place for place, _ in change["timeline"]["items"]] for change in thinned
    }
    assert places == {2: [0, 1], 4: [2, 3]}


def test_two_stops_that_are_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    history = build_history(2)
    limit_history(monkeypatch, len(json.dumps(history)))
    assert page._thin_out(history) == history
    limit_history(monkeypatch, len(json.dumps(history)) - 1)
    assert page._thin_out(history) == []

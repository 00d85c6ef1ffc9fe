"""The stored form of facts, and the chain that holds them together."""

import json
import os
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.support.stored_samples import GOLDEN, extend_golden, list_set_fields, read_golden

from moothall.app.protocols import collect_kinds
from moothall.codec.chain import (
    compute_record_hash,
    compute_root_hash,
    decode_entry,
    find_chain_fault,
    parse_export,
    seal,
    to_datetime,
    to_microseconds,
    validate_chain,
)
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Usage
from moothall.domain.facts import CORE_KINDS, AsksSent, Entry, Fact, InputGiven, SeatLost
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.records import FILE_KINDS, HEAD_KINDS, StoredRecord
from moothall.errors import BadImport, LedgerDamaged, LedgerNewer
from moothall.features.bench.bare import KINDS as BENCH_KINDS
from moothall.features.notices.register import KINDS as NOTICE_KINDS
from moothall.features.persona.facts import (
    ConclusionDrafted,
    Draft,
    DraftClaim,
    FloorGiven,
    PersonaSettings,
)
from moothall.memory.facts import ACCESS_KINDS, LABEL_KINDS, MEMORY_KINDS

KINDS = {
    **CORE_KINDS,
    **collect_kinds(),
    **MEMORY_KINDS,
    **ACCESS_KINDS,
    **NOTICE_KINDS,
    **BENCH_KINDS,
    **LABEL_KINDS,
    **HEAD_KINDS,
    **FILE_KINDS,
}
CODEC = FactCodec(KINDS)
if os.environ.get("MOOT_SNAPSHOTS") == "write":
    extend_golden(CODEC, KINDS)
SAMPLES = read_golden(CODEC)
ADA, BOB = SeatId("ada"), SeatId("鲍勃")
ASK = AskId("2.speech.ada")
AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


def kind_of(fact: Fact) -> str:
    return str(json.loads(CODEC.encode(fact))["fact"])


# Facts


def test_every_kind_has_a_sample() -> None:
    assert {kind_of(sample) for sample in SAMPLES} == set(KINDS)


def test_every_field_of_every_stored_shape_has_a_sample() -> None:
    held = {each for sample in SAMPLES for each in list_set_fields(sample)}
    shapes = {shape for shape, _ in held} | {type(sample) for sample in SAMPLES}
    assert {(shape, field.name) for shape in shapes for field in fields(shape)} - held == set()


@pytest.mark.parametrize("fact", SAMPLES, ids=kind_of)
def test_every_fact_survives_the_codec(fact: Fact) -> None:
    back = CODEC.decode(CODEC.encode(fact))
    assert back == fact
    assert type(back) is type(fact)


@pytest.mark.parametrize("fact", SAMPLES, ids=kind_of)
def test_the_stored_form_is_canonical(fact: Fact) -> None:
    body = CODEC.encode(fact)
    assert CODEC.encode(CODEC.decode(body)) == body


def test_stored_bytes_never_change() -> None:
    """Only ever add lines to the golden file: a fact that was stored must be read, and hashed, the same for ever."""
    assert b"".join(CODEC.encode(sample) + b"\n" for sample in SAMPLES) == GOLDEN.read_bytes()


def test_the_stored_form_is_one_object_in_the_order_of_declaration_without_defaults() -> None:
    fact = SeatLost(ask=ASK, seat=BOB, reason="error", usage=Usage(calls=1))
    stored = '{"fact":"seat_lost","ask":"2.speech.ada","seat":"鲍勃","reason":"error","usage":{"calls":1}}'
    assert CODEC.encode(fact) == stored.encode()


def test_a_deadline_in_another_time_zone_is_the_same_moment() -> None:
    fact = AsksSent(asks=(), deadline=AT.astimezone(timezone(timedelta(hours=8))))
    assert CODEC.decode(CODEC.encode(fact)) == AsksSent(asks=(), deadline=AT)


@given(st.text(), st.text(max_size=200))
def test_any_text_survives_the_codec(text: str, key: str) -> None:
    fact = InputGiven(text=text, key=key)
    body = CODEC.encode(fact)
    assert CODEC.decode(body) == fact
    assert CODEC.encode(CODEC.decode(body)) == body
    assert b"\n" not in body


@given(st.text(min_size=1), st.integers(min_value=1), st.floats(0, 1), st.integers())
def test_any_value_within_a_nested_shape_survives_the_codec(
    text: str, entry: int, share: float, number: int
) -> None:
    said = Draft(
        decision=DraftClaim(text=text, entries=(entry,)),
        confidence=share,
        reasons=(DraftClaim(text=text),),
    )
    drafted = ConclusionDrafted(
        ask=ASK, seat=SeatId(text), said=said, usage=Usage(tokens_in=number, cost=number)
    )
    floor = FloorGiven(turn=number, seat=ADA, score=share, reason="highest")
    for fact in (drafted, floor):
        body = CODEC.encode(fact)
        assert CODEC.decode(body) == fact
        assert CODEC.encode(CODEC.decode(body)) == body


@pytest.mark.parametrize("patience", [float("inf"), float("nan"), 0.0, -1.0])
def test_an_endless_patience_is_no_setting(patience: float) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(PersonaSettings).validate_python({"intent_patience": patience})


# What cannot be read


@pytest.mark.parametrize(
    "body",
    [
        b'{"fact":"vote_cast","seat":"ada"}',
        b'{"fact":"persona.vote_cast"}',
        b'{"fact":"input_given","v":2,"text":"a"}',
        b'{"fact":"persona.turn_passed","v":99,"turn":"not what it was"}',
    ],
)
def test_an_unknown_kind_or_a_newer_version_is_of_a_newer_moot(body: bytes) -> None:
    with pytest.raises(LedgerNewer, match="upgrade Moot"):
        CODEC.decode(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"fact":"input_given","text":"a"',
        b"\xff\xfe",
        b"null",
        b"7",
        b'"input_given"',
        b"{}",
        b'{"v":1,"text":"a"}',
        b'{"fact":"input_given"}',
        b'{"fact":"input_given","text":7}',
        b'{"fact":"seat_lost","ask":"a","seat":"b","reason":"bored"}',
        b'{"fact":"persona.stand_taken","ask":"a","seat":"b","said":{"verdict":"support","confidence":2}}',
        b'{"fact":"persona.turn_taken","ask":"a","seat":"b","said":null}',
    ],
)
def test_what_is_no_stored_fact_is_damage(body: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'["fact"]',
        b'{"fact":[]}',
        b'{"fact":{}}',
        b'{"fact":null}',
        b'{"fact":"input_given","v":"1","text":"a"}',
        b'{"fact":"input_given","v":null,"text":"a"}',
        b'{"fact":"input_given","v":0,"text":"a"}',
        b'{"fact":"input_given","v":-1,"text":"a"}',
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_json_of_another_shape_is_damage(body: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body)


@given(st.data())
def test_a_fact_cut_short_anywhere_is_damage(data: st.DataObject) -> None:
    body = CODEC.encode(data.draw(st.sampled_from(SAMPLES)))
    with pytest.raises(LedgerDamaged):
        CODEC.decode(body[: data.draw(st.integers(0, len(body) - 1))])


# Versions


def renamed(stored: dict[str, Any]) -> dict[str, Any]:
    return {"text": stored["words"], "key": stored.get("key", "")}


def shouted(stored: dict[str, Any]) -> dict[str, Any]:
    return {**stored, "text": stored["text"].upper()}


def test_an_upcast_brings_an_old_fact_up_to_date() -> None:
    codec = FactCodec({}, upcasts={("input_given", 1): renamed})
    assert codec.decode(b'{"fact":"input_given","words":"hear me","key":"k"}') == InputGiven(
        text="hear me", key="k"
    )
    assert (
        codec.encode(InputGiven(text="hear me")) == b'{"fact":"input_given","v":2,"text":"hear me"}'
    )
    assert codec.decode(b'{"fact":"input_given","v":2,"text":"hear me"}') == InputGiven(
        text="hear me"
    )


def test_upcasts_are_applied_one_after_the_other_from_the_stored_version_on() -> None:
    codec = FactCodec({}, upcasts={("input_given", 1): renamed, ("input_given", 2): shouted})
    assert codec.decode(b'{"fact":"input_given","words":"a"}') == InputGiven(text="A")
    assert codec.decode(b'{"fact":"input_given","v":2,"text":"a"}') == InputGiven(text="A")
    assert codec.decode(b'{"fact":"input_given","v":3,"text":"a"}') == InputGiven(text="a")
    with pytest.raises(LedgerNewer):
        codec.decode(b'{"fact":"input_given","v":4,"text":"a"}')


def test_an_upcast_of_one_kind_leaves_the_others_as_they_are() -> None:
    codec = FactCodec(KINDS, upcasts={("input_given", 1): renamed})
    others = [sample for sample in SAMPLES if not isinstance(sample, InputGiven)]
    assert [codec.encode(sample) for sample in others] == [
        CODEC.encode(sample) for sample in others
    ]


# The chain

ONE, TWO = SessionId("one"), SessionId("two")


def chain(session: SessionId, count: int = 5) -> list[StoredRecord]:
    records: list[StoredRecord] = []
    for seq in range(1, count + 1):
        before = records[-1].hash if records else compute_root_hash(session)
        records.append(
            seal(CODEC, before, seq, AT + timedelta(seconds=seq), InputGiven(text=f"word {seq}"))
        )
    return records


MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
)


@given(MOMENTS)
def test_a_moment_survives_to_the_microsecond(at: datetime) -> None:
    assert to_datetime(to_microseconds(at)) == at


def test_a_sealed_fact_opens_as_the_same_entry() -> None:
    fact = InputGiven(text="完")
    record = seal(CODEC, compute_root_hash(ONE), 1, AT, fact)
    body = CODEC.encode(fact)
    assert record == StoredRecord(
        1,
        1_767_323_045_678_901,
        body,
        compute_record_hash(compute_root_hash(ONE), 1, 1_767_323_045_678_901, body),
    )
    assert decode_entry(CODEC, record) == Entry(seq=1, at=AT, fact=fact)


def test_the_hash_of_a_known_record_never_changes() -> None:
    assert (
        compute_root_hash(ONE).hex()
        == "a6a70ff1ab67b8c4737a64d97f61a605ecee3671b36f8641e6c636d0508473a7"
    )
    assert (
        compute_record_hash(compute_root_hash(ONE), 1, -1, b'{"fact":"session_resumed"}').hex()
        == "62b1700ab828e66647e6209fb27a4eb751fc436de7d08917dcbf4094600d5b20"
    )


HASHES = st.binary(min_size=32, max_size=32)
LINKED = st.tuples(
    HASHES, st.integers(1, 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=40)
)


@given(LINKED, LINKED, st.integers(0, 3))
def test_a_link_changes_with_any_of_its_fields(
    first: tuple[bytes, int, int, bytes], second: tuple[bytes, int, int, bytes], field: int
) -> None:
    mixed = list(first)
    mixed[field] = second[field]
    before, seq, at, body = mixed
    assert isinstance(before, bytes)
    assert isinstance(seq, int)
    assert isinstance(at, int)
    assert isinstance(body, bytes)
    assert (compute_record_hash(before, seq, at, body) == compute_record_hash(*first)) == (
        (before, seq, at, body) == first
    )


def test_a_whole_chain_is_not_broken() -> None:
    assert find_chain_fault(ONE, chain(ONE)) is None
    assert find_chain_fault(ONE, []) is None
    assert validate_chain(ONE, chain(ONE)) == chain(ONE)


def changed(seq: int) -> str:
    return f"entry {seq} was changed after it was written: its hash does not fit"


def test_the_first_broken_entry_is_named() -> None:
    whole = chain(ONE)
    first, second, third, fourth, fifth = whole
    reforged = third._replace(body=b"{}", hash=compute_record_hash(second.hash, 3, third.at, b"{}"))
    assert {
        "body": find_chain_fault(
            ONE, [first, second, third._replace(body=third.body + b" "), fourth, fifth]
        ),
        "hash": find_chain_fault(
            ONE, [first, second, third._replace(hash=bytes(32)), fourth, fifth]
        ),
        "time": find_chain_fault(
            ONE, [first, second, third._replace(at=third.at + 1), fourth, fifth]
        ),
        "two": find_chain_fault(
            ONE, [first, second._replace(at=0), third, fourth._replace(at=0), fifth]
        ),
        "reforged": find_chain_fault(ONE, [first, second, reforged, fourth, fifth]),
        "missing": find_chain_fault(ONE, [first, second, fourth, fifth]),
        "beheaded": find_chain_fault(ONE, whole[1:]),
        "twice": find_chain_fault(ONE, [first, second, second, third]),
        "swapped": find_chain_fault(ONE, [first, third, second, fourth, fifth]),
        "renumbered": find_chain_fault(
            ONE, [first, third._replace(seq=2), second._replace(seq=3), fourth, fifth]
        ),
        "another's": find_chain_fault(TWO, whole),
        "spliced": find_chain_fault(ONE, [*whole[:2], *chain(TWO)[2:]]),
    } == {
        "body": changed(3),
        "hash": changed(3),
        "time": changed(3),
        "two": changed(2),
        "reforged": changed(4),
        "missing": "entry 3 is missing: 4 follows 2",
        "beheaded": "entry 1 is missing: 2 follows 0",
        "twice": "entry 3 is missing: 2 follows 2",
        "swapped": "entry 2 is missing: 3 follows 1",
        "renumbered": changed(2),
        "another's": changed(1),
        "spliced": changed(3),
    }


def test_a_broken_chain_is_refused_with_its_session_and_entry() -> None:
    records = chain(ONE)
    with pytest.raises(LedgerDamaged, match=r"session 'one': entry 2 is missing: 3 follows 1"):
        validate_chain(ONE, [records[0], *records[2:]])


@given(st.data())
def test_any_changed_byte_of_a_body_is_found(data: st.DataObject) -> None:
    records = chain(ONE, 4)
    index = data.draw(st.integers(0, 3))
    record = records[index]
    place = data.draw(st.integers(0, len(record.body) - 1))
    other = bytes([record.body[place] ^ data.draw(st.integers(1, 255))])
    records[index] = record._replace(body=record.body[:place] + other + record.body[place + 1 :])
    assert find_chain_fault(ONE, records) == changed(index + 1)


@pytest.mark.parametrize("at", [10**18, -(10**18), 2**70])
def test_an_export_with_a_time_beyond_the_calendar_is_refused(at: int) -> None:
    line = json.dumps({"seq": 1, "at": at, "hash": "00", "body": "{}"})
    with pytest.raises(BadImport, match="Moot export"):
        parse_export(f'{{"moot": 3, "session": "s", "entries": 1, "hash": "00"}}\n{line}\n')

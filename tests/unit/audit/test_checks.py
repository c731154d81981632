"""The checks of a hand and of everything over a log in memory: what they read, and how far."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.audit import check_all, evidence
from services.audit.check_all import FullCheck, Progress, Snapshot
from services.audit.check_hand import HandCheck
from services.audit.evidence import Shoes, TableStates
from services.audit.verify.findings import Check, Finding
from services.audit.verify.ledger import Book
from shared.errors import CroupierError
from shared.log import LogUnavailableError, MemoryLog, RecordedEvent
from shared.table.codec import INPUT_TYPES
from shared.table.evolve import evolve
from shared.table.state import TableState
from tests.playing import FIELD_KEYS
from tests.unit.audit.given import CODEC, Night, played, told


async def no_seed(shoe_id: str) -> bytes:
    raise AssertionError("baccarat publishes its seeds")


async def applied_all() -> dict[str, int]:
    return {"table.0": 10**9}


def hand_check(log: MemoryLog) -> HandCheck:
    return HandCheck(log, FIELD_KEYS, applied_all, no_seed)


async def hands_of(evening: Night) -> list[str]:
    return [
        event.hand_id or ""
        for event in await evening.log.read_stream("table/t1", 0, 10_000)
        if event.type == "HandSettled"
    ]


async def snapshot(evening: Night) -> Snapshot:
    """What the database would tell of this house."""
    log = evening.log
    heads = await log.heads()
    books = {
        name: Book(
            each.currency,
            each.balance,
            each.postings,
            each.balance,
            each.postings,
            each.postings,
        )
        for name, each in evening.wallet.books.accounts.items()
        if each.postings
    }
    tables = await log.read_stream("table/t1", 0, 10_000)
    shuffled = await log.read_partition("shuffle.0", 0, 10_000)
    return Snapshot(
        heads,
        {"table/t1": tables[-1].version},
        {name: head.position for name, head in heads.items()},
        books,
        {"table.0": heads["table.0"].position},
        (),
        sorted({event.stream for event in shuffled}),
    )


async def all_findings(check: FullCheck, table_id: str = "") -> tuple[Progress, list[Finding]]:
    found: list[Finding] = []
    async for progress in check.run(table_id):
        found += progress.findings
        progress.findings.clear()
    return progress, found


class Forgetful(MemoryLog):
    """A log in memory from which events can be taken away."""

    gone: frozenset[tuple[str, int]] = frozenset()

    async def read_stream(
        self, stream: str, after_version: int = 0, limit: int = 1_000
    ) -> list[RecordedEvent]:
        events = await super().read_stream(stream, after_version, limit)
        return [event for event in events if (event.stream, event.version) not in self.gone]

    async def read_partition(
        self, partition: str, after_position: int, limit: int = 1_000
    ) -> list[RecordedEvent]:
        events = await super().read_partition(partition, after_position, limit)
        return [event for event in events if (event.stream, event.version) not in self.gone]


def forget(log: MemoryLog, gone: Sequence[tuple[str, int]]) -> None:
    log.__class__ = Forgetful
    log.gone = frozenset(gone)  # type: ignore[attr-defined]


async def test_every_hand_holds_wherever_it_begins() -> None:
    evening = await played(6)
    check = hand_check(evening.log)
    for hand_id in (await hands_of(evening))[::-1]:
        report = await check.run(hand_id)
        assert report.findings == ()
        assert report.events > 8


async def test_everything_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "PAGE_EVENTS", 7)
    monkeypatch.setattr(check_all, "PAGE_EVENTS", 7)
    evening = await played(4)
    progress, found = await all_findings(
        FullCheck(evening.log, FIELD_KEYS, await snapshot(evening), no_seed)
    )
    assert found == []
    assert (progress.hands, progress.done, progress.failed) == (4, True, set())
    heads = await evening.log.heads()
    assert progress.events == sum(head.position for head in heads.values())


async def test_what_came_before_and_cannot_be_followed_is_told() -> None:
    evening = await played(3)
    *_, last = await hands_of(evening)
    joined = next(
        event
        for event in await evening.log.read_stream("table/t1", 0, 1_000)
        if event.type == "PlayerJoined"
    )
    forget(evening.log, [("table/t1", joined.version)])
    report = await hand_check(evening.log).run(last)
    assert told(report.findings, Check.RULES)[0].startswith(
        "what the table did before cannot be followed: "
    )


async def test_a_log_that_is_away_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    evening = await played(1)
    [hand_id] = await hands_of(evening)

    async def away(*_: object) -> list[RecordedEvent]:
        raise LogUnavailableError("away")

    monkeypatch.setattr(evening.log, "read_stream", away)
    with pytest.raises(LogUnavailableError):
        await hand_check(evening.log).run(hand_id)


async def test_streams_and_partitions_that_end_early_do_not_end_the_check() -> None:
    evening = await played(2)
    snapped = await snapshot(evening)
    table = await evening.log.read_stream("table/t1", 0, 1_000)
    wallet = await evening.log.read_partition("wallet.0", 0, 1_000)
    tail = [(event.stream, event.version) for event in (*table[-3:], *wallet[-1:])]
    forget(evening.log, tail)
    progress, found = await all_findings(FullCheck(evening.log, FIELD_KEYS, snapped, no_seed))
    assert progress.done
    missing = [each for each in found if each.message == "the event is missing"]
    assert {(each.partition, each.position) for each in missing} == {
        ("table.0", table[-3].position),
        ("table.0", table[-2].position),
        ("table.0", table[-1].position),
        ("wallet.0", wallet[-1].position),
    }


async def test_findings_are_bounded_and_counted() -> None:
    progress = Progress()
    progress.add(
        Finding(Check.RULES, "wrong", f"h{number}") for number in range(check_all.MAX_FINDINGS + 5)
    )
    assert len(progress.findings) == check_all.MAX_FINDINGS
    assert progress.found == check_all.MAX_FINDINGS + 5
    assert len(progress.failed) == check_all.MAX_FINDINGS + 5


async def test_a_table_as_it_was_before_any_append(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forwards, backwards, and with as little kept as can be: always the same."""
    monkeypatch.setattr(evidence, "CACHE_EVERY_VERSIONS", 5)
    monkeypatch.setattr(evidence, "MAX_CACHED_STATES", 3)
    monkeypatch.setattr(evidence, "PAGE_EVENTS", 4)
    evening = await played(3)
    events = await evening.log.read_stream("table/t1", 0, 1_000)
    before: dict[int, TableState] = {}
    state = TableState()
    for event in events:
        if event.causation_id is None or event.type in INPUT_TYPES:
            start = state
        before[event.version] = start
        state = evolve(state, CODEC.decode(event.type, event.payload, event.hand_id or ""))
    states = TableStates(evening.log, CODEC)
    versions = sorted(before)
    for version in (*versions, *reversed(versions)):
        assert await states.before("table/t1", version) == before[version]
        assert sum(len(held) for held in states._held.values()) <= 4


async def test_shoes_are_read_once_and_forgotten_when_they_are_over() -> None:
    evening = await played(1)
    shoe_id = next(
        event.stream.removeprefix("shuffle/")
        for event in await evening.log.read_partition("shuffle.0", 0, 1)
    )
    shoes = Shoes(evening.log, FIELD_KEYS, no_seed)
    assert await shoes.bring([shoe_id]) == []
    assert list(shoes) == [shoe_id]
    assert len(shoes) == 1
    seen = shoes[shoe_id].version
    assert await shoes.bring([shoe_id]) == []
    assert shoes[shoe_id].version == seen
    shoes.drop(keep=())
    assert list(shoes) == [shoe_id]
    shoes[shoe_id].retired = shoes[shoe_id].opening
    shoes.drop(keep=[shoe_id])
    assert list(shoes) == [shoe_id]
    assert await shoes.bring([shoe_id]) == []
    shoes.drop(keep=())
    assert list(shoes) == []


async def test_a_hand_that_is_not_there() -> None:
    evening = await played(1)
    with pytest.raises(CroupierError, match="HAND_NOT_FOUND"):
        await hand_check(evening.log).run("t1-9999")

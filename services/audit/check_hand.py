"""One hand, checked: rules, cards due, proofs, shoe, chain, postings, clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from services.audit.disclosure import Disclose
from services.audit.evidence import PAGE_EVENTS, Shoes, TableStates, decoded, explained
from services.audit.verify.cashier import CashierWalk
from services.audit.verify.chain import ranges_of
from services.audit.verify.findings import Check, Finding, Read
from services.audit.verify.postings import PostingsWalk
from services.audit.verify.table_walk import TableWalk
from shared.errors import CroupierError
from shared.events import EVENT_TYPES, UnreadableEventError, decode
from shared.log import EventLog, LogUnavailableError, RecordedEvent, category_of
from shared.log.chain import verify_chain
from shared.sealing import Keyring
from shared.table.codec import INPUT_TYPES, TableCodec
from shared.table.sealer import KeyringSealer

WAIT_FOR_WALLET_S = 5.0
_LOOK_AGAIN_S = 0.1

CHECKS = (
    Check.RULES,
    Check.CARDS_DUE,
    Check.PROOFS,
    Check.SHOE,
    Check.CHAIN,
    Check.POSTINGS,
    Check.CLOCKS,
)

Applied = Callable[[], Awaitable[dict[str, int]]]
"""The position that the wallet has applied, by table partition."""


@dataclass(frozen=True, slots=True)
class HandReport:
    """What the checks of a hand found, and how many events they looked at."""

    findings: tuple[Finding, ...]
    events: int


class HandCheck:
    """Checks single hands, whole ones and those that are still being played, as far as they are."""

    def __init__(
        self, log: EventLog, keyring: Keyring, applied: Applied, disclose: Disclose
    ) -> None:
        self._log = log
        self._keyring = keyring
        self._disclose = disclose
        self._codec = TableCodec(KeyringSealer(keyring))
        self._states = TableStates(log, self._codec)
        self._applied = applied

    async def run(self, hand_id: str) -> HandReport:
        """All checks of a hand.

        Raises `HAND_NOT_FOUND`, and `NOT_INDEXED_YET` where the wallet has not come to the end of
        the hand after `WAIT_FOR_WALLET_S`.
        """
        of_hand = await self._log.read_hand(hand_id)
        of_table = [event for event in of_hand if category_of(event.stream) == "table"]
        if not of_table:
            raise CroupierError("HAND_NOT_FOUND", f"there is no hand {hand_id}", "hand_id")
        stream = of_table[0].stream
        first = min(event.version for event in of_table)
        last = max(event.version for event in of_table)
        findings = await self._chain(of_hand)
        try:
            before = await self._states.before(stream, first)
        except LogUnavailableError:
            raise
        except Exception as fault:
            message = f"what the table did before cannot be followed: {fault!r}"
            findings.append(Read(of_table[0], None).finding(Check.RULES, message))
            return HandReport(tuple(findings), len(of_hand))
        window = await self._window(stream, before.version, last)
        shoes = Shoes(self._log, self._keyring, self._disclose, hand_id)
        found = await shoes.bring(_shoes_of(window))
        walk = TableWalk(self._codec, shoes, before, hand_id=hand_id)
        for event in window:
            found.extend(walk.step(event))
        found.extend(walk.end())
        found.extend(await self._postings(walk, range(first, last + 1)))
        found.extend(_transfers(stream, of_hand))
        findings.extend(
            finding for finding in found if _concerns(finding, hand_id, stream, first, last)
        )
        return HandReport(tuple(dict.fromkeys(findings)), len(of_hand))

    async def _window(self, stream: str, after: int, last: int) -> list[RecordedEvent]:
        """The events behind `after` up to the end of the append that holds `last`."""
        window: list[RecordedEvent] = []
        while True:
            events = await self._log.read_stream(stream, after, PAGE_EVENTS)
            for event in events:
                if event.version > last and event.type in INPUT_TYPES:
                    return window
                window.append(event)
            if len(events) < PAGE_EVENTS:
                return window
            after = events[-1].version

    async def _chain(self, of_hand: Sequence[RecordedEvent]) -> list[Finding]:
        findings: list[Finding] = []
        for partition, ranges in ranges_of(of_hand).items():
            for first, last in ranges:
                report = await verify_chain(self._log, partition, first, last)
                findings.extend(await explained(self._log, report))
                if report.holds and report.last_position < last:
                    at = report.last_position
                    words = f"the partition ends before this hand, which goes on to {last}"
                    findings.append(Finding(Check.CHAIN, words, partition=partition, position=at))
        return findings

    async def _postings(self, walk: TableWalk, versions: range) -> list[Finding]:
        money = [each for each in walk.money if each.read.event.version in versions]
        if not money:
            return []
        applied = await self._wait_for_wallet(
            money[0].read.event.partition, max(each.read.event.position for each in money)
        )
        postings = PostingsWalk()
        for each in money:
            postings.ask(each)
        findings: list[Finding] = []
        answers = await self._log.find_by_causation(each.read.event.id for each in money)
        wallet_events = [event for event in answers if category_of(event.stream) == "wallet"]
        for read in decoded(wallet_events, Check.POSTINGS, findings):
            postings.answer(read)
        findings.extend(postings.end(applied))
        return findings

    async def _wait_for_wallet(self, partition: str, position: int) -> int:
        give_up_at = asyncio.get_running_loop().time() + WAIT_FOR_WALLET_S
        while (applied := (await self._applied()).get(partition, 0)) < position:
            if asyncio.get_running_loop().time() > give_up_at:
                raise CroupierError(
                    "NOT_INDEXED_YET",
                    f"the wallet is at {partition}:{applied}, the hand ends at {position}",
                )
            await asyncio.sleep(_LOOK_AGAIN_S)
        return applied


def _transfers(stream: str, of_hand: Sequence[RecordedEvent]) -> list[Finding]:
    """The transfers that name the hand, corrections among them."""
    walk = CashierWalk({stream})
    findings: list[Finding] = []
    of_wallet = [event for event in of_hand if category_of(event.stream) == "wallet"]
    for read in decoded(of_wallet, Check.POSTINGS, findings):
        findings.extend(walk.step(read))
    for event in of_hand:
        if event.type == "HandSettled":
            walk.settled(event)
    return [*findings, *walk.end()]


def _shoes_of(window: Iterable[RecordedEvent]) -> Iterator[str]:
    """All shoes that the events are about: the one dealt from, the next one, one put away."""
    for event in window:
        if event.type in _ABOUT_A_SHOE:
            with suppress(UnreadableEventError):  # The walk will say so.
                yield decode(event.type, event.payload).shoe_id


_ABOUT_A_SHOE = frozenset(
    name
    for name, known in EVENT_TYPES.items()
    if known.category == "table" and "shoe_id" in known.message.DESCRIPTOR.fields_by_name
)


def _concerns(finding: Finding, hand_id: str, stream: str, first: int, last: int) -> bool:
    """Whether a finding of the walk is about the hand: not what its table did before or after, nor
    what its shoe did for other hands."""
    if finding.stream == stream:
        return first <= finding.version <= last
    return finding.hand_id in ("", hand_id)

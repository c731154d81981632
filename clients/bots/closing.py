"""After a run: the books are closed and everything that was played is verified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from croupier.audit.v1.audit_pb2 import Finding, GetProgressResponse, VerifyAllResponse
from croupier.wallet.v1.wallet_pb2 import GetLedgerResponse

from clients.api.audit import AuditClient
from clients.api.back_off import BackOff
from clients.api.house import House, Identity
from clients.api.wallet import WalletClient
from clients.bots.progress import Ledger, Verified

AUDITOR = Identity("house-auditor", "auditor")
SETTLE_TIMEOUT_S = 60.0
MOST_FINDINGS = 100


async def settle(house: House, timeout_s: float = SETTLE_TIMEOUT_S) -> Ledger:
    """Waits until wallet and audit have applied all that is in the log, and reads the ledger.

    Where that takes longer than `timeout_s` the ledger says so (`caught_up`).
    """
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + timeout_s
    back_off = BackOff()
    async with house.connect("wallet", AUDITOR) as wallet, house.connect("audit", AUDITOR) as audit:
        while True:
            progress = await AuditClient(audit).progress()
            ledger = await WalletClient(wallet).ledger()
            caught_up = _caught_up(progress, ledger)
            if caught_up or loop.time() > give_up_at:
                return Ledger(tuple(ledger.totals), tuple(ledger.sums), caught_up)
            await asyncio.sleep(back_off.next_s())


async def verify_everything(
    house: House,
    on_progress: Callable[[VerifyAllResponse], None],
    table: str = "",
    who: Identity = AUDITOR,
    against: Iterable[str] = (),
) -> Verified:
    """Lets the audit verify every hand (of one table), the chain, the ledger and the checkpoints,
    also those in the signed notes `against`."""
    findings: list[Finding] = []
    last = VerifyAllResponse()
    async with house.connect("audit", who) as connection:
        async for answer in AuditClient(connection).verify_all(table, against):
            room = MOST_FINDINGS - len(findings)
            findings += answer.findings[:room]
            last = answer
            on_progress(answer)
    return Verified(
        hands=last.hands_verified,
        failed=last.hands_failed,
        events=last.events_checked,
        findings=tuple(findings),
        complete=last.done,
    )


def _caught_up(progress: GetProgressResponse, ledger: GetLedgerResponse) -> bool:
    return all(
        partition.indexed >= partition.head
        and (
            not partition.partition.startswith("table.")
            or ledger.applied.get(partition.partition, 0) >= partition.head
        )
        for partition in progress.partitions
    )

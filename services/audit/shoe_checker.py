"""Derives each shoe that is not published again, as soon as it is retired (`ShoeChecked`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid5

import structlog
from croupier.audit.v1 import events_pb2
from prometheus_client import Counter

from services.audit.disclosure import Disclose
from services.audit.evidence import Shoes
from services.audit.rows import stamp
from services.audit.shoe_enquiries import unchecked_shoes
from shared.errors import CroupierError
from shared.ids import NAMESPACE_CROUPIER
from shared.log import Append, EventLog, NewEvent, Outcome, on_connection
from shared.log.patience import Pool
from shared.sealing import Keyring

LOOK_EVERY_S = 1.0
BATCH_SHOES = 50
AGAIN_AFTER_S = 60.0
MOST_FINDINGS = 20
ACTOR = "audit-service"

_log = structlog.get_logger()
_checked = Counter("croupier_audit_shoes_checked_total", "Shoes derived again", ["outcome"])


class ShoeChecker:
    """Follows the index: a shoe is checked when its retirement has come there. Several may run."""

    def __init__(
        self,
        log: EventLog,
        pool: Pool,
        keyring: Keyring,
        disclose: Disclose,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._log = log
        self._pool = pool
        self._keyring = keyring
        self._disclose = disclose
        self._now = now
        self._waiting: dict[str, float] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            checked = 0
            try:
                checked = await self.once()
            except CroupierError as error:
                _log.warning("shoes_not_checked", reason=error.reason)
            except Exception as error:
                _log.error("shoes_not_checked", exc_info=error)
            # The index needs a moment to learn of what has just been checked.
            if checked < BATCH_SHOES:
                await asyncio.sleep(LOOK_EVERY_S)

    async def once(self) -> int:
        """How many shoes were checked now. One whose seed shuffle does not tell waits a minute."""
        now_s = asyncio.get_running_loop().time()
        self._waiting = {shoe: until for shoe, until in self._waiting.items() if until > now_s}
        most = BATCH_SHOES + len(self._waiting)
        due = await on_connection(self._pool, lambda connection: unchecked_shoes(connection, most))
        checked = 0
        for shoe_id in due:
            if shoe_id in self._waiting:
                continue
            try:
                await self.check(shoe_id)
                checked += 1
            except _NotToldError as error:
                _log.warning("shoe_not_disclosed", shoe=shoe_id, reason=error.reason)
                _checked.labels("not_disclosed").inc()
            except CroupierError:
                raise  # The log is away, for all of them.
            except Exception as error:
                # One that was tampered with, perhaps: those behind it must not wait for it.
                _log.error("shoe_not_checked", shoe=shoe_id, exc_info=error)
                _checked.labels("failed_to_check").inc()
            # Checked or not, it is not due again before the index has learned of it.
            self._waiting[shoe_id] = now_s + AGAIN_AFTER_S
        return checked

    async def check(self, shoe_id: str) -> None:
        """Derives one shoe and puts on record whether it holds."""
        shoes = Shoes(self._log, self._keyring, self._told)
        findings = [finding.message for finding in await shoes.bring([shoe_id])]
        event = events_pb2.ShoeChecked(
            shoe_id=shoe_id,
            holds=not findings,
            findings=findings[:MOST_FINDINGS],
            root=shoes[shoe_id].root,
            at=stamp(self._now()),
        )
        append = Append(
            uuid5(NAMESPACE_CROUPIER, f"audit/checked/{shoe_id}"),
            f"audit/{shoe_id}",
            0,
            (NewEvent("ShoeChecked", event.SerializeToString(deterministic=True), ACTOR),),
        )
        [answer] = await self._log.append([append])
        if answer.outcome is not Outcome.OK:
            return  # Another one has checked it too.
        _checked.labels("failed" if findings else "holds").inc()
        if findings:
            _log.error("shoe_does_not_hold", shoe=shoe_id, findings=len(findings))

    async def _told(self, shoe_id: str) -> bytes:
        try:
            return await self._disclose(shoe_id)
        except CroupierError as refused:
            raise _NotToldError(refused.reason) from refused


class _NotToldError(Exception):
    """Shuffle has not told the seed: nothing is known of the shoe that could go on record."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

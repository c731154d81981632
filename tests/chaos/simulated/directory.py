"""Who owns which table, as a simulated node asks and says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from services.table.directory import CALL_TIMEOUT_S, GIVE_UP_AFTER_S, Look, Peer, Place, Placed
from services.table.load import Load
from tests.chaos.simulated.database import Database, Entry, Far, FarPool, Lease


class FarDirectory:
    """`services.table.directory.Directory` over the database in memory."""

    def __init__(
        self, database: Database, pool: FarPool, node: str, incarnation: UUID, address: str
    ) -> None:
        self._database = database
        self._far = Far(pool, GIVE_UP_AFTER_S, CALL_TIMEOUT_S)
        self._node = node
        self._incarnation = incarnation
        self._address = address

    async def heartbeat(self, lease_ttl_s: float, draining: bool, load: Load) -> bool:
        """See `Directory`."""

        def there() -> bool:
            before = self._live().get(self._node)
            until = self._database.now() + timedelta(seconds=lease_ttl_s)
            self._database.nodes[self._node] = Lease(
                self._incarnation, self._address, until, draining
            )
            return before is not None and before.incarnation == self._incarnation

        return await self._far.ask(there)

    async def discover(self) -> None:
        """See `Directory`."""

        def there() -> None:
            for stream, version in self._database.writers:
                if version == 1 and stream.startswith("table/"):
                    self._entry(stream.partition("/")[2])

        await self._far.ask(there)

    async def discovered(self, table_id: str) -> None:
        """See `Directory`."""
        await self._far.ask(lambda: self._entry(table_id))

    async def look(self) -> Look:
        """See `Directory`."""

        def there() -> Look:
            unowned = tuple(
                Placed(table_id, None, entry.epoch, entry.wanted, entry.unknown_to)
                for table_id, entry in sorted(self._database.directory.items())
                if entry.owner is None and not entry.closed
            )
            return Look(self._peers(), self._database.wishes, unowned)

        return await self._far.ask(there)

    async def peers(self) -> tuple[Peer, ...]:
        """See `Directory`."""
        return await self._far.ask(self._peers)

    async def others(self) -> list[str]:
        """See `Directory`."""
        return [peer.address for peer in await self.peers() if peer.node != self._node]

    async def census(self) -> tuple[Placed, ...]:
        """See `Directory`."""

        def there() -> tuple[Placed, ...]:
            return tuple(
                Placed(
                    table_id,
                    None if self._lease_of(entry) is None else entry.owner,
                    entry.epoch,
                    entry.wanted,
                    entry.unknown_to,
                )
                for table_id, entry in self._database.directory.items()
                if not entry.closed
            )

        return await self._far.ask(there)

    async def place(self, table_id: str) -> Place | None:
        """See `Directory`."""
        return (await self.places([table_id])).get(table_id)

    async def places(self, table_ids: Sequence[str]) -> dict[str, Place]:
        """See `Directory`."""

        def there() -> dict[str, Place]:
            found = {}
            for table_id in table_ids:
                entry = self._database.directory.get(table_id)
                if entry is not None:
                    lease = self._lease_of(entry)
                    owner = entry.owner if lease is not None else None
                    address = lease.address if lease is not None else None
                    found[table_id] = Place(owner, address, entry.epoch, entry.closed)
            return found

        return await self._far.ask(there)

    async def claimed(self, epochs: Mapping[str, int]) -> None:
        """See `Directory`."""

        def there() -> None:
            for table_id, epoch in epochs.items():
                entry = self._entry(table_id)
                if entry.epoch <= epoch:
                    entry.owner, entry.incarnation = self._node, self._incarnation
                    entry.epoch = epoch

        await self._far.ask(there)

    async def released(self, table_ids: Sequence[str]) -> None:
        """See `Directory`."""

        def there() -> None:
            for table_id in table_ids:
                entry = self._database.directory.get(table_id)
                if entry is not None and entry.incarnation == self._incarnation:
                    entry.owner = entry.incarnation = None

        await self._far.ask(there)

    async def not_known(self, table_id: str) -> None:
        """See `Directory`."""

        def there() -> None:
            entry = self._entry(table_id)
            live = {lease.incarnation for lease in self._live().values()}
            still = tuple(each for each in entry.unknown_to if each in live)
            entry.unknown_to = (*still, self._incarnation)
            self._database.wishes += 1

        await self._far.ask(there)

    async def closed(self, table_id: str) -> None:
        """See `Directory`."""

        def there() -> None:
            self._database.directory[table_id].closed = True

        await self._far.ask(there)

    async def gone(self) -> None:
        """See `Directory`."""

        def there() -> None:
            lease = self._database.nodes.get(self._node)
            if lease is not None and lease.incarnation == self._incarnation:
                del self._database.nodes[self._node]

        await self._far.ask(there)

    def _live(self) -> dict[str, Lease]:
        now = self._database.now()
        return {node: lease for node, lease in self._database.nodes.items() if lease.until > now}

    def _peers(self) -> tuple[Peer, ...]:
        now = self._database.now()
        return tuple(
            Peer(
                node,
                lease.incarnation,
                lease.address,
                not lease.draining and node not in self._database.drained,
                (lease.until - now).total_seconds(),
            )
            for node, lease in sorted(self._live().items())
        )

    def _lease_of(self, entry: Entry) -> Lease | None:
        lease = self._live().get(entry.owner or "")
        return lease if lease is not None and lease.incarnation == entry.incarnation else None

    def _entry(self, table_id: str) -> Entry:
        return self._database.directory.setdefault(table_id, Entry())

"""The cashier: carries out people's commands, many in one transaction, each exactly once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

from services.wallet import records
from services.wallet.books import Books, post, take, tell
from services.wallet.domain import Transfer
from services.wallet.orders import (
    AccountAnswer,
    Command,
    Correct,
    TransferAnswer,
    answer_in,
    carry_out,
)
from services.wallet.records import Cause
from shared.errors import CroupierError
from shared.ledger.accounts import player_account, wallet_stream
from shared.log import (
    CommandRecord,
    LogOverloadedError,
    LogUnavailableError,
    NewEvent,
    OnCommitted,
    on_connection,
    read_stream_on,
)
from shared.log.patience import CALL_TIMEOUT_S, GIVE_UP_AFTER_S

if TYPE_CHECKING:
    from shared.log.patience import Pool, PooledConnection

MAX_WAITING_COMMANDS = 1_024
MAX_BATCH_COMMANDS = 64

# A settlement has a cause, the table's event; a correction, which names the hand as well, has none.
_SETTLED = """
    SELECT e.hand_id
      FROM unnest($1::text[], $2::text[]) AS wanted (hand_id, stream)
      JOIN log.events AS e ON e.hand_id = wanted.hand_id AND e.stream = wanted.stream
     WHERE e.type = 'TransferPosted' AND e.causation_id IS NOT NULL
"""

Answer = AccountAnswer | TransferAnswer

_commands = Counter("croupier_wallet_commands_total", "Commands", ["order", "outcome"])
_batch_commands = Histogram(
    "croupier_wallet_batch_commands",
    "Commands that were decided together",
    buckets=(1, 2, 4, 8, 16, 32, 64),
)


@dataclass(frozen=True, slots=True)
class _Waiting:
    command: Command
    answer: asyncio.Future[Answer]


class Cashier:
    """Takes commands, and answers when they are committed.

    While one batch is under way the next gathers. Two commands for one player never share a batch:
    the log takes one append a stream. `on_committed` is called with the partitions that moved.
    """

    def __init__(
        self, pool: Pool, on_committed: OnCommitted, give_up_after_s: float = GIVE_UP_AFTER_S
    ) -> None:
        self._pool = pool
        self._on_committed = on_committed
        self._give_up_after_s = give_up_after_s
        self._queue: deque[_Waiting] = deque()
        self._runner: asyncio.Task[None] | None = None

    async def execute(self, command: Command) -> Answer:
        """Carries out a command; one that was carried out before gets the answer of that time.

        Raises `CroupierError`: what `carry_out` refuses, COMMAND_BODY_DIFFERS, OVERLOADED, and
        LOG_UNAVAILABLE, after which it may have been carried out: ask again with the same id.
        """
        if len(self._queue) >= MAX_WAITING_COMMANDS:
            raise LogOverloadedError(f"{len(self._queue)} commands wait already")
        waiting = _Waiting(command, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if self._runner is None:
            # Its own context: what many wait for is no one caller's, in the log as well.
            self._runner = asyncio.create_task(self._run(), name="cashier", context=Context())
        outcome = "CANCELLED"
        try:
            answer = await waiting.answer
            outcome = "OK"
        except CroupierError as error:
            outcome = error.reason
            raise
        except Exception:
            outcome = "INTERNAL"
            raise
        finally:
            _commands.labels(type(command.order).__name__, outcome).inc()
        return answer

    async def close(self) -> None:
        """Waits until all that was asked is answered."""
        while self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        try:
            while batch := self._gather():
                _batch_commands.observe(len(batch))
                await self._settle(batch)
        finally:
            self._runner = None
            # Only when this task itself was cancelled is anybody left.
            for waiting in self._queue:
                waiting.answer.cancel()
            self._queue.clear()

    def _gather(self) -> list[_Waiting]:
        """Takes the next batch off the queue, in order but for streams that are in it already."""
        batch: list[_Waiting] = []
        left: deque[_Waiting] = deque()
        taken: set[str] = set()
        while self._queue:
            waiting = self._queue.popleft()
            if waiting.answer.cancelled():
                continue
            if len(batch) == MAX_BATCH_COMMANDS or waiting.command.stream in taken:
                left.append(waiting)
            else:
                batch.append(waiting)
            taken.add(waiting.command.stream)
        self._queue = left
        return batch

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        commands = [waiting.command for waiting in batch]
        try:
            answers, moved = await on_connection(
                self._pool,
                lambda connection: _transact(connection, commands),
                self._give_up_after_s,
            )
        except LogUnavailableError as error:
            for waiting in batch:
                _conclude(waiting, error)
        except Exception as error:
            # Something is wrong with one of them: each for itself, so that it harms no other.
            if len(batch) == 1:
                _conclude(batch[0], error)
            for waiting in batch if len(batch) > 1 else ():
                await self._settle([waiting])
        except asyncio.CancelledError:
            for waiting in batch:
                waiting.answer.cancel()
            raise
        else:
            if moved:
                self._on_committed(moved)
            for waiting, answer in zip(batch, answers, strict=True):
                _conclude(waiting, answer)


def _conclude(waiting: _Waiting, answer: Answer | Exception) -> None:
    if waiting.answer.done():
        return
    if isinstance(answer, Exception):
        waiting.answer.set_exception(answer)
    else:
        waiting.answer.set_result(answer)


async def _transact(
    connection: PooledConnection, commands: Sequence[Command]
) -> tuple[list[Answer | Exception], frozenset[str]]:
    """Carries out commands of different players; each answer or refusal, and what moved.

    It may run again after its COMMIT got lost: then the log knows the commands.
    """
    async with asyncio.timeout(CALL_TIMEOUT_S), connection.transaction():
        books = await take(
            connection,
            [name for command in commands for name in command.accounts],
            tables=[table for command in commands for table in command.tables],
            commands=[(command.stream, command.key) for command in commands],
        )
        settled = await _settled_hands(connection, commands)
        answers: list[Answer | Exception] = []
        told: dict[str, list[NewEvent]] = {}
        for number, command in enumerate(commands):
            known = books.commands.get(number)
            try:
                if known is not None:
                    answers.append(await _first_answer(connection, command, known))
                else:
                    event = _decided(books, command, settled)
                    told[command.stream] = [event]
                    answers.append(answer_in(command.player, event.type, event.payload))
            except CroupierError as error:
                answers.append(error)
        await post(connection, books)
        keys = {command.stream: command.key for command in commands}
        moved = await tell(connection, books, told, keys)
    return answers, moved


async def _settled_hands(
    connection: PooledConnection, commands: Sequence[Command]
) -> frozenset[str]:
    """The hands that are to be corrected, as far as the wallet has posted their settlement. A round
    trip where there are any."""
    corrections = [command.order for command in commands if isinstance(command.order, Correct)]
    if not corrections:
        return frozenset()
    rows = await connection.fetch(
        _SETTLED,
        [order.hand_id for order in corrections],
        [wallet_stream(order.table_id) for order in corrections],
    )
    return frozenset(row["hand_id"] for row in rows)


def _decided(books: Books, command: Command, settled: frozenset[str]) -> NewEvent:
    """Decides a command and says so; `books` goes on with what was decided."""
    decision = carry_out(books.accounts, books.tables, command, settled)
    cause = Cause(command.key.caller, None, command.correlation_id)
    if isinstance(decision, Transfer):
        books.add(decision)
        return records.transfer_posted(decision, books.at, cause)
    books.open(player_account(command.player), decision)
    return records.account_opened(command.player, decision.currency, books.at, cause)


async def _first_answer(
    connection: PooledConnection, command: Command, known: CommandRecord
) -> Answer:
    if known.body_hash != command.key.body_hash:
        raise CroupierError(
            "COMMAND_BODY_DIFFERS", "this command id was used for something else", "command_id"
        )
    [event] = await read_stream_on(connection, command.stream, known.first_version - 1, 1)
    return answer_in(command.player, event.type, event.payload)

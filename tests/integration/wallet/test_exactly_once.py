"""Commands that race, repeat and lose their answers: each is carried out once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prometheus_client import REGISTRY

from services.wallet import books as wallet_books
from services.wallet import cashier as cashier_module
from services.wallet.cashier import MAX_BATCH_COMMANDS, MAX_WAITING_COMMANDS, Answer, Cashier
from services.wallet.orders import (
    AccountAnswer,
    Command,
    Deposit,
    OpenAccount,
    TransferAnswer,
    Withdraw,
)
from shared.errors import CroupierError
from shared.log import Append, Appended, CommandKey, append_on, open_pool
from shared.money import Money
from shared.rpc.access import Role
from shared.rpc.caller import Caller, bind, caller
from tests.integration.wallet.conftest import Ledger
from tests.servers import Database
from tests.wire import Wire, wire_to

Order = OpenAccount | Deposit | Withdraw


def command(
    player: str, order: Order, command_id: UUID | None = None, body: bytes = bytes(32)
) -> Command:
    key = CommandKey("operator:olga", command_id or uuid4(), body)
    return Command(key, uuid4(), player, order)


def deposit(amount: int) -> Deposit:
    return Deposit(Money("EUR", amount), "")


def withdraw(amount: int) -> Withdraw:
    return Withdraw(Money("EUR", amount), "")


def outcomes_of_deposits(outcome: str) -> float:
    labels = {"order": "Deposit", "outcome": outcome}
    return REGISTRY.get_sample_value("croupier_wallet_commands_total", labels) or 0


@pytest.fixture
async def desks(database: Database) -> AsyncIterator[list[Cashier]]:
    """Two cashiers of different processes, as far as the database can tell."""
    pools = [await open_pool(database.dsn("croupier_wallet"), max_size=2) for _ in range(2)]
    cashiers = [Cashier(pool, lambda moved: None) for pool in pools]
    yield cashiers
    for cashier in cashiers:
        await cashier.close()
    for pool in pools:
        await pool.close()


async def balance_after(answer: Awaitable[Answer]) -> int:
    told = await answer
    assert isinstance(told, TransferAnswer)
    return told.balance_after.minor_units


async def test_one_command_sent_to_two_cashiers_at_once_is_carried_out_once(
    desks: list[Cashier], ledger: Ledger
) -> None:
    await desks[0].execute(command("ann", OpenAccount("EUR")))
    for amount in range(1, 21):
        command_id = uuid4()
        answers = await asyncio.gather(
            *(desk.execute(command("ann", deposit(amount), command_id)) for desk in desks * 3)
        )
        assert answers == [answers[0]] * 6
    assert await ledger.balance("player/ann") == sum(range(1, 21))
    assert len((await ledger.check()).transfers) == 20


async def test_one_command_id_with_two_bodies_at_once_is_carried_out_once(
    desks: list[Cashier], ledger: Ledger
) -> None:
    await desks[0].execute(command("ann", OpenAccount("EUR")))
    for _ in range(10):
        command_id = uuid4()
        answers = await asyncio.gather(
            desks[0].execute(command("ann", deposit(1), command_id, bytes(32))),
            desks[1].execute(command("ann", deposit(2), command_id, bytes([1]) * 32)),
            return_exceptions=True,
        )
        [refused] = [answer for answer in answers if isinstance(answer, CroupierError)]
        assert refused.reason == "COMMAND_BODY_DIFFERS"
    assert len((await ledger.check()).transfers) == 10


async def test_an_account_opened_by_two_cashiers_at_once_opens_once(
    desks: list[Cashier], ledger: Ledger
) -> None:
    for player in ("ann", "bob", "cid"):
        answers = await asyncio.gather(
            *(desk.execute(command(player, OpenAccount("EUR"))) for desk in desks),
            return_exceptions=True,
        )
        assert sum(isinstance(answer, AccountAnswer) for answer in answers) == 1
        [refused] = [answer for answer in answers if isinstance(answer, CroupierError)]
        assert refused.reason == "ACCOUNT_EXISTS"
    await ledger.check()


async def test_racing_withdrawals_never_take_more_than_there_is(
    desks: list[Cashier], ledger: Ledger
) -> None:
    await desks[0].execute(command("ann", OpenAccount("EUR")))
    await desks[0].execute(command("ann", deposit(100)))
    answers = await asyncio.gather(
        *(desks[n % 2].execute(command("ann", withdraw(7))) for n in range(40)),
        return_exceptions=True,
    )
    refused = [answer for answer in answers if isinstance(answer, CroupierError)]
    assert len(answers) - len(refused) == 14
    assert {error.reason for error in refused} == {"INSUFFICIENT_FUNDS"}
    assert await ledger.balance("player/ann") == 2
    await ledger.check()


async def test_racing_deposits_and_withdrawals_of_many_players_add_up(
    desks: list[Cashier], ledger: Ledger
) -> None:
    for _ in range(2):
        await ledger.root.execute("SELECT log.add_partition('wallet')")
    players = [f"p{n}" for n in range(8)]
    await asyncio.gather(*(desks[0].execute(command(p, OpenAccount("EUR"))) for p in players))
    await asyncio.gather(
        *(desks[n % 2].execute(command(players[n % 8], deposit(10))) for n in range(160)),
        *(
            desks[(n + 1) % 2].execute(command(players[n % 8], withdraw(1)))
            for n in range(160)
            if n >= 8
        ),
        return_exceptions=True,
    )
    books = await ledger.check()
    withdrawn = len(books.transfers) - 160
    total = sum(books.accounts[f"player/{player}"][1] for player in players)
    assert total == 1_600 - withdrawn


async def test_commands_that_wait_together_share_transactions_and_each_has_its_own_answer(
    desks: list[Cashier], ledger: Ledger
) -> None:
    desk = desks[0]
    players = [f"p{n}" for n in range(100)]
    answers = await asyncio.gather(
        *(desk.execute(command(player, OpenAccount("EUR"))) for player in players),
        *(desk.execute(command(player, deposit(n + 1))) for n, player in enumerate(players)),
        *(desk.execute(command(player, withdraw(1_000))) for player in players),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[:100]] == [AccountAnswer] * 100
    balances = [
        a.balance_after.minor_units for a in answers[100:200] if isinstance(a, TransferAnswer)
    ]
    assert balances == [n + 1 for n in range(100)]
    assert {getattr(answer, "reason", None) for answer in answers[200:]} == {"INSUFFICIENT_FUNDS"}
    times = await ledger.root.fetchval(
        "SELECT count(DISTINCT opened_at) FROM wallet.accounts WHERE account LIKE 'player/%'"
    )
    # The first goes alone, the others gather meanwhile.
    assert times <= 2 + 100 // MAX_BATCH_COMMANDS
    await ledger.check()


async def test_commands_of_one_player_are_carried_out_in_the_order_they_came(
    desks: list[Cashier], ledger: Ledger
) -> None:
    desk = desks[0]
    await desk.execute(command("ann", OpenAccount("EUR")))
    balances = await asyncio.gather(
        *(balance_after(desk.execute(command("ann", deposit(1)))) for _ in range(30))
    )
    assert balances == list(range(1, 31))


async def test_a_cashier_takes_no_more_commands_than_it_can_hold(desks: list[Cashier]) -> None:
    desk = desks[0]
    await desk.execute(command("ann", OpenAccount("EUR")))
    answers = await asyncio.gather(
        *(desk.execute(command("ann", deposit(0))) for _ in range(MAX_WAITING_COMMANDS + 5)),
        return_exceptions=True,
    )
    reasons = [getattr(answer, "reason", None) for answer in answers]
    assert reasons.count("OVERLOADED") == 5
    assert reasons.count("BAD_AMOUNT") == MAX_WAITING_COMMANDS


async def test_a_caller_who_goes_away_before_his_turn_is_passed_over(
    desks: list[Cashier], ledger: Ledger
) -> None:
    desk = desks[0]
    await desk.execute(command("ann", OpenAccount("EUR")))
    first = asyncio.create_task(desk.execute(command("ann", deposit(1))))
    gone = asyncio.create_task(desk.execute(command("ann", deposit(10))))
    last = asyncio.create_task(desk.execute(command("ann", deposit(100))))
    async with asyncio.timeout(30):
        # One step: all three have put their commands in the queue.
        await asyncio.wait({first, gone, last}, timeout=0)
        gone.cancel()
        await asyncio.gather(first, last)
    assert await ledger.balance("player/ann") == 101


async def test_a_command_that_the_database_refuses_harms_no_other(
    desks: list[Cashier], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for player in ("ann", "bob", "cid"):
        await desks[0].execute(command(player, OpenAccount("EUR")))
    real_post = wallet_books.post

    async def post(connection: Any, books: Any) -> None:
        if any(leg.account == "player/bob" for each in books.transfers for leg in each.postings):
            raise ValueError("bob's deposit is broken")
        await real_post(connection, books)

    monkeypatch.setattr(cashier_module, "post", post)
    failed = outcomes_of_deposits("INTERNAL")
    answers = await asyncio.gather(
        *(desks[0].execute(command(player, deposit(5))) for player in ("ann", "bob", "cid")),
        return_exceptions=True,
    )
    assert outcomes_of_deposits("INTERNAL") == failed + 1
    assert [isinstance(answer, TransferAnswer) for answer in answers] == [True, False, True]
    assert isinstance(answers[1], ValueError)
    assert await ledger.balance("player/bob") == 0
    await ledger.check()


Cut = Callable[[Wire], None]


@pytest.mark.parametrize("cut", [Wire.swallow_next_answer, Wire.cut_next_request])
async def test_a_connection_cut_anywhere_loses_and_doubles_nothing(
    database: Database, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, cut: Cut
) -> None:
    """After `tell` comes COMMIT: its answer is lost, or it never arrives."""
    async with wire_to(database.dsn("croupier_wallet")) as wire:
        pool = await open_pool(wire.through(database.dsn("croupier_wallet")), max_size=1)
        moves: list[frozenset[str]] = []
        cashier = Cashier(pool, moves.append)
        await cashier.execute(command("ann", OpenAccount("EUR")))
        for number, step in enumerate(("take", "post", "tell"), 1):
            real = getattr(cashier_module, step)
            cuts: list[str] = []

            async def then_cut(
                *arguments: Any,
                _real: Any = real,
                _cuts: list[str] = cuts,
                _step: str = step,
                **named: Any,
            ) -> Any:
                answer = await _real(*arguments, **named)
                if not _cuts:
                    cut(wire)
                    _cuts.append(_step)
                return answer

            with monkeypatch.context() as patch:
                patch.setattr(cashier_module, step, then_cut)
                balance = await balance_after(cashier.execute(command("ann", deposit(50))))
            assert (cuts, balance) == ([step], 50 * number)
            assert len((await ledger.check()).transfers) == number
        await cashier.close()
        await pool.close()
    # A commit whose answer was lost moved nothing the second time.
    assert set(moves) == {frozenset({"wallet.0"})}


async def test_without_a_database_the_cashier_says_so_and_the_command_may_be_sent_again(
    database: Database, ledger: Ledger
) -> None:
    async with wire_to(database.dsn("croupier_wallet")) as wire:
        pool = await open_pool(wire.through(database.dsn("croupier_wallet")), max_size=1)
    # The wire is gone: nobody answers at its port.
    cashier = Cashier(pool, lambda moved: None, give_up_after_s=0.2)
    asked = command("ann", OpenAccount("EUR"))
    answers = await asyncio.gather(
        cashier.execute(asked),
        cashier.execute(command("bob", OpenAccount("EUR"))),
        return_exceptions=True,
    )
    assert {getattr(answer, "reason", None) for answer in answers} == {"LOG_UNAVAILABLE"}
    await cashier.close()
    pool.terminate()
    async with await open_pool(database.dsn("croupier_wallet"), max_size=1) as again:
        assert isinstance(await Cashier(again, lambda moved: None).execute(asked), AccountAnswer)


async def test_a_cashier_that_closes_answers_what_it_was_asked(
    desks: list[Cashier], ledger: Ledger
) -> None:
    asked = [
        asyncio.create_task(desks[0].execute(command(f"p{n}", OpenAccount("EUR"))))
        for n in range(5)
    ]
    await asyncio.wait(asked, timeout=0)
    await desks[0].close()
    assert all(task.done() for task in asked)
    assert [type(await task) for task in asked] == [AccountAnswer] * 5


async def test_a_log_that_moved_in_spite_of_the_heads_makes_the_cashier_try_again(
    desks: list[Cashier], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    async def first_misled(connection: Any, appends: Sequence[Append]) -> list[Appended]:
        nonlocal calls
        calls += 1
        if calls == 1:
            appends = [replace(each, expected_version=7) for each in appends]
        return await append_on(connection, appends)

    monkeypatch.setattr(wallet_books, "append_on", first_misled)
    assert isinstance(await desks[0].execute(command("ann", OpenAccount("EUR"))), AccountAnswer)
    assert calls == 2
    assert await ledger.events_of("ann") == ["AccountOpened"]


async def test_what_the_cashier_does_is_no_one_callers(
    desks: list[Cashier], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what it logs of everybody's commands would name whoever came first."""
    real = wallet_books.take
    named: list[Caller | None] = []

    async def take(*arguments: Any, **rest: Any) -> Any:
        try:
            named.append(caller())
        except LookupError:
            named.append(None)
        return await real(*arguments, **rest)

    monkeypatch.setattr(cashier_module, "take", take)
    bind(Caller("ann", Role.PLAYER, "token"), uuid4())
    await desks[0].execute(command("ann", OpenAccount("EUR")))
    assert named == [None]


async def test_who_waits_at_a_cashier_that_is_cancelled_hears_of_it(
    desks: list[Cashier], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def take(*arguments: Any, **named: Any) -> Any:
        reached.set()
        await never.wait()

    monkeypatch.setattr(cashier_module, "take", take)
    served = asyncio.create_task(desks[0].execute(command("ann", OpenAccount("EUR"))))
    await reached.wait()
    queued = asyncio.create_task(desks[0].execute(command("bob", OpenAccount("EUR"))))
    await asyncio.wait({queued}, timeout=0)
    [runner] = [task for task in asyncio.all_tasks() if task.get_name() == "cashier"]
    runner.cancel()
    await asyncio.wait({served, queued, runner}, timeout=10)
    assert served.cancelled()
    assert queued.cancelled()


async def test_a_command_whose_caller_left_in_the_middle_is_carried_out_all_the_same(
    desks: list[Cashier], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()
    real = wallet_books.take

    async def take(*arguments: Any, **named: Any) -> Any:
        reached.set()
        await go_on.wait()
        return await real(*arguments, **named)

    monkeypatch.setattr(cashier_module, "take", take)
    asked = command("ann", OpenAccount("EUR"))
    left = asyncio.create_task(desks[0].execute(asked))
    await reached.wait()
    left.cancel()
    await asyncio.wait({left})
    go_on.set()
    await desks[0].close()
    assert await ledger.balance("player/ann") == 0
    assert isinstance(await desks[1].execute(asked), AccountAnswer)

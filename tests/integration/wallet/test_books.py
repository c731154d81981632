"""What the database itself does not let happen to the books."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
import pytest

from deploy.migrate import LOGIN_ROLES
from tests.servers import Database, in_own_loop

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

T1, T2 = UUID(int=1), UUID(int=2)
CHANGED, UNBALANCED = "WL001", "WL002"


@pytest.fixture(scope="module")
def funded(module_database: Database) -> Database:
    """Ann has brought in 100 euros. All tests here share it: each leaves it as it was."""

    async def deposit() -> None:
        connection = await asyncpg.connect(module_database.dsn("croupier_wallet"))
        await post(
            connection,
            opened=[("player/ann", "EUR"), ("cashier/ann", "EUR")],
            transfers=[(T1, "EUR")],
            legs=[(T1, "player/ann", 100, 100, 1), (T1, "cashier/ann", -100, -100, 1)],
        )
        await connection.close()

    in_own_loop(deposit())
    return module_database


@pytest.fixture
async def wallet(funded: Database) -> AsyncIterator[Connection]:
    """The wallet's own role."""
    connection = await asyncpg.connect(funded.dsn("croupier_wallet"))
    yield connection
    assert await connection.fetchval("SELECT count(*) FROM wallet.transfers") == 1
    assert await connection.fetchval("SELECT count(*) FROM wallet.postings") == 2
    assert await connection.fetchval("SELECT sum(balance) FROM wallet.accounts") == 0
    assert await connection.fetchval("SELECT count(*) FROM wallet.accounts") == 2
    await connection.close()


async def post(
    connection: Connection,
    opened: list[tuple[str, str]],
    transfers: list[tuple[UUID, str]],
    legs: list[tuple[UUID, str, int, int, int]],
) -> None:
    """`legs` are transfer, account, amount, balance after it, number in the account."""
    await connection.execute(
        "SELECT wallet.post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        datetime.now(UTC),
        [account for account, _ in opened],
        [currency for _, currency in opened],
        [transfer for transfer, _ in transfers],
        [1] * len(transfers),
        [currency for _, currency in transfers],
        [""] * len(transfers),
        [""] * len(transfers),
        *([leg[part] for leg in legs] for part in range(5)),
    )


async def refusal_of(connection: Connection, statement: str, *arguments: Any) -> str | None:
    """The SQLSTATE with which a statement fails; None: it does not."""
    try:
        await connection.execute(statement, *arguments)
    except asyncpg.PostgresError as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize(
    ("transfers", "legs", "state"),
    [
        # Out of balance.
        (
            [(T2, "EUR")],
            [(T2, "player/ann", 10, 110, 2), (T2, "cashier/ann", -9, -109, 2)],
            "WL002",
        ),
        # Two transfers that only together are in balance.
        (
            [(T2, "EUR"), (UUID(int=3), "EUR")],
            [(T2, "player/ann", 10, 110, 2), (UUID(int=3), "cashier/ann", -10, -110, 2)],
            "WL002",
        ),
        # The same transfer again.
        (
            [(T1, "EUR")],
            [(T1, "player/ann", 100, 200, 2), (T1, "cashier/ann", -100, -200, 2)],
            "23505",
        ),
        # The same account twice in one transfer.
        (
            [(T2, "EUR")],
            [(T2, "player/ann", 10, 110, 2), (T2, "player/ann", -10, 100, 3)],
            "23505",
        ),
        # A player who would owe, at the end or in between.
        (
            [(T2, "EUR")],
            [(T2, "player/ann", -101, -1, 2), (T2, "cashier/ann", 101, 1, 2)],
            "23514",
        ),
        (
            [(T2, "EUR"), (UUID(int=3), "EUR")],
            [
                (T2, "player/ann", -101, -1, 2),
                (T2, "cashier/ann", 101, 1, 2),
                (UUID(int=3), "player/ann", 2, 1, 3),
                (UUID(int=3), "cashier/ann", -2, -1, 3),
            ],
            "23514",
        ),
        # Accounts that are not what they were taken for (balance, number, existence, currency):
        # where only some of them are, the first to notice is the sum of all.
        (
            [(T2, "EUR")],
            [(T2, "player/ann", 10, 111, 2), (T2, "cashier/ann", -10, -110, 2)],
            "WL002",
        ),
        (
            [(T2, "EUR")],
            [(T2, "player/ann", 10, 110, 3), (T2, "cashier/ann", -10, -110, 2)],
            "WL002",
        ),
        (
            [(T2, "USD")],
            [(T2, "player/ann", 10, 110, 2), (T2, "cashier/ann", -10, -110, 2)],
            "WL003",
        ),
        (
            [(T2, "EUR")],
            [(T2, "player/ann", -10, 90, 2), (T2, "player/bob", 10, 10, 1)],
            "WL002",
        ),
        # A leg that moves nothing.
        ([(T2, "EUR")], [(T2, "player/ann", 0, 100, 2)], "23514"),
    ],
)
async def test_what_cannot_be_posted_leaves_nothing_behind(
    wallet: Connection,
    transfers: list[tuple[UUID, str]],
    legs: list[tuple[UUID, str, int, int, int]],
    state: str,
) -> None:
    with pytest.raises(asyncpg.PostgresError) as refused:
        await post(wallet, [], transfers, legs)
    assert refused.value.sqlstate == state


async def test_a_transfer_gets_no_more_legs_later(wallet: Connection) -> None:
    """Not even such as are in balance, on accounts that another transfer moves meanwhile."""
    with pytest.raises(asyncpg.PostgresError) as refused:
        await post(
            wallet,
            [("player/bob", "EUR"), ("cashier/bob", "EUR")],
            [(T2, "EUR")],
            [
                (T2, "player/bob", 10, 10, 1),
                (T2, "cashier/bob", -10, -10, 1),
                (T1, "player/bob", 5, 15, 2),
                (T1, "cashier/bob", -5, -15, 2),
            ],
        )
    assert refused.value.sqlstate == "WL003"


async def test_an_account_with_the_least_that_64_bits_hold_may_be_moved(wallet: Connection) -> None:
    least, most, later = -(2**63), 2**63 - 1, UUID(int=3)
    transaction = wallet.transaction()
    await transaction.start()
    try:
        await post(
            wallet,
            [("house/b1", "EUR"), ("player/bob", "EUR"), ("player/cid", "EUR")],
            [(T2, "EUR")],
            [
                (T2, "house/b1", least, least, 1),
                (T2, "player/bob", most, most, 1),
                (T2, "player/cid", 1, 1, 1),
            ],
        )
        legs = [(later, "house/b1", 1, least + 1, 2), (later, "player/cid", -1, 0, 2)]
        await post(wallet, [], [(later, "EUR")], legs)
        [held] = await wallet.fetch(
            "SELECT balance FROM wallet.accounts WHERE account = 'house/b1'"
        )
        assert held["balance"] == least + 1
    finally:
        await transaction.rollback()


@pytest.mark.parametrize(
    ("account", "currency"),
    [("chips/ann", "EUR"), ("player/a b", "EUR"), ("player/a/b", "EUR"), ("player/bob", "euro")],
)
async def test_an_account_has_a_name_and_a_currency(
    wallet: Connection, account: str, currency: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await post(wallet, [(account, currency)], [], [])


async def test_an_account_opens_once(wallet: Connection) -> None:
    with pytest.raises(asyncpg.UniqueViolationError):
        await post(wallet, [("player/ann", "EUR")], [], [])


CHANGES = [
    "UPDATE wallet.transfers SET note = 'x'",
    "DELETE FROM wallet.transfers",
    "TRUNCATE wallet.transfers",
    "UPDATE wallet.postings SET amount = amount + 1",
    "DELETE FROM wallet.postings",
    "TRUNCATE wallet.postings",
    "DELETE FROM wallet.accounts",
    "TRUNCATE wallet.accounts",
    "UPDATE wallet.accounts SET currency = 'USD', postings = postings + 1",
    "UPDATE wallet.accounts SET opened_at = now(), postings = postings + 1",
    "UPDATE wallet.accounts SET balance = 0",
    """INSERT INTO wallet.accounts (account, currency, balance, postings, opened_at)
       VALUES ('player/bob', 'EUR', 5, 1, now())""",
]
MADE_MONEY = [
    "UPDATE wallet.accounts SET balance = balance + 1, postings = postings + 1",
    """UPDATE wallet.accounts SET balance = balance + 1, postings = postings + 1
        WHERE account = 'player/ann'""",
    f"""INSERT INTO wallet.postings (account, sequence, transfer_id, amount, balance_after)
        VALUES ('player/ann', 2, '{T2}', 5, 105)""",
]


@pytest.mark.parametrize("replica", [False, True])
async def test_nobody_changes_what_is_posted_or_makes_money(
    wallet: Connection, funded: Database, replica: bool
) -> None:
    root = await asyncpg.connect(funded.dsn())
    try:
        if replica:
            await root.execute("SET session_replication_role = replica")
        for owner in (False, True):
            if owner:
                await root.execute(
                    "GRANT USAGE ON SCHEMA wallet TO croupier_owner; SET ROLE croupier_owner"
                )
            states = {change: await refusal_of(root, change) for change in CHANGES}
            assert states == dict.fromkeys(CHANGES, CHANGED)
            states = {change: await refusal_of(root, change) for change in MADE_MONEY}
            assert states == dict.fromkeys(MADE_MONEY, UNBALANCED)
    finally:
        await root.close()


@pytest.mark.parametrize("role", LOGIN_ROLES)
async def test_no_role_writes_the_books_itself(
    wallet: Connection, funded: Database, role: str
) -> None:
    connection = await asyncpg.connect(funded.dsn(role))
    try:
        states = {each: await refusal_of(connection, each) for each in (*CHANGES, *MADE_MONEY)}
        assert set(states.values()) == {"42501"}
    finally:
        await connection.close()


@pytest.mark.parametrize("role", sorted(set(LOGIN_ROLES) - {"croupier_wallet"}))
async def test_only_the_wallet_posts(wallet: Connection, funded: Database, role: str) -> None:
    connection = await asyncpg.connect(funded.dsn(role))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await post(connection, [("player/bob", "EUR")], [], [])
    finally:
        await connection.close()


@pytest.mark.parametrize("role", ["croupier_audit", "croupier_auditor"])
async def test_auditors_read_the_books(wallet: Connection, funded: Database, role: str) -> None:
    connection = await asyncpg.connect(funded.dsn(role))
    try:
        assert await connection.fetchval("SELECT sum(balance) FROM wallet.accounts") == 0
        assert await connection.fetchval("SELECT count(*) FROM wallet.postings") == 2
        assert await connection.fetchval("SELECT count(*) FROM wallet.transfers") == 1
    finally:
        await connection.close()

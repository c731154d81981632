"""The accounts of the ledger by name.

`player/<player>` is free money, `table/<table>/<player>` the chips of a player at a table,
`table-pot/<table>` a pot that waits for the next hand, `house/<table>` and `commission/<table>`
what the house won and took, `cashier/<player>` the world outside as far as that player goes (minus
what he brought in, plus what he took out).

Each account belongs to the wallet stream of its owner, the id behind the first slash: whoever moves
its money holds the head of that stream's partition, so that no account needs a lock of its own.
"""

from __future__ import annotations

from enum import StrEnum


class AccountKind(StrEnum):
    """The first part of an account's name."""

    PLAYER = "player"
    ESCROW = "table"
    POT = "table-pot"
    HOUSE = "house"
    COMMISSION = "commission"
    CASHIER = "cashier"


MAY_OWE = frozenset({AccountKind.HOUSE, AccountKind.COMMISSION, AccountKind.CASHIER})
"""The kinds that may be negative: the house's side, never a player's money."""


def player_account(player: str) -> str:
    """Free money of a player."""
    return f"{AccountKind.PLAYER}/{player}"


def escrow_account(table: str, player: str) -> str:
    """Chips of a player at a table."""
    return f"{AccountKind.ESCROW}/{table}/{player}"


def pot_account(table: str) -> str:
    """A pot carried from hand to hand."""
    return f"{AccountKind.POT}/{table}"


def house_account(table: str) -> str:
    """What the house won (negative: lost) at a table, rake included."""
    return f"{AccountKind.HOUSE}/{table}"


def commission_account(table: str) -> str:
    """Commission taken at a table."""
    return f"{AccountKind.COMMISSION}/{table}"


def cashier_account(player: str) -> str:
    """The other side of a player's deposits and withdrawals."""
    return f"{AccountKind.CASHIER}/{player}"


def kind_of(account: str) -> AccountKind:
    """The kind of an account; `ValueError` where the name is none."""
    return AccountKind(account.split("/", 1)[0])


def owner_of(account: str) -> str:
    """The player or table whose wallet stream the account belongs to."""
    return account.split("/", 2)[1]


def table_and_player(escrow: str) -> tuple[str, str]:
    """Whose chips at which table an escrow account holds."""
    _, table, player = escrow.split("/")
    return table, player


def wallet_stream(owner: str) -> str:
    """The stream that tells of the money of a player or a table."""
    return f"wallet/{owner}"

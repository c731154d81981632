"""Who may call what: the one table of role × method, and that of role × command at a table."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a token says its bearer is. Services are told apart: what the table service may ask of
    shuffle, the audit service may not, and the other way round."""

    PLAYER = "player"
    DEALER = "dealer"
    PIT = "pit"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    TABLE_SERVICE = "table-service"
    AUDIT_SERVICE = "audit-service"


_FLOOR = frozenset({Role.PLAYER, Role.DEALER, Role.PIT})
_PEOPLE = _FLOOR | {Role.AUDITOR, Role.OPERATOR}
_ACCOUNTS = frozenset({Role.PLAYER, Role.OPERATOR, Role.AUDITOR})
_BOOKS = frozenset({Role.OPERATOR, Role.AUDITOR})
_TABLE = frozenset({Role.TABLE_SERVICE})
_AUDIT = frozenset({Role.AUDIT_SERVICE})
_AUDITOR = frozenset({Role.AUDITOR})
_OPERATOR = frozenset({Role.OPERATOR})

ACCESS: dict[str, frozenset[Role]] = {
    "/croupier.table.v1.TableService/OpenTable": _OPERATOR,
    "/croupier.table.v1.TableService/CloseTable": frozenset({Role.OPERATOR, Role.PIT}),
    "/croupier.table.v1.TableService/ListTables": _PEOPLE,
    "/croupier.table.v1.TableService/GetTable": _PEOPLE,
    # Nodes tell each other what is at their tables.
    "/croupier.table.v1.TableService/WatchLobby": _PEOPLE | _TABLE,
    "/croupier.table.v1.TableService/Watch": _PEOPLE,
    "/croupier.table.v1.TableService/Execute": _FLOOR,
    "/croupier.table.v1.TableService/Play": _FLOOR,
    "/croupier.table.v1.TableService/ListHands": _PEOPLE,
    "/croupier.table.v1.TableService/GetHand": _PEOPLE,
    "/croupier.table.v1.NodeService/ListNodes": _OPERATOR,
    "/croupier.table.v1.NodeService/DrainNode": _OPERATOR,
    "/croupier.table.v1.NodeService/MoveTable": _OPERATOR,
    "/croupier.wallet.v1.WalletService/OpenAccount": frozenset({Role.PLAYER, Role.OPERATOR}),
    "/croupier.wallet.v1.WalletService/Deposit": _OPERATOR,
    "/croupier.wallet.v1.WalletService/Withdraw": frozenset({Role.PLAYER, Role.OPERATOR}),
    # TAB-12: the ruling of the management.
    "/croupier.wallet.v1.WalletService/Correct": frozenset({Role.PIT}),
    "/croupier.wallet.v1.WalletService/GetAccount": _ACCOUNTS,
    "/croupier.wallet.v1.WalletService/ListAccounts": _BOOKS,
    "/croupier.wallet.v1.WalletService/ListTransfers": _ACCOUNTS,
    "/croupier.wallet.v1.WalletService/GetLedger": _BOOKS,
    "/croupier.shuffle.v1.ShuffleService/OpenShoe": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/CommitSeed": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/CutShoe": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/OpenSeed": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/SealShoe": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/Deal": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/DealMany": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/ClaimShoe": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/RetireShoe": _TABLE,
    "/croupier.shuffle.v1.ShuffleService/GetShoe": _TABLE | _AUDIT,
    "/croupier.shuffle.v1.ShuffleService/ListOpenShoes": _TABLE | _AUDIT,
    "/croupier.shuffle.v1.ShuffleService/DiscloseShoe": _AUDIT,
    "/croupier.audit.v1.AuditService/ListHands": _AUDITOR,
    "/croupier.audit.v1.AuditService/ReplayHand": _AUDITOR,
    "/croupier.audit.v1.AuditService/VerifyHand": _AUDITOR,
    "/croupier.audit.v1.AuditService/VerifyAll": _AUDITOR,
    "/croupier.audit.v1.AuditService/ListEvents": _AUDITOR,
    "/croupier.audit.v1.AuditService/GetProgress": _BOOKS,
    "/croupier.audit.v1.AuditService/ListShoes": _BOOKS,
    "/croupier.audit.v1.AuditService/DiscloseShoe": _AUDITOR,
    "/croupier.audit.v1.AuditService/ListDisclosures": frozenset({Role.AUDITOR, Role.PLAYER}),
    "/croupier.audit.v1.AuditService/GetPublishedShoe": _PEOPLE,
    # A checkpoint is worth something in the hands of others, and says nothing but hashes.
    "/croupier.audit.v1.AuditService/ListCheckpoints": _PEOPLE,
    "/croupier.audit.v1.AuditService/GetCheckpoint": _PEOPLE,
    "/croupier.audit.v1.AuditService/ProveConsistency": _PEOPLE,
    "/croupier.audit.v1.AuditService/ProveInclusion": _AUDITOR,
}
"""Who may call each method. A method without a row is closed to everybody."""

OPEN = frozenset(
    {
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/grpc.health.v1.Health/List",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    }
)
"""What needs no token and is answered during a drain as well."""

_PLAYER = frozenset({Role.PLAYER})

COMMANDS: dict[str, frozenset[Role]] = {
    "join": _PLAYER,
    "leave": _PLAYER,
    "sit_out": _PLAYER,
    "buy_chips": _PLAYER,
    "cash_out": _PLAYER,
    "place_bet": _PLAYER,
    "take_back_bets": _PLAYER,
    "admit_bettor": _PLAYER,
    "done_betting": _PLAYER,
    "cut_shoe": _PLAYER,
    "pledge_seed": _PLAYER,
    "reveal_seed": _PLAYER,
    "decide": _PLAYER,
    # TAB-08: the dealer reports, the pit confirms.
    "report_incident": frozenset({Role.DEALER, Role.PIT}),
    "rule_void": frozenset({Role.PIT}),
    "object_to_join": _PLAYER,
    "confirm_incident": frozenset({Role.PIT}),
    # DRW-15.
    "penalise": frozenset({Role.PIT}),
}
"""Who may give each command of `croupier.table.v1.Command.action` at a table."""

"""The tables of role × method and role × command have a row for everything there is, no more."""

from __future__ import annotations

from croupier.table.v1 import table_pb2

from shared.rpc.access import ACCESS, COMMANDS, Role
from tests.services import all_methods, all_services, path_of


def test_there_are_five_services_with_an_interface() -> None:
    assert [service.full_name for service in all_services()] == [
        "croupier.audit.v1.AuditService",
        "croupier.shuffle.v1.ShuffleService",
        "croupier.table.v1.NodeService",
        "croupier.table.v1.TableService",
        "croupier.wallet.v1.WalletService",
    ]


def test_every_method_has_a_row_and_every_row_a_method() -> None:
    assert set(ACCESS) == {path_of(method) for method in all_methods()}


def test_every_command_has_a_row_and_every_row_a_command() -> None:
    action = table_pb2.Command.DESCRIPTOR.oneofs_by_name["action"]
    assert set(COMMANDS) == {field.name for field in action.fields}


def test_nobody_but_services_reaches_shuffle() -> None:
    services = {Role.TABLE_SERVICE, Role.AUDIT_SERVICE}
    for path, roles in ACCESS.items():
        assert roles, f"nobody may call {path}"
        assert (roles <= services) == path.startswith("/croupier.shuffle."), path


def test_only_operators_move_tables_and_drain_nodes() -> None:
    for path, roles in ACCESS.items():
        if path.startswith("/croupier.table.v1.NodeService/"):
            assert roles == {Role.OPERATOR}, path


def test_only_audit_may_ask_for_a_server_seed_and_only_table_for_cards() -> None:
    assert ACCESS["/croupier.shuffle.v1.ShuffleService/DiscloseShoe"] == {Role.AUDIT_SERVICE}
    assert ACCESS["/croupier.shuffle.v1.ShuffleService/Deal"] == {Role.TABLE_SERVICE}


def test_players_get_nowhere_near_the_audit_or_other_peoples_books() -> None:
    for path, roles in ACCESS.items():
        if path.endswith(("/ListDisclosures", "/GetPublishedShoe")):
            continue  # Who has opened the shoes of one's own hands, and what is published anyway.
        if path.endswith(("Checkpoint", "Checkpoints", "/ProveConsistency")):
            continue  # Hashes, to be kept by whoever does not believe the house.
        if path.startswith("/croupier.audit.") or path.endswith(("/ListAccounts", "/Deposit")):
            assert Role.PLAYER not in roles, path

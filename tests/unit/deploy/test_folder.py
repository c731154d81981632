"""The folder of a house: one supervisor at a time, the same ports again, secrets kept close."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from deploy.errors import HouseIsRunningError, OtherFormatError
from deploy.folder import (
    HouseFolder,
    Joined,
    ProcessState,
    house_folder,
    processes_of,
    service_of,
)
from deploy.keys import KeyFolder
from shared.rpc import tokens
from shared.rpc.access import Role
from shared.rpc.tokens import TokenCheck

UP = ProcessState(pid=7, state="up", restarts=0, since="2026-01-01T00:00:00+00:00")


@pytest.fixture
def folder(tmp_path: Path) -> HouseFolder:
    return HouseFolder(tmp_path / ".croupier")


def test_only_one_supervisor_holds_a_folder(folder: HouseFolder) -> None:
    assert not folder.is_held()
    with folder.held():
        assert folder.is_held()
        with pytest.raises(HouseIsRunningError), folder.held():
            raise AssertionError("held twice")
    assert not folder.is_held()


def test_every_process_gets_a_port_of_its_own(folder: HouseFolder) -> None:
    ports = folder.choose_ports()
    assert len(set(ports.values())) == len(ports) == 12


def test_the_next_start_listens_where_the_last_one_did(folder: HouseFolder) -> None:
    with folder.held():
        ports = folder.choose_ports()
        folder.write(ports, {})
    assert folder.choose_ports() == ports


def test_a_port_that_somebody_took_is_replaced(folder: HouseFolder) -> None:
    with folder.held():
        ports = folder.choose_ports()
        folder.write(ports, {})
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", ports["table"]))
        stranger.listen()
        chosen = folder.choose_ports()
    assert chosen.pop("table") != ports.pop("table")
    assert chosen == ports


def test_the_house_file_tells_clients_where_to_go(folder: HouseFolder) -> None:
    with folder.held():
        ports = folder.choose_ports()
        folder.write(ports, {"table": UP})
    told = folder.read()
    assert told["addresses"]["table"] == [f"127.0.0.1:{ports['table']}"]
    assert told["metrics"]["wallet"] == [f"127.0.0.1:{ports['wallet-metrics']}"]
    assert told["processes"]["table"] == UP
    assert told["token_key_file"] == "keys/token.pem"
    assert told["pid"] is not None
    folder.write(ports, {})
    assert folder.read()["pid"] is None


def test_every_table_node_has_its_address(folder: HouseFolder) -> None:
    with folder.held():
        ports = folder.choose_ports(table_nodes=3)
        folder.write(ports, {"table": UP})
        assert len(set(ports.values())) == len(ports) == 16
        nodes = [f"127.0.0.1:{ports[name]}" for name in ("table", "table-2", "table-3")]
        assert folder.read()["addresses"]["table"] == nodes
        # A node that another command runs, for as long as it runs.
        mine = Joined(pid=os.getpid(), address="127.0.0.1:9", metrics="127.0.0.1:10")
        with folder.joined("guest", mine):
            folder.write(ports, {"table": UP, "table-2": UP})
            told = folder.read()
            assert told["addresses"]["table"] == [*nodes, "127.0.0.1:9"]
            assert told["metrics"]["table"][-1] == "127.0.0.1:10"
        told = folder.read()
        assert told["addresses"]["table"] == nodes
        assert set(told["processes"]) == {"table", "table-2"}


def test_a_joined_node_that_was_killed_is_not_told_of(folder: HouseFolder) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    ports = folder.choose_ports()
    folder.write(ports, {})
    gone = Joined(pid=ended.pid, address="127.0.0.1:9", metrics="127.0.0.1:10")
    with folder.joined("guest", gone):
        assert folder.read()["addresses"]["table"] == [f"127.0.0.1:{ports['table']}"]


def test_processes_run_the_service_that_their_name_begins_with() -> None:
    processes = processes_of(2)
    services = [service_of(name) for name in processes]
    assert services == [None, None, "shuffle", "wallet", "audit", "relay", "table", "table"]
    assert processes[-2:] == ("table", "table-2")


def test_a_house_file_of_another_format_is_not_guessed_at(folder: HouseFolder) -> None:
    folder.path.mkdir()
    folder.file.write_text(json.dumps({"format": 2}))
    with pytest.raises(OtherFormatError, match="another version"):
        folder.read()


def test_the_house_is_the_one_that_is_named_or_the_one_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert house_folder(Path("there") / "house.json").path == tmp_path / "there"
    assert house_folder(None).path == tmp_path / ".croupier"


def test_keys_are_made_once_and_are_for_their_owner_only(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path / "keys")
    first = keys.load()
    assert keys.load() == first
    assert KeyFolder(tmp_path / "others").load() != first
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o700
    for file in keys.path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert first.deployment not in repr(first)


def test_the_token_keys_fit_each_other(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path)
    keys.load()
    token = tokens.sign(keys.token_key.read_text(), "ann", Role.PLAYER, 60)
    assert TokenCheck(keys.token_public_key()).caller(token).id == "ann"

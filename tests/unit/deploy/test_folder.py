"""The folder of a house: one supervisor at a time, the same ports again, secrets kept close."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from deploy.errors import (
    CannotJoinError,
    HouseError,
    HouseIsRunningError,
    HouseOpensError,
    OtherFormatError,
)
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


def test_who_only_looks_keeps_nobody_from_opening(
    folder: HouseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`croupier status` in a loop beside `croupier up`."""
    with folder.held():
        pass
    looker = (folder.path / "lock").open()
    fcntl.flock(looker, fcntl.LOCK_SH)
    monkeypatch.setattr("deploy.folder.time.sleep", lambda _: looker.close())
    with folder.held():
        assert looker.closed
        assert folder.is_held()


def test_whoever_may_not_write_can_look(folder: HouseFolder) -> None:
    with folder.held():
        (folder.path / "lock").chmod(0o444)
        assert folder.is_held()


def test_the_supervisor_is_who_holds_the_folder_whatever_else_is_written(
    folder: HouseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the house's file says may be of one that was killed, whose pid a stranger has by now."""
    monkeypatch.setattr("deploy.folder._PAUSE_S", 0.0)
    ports = folder.choose_ports()
    folder.write(ports, {"table": UP})
    told = folder.read()
    folder.file.write_text(json.dumps({**told, "pid": 1}))
    assert folder.holder() is None
    with folder.held():
        assert folder.holder() == os.getpid()
        # One of a version that did not say so yet.
        (folder.path / "lock").write_text("")
        assert folder.holder() == 1
    assert folder.holder() is None


def test_a_house_that_has_not_chosen_its_ports_is_being_opened(
    folder: HouseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.folder._PAUSE_S", 0.0)
    with folder.held():
        with pytest.raises(HouseOpensError, match="just being opened"):
            folder.ports()
        (folder.path / "lock").write_text("")
        with pytest.raises(HouseOpensError, match="just being opened"):
            folder.holder()


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


def test_half_a_file_of_a_node_that_was_killed_or_had_no_disk_keeps_no_house_from_telling(
    folder: HouseFolder,
) -> None:
    """The supervisor reads it whenever it writes: it could neither open nor restart anything."""
    (folder.path / "nodes").mkdir(parents=True)
    (folder.path / "nodes" / "guest.json").write_text("")
    ports = folder.choose_ports()
    folder.write(ports, {})
    mine = Joined(pid=os.getpid(), address="127.0.0.1:9", metrics="127.0.0.1:10")
    with folder.joined("guest", mine):
        assert folder.read()["addresses"]["table"][1:] == ["127.0.0.1:9"]


def test_two_nodes_of_one_name_do_not_join(folder: HouseFolder) -> None:
    folder.write(folder.choose_ports(), {})
    mine = Joined(pid=os.getpid(), address="127.0.0.1:9", metrics="127.0.0.1:10")
    other = Joined(pid=os.getppid(), address="127.0.0.1:11", metrics="127.0.0.1:12")
    with folder.joined("guest", mine):
        with (
            pytest.raises(CannotJoinError, match="has joined already"),
            folder.joined("guest", other),
        ):
            raise AssertionError("joined twice")
        assert folder.read()["addresses"]["table"][1:] == ["127.0.0.1:9"]


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


@pytest.mark.parametrize("written", ["", "[]", '{"format": 1', "\udcff"])
def test_a_house_file_that_nobody_can_read_is_told(folder: HouseFolder, written: str) -> None:
    """A machine that lost its power in the middle, or a person who has edited it."""
    folder.path.mkdir()
    folder.file.write_bytes(written.encode(errors="surrogateescape"))
    with pytest.raises(OtherFormatError, match=r"house\.json"):
        folder.read()


@pytest.mark.parametrize("name", [".croupier", "there", "other.json"])
def test_what_names_no_house_opens_none_beside_it(tmp_path: Path, name: str) -> None:
    """`--house .croupier` would have opened one in the folder above."""
    with pytest.raises(HouseError, match=r"named by the house\.json of its folder"):
        house_folder(tmp_path / name)


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

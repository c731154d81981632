"""The folder of a house: one supervisor at a time, the same ports again, secrets kept close."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import pytest

from deploy.errors import HouseIsRunningError, OtherFormatError
from deploy.folder import HouseFolder, ProcessState, house_folder
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

"""Where the house is and who is calling: files, addresses, tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from clients.api import House, Identity, RefusedError
from clients.api.house import (
    TOKEN_TTL_S,
    find_house,
    house_at,
    new_player_id,
    parse_addresses,
    role_of,
    subject_of,
)
from shared.rpc.tokens import TokenCheck
from tests.unit.clients.keys import TEST_KEY

ADDRESSES = {"table": ["127.0.0.1:1"], "wallet": ["127.0.0.1:2"], "audit": ["127.0.0.1:3"]}
PUBLIC = (
    TEST_KEY.public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
PRIVATE = TEST_KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)


@pytest.fixture
def house_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A house file with its key, and no variable that says otherwise."""
    for name in ("CROUPIER_ADDRESS", "CROUPIER_TOKEN", "CROUPIER_HOUSE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "token.pem").write_bytes(PRIVATE)
    file = tmp_path / "house.json"
    file.write_text(json.dumps({"addresses": ADDRESSES, "token_key_file": "keys/token.pem"}))
    return file


def test_tokens_of_the_local_key_are_those_the_services_take(house_file: Path) -> None:
    token = find_house(house_file).make_token(Identity("p_ann", "player"))
    caller = TokenCheck(PUBLIC).caller(token)
    assert (caller.id, str(caller.role)) == ("p_ann", "player")
    assert (subject_of(token), role_of(token)) == ("p_ann", "player")


def test_the_house_file_says_where_everything_is(house_file: Path) -> None:
    house = find_house(house_file)
    assert house.addresses["wallet"] == ("127.0.0.1:2",)
    assert house.folder == house_file.parent
    assert house.may_be_anybody()


def test_the_environment_names_the_house(house_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_HOUSE", str(house_file))
    assert find_house().folder == house_file.parent


def test_an_address_and_a_token_that_are_given_win(house_file: Path) -> None:
    house = find_house(house_file, address="wallet=example.org:9", token="given")
    assert house.addresses["wallet"] == ("example.org:9",)
    assert house.addresses["table"] == ("127.0.0.1:1",)
    assert not house.may_be_anybody()


def test_a_house_of_ones_own_is_not_the_one_that_the_environment_names(
    house_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`croupier run` plays in the house that it opens, not in one far away."""
    monkeypatch.setenv("CROUPIER_ADDRESS", "example.org:9")
    monkeypatch.setenv("CROUPIER_TOKEN", "given")
    house = house_at(house_file)
    assert house.addresses["wallet"] == ("127.0.0.1:2",)
    assert house.may_be_anybody()


def test_empty_variables_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CROUPIER_ADDRESS", "CROUPIER_TOKEN", "CROUPIER_HOUSE"):
        monkeypatch.setenv(name, "")
    with pytest.raises(RefusedError, match=r"no house is running here .*\.croupier/house\.json"):
        find_house()


def test_a_folder_is_no_house_file(house_file: Path) -> None:
    with pytest.raises(RefusedError, match="is not a house file"):
        find_house(house_file.parent)


def test_a_token_may_have_come_with_its_line(house_file: Path) -> None:
    """gRPC sends none with a line's end in it."""
    assert find_house(house_file, token=" given\n").token == "given"


@pytest.mark.parametrize("subject", ["", "two words", "x" * 65, "\udcff"])
def test_no_token_is_made_that_the_house_will_not_take(house_file: Path, subject: str) -> None:
    with pytest.raises(RefusedError, match="BAD_REQUEST: a subject is"):
        find_house(house_file).make_token(Identity(subject, "player"))


async def test_a_token_is_renewed_by_the_clock_that_it_ends_by(
    house_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one stands still while the machine sleeps: the next call would be refused."""
    connection = find_house(house_file).connect("table", Identity("p_ann", "player"))
    first = connection.metadata()
    assert connection.metadata() == first
    woken = time.time() + TOKEN_TTL_S
    monkeypatch.setattr(time, "time", lambda: woken)
    assert connection.metadata() != first
    await connection.close()


def test_far_from_a_house_an_address_is_enough_to_look_for_one(tmp_path: Path) -> None:
    house = find_house(tmp_path / "nothing.json", address="example.org:9", token="given")
    assert house.addresses == dict.fromkeys(("table", "wallet", "audit"), ("example.org:9",))


def test_no_house_and_no_address_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="UNREACHABLE: no house is running here"):
        find_house(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "written", ["[]", "{}", "not json", '{"addresses": 1}', '{"addresses": {"table": []}}']
)
def test_a_file_that_is_no_house_file_is_refused(tmp_path: Path, written: str) -> None:
    file = tmp_path / "house.json"
    file.write_text(written)
    with pytest.raises(RefusedError, match="is not a house file"):
        find_house(file)


@pytest.mark.parametrize("written", [b"", b"no key", b"\xff"])
def test_a_file_that_is_no_key_is_refused(house_file: Path, written: bytes) -> None:
    (house_file.parent / json.loads(house_file.read_text())["token_key_file"]).write_bytes(written)
    with pytest.raises(RefusedError, match="is not a key"):
        find_house(house_file)


def test_without_the_key_only_a_given_token_speaks(house_file: Path) -> None:
    (house_file.parent / "keys" / "token.pem").unlink()
    house = find_house(house_file)
    assert not house.may_be_anybody()
    with pytest.raises(RefusedError, match="UNAUTHENTICATED"):
        house.make_token(Identity("p_ann", "player"))


def test_addresses_are_written_for_all_services_or_for_each() -> None:
    assert parse_addresses("h:1")["audit"] == ("h:1",)
    assert parse_addresses("table=h:1+h:2,wallet=[::1]:3") == {
        "table": ("h:1", "h:2"),
        "wallet": ("[::1]:3",),
    }
    with pytest.raises(RefusedError, match="is not host:port"):
        parse_addresses("example.org")


async def test_several_nodes_must_be_numbers_of_one_kind() -> None:
    house = House({"table": ("a.example:1", "b.example:1")}, TEST_KEY)
    with pytest.raises(RefusedError, match="must all be IPv4 or all be IPv6"):
        house.connect("table", Identity("p_ann", "player"))


async def test_a_service_without_an_address_is_unreachable() -> None:
    with pytest.raises(RefusedError, match="no address of the audit service"):
        House({}, TEST_KEY).connect("audit", Identity("a", "auditor"))


def test_what_is_no_token_tells_nobody() -> None:
    with pytest.raises(RefusedError, match="this is no token"):
        subject_of("nonsense")


def test_player_ids_are_random_and_fit_stream_ids() -> None:
    made = {new_player_id() for _ in range(100)}
    assert len(made) == 100
    assert all(one.isascii() and len(one) == 18 and one.startswith("p_") for one in made)

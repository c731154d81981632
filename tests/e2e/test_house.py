"""The house as an operator meets it: up, status, down, and what becomes of killed processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import urllib.request

import asyncpg
import grpc
import pytest
from croupier.wallet.v1 import wallet_pb2, wallet_pb2_grpc

from shared.rpc import tokens
from shared.rpc.access import Role
from shared.rpc.channel import call_metadata, connect
from tests.e2e.houses import OPEN_TIMEOUT_S, PROCESSES, HouseOnDisk, alive, database_of
from tests.polling import eventually

# Each command has its own bound; some tests open a house twice.
pytestmark = pytest.mark.timeout(300)


async def test_every_process_serves_and_says_so(open_house: HouseOnDisk) -> None:
    told = await open_house.status()
    assert told["open"]
    assert told["serves"]
    assert tuple(told["processes"]) == PROCESSES
    assert all(process["serves"] for process in told["processes"].values())
    shown = await open_house.run("status")
    assert shown.status == 0
    assert all(name in shown.out for name in PROCESSES)


async def test_a_second_house_does_not_open_in_the_same_folder(open_house: HouseOnDisk) -> None:
    second = await open_house.run("up")
    assert second.status == 1
    assert "is open" in second.err
    again = await open_house.run("up", "--detach")
    assert (again.status, again.out) == (0, "the house is open already\n")


def test_secrets_are_for_their_owner_only(open_house: HouseOnDisk) -> None:
    for folder in ("keys", "secrets/shuffle", "secrets/table", "secrets/wallet"):
        for file in (open_house.file.parent / folder).iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_service_is_told_its_own_secrets_only(open_house: HouseOnDisk) -> None:
    def names(service: str) -> set[str]:
        return {file.name for file in (open_house.file.parent / "secrets" / service).iterdir()}

    common = {"croupier_database_dsn", "croupier_nats_url", "croupier_token_public_key"}
    assert names("wallet") == names("relay") == common
    sealing = common | {
        "croupier_deployment_key",
        "croupier_deployment_key_id",
        "croupier_old_deployment_keys",
    }
    seeds = {"croupier_seed_key", "croupier_seed_key_id", "croupier_old_seed_keys"}
    assert names("shuffle") == sealing | seeds
    assert names("table") == sealing | {"croupier_service_token"}
    signing = {"croupier_log_id", "croupier_checkpoint_key"}
    assert names("audit") == sealing | {"croupier_service_token"} | signing


def test_every_service_has_metrics(open_house: HouseOnDisk) -> None:
    for service, (address, *_) in open_house.told()["metrics"].items():
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            assert f'service="{service}"' in answer.read().decode()


async def test_migrating_an_open_house_again_changes_nothing(open_house: HouseOnDisk) -> None:
    done = await open_house.run("migrate")
    assert done.status == 0
    assert "0 applied" in done.out


@pytest.mark.parametrize("name", PROCESSES)
async def test_a_killed_process_comes_back(open_house: HouseOnDisk, name: str) -> None:
    restarts = open_house.kill(name)
    await open_house.is_back(name, restarts)

    async def everything_serves() -> bool:
        return bool((await open_house.status())["serves"])

    await eventually(everything_serves, within_s=OPEN_TIMEOUT_S)


async def open_account(house: HouseOnDisk, player: str) -> None:
    key = (house.file.parent / house.told()["token_key_file"]).read_text()
    token = tokens.sign(key, player, Role.PLAYER, 60)
    async with connect(house.told()["addresses"]["wallet"][0]) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        await stub.OpenAccount(
            wallet_pb2.OpenAccountRequest(
                command_id="6f1e6a3c-8f57-4b0f-9c3e-0d8f5f1c1a01", currency="CHF"
            ),
            metadata=call_metadata(token),
        )


async def has_account(house: HouseOnDisk, player: str) -> bool:
    key = (house.file.parent / house.told()["token_key_file"]).read_text()
    token = tokens.sign(key, player, Role.PLAYER, 60)
    async with connect(house.told()["addresses"]["wallet"][0]) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        try:
            await stub.GetAccount(wallet_pb2.GetAccountRequest(), metadata=call_metadata(token))
        except grpc.aio.AioRpcError:
            return False
    return True


async def test_a_closed_house_leaves_nothing_running_and_opens_with_the_same_data(
    house: HouseOnDisk,
) -> None:
    assert (await house.run("up", "--detach")).status == 0
    await open_account(house, "ann")
    ports = house.told()["ports"]
    pids = [process["pid"] for process in house.told()["processes"].values()]

    assert (await house.run("down")).status == 0
    assert not [pid for pid in pids if alive(pid)]
    assert (await house.run("status")).status == 1
    assert (await house.run("down")).status == 0

    assert (await house.run("up", "--detach")).status == 0
    assert house.told()["ports"] == ports
    assert await has_account(house, "ann")
    assert not await has_account(house, "bob")


async def test_a_house_whose_supervisor_was_killed_opens_again(house: HouseOnDisk) -> None:
    assert (await house.run("up", "--detach")).status == 0
    await open_account(house, "ann")
    told = house.told()
    house_pid = told["pid"]
    pids = [process["pid"] for process in told["processes"].values()]
    os.kill(house_pid, signal.SIGKILL)
    await eventually(lambda: not alive(house_pid))

    assert (await house.run("up", "--detach")).status == 0
    assert not [pid for pid in pids if alive(pid)]
    assert await has_account(house, "ann")


async def test_ctrl_c_closes_the_house_in_the_reverse_order(house: HouseOnDisk) -> None:
    supervisor = house.start("up")
    await eventually(house.is_up, within_s=OPEN_TIMEOUT_S)
    supervisor.send_signal(signal.SIGINT)
    answer = await house.end_of(supervisor)
    assert answer.status == 0, answer
    stopped = [line for line in answer.out.splitlines() if "process_stopped" in line]
    order = [name for line in stopped for name in PROCESSES if f'"process": "{name}"' in line]
    assert order == list(reversed(PROCESSES))


async def test_ctrl_c_while_the_house_opens_closes_what_is_open(house: HouseOnDisk) -> None:
    supervisor = house.start("up")
    await eventually(lambda: "nats" in house.told()["processes"], within_s=OPEN_TIMEOUT_S)
    pids = [process["pid"] for process in house.told()["processes"].values()]
    supervisor.send_signal(signal.SIGINT)
    answer = await house.end_of(supervisor)
    assert answer.status == 0, answer
    assert not [pid for pid in pids if alive(pid)]


async def park(house: HouseOnDisk) -> None:
    """Has the wallet put an event aside that it can apply very well."""
    connection = await asyncpg.connect(database_of(house))
    try:
        await connection.execute(
            "INSERT INTO wallet.parked_events"
            " (consumer, stream, version, partition, position, type, error)"
            " VALUES ('wallet', 'table/none', 1, 'table.0', 1, 'TableOpened', 'a trial')"
        )
    finally:
        await connection.close()


async def test_what_is_parked_is_shown_and_tried_again(open_house: HouseOnDisk) -> None:
    assert (await open_house.run("parked", "list")).out == "nothing is parked\n"
    assert (await open_house.run("parked", "retry", "table/none")).status == 1

    await park(open_house)
    (parked,) = json.loads((await open_house.run("parked", "list", "--json")).out)
    assert (parked["stream"], parked["error"]) == ("table/none", "a trial")
    assert "a trial" in (await open_house.run("parked", "list")).out

    assert (await open_house.run("parked", "retry", "table/none")).status == 0


async def test_parked_events_of_no_house_are_asked_for_in_vain(house: HouseOnDisk) -> None:
    asked = await house.run("parked", "list")
    assert asked.status == 1
    assert "no house is open here" in asked.err

"""Pages, placement, openings and commands: the table service's small pure parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest
from croupier.table.v1 import table_pb2 as pb
from croupier.table.v1.events_pb2 import Clocks, InsuranceStake
from croupier.type.v1.money_pb2 import Money

from services.table.commands import bounded_note, command_uuid, proposal
from services.table.directory import preferred_node
from services.table.forward import is_lost
from services.table.loading import NotKnownError, load
from services.table.opening import default_clocks, opening
from shared.errors import CroupierError
from shared.log import Append, MemoryLog, NewEvent
from shared.rpc import pages
from shared.rpc.access import COMMANDS, Role
from shared.rpc.caller import Caller, bind
from shared.rpc.errors import to_status
from shared.sealing import Keyring
from shared.table import events as e
from shared.table.codec import TableCodec
from shared.table.sealer import KeyringSealer

ANN = Caller("ann", Role.PLAYER, "token")


def refusal(error: pytest.ExceptionInfo[CroupierError]) -> tuple[str, str]:
    return error.value.reason, error.value.field


# ---- Pages


def all_pages(items: list[str], size: int) -> Iterator[list[str]]:
    token = ""
    while True:
        chosen, token = pages.page(items, size, token, lambda item: item)
        yield list(chosen)
        if not token:
            return


def test_pages_hold_every_item_once_in_order() -> None:
    items = [f"t{n:03}" for n in range(101)]
    for size in (1, 7, 50, 101, 200):
        found = list(all_pages(items, size))
        assert [item for page in found for item in page] == items
        assert all(len(page) == size for page in found[:-1])
    assert list(all_pages([], 5)) == [[]]


def test_a_page_goes_on_behind_an_item_that_is_gone() -> None:
    _, token = pages.page(["a", "b", "c"], 2, "", lambda item: item)
    assert pages.page(["a", "c"], 2, token, lambda item: item)[0] == ["c"]


def test_a_page_size_has_a_default_and_a_bound() -> None:
    assert pages.size(0) == pages.DEFAULT_SIZE
    assert pages.size(10**6) == pages.MOST
    with pytest.raises(CroupierError) as refused:
        pages.size(-1)
    assert refusal(refused) == ("BAD_REQUEST", "page_size")


@pytest.mark.parametrize("token", ["?", "abc", "é", "gIGB", "dDE=\n"])
def test_a_token_of_no_answer_is_refused(token: str) -> None:
    with pytest.raises(CroupierError) as refused:
        pages.last_of(token)
    assert refusal(refused) == ("BAD_PAGE_TOKEN", "page_token")


# ---- Placement


def test_tables_spread_and_only_those_of_a_node_that_goes_move() -> None:
    nodes = ("a", "b", "c", "d")
    tables = [f"t{n}" for n in range(1_000)]
    before = {table: preferred_node(table, nodes) for table in tables}
    for node in nodes:
        assert 180 <= list(before.values()).count(node) <= 320
    after = {table: preferred_node(table, nodes[:-1]) for table in tables}
    for table in tables:
        assert after[table] == before[table] or before[table] == "d"
    assert preferred_node("t1", ()) is None


# ---- Openings


async def test_what_an_operator_leaves_out_is_the_house_s_default() -> None:
    bind(Caller("olga", Role.OPERATOR, "token"), uuid4())
    request = pb.OpenTableRequest(
        command_id=str(uuid4()), table_id="t1", game="baccarat", currency="EUR"
    )
    defaults = default_clocks(grace_s=7.5)
    opened = opening(request, defaults).make(5)
    assert isinstance(opened, e.TableOpened)
    assert (opened.name, opened.seats, opened.rules_json, opened.at) == ("t1", 7, "{}", 5)
    assert (opened.clocks.betting_ms, opened.clocks.grace_ms) == (15_000, 7_500)
    request.clocks.CopyFrom(Clocks(betting_ms=1, grace_ms=2))
    request.rules_json = '{ "min": 100,  "max": 500 }'
    asked = opening(request, defaults).make(5)
    assert isinstance(asked, e.TableOpened)
    assert asked.clocks == replace(opened.clocks, betting_ms=1, grace_ms=2)
    assert asked.rules_json == '{"max":500,"min":100}'


# ---- Commands


ACTIONS: dict[str, Any] = {
    "join": pb.JoinTable(),
    "leave": pb.LeaveTable(),
    "sit_out": pb.SitOut(sitting_out=True),
    "buy_chips": pb.BuyChips(amount=Money(currency="EUR", minor_units=1)),
    "cash_out": pb.CashOut(),
    "place_bet": pb.PlaceBet(box=1, wager="player", stake=Money(currency="EUR", minor_units=1)),
    "take_back_bets": pb.TakeBackBets(box=1),
    "admit_bettor": pb.AdmitBettor(box=1, bettor="bob"),
    "done_betting": pb.DoneBetting(),
    "cut_shoe": pb.CutShoe(place=9),
    "pledge_seed": pb.PledgeSeed(commitment=bytes(32)),
    "reveal_seed": pb.RevealSeed(seed=bytes(32)),
    "decide": pb.Decide(box=1, action="bet"),
    "report_incident": pb.ReportIncident(incident="card_exposed"),
    "rule_void": pb.RuleVoid(note="why"),
    "confirm_incident": pb.ConfirmIncident(),
    "penalise": pb.Penalise(player="bob", penalty="warning"),
    "object_to_join": pb.ObjectToJoin(player="bob"),
}


def given(kind: str, command_id: UUID, role: Role, **changes: Any) -> Any:
    action = type(ACTIONS[kind])()
    action.CopyFrom(ACTIONS[kind])
    for name, value in changes.items():
        setattr(action, name, value)
    who = Caller("ann", role, "token")
    bind(who, uuid4())
    fields: dict[str, Any] = {kind: action}
    return proposal(who, pb.Command(command_id=str(command_id), **fields), "EUR")


@pytest.mark.parametrize("kind", sorted(COMMANDS))
async def test_every_command_is_for_its_roles_alone(kind: str) -> None:
    for role in Role:
        if role in COMMANDS[kind]:
            made = given(kind, uuid4(), role)
            assert made.actor == f"{role}:ann"
            assert made.make(77).at == 77
        else:
            with pytest.raises(CroupierError) as refused:
                given(kind, uuid4(), role)
            assert refusal(refused) == ("ROLE_NOT_ALLOWED", "action")


async def test_a_command_is_known_by_its_caller_its_id_and_its_body() -> None:
    same = uuid4()
    first = given("cut_shoe", same, Role.PLAYER)
    again = given("cut_shoe", same, Role.PLAYER)
    other = given("cut_shoe", same, Role.PLAYER, place=10)
    assert first.command == again.command
    assert (other.command.command_id, other.command.caller) == (same, "ann")
    assert other.command.body_hash != first.command.body_hash
    # Empty ones are told apart by their kind.
    bodies = {given(kind, same, Role.PLAYER).command.body_hash for kind in ("join", "leave")}
    assert len(bodies) == 2


async def test_chips_are_cashed_by_an_amount_or_all_of_them() -> None:
    def asked(cash_out: pb.CashOut) -> Any:
        return proposal(ANN, pb.Command(command_id=str(uuid4()), cash_out=cash_out), "EUR").make(5)

    assert asked(pb.CashOut()) == e.CashOutAsked("ann", 0, 5)
    some = pb.CashOut(amount=Money(currency="EUR", minor_units=1))
    assert asked(some) == e.CashOutAsked("ann", 1, 5)
    for minor_units in (0, -1):
        with pytest.raises(CroupierError) as refused:
            asked(pb.CashOut(amount=Money(currency="EUR", minor_units=minor_units)))
        assert refusal(refused) == ("BAD_AMOUNT", "amount")


async def test_no_penalty_has_an_amount_below_zero() -> None:
    penalty = pb.Penalise(player="bob", penalty="warning")
    penalty.amount.CopyFrom(Money(currency="EUR", minor_units=-1))
    pit = Caller("pia", Role.PIT, "token")
    with pytest.raises(CroupierError) as refused:
        proposal(pit, pb.Command(command_id=str(uuid4()), penalise=penalty), "EUR")
    assert refusal(refused) == ("BAD_AMOUNT", "amount")


def test_a_call_that_was_cut_after_the_other_node_had_spoken_is_lost() -> None:
    """gRPC then gives a status of its own beside the other node's words, which do not fit it."""
    status = to_status(CroupierError("BAD_STAKE", "not that"), "5f0c")
    trailing = grpc.aio.Metadata(*(status.trailing_metadata or ()))
    cut = grpc.StatusCode.UNAVAILABLE
    assert is_lost(grpc.aio.AioRpcError(cut, grpc.aio.Metadata(), trailing, "Stream removed"))
    said = grpc.aio.AioRpcError(status.code, grpc.aio.Metadata(), trailing, "not that")
    assert not is_lost(said)


def test_a_note_is_bounded_and_an_id_is_a_uuid() -> None:
    assert bounded_note("n" * 500)
    with pytest.raises(CroupierError) as refused:
        bounded_note("n" * 501)
    assert refusal(refused) == ("BAD_REQUEST", "note")
    for control in ("\0", "\x1b", "\n", "\x7f", "\x9b"):
        with pytest.raises(CroupierError) as refused:
            bounded_note(f"say{control}so")
        assert refusal(refused) == ("BAD_REQUEST", "note")
    with pytest.raises(CroupierError) as refused:
        command_uuid("")
    assert refusal(refused) == ("BAD_REQUEST", "command_id")


@pytest.mark.parametrize("player", ["ann\0", "a" * 65])
def test_who_is_insured_is_looked_at_also_where_the_game_has_no_insurance(player: str) -> None:
    insured = pb.Decide(box=1, action="bet", insurance=[InsuranceStake(player=player, stake=5)])
    with pytest.raises(CroupierError) as refused:
        proposal(ANN, pb.Command(command_id=str(uuid4()), decide=insured), "EUR")
    assert refusal(refused) == ("BAD_REQUEST", "insurance")


# ---- Loading


def codec_with(**keys: int) -> TableCodec:
    """A codec that seals with the first of these keys."""
    ring = {key_id: bytes([byte] * 32) for key_id, byte in keys.items()}
    return TableCodec(KeyringSealer(Keyring(next(iter(ring)), ring)))


KNOWN = codec_with(k1=1)
TOO_NEW = [
    e.TableOpened("t1", "t1", "whist", 1, "{}", "EUR", seats=7),
    e.TableOpened("t1", "t1", "baccarat", 99, "{}", "EUR", seats=7),
]


@pytest.mark.parametrize("opened", TOO_NEW, ids=["game", "version"])
async def test_a_table_whose_rules_are_not_known_is_not_loaded(opened: e.TableOpened) -> None:
    """Architecture, 3: a node claims only tables whose rules it knows."""
    log = MemoryLog()
    event = NewEvent("TableOpened", KNOWN.encode(opened, ""), "operator:olga")
    await log.append([Append(uuid4(), "table/t1", 0, (event,))])
    with pytest.raises(NotKnownError) as refused:
        await load(log, KNOWN, "t1")
    assert refusal(refused) == ("NO_OWNER", "table_id")
    assert (await load(log, KNOWN, "t2")).version == 0


NOTED = codec_with(k2=2, k1=1).encode(e.TableClosing("olga", "a note"), "")
"""By a node that has a newer key already."""


@pytest.mark.parametrize(
    "event",
    [NewEvent("TableRenamed", b"", "olga"), NewEvent("TableClosing", NOTED, "olga")],
    ids=["type", "key"],
)
async def test_a_table_with_events_that_cannot_be_read_is_not_loaded(event: NewEvent) -> None:
    log = MemoryLog()
    clocks = e.Clocks()
    opened = e.TableOpened("t1", "t1", "baccarat", 1, "{}", "EUR", clocks, 7)
    first = NewEvent("TableOpened", KNOWN.encode(opened, ""), "olga")
    await log.append([Append(uuid4(), "table/t1", 0, (first,))])
    assert (await load(log, KNOWN, "t1")).version == 1
    await log.append([Append(uuid4(), "table/t1", 1, (event,))])
    with pytest.raises(NotKnownError):
        await load(log, KNOWN, "t1")

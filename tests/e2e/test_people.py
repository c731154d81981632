"""People at a real house: players at the terminal, operators, auditors, all through `croupier`."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clients.api import RefusedError, TableClient, commands
from clients.api.house import Identity, find_house
from clients.api.sight import Sight
from clients.bots.closing import settle, verify_everything
from clients.bots.run import open_tables, play_hands
from clients.bots.strategies import STRATEGIES
from clients.cli.app import app
from shared.checkpoints.signed_note import NoteSigner
from tests.e2e.houses import ROOT, HouseOnDisk
from tests.e2e.seats import CHIPS, bet, deciding, seated, until
from tests.polling import eventually

Croupier = Callable[..., Result]


@pytest.fixture
def croupier(open_house: HouseOnDisk) -> Croupier:
    """Runs `croupier words…` at the open house, with `lines` on standard input."""

    def run(*words: str, lines: str = "", status: int = 0) -> Result:
        ran = CliRunner().invoke(app, ["--house", str(open_house.file), *words], input=lines)
        assert ran.exit_code == status, (words, ran.output, ran.exception)
        return ran

    return run


def answer(ran: Result) -> Any:
    """What `--json` printed."""
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def played(open_house: HouseOnDisk) -> list[str]:
    """Tables at which bots have played some hands of each game."""
    house = find_house(open_house.file)

    async def play() -> list[str]:
        tables = await open_tables(house, sorted(STRATEGIES))
        summary = await play_hands(house, tables, 25, lambda _: None, seats=2, seed=1)
        assert summary.hands == 25
        assert not summary.still_seated
        ledger = await settle(house)
        assert ledger.balanced
        verified = await verify_everything(house, lambda _: None)
        assert verified.clean, verified.findings
        assert verified.hands >= 25
        return tables

    return asyncio.run(play())


def test_bots_play_all_games_and_everything_verifies(played: list[str]) -> None:
    assert len(played) == len(STRATEGIES)


def test_an_auditor_finds_replays_and_verifies_a_hand(
    croupier: Croupier, played: list[str]
) -> None:
    found = answer(croupier("hands", "--table", "oasis_poker-1", "--limit", "3", "--json"))
    assert 1 <= len(found) <= 3
    hand = found[0]["hand_id"]
    assert hand in croupier("hands", "--game", "oasis_poker").stdout

    replayed = answer(croupier("replay", hand, "--json"))
    kinds = [step["type"] for step in replayed["steps"]]
    assert "HandOpened" in kinds
    assert "HandSettled" in kinds
    assert f"{hand}  oasis_poker hand" in croupier("replay", hand).stdout

    assert answer(croupier("verify", hand, "--json"))["verified"] is True
    assert f"✓ {hand} verifies" in croupier("verify", hand).stdout
    everything = answer(croupier("verify", "--all", "--json"))
    assert everything["verified"] is True
    assert everything["complete"] is True


def test_the_house_is_held_to_its_checkpoints(
    open_house: HouseOnDisk, croupier: Croupier, played: list[str], tmp_path: Path
) -> None:
    key = open_house.run_now("keys", "verifier").out.strip()
    file = tmp_path / "held.txt"
    for _ in range(2):  # the second time it is added to
        croupier("checkpoint", "save", str(file), "--key", key)
    kept = file.read_text()
    assert kept.count("/table.0\n") == kept.count("/wallet.0\n") == 2
    told = answer(croupier("checkpoint", "check", "-", "--json", "--key", key, lines=kept))
    assert (told["holds"], told["key"], len(told["checkpoints"])) == (True, key, 8)
    verified = answer(croupier("verify", "--all", "--against", str(file), "--json"))
    assert (verified["verified"], verified["against"]) == (True, 8)
    lines = kept.split("\n")
    lines[1] = "1"
    forged = "\n".join(lines)
    refused = croupier("checkpoint", "check", "-", lines=forged, status=1)
    assert f"{lines[0]}: the signature is not one of" in refused.stdout
    croupier("checkpoint", "check", "-", lines="no checkpoint", status=1)
    other = NoteSigner(key.partition("+")[0], bytes(32)).verifier
    croupier("checkpoint", "check", str(file), "--key", str(other), status=1)
    croupier("verify", "baccarat-1-1", "--against", str(file), status=2)


def test_everybody_can_check_the_cards_of_a_hand(croupier: Croupier, played: list[str]) -> None:
    (hand,) = answer(croupier("hands", "--table", "baccarat-1", "--limit", "1", "--json"))
    document = answer(croupier("verify-card", "--hand", hand["hand_id"], "--json"))
    assert document["holds"] is True
    assert 4 <= len(document["cards"]) <= 6
    checked = croupier("verify-card", "-", lines=json.dumps(document))
    assert checked.stdout.count("holds") == len(document["cards"])
    document["cards"][0]["salt"] = "00" * 16
    croupier("verify-card", "-", lines=json.dumps(document), status=1)


def test_money_goes_to_an_account_and_away_again(croupier: Croupier) -> None:
    operator = ("--player", "p_somebody")
    opened = answer(croupier("account", "open", *operator, "--json"))
    assert opened["balance"] == {"currency": "CHF", "minor_units": 0}
    assert "100.00 CHF" in croupier("account", "deposit", "100", *operator).stdout
    assert "87.50 CHF" in croupier("account", "withdraw", "12.5", *operator).stdout
    listed = answer(croupier("account", "statement", *operator, "--json"))
    assert [one["change"]["minor_units"] for one in listed] == [-1250, 10_000]
    assert "withdrawal" in croupier("account", "statement", *operator).stdout
    assert "p_somebody: 87.50 CHF" in croupier("account", "show", *operator).stdout
    books = answer(croupier("ledger", "--json"))
    assert [money["minor_units"] for money in books["sums"]] == [0]
    refused = croupier("account", "withdraw", "1000", *operator, status=1)
    assert "INSUFFICIENT_FUNDS" in str(refused.exception)


def test_an_operator_opens_and_closes_tables(croupier: Croupier) -> None:
    refused = croupier("table", "open", "baccarat", "--set", "max_payout=x", status=1)
    assert "BAD_SETTING" in str(refused.exception)
    words = ("--table", "high", "--set", "min=10000", "--clock", "betting_ms=5000")
    opened = answer(croupier("table", "open", "baccarat", *words, "--json"))
    assert json.loads(opened["rules_json"])["min"] == 10_000
    assert "100.00 –" in croupier("tables").stdout
    again = croupier("table", "open", "baccarat", "--table", "high", status=1)
    assert "TABLE_EXISTS" in str(again.exception)
    croupier("table", "close", "high")
    statuses = {one["table_id"]: one["status"] for one in answer(croupier("tables", "--json"))}
    assert statuses.get("high", "TABLE_STATUS_CLOSED") != "TABLE_STATUS_OPEN"


def test_a_script_plays_on_standard_input(open_house: HouseOnDisk, croupier: Croupier) -> None:
    croupier("table", "open", "baccarat", "--table", "quiet")
    lines = "cut 100\nbanker 50\ndone\nplayer 20\ndone\nleave\n"
    ran = croupier("play", "baccarat", "--table", "quiet", lines=lines)
    assert "The shoe is sealed (416 cards" in ran.stdout
    assert "seeds of players in it: yours" in ran.stdout
    assert "You played 2 hands:" in ran.stdout
    assert asyncio.run(settle(find_house(open_house.file))).caught_up
    hands = answer(croupier("hands", "--table", "quiet", "--json"))
    assert len(hands) == 2
    verified = answer(croupier("verify", hands[0]["hand_id"], "--json"))
    assert verified["verified"] is True


class OnScreen:
    """What a pseudo-terminal has shown so far, and its keys."""

    def __init__(self, leader: int) -> None:
        self.shown = ""
        self._leader = leader
        asyncio.get_running_loop().add_reader(leader, self._read)

    def _read(self) -> None:
        try:
            self.shown += os.read(self._leader, 65_536).decode(errors="replace")
        except OSError:  # Linux: the other end is closed.
            asyncio.get_running_loop().remove_reader(self._leader)

    def press(self, keys: str) -> None:
        """Types; what was shown before is forgotten."""
        self.shown = ""
        os.write(self._leader, keys.encode())

    async def shows(self, text: str) -> None:
        """Waits until it is on the screen."""
        await eventually(lambda: text in self.shown, within_s=60)


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: the end with keys and screen, and the program's end."""
    leader, follower = pty.openpty()
    try:
        yield leader, follower
    finally:
        os.close(leader)


async def test_a_person_plays_at_the_terminal(open_house: HouseOnDisk) -> None:
    with terminal() as (leader, follower):
        playing = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "deploy.main", "play", "baccarat", "--table", "evening"),
            cwd=ROOT,
            env={
                **os.environ,
                "CROUPIER_HOUSE": str(open_house.file),
                "TERM": "xterm-256color",
                "COLUMNS": "100",
                "LINES": "50",
            },
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        screen = OnScreen(leader)
        await screen.shows("you have")
        await screen.shows("player|tie AMOUNT")
        await screen.shows("banker AMOUNT")
        screen.press("help\n")
        await screen.shows("words may be shortened")
        screen.press("rules\n")
        await screen.shows("An ace counts 1")
        screen.press("rules\n")
        screen.press("b 50\n")
        await screen.shows("banker 50.00")
        screen.press("done\n")
        await screen.shows("cut [CARDS]")
        screen.press("cut 100\n")
        await screen.shows("the last hand's cards")
        playing.send_signal(signal.SIGINT)
        await screen.shows("You played 1 hand:")
        assert await playing.wait() == 0


@pytest.fixture(autouse=True, scope="module")
def evening(open_house: HouseOnDisk) -> None:
    """A table for the one who plays at the terminal."""
    words = ["--house", str(open_house.file), "table", "open", "baccarat", "--table", "evening"]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_the_documented_example_plays_a_coup(
    open_house: HouseOnDisk, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "clients.md").read_text()
    example = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.setenv("CROUPIER_HOUSE", str(open_house.file))
    monkeypatch.delenv("CROUPIER_ADDRESS", raising=False)
    monkeypatch.delenv("CROUPIER_TOKEN", raising=False)
    printed: list[object] = []
    exec(example, {"__name__": "example", "print": printed.append})
    assert printed in ([5_000], [-5_000], [0])


async def test_the_library_sees_the_lobby_tables_and_hands(
    open_house: HouseOnDisk, played: list[str]
) -> None:
    house = find_house(open_house.file)
    who = Identity("p_looker", "player")
    async with house.connect("table", who) as connection:
        client = TableClient(connection, who.subject)
        async for tables in client.lobby():
            assert set(played) <= {table.table_id for table in tables}
            break
        view = await client.view("battle-1")
        assert view.table.table.game == "battle"
        (newest,) = await client.hands("battle-1", limit=1)
        hand = await client.hand(newest.hand_id)
        assert hand.hand.hand_id == newest.hand_id
        with pytest.raises(RefusedError, match="NOT_SEATED"):
            await client.execute("battle-1", commands.leave())


def test_a_run_at_an_open_house_plays_verifies_and_sums_up(open_house: HouseOnDisk) -> None:
    ran = open_house.run_now("run", "--hands", "10")
    assert ran.status == 0, ran
    assert "10 hands" in ran.out
    assert "everything holds" in ran.out
    assert "all accounts together: 0.00 CHF" in ran.out


Pit = Callable[..., Awaitable[Result]]


@pytest.fixture
def pit(croupier: Croupier) -> Pit:
    """The same from within a test that holds a seat at the time."""
    return partial(asyncio.to_thread, croupier)


async def test_the_pit_at_a_table_of_hold_em(open_house: HouseOnDisk, pit: Pit) -> None:
    await pit("table", "open", "casino_holdem", "--table", "floor")
    matrix = (await pit("pit", "incidents")).stdout
    assert "wrong_card_count  void      void    redeal         void         redeal" in matrix
    async with seated(open_house, "p_ann", "floor") as ann:
        changed = await pit("pit", "report", "floor", "dealer_change", "--note", "a break")
        assert "The pit reports: dealer change.\nPlay goes on (TAB-08).\n" in changed.stdout
        await bet(ann, "ante")
        hand = (await until(ann, deciding)).table.hand_id
        shown = (await pit("pit", "show", "floor")).stdout
        assert f"floor  casino_holdem  decisions  hand {hand}" in shown
        assert "p_ann   490.00  1" not in shown  # the stake lies there till the end
        assert "p_ann   500.00  1" in shown
        assert "board" in shown

        early = await pit("pit", "report", "floor", "dealer_change", status=1)
        assert "HAND_RUNNING" in str(early.exception)
        exposed = await pit("pit", "report", "floor", "card_exposed", "--card", "0", "--json")
        events = [one["type"] for one in json.loads(exposed.stdout)]
        assert events == ["IncidentReported", "IncidentResolved"]
        again = await pit("pit", "report", "floor", "wrong_card_count", "--as-dealer")
        assert "The dealer reports: wrong card count." in again.stdout
        assert "The hand is dealt again (wrong card count): antes stay." in again.stdout
        await until(ann, deciding)
        ruled = await pit("pit", "void", "floor", "--note", "a quarrel")
        assert "The hand is void (management): all stakes go back." in ruled.stdout
        nothing = await pit("pit", "void", "floor", status=1)
        assert "NO_HAND" in str(nothing.exception)
        await until(ann, lambda _: ann.you.free_chips.minor_units == CHIPS)
        replayed = (await pit("replay", hand)).stdout
        for words in (
            "local-pit, pit, reports card exposed, position 0",
            "local-dealer, dealer, reports wrong card count",
            "The hand is to be dealt again: wrong card count",
            "local-pit, pit, rules that the hand is void (“a quarrel”)",
        ):
            assert words in replayed
        assert (await pit("verify", hand)).stdout.startswith(f"✓ {hand} verifies")

        unknown = await pit("pit", "warn", "floor", "p_bob", status=2)
        assert "p_ann" in unknown.output
        await pit("pit", "warn", "floor", "p_ann")
        fined = await pit("pit", "fine", "floor", "p_a", "12.50", "--note", "a word")
        assert "p_ann pays a fine of 12.50." in fined.stdout
        await until(ann, lambda _: ann.you.free_chips.minor_units == CHIPS - 1_250)
        removed = await pit("pit", "remove", "floor", "p_ann")
        assert "p_ann leaves the table." in removed.stdout
        await until(ann, lambda sight: sight.seat is None)
        with pytest.raises(RefusedError, match="PLAYER_REMOVED"):
            await ann.execute(commands.join())
    closed = await pit("pit", "close", "floor")
    assert "floor closes" in closed.stdout


def test_the_pit_corrects_a_settled_hand(croupier: Croupier, played: list[str]) -> None:
    (hand,) = answer(croupier("hands", "--table", "battle-1", "--limit", "1", "--json"))
    player = ("--player", "p_wronged")
    croupier("account", "open", *player)
    ruling = ("battle-1", "p_wronged", "7.50", "--hand", hand["hand_id"], "--note", "ruling-1")
    assert "7.50 CHF" in croupier("pit", "correct", *ruling).stdout
    back = answer(croupier("pit", "correct", *ruling, "--take", "--json"))
    assert back["balance_after"]["minor_units"] == 0
    statement = answer(croupier("account", "statement", *player, "--json"))
    assert [one["transfer_kind"] for one in statement] == ["TRANSFER_KIND_CORRECTION"] * 2
    assert answer(croupier("verify", hand["hand_id"], "--json"))["verified"] is True
    assert "TransferPosted" in str(answer(croupier("replay", hand["hand_id"], "--json")))
    assert answer(croupier("verify", "--all", "--json"))["verified"] is True


def deciding_or_over(played: int, sight: Sight) -> bool:
    return deciding(sight) or sight.table.table.hands_played > played


async def test_the_pit_confirms_an_exposed_card_at_battle(
    open_house: HouseOnDisk, pit: Pit
) -> None:
    await pit("table", "open", "battle", "--table", "ring")
    async with seated(open_house, "p_bea", "ring") as bea:
        for _ in range(40):  # nearly half of all boxes win at once
            played = bea.table.table.hands_played  # before: the bet may end the hand
            await bet(bea, "stake")
            if deciding(await until(bea, partial(deciding_or_over, played))):
                break
        exposed = await pit("pit", "report", "ring", "card_exposed", "--as-dealer")
        assert exposed.stdout.endswith("It waits for the pit: croupier pit confirm ring\n")
        assert "card_exposed, waits to be confirmed" in (await pit("pit", "show", "ring")).stdout
        confirmed = await pit("pit", "confirm", "ring")
        assert "The next card is burned (TAB-08)." in confirmed.stdout
        nothing = await pit("pit", "confirm", "ring", status=1)
        assert "INCIDENT_NOT_ALLOWED" in str(nothing.exception)
        await until(bea, deciding)
        await bea.execute(commands.decide(1, "surrender"))


async def test_wrong_usage_of_the_pit_is_told(pit: Pit) -> None:
    assert "an incident is one of" in (await pit("pit", "report", "t", "fire", status=2)).output
    await pit("table", "open", "draw_poker", "--table", "cards", "--ante", "1")
    whose = await pit("pit", "report", "cards", "card_exposed", status=2)
    assert "whose card?" in whose.output
    gone = await pit("pit", "show", "nowhere", status=1)
    assert "TABLE_NOT_FOUND" in str(gone.exception)

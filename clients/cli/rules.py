"""The rules in short, and each clause that may decide a hand in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "baccarat": (
        "Bet on the player's hand, on the banker's, or on a tie; a tie goes with either, but "
        "nobody bets on both sides (BAC-01).\n"
        "An ace counts 1, two to nine their number, ten and pictures nothing; only the last "
        "digit of the sum counts (BAC-02). Nine is best.\n"
        "Two cards each. An 8 or 9 on either side ends it (BAC-05). Else the player draws a "
        "third on 0–5 (BAC-06), and the banker by the table of BAC-07 or, where the player "
        "stood, on 0–5 (BAC-08).\n"
        "Player and banker pay 1:1, a tie 8:1; on a tie the other stakes come back (BAC-09). "
        "5 % of a banker win is owed as commission until the shoe ends or you leave (BAC-10, "
        "BAC-11)."
    ),
    "battle": (
        "One card to your box, one to the dealer; only ranks count (BTL-01). Higher wins 1:1 "
        "at once (BTL-03). A dealer's new ace beats every box that is left (BTL-04).\n"
        "Not higher: `fight` stakes the same again for another card each, `surrender` gives "
        "up what lies there (BTL-05).\n"
        "In a fight your highest card must beat the dealer's highest, and none of the others, "
        "pair by pair, may be lower (BTL-06). Five cards without a win lose (BTL-07).\n"
        "Won on up to three cards pays 1:1, on four 2:1, on five 3:1, on all that was staked "
        "(BTL-08)."
    ),
    "casino_holdem": (
        "Stake an ante; two cards to you and the dealer, three on the board (CHE-01).\n"
        "`bet` twice the ante to see two more board cards, or `fold` (CHE-02). Best five of "
        "seven wins; the dealer plays with a pair of fours or better (CHE-03).\n"
        "He does not play: the ante pays by the table, the bet comes back (CHE-04). He plays: "
        "the better hand gets the ante by the table and the bet 1:1 (CHE-05).\n"
        "Ante table: up to a straight 1:1, flush 2:1, full house 3:1, four 10:1, straight "
        "flush 20:1, royal 100:1 (CHE-06)."
    ),
    "oasis_poker": (
        "Stake an ante, and a bonus on your first five cards if you like (OAS-01). Five cards "
        "each; the dealer's fifth is face up (OAS-06).\n"
        "Look at your cards, then `bet` twice the ante, `fold`, or `exchange` 1, 2 or 5 cards "
        "at a price, once (OAS-07), and bet or fold after that (OAS-08).\n"
        "The dealer plays with ace-king or better (OAS-09). He does not: the ante pays 1:1 "
        "and the bet comes back. He does: the better hand gets ante 1:1 and the bet by the "
        "table (OAS-10): ace-king or pair 1:1, two pair 2:1, three 3:1, straight 4:1, flush 5:1, "
        "full house 7:1, four 20:1, straight flush 50:1, royal 100:1 (OAS-11).\n"
        "The bonus pays from a straight, 40:1, up to a royal, 1000:1; an exchange loses it "
        "(OAS-13). Insurance, staked with the bet on a hand that is a game itself, pays 1:1 when "
        "the dealer has none (OAS-14)."
    ),
    "draw_poker": (
        "Everyone antes the same (DRW-01). Five cards each, face down (DRW-04).\n"
        "Bet in turn: `check` while nothing is bet, `bet`, `call`, `raise` or `fold`; an amount "
        "is all you have in the round after it (DRW-05). Then exchange up to three cards (DRW-08), "
        "and bet once more (DRW-09).\n"
        "Nobody bets: the pot is carried to the next hand (DRW-06, DRW-10). All but one fold: "
        "he takes it and shows nothing (DRW-07). Else the best hand wins (DRW-11)."
    ),
}
"""By game."""

CLAUSES: Mapping[str, str] = {
    "BAC-05": "an 8 or 9 on two cards: no more cards",
    "BAC-07": "the player drew, so the banker followed the table of third cards",
    "BAC-08": "the player stood, so the banker drew on 0–5",
    "BAC-09": "player and banker pay 1:1, a tie 8:1; on a tie the other stakes come back",
    "BAC-10": "the banker's commission is owed until the shoe ends",
    "BTL-03": "a first card above the dealer's wins 1:1",
    "BTL-04": "the dealer's new card is an ace: every box left loses",
    "BTL-05": "a surrendered box loses what lay on it",
    "BTL-06": "highest above highest, and none of the others lower",
    "BTL-07": "not won on five cards: lost",
    "BTL-08": "up to three cards pay 1:1, four 2:1, five 3:1, on all that was staked",
    "CHE-02": "everybody folded",
    "CHE-04": "the dealer has less than a pair of fours: ante pays, bet comes back",
    "CHE-05": "the dealer plays: the better hand wins",
    "CHE-06": "the ante pays by its table",
    "OAS-07": "everybody folded",
    "OAS-09": "the dealer plays with ace-king or better",
    "OAS-10": "against a hand that plays the better one wins; else ante 1:1",
    "OAS-11": "the bet pays by its table",
    "DRW-06": "nobody bet: the pot is carried",
    "DRW-07": "all others folded",
    "DRW-10": "nobody bet after the exchange: the pot waits for entries",
    "DRW-11": "the best hand takes each pot it paid into",
}
"""Of the clauses that results name."""

INCIDENTS: Mapping[str, tuple[str, ...]] = {
    "card_exposed": ("void", "burn", "go on", "void", "choice"),
    "wrong_card_count": ("void", "void", "redeal", "void", "redeal"),
    "wrong_order": ("void", "void", "void", "void", "redeal"),
    "dealer_change": ("go on", "burn", "go on", "go on", "go on"),
}
"""What may be reported, and what it leads to at each game of `RULES`, in their order (TAB-08)."""

OUTCOMES: Mapping[str, str] = {
    "void": "every stake goes back, nothing is paid; the shoe is changed",
    "redeal": "antes, entries and a carried pot stay, later stakes go back; a new shoe",
    "burn": "the next card is burned; an exposed one once the pit has confirmed it, a change of "
    "dealer between hands",
    "go on": "it is on record, no more; dealers change between hands, at oasis poker also before "
    "the cut",
    "choice": "the player whose card it is keeps it or has the hand dealt again",
}
"""What each of these means."""


def clause_text(clause: str) -> str:
    """`BAC-05: an 8 or 9 on two cards: no more cards`; the bare name of one not known here."""
    return f"{clause}: {CLAUSES[clause]}" if clause in CLAUSES else clause

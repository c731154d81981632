"""What to do about a refusal, for people."""

from __future__ import annotations

from collections.abc import Mapping

ADVICE: Mapping[str, str] = {
    "UNREACHABLE": "Start the house with `croupier up`, or say where it is with --address.",
    "UNAUTHENTICATED": "Get a token: `croupier token` next to a house, or pass --token.",
    "TOKEN_EXPIRED": "Get a new token: `croupier token`.",
    "ROLE_NOT_ALLOWED": "This takes a token of another role (`croupier token --role …`).",
    "ACCOUNT_NOT_FOUND": "Open the account first: `croupier account open`.",
    "ACCOUNT_EXISTS": "Nothing to do: `croupier account show` tells what is on it.",
    "INSUFFICIENT_FUNDS": "Deposit first: `croupier account deposit AMOUNT`.",
    "INSUFFICIENT_CHIPS": "Buy chips between hands: `buy AMOUNT`.",
    "CURRENCY_MISMATCH": "Use the currency of the account and the table.",
    "BAD_AMOUNT": "Write an amount like 50 or 12.50.",
    "TABLE_NOT_FOUND": "`croupier tables` lists the tables there are.",
    "NODE_NOT_FOUND": "`croupier nodes` lists the nodes there are.",
    "TABLE_FULL": "Take another table: `croupier tables`.",
    "TABLE_CLOSED": "Take another table: `croupier tables`.",
    "TABLE_EXISTS": "Choose another name, or use the table that is there: `croupier tables`.",
    "BAD_SETTING": "Change the setting that is named; docs/hand-script.md lists them.",
    "HAND_NOT_FOUND": "`croupier hands` lists the hands there are.",
    "CHECKPOINT_NOT_FOUND": "The house signs one a minute while it is played: try again then.",
    "NOT_INDEXED_YET": "The audit is still reading the log: try again in a moment.",
    "STAKE_BELOW_MINIMUM": "Stake at least the table's minimum.",
    "STAKE_ABOVE_MAXIMUM": "Stake at most the table's maximum.",
    "STAKE_NOT_DIVISIBLE": "Stake an amount of which the commission or price is whole cents.",
    "BOTH_SIDES": "Bet on player or banker, not on both; a tie goes with either.",
    "BETTING_CLOSED": "Wait for the next hand.",
    "HAND_RUNNING": "Wait until the hand is over.",
    "NO_HAND": "Only while a hand is played; `croupier pit show TABLE` tells.",
    "INCIDENT_NOT_ALLOWED": "`croupier pit incidents` tells what may be reported.",
    "CUT_TOO_NEAR_EDGE": "Cut further from the edge.",
    "NOT_SEATED": "Sit down first: `join`.",
    "CONSENT_NEEDED": "Choose another box: this one's owner has not let you in.",
    "TOO_MANY_BETTORS": "Choose another box.",
    "NOT_YOUR_TURN": "Wait for your turn.",
    "OVERLOADED": "Try again in a moment.",
    "NO_OWNER": "The table is being taken over by another node: try again in a moment.",
    "DRAINING": "The house is restarting: try again in a moment.",
    "LOG_UNAVAILABLE": "The house cannot write its log now: try again in a moment.",
    "UNANSWERED": "It is not known whether it happened: look before you repeat it.",
    "NO_PROGRESS": "Look at the services' logs (`croupier status` tells where they are).",
    "NOT_VERIFIED": "The findings above name the places; keep the data folder as it is.",
}
"""By reason; most other refusals say enough themselves."""

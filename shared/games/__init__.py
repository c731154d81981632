"""The rules of the five games: pure, one module a game, read top to bottom as a hand is played."""

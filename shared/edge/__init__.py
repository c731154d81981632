"""What a wager is worth on the average: exactly where all hands can be counted, else by playing."""

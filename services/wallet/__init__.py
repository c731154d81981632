"""The wallet: accounts and transfers, moved by the cashier's commands and by the tables' events."""

"""The audit: indexes the log for people, replays hands, verifies everything again."""

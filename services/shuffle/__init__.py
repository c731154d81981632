"""The shuffle service: shoes, from the server seed to the last card (docs/shuffle.md)."""

"""What proves a shoe (its order, its seal, each card), and the tree that proves the log.

Pure: no clock, no randomness, no I/O. docs/shuffle.md has the shoe in words, for another language;
tests/vectors/shoe has it in numbers.
"""

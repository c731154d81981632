"""What proves a shoe: its order, its seal and each card shown.

Pure: no clock, no randomness, no I/O. docs/shuffle.md has the same in words, for another
language; tests/vectors/shoe has it in numbers.
"""

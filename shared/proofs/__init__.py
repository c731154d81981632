"""What proves a shoe (its order, its seal, each card) and the log (its tree, what is signed of it).

Pure: no clock, no randomness, no I/O. docs/shuffle.md and docs/audit.md have the same in words, for
another language; tests/vectors/shoe has the shoe in numbers.
"""

"""What the house signs of its log, and how anybody reads it: docs/audit.md.

Pure: no clock, no randomness, no I/O. The tree that is signed is in `shared/proofs/log_tree.py`.
"""

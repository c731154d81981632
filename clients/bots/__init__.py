"""Bots: players that use the public API like anybody else."""

"""Hypothesis for the clause tests: on a busy machine one example may take any time."""

from hypothesis import settings

settings.register_profile("spec", deadline=None)
settings.load_profile("spec")

"""A whole house in one event loop: its time, its chance and its faults come from a seed."""

"""Strategies from outside the workbench; an example to copy."""

"""Compress encoders, measure every version the same way, keep what was seen, and compare."""

__version__ = "0.1.0"

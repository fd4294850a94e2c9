"""Runtimes: what executes an encoder, behind one small contract."""

"""A module that advertises a function where a Strategy class belongs."""


def shrink(encoder: object) -> object:
    """Give the encoder back as it is."""
    return encoder

"""A fast replacement for `dataclasses.replace` on frozen values."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import replace as fast_replace
else:

    def fast_replace(value, /, **changes):
        """Return a copy with these fields changed: `dataclasses.replace` without `__init__`, about ten times as fast.

        Only for frozen dataclasses without slots and without `__post_init__`, such as the states that change with every entry.
        Type checkers see `replace` itself, and so report a field that does not exist.
        """
        copy = object.__new__(type(value))
        copy.__dict__.update(value.__dict__, **changes)
        return copy


__all__ = ["fast_replace"]

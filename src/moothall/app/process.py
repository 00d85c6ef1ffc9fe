"""What Moot sets for a process that is its own: a command or a server, never a program that uses Moot as a library."""

import gc


def collect_garbage_rarely() -> None:
    """Look for cycles after many new objects, not after few hundred.

    Facts, states and prompts are freed when nobody refers to them; the search for cycles goes through all that sessions hold,
    over and over, and finds next to nothing.
    """
    gc.set_threshold(10_000, 20, 50)

"""The version of this Moot: a constant, because reading it from the installed metadata takes as long as a whole command."""

from typing import Final

VERSION: Final = "0.1.0"

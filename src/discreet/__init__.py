"""Ask a table anything; learn about no one."""

from discreet.belief import Promise

__all__ = ["Promise"]

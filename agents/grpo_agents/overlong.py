"""The soft overlong punishment: a completion that comes near its limit loses reward, the more the nearer."""

from __future__ import annotations

import math


def overlong_penalty(length: int, limit: int, buffer: int, penalty: float) -> float:
    """What is added to the reward of a completion for its length (DAPO, arXiv 2503.14476, equation 13, times penalty).

        0                                          length <= limit - buffer
        penalty * (limit - buffer - length) / buffer   in between
        -penalty                                   length >= limit

    Args:
        length: Tokens drawn, at least 0.
        limit: The most that could be drawn, L_max of the paper.
        buffer: Tokens before the limit over which the penalty rises, L_cache of the paper; 0 switches it off.
        penalty: The penalty at the limit, in units of reward, at least 0.

    Returns:
        0 to -penalty.

    Raises:
        ValueError: A negative length, a buffer below 0 or above the limit, or a penalty that is negative or infinite.
    """
    if length < 0:
        raise ValueError(f"length is {length}, must be at least 0 tokens")
    if not 0 <= buffer <= limit:
        raise ValueError(f"buffer is {buffer}, must be 0 to the limit of {limit} tokens")
    if not 0 <= penalty < math.inf:
        raise ValueError(f"penalty is {penalty}, must be finite and at least 0; it is taken off the reward")
    over = length - (limit - buffer)
    if buffer == 0 or over <= 0:
        return 0.0
    return -penalty * min(1.0, over / buffer)

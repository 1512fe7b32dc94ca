"""Rewards for puzzles: the rules decide, never the stored solution; answers are read by small strict parsers.

reading.py    answers as text -> names with values, grids, lists; nothing is evaluated, nothing is guessed
reward.py     PuzzleReward: reader and rules together, partial credit and soundness where they are asked for
"""

from grpo_rewards.logic.reading import UnreadError
from grpo_rewards.logic.reward import Findings, PuzzleReward

__all__ = ["Findings", "PuzzleReward", "UnreadError"]

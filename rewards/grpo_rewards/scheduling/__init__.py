"""Rewards for schedules and rotas: any valid plan counts, and the closer its cost is to the optimum, the more.

cost.py        CostReward: reader and cost together; the plain ratio, or the sharp one that pays above a baseline only
shop.py        job shop and flow shop: orders of jobs on machines
rota.py        staff rotas: people on days
timetable.py   orders of jobs -> start times, or why there are none
dispatch.py    dispatch rules: first in first out, shortest processing time, most work remaining
report.py      what a set of answers gains over the dispatch rules
"""

from grpo_rewards.scheduling.cost import BrokenPlanError, CostReward
from grpo_rewards.scheduling.rota import RotaReward
from grpo_rewards.scheduling.shop import FlowShopReward, JobShopReward

__all__ = ["BrokenPlanError", "CostReward", "FlowShopReward", "JobShopReward", "RotaReward"]

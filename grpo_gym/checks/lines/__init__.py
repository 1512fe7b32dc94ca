"""The questions of every report, in the order in which they are asked; one file per kind."""

from __future__ import annotations

from grpo_gym.checks.lines import answers, blind, hostile, problems, sameness, verdicts, wrong
from grpo_gym.checks.question import Question

QUESTIONS: tuple[Question, ...] = (
    answers.generator,
    answers.oracle,
    answers.round_trip,
    answers.fresh_process,
    answers.spellings,
    answers.equivalents,
    answers.second_solver,
    hostile.executes_answers,
    hostile.junk_raises,
    hostile.junk_kills,
    hostile.junk_in_time,
    hostile.junk_pays,
    hostile.own_probes,
    problems.leaks,
    blind.echo,
    wrong.near_miss,
    wrong.hedge,
    blind.constant_answer,
    blind.copied_part,
    blind.filled_blanks,
    sameness.repeatable,
    sameness.hash_seeds,
    sameness.threads,
    sameness.state,
    sameness.files,
    problems.generation_cost,
    problems.scoring_cost,
    hostile.cost_of_junk,
    problems.duplicates,
    problems.neighbouring_seeds,
    problems.splits,
    problems.tiers,
    problems.effort,
    verdicts.finite_numbers,
    verdicts.parts_add_up,
    verdicts.value_range,
)

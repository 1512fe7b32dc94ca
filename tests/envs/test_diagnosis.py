"""Diagnosis: posteriors by the whole joint distribution and by drawing patients, worked solutions line by line."""

from __future__ import annotations

import itertools
import re
import statistics
from typing import Any

import pytest

from grpo_envs.diagnosis.network import Finding, Network
from grpo_gym import Problem, Rng
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from grpo_rewards.probability import ForecastReward

TASK = load_tasks("grpo/diagnosis.noisy_or")[0]
TIERS = range(6)

Chances = dict[str, float]


def problems(tier: int, many: int) -> list[Problem]:
    return [TASK.problem(tier, split, seed, 0) for seed in range(many) for split in SPLITS]


def read(prompt: str) -> tuple[Chances, dict[str, tuple[Chances, float]], dict[str, bool]]:
    """Read priors, findings (links, other causes) and what was seen from the prompt."""
    lines = prompt.splitlines()
    priors = {name: float(p) for name, p in re.findall(r"([A-Z]\w+) (0\.\d+)", lines[1])}
    findings: dict[str, tuple[Chances, float]] = {}
    seen: dict[str, bool] = {}
    for line in lines[3:]:
        name, _, rest = line.partition(": ")
        if "other causes" in rest:
            *links, leak = re.findall(r"(\w+) (0\.\d+)", rest)
            findings[name] = ({disease: float(p) for disease, p in links}, float(leak[1]))
        elif name in ("Seen", "Not there, though looked for"):
            seen |= dict.fromkeys(rest.rstrip(".").split(", "), name == "Seen")
    return priors, findings, seen


def by_joint(prompt: str) -> Chances:
    """Sum the joint distribution over all states of all diseases."""
    priors, findings, seen = read(prompt)
    total, with_disease = 0.0, dict.fromkeys(priors, 0.0)
    for state in itertools.product((0, 1), repeat=len(priors)):
        there = dict(zip(priors, state, strict=True))
        weight = 1.0
        for disease, prior in priors.items():
            weight *= prior if there[disease] else 1 - prior
        for name, (links, leak) in findings.items():
            absent = 1 - leak
            for disease, link in links.items():
                absent *= 1 - link * there[disease]
            weight *= 1 - absent if seen[name] else absent
        total += weight
        for disease in priors:
            with_disease[disease] += weight * there[disease]
    return {disease: weight / total for disease, weight in with_disease.items()}


@pytest.mark.parametrize("tier", TIERS)
def test_the_posterior_is_that_of_the_whole_joint_distribution(tier):
    for problem in problems(tier, 8 if tier < 5 else 3):
        exact = by_joint(problem.prompt)
        assert problem.meta["posterior"] == pytest.approx(exact)
        assert problem.reference == ", ".join(f"{name}: {value:.2f}" for name, value in exact.items())


def test_patients_who_are_drawn_agree_with_the_posterior():
    """Diseases, links and leaks are drawn as the prompt says; those with the findings that were seen are counted."""
    problem = TASK.problem(2, "train", 3, 0)
    priors, findings, seen = read(problem.prompt)
    rng = Rng("patients")

    def happens(chance: float) -> bool:
        return rng.chance(round(100 * chance), 100)

    alike, ill = 0, dict.fromkeys(priors, 0)
    for _ in range(20_000):
        there = {disease: happens(prior) for disease, prior in priors.items()}
        shows = {
            name: any([happens(leak), *(happens(link) and there[disease] for disease, link in links.items())])
            for name, (links, leak) in findings.items()
        }
        if shows == seen:
            alike += 1
            for disease, has in there.items():
                ill[disease] += has
    assert alike > 500
    for disease, count in ill.items():
        assert count / alike == pytest.approx(problem.meta["posterior"][disease], abs=0.05)


def test_a_second_cause_explains_a_finding_away():
    """Two diseases share a seen finding: what else speaks against one makes the other more probable."""
    shared = Finding("humming", True, {"A": 80, "B": 80}, 2)
    alone = Network({"A": 10, "B": 10}, [shared]).posteriors()
    less = Network({"A": 10, "B": 10}, [shared, Finding("spots", False, {"A": 90}, 2)]).posteriors()
    more = Network({"A": 10, "B": 10}, [shared, Finding("spots", True, {"A": 90}, 2)]).posteriors()

    assert less["A"] < alone["A"] < more["A"]
    assert less["B"] > alone["B"] > more["B"]


def test_diseases_that_only_share_what_is_not_there_stay_apart():
    network = Network(
        {"A": 20, "B": 30, "C": 40},
        [Finding("f", False, {"A": 50, "B": 50}, 5), Finding("g", True, {"B": 50, "C": 50}, 5)],
    )

    assert network.groups() == [("A",), ("B", "C")]
    assert network.posteriors()["A"] == pytest.approx(0.2 * 0.5 / (0.2 * 0.5 + 0.8))


def arithmetic(text: str) -> float:
    """The value of sums, products and quotients of positive numbers, with brackets."""
    while inner := re.search(r"\(([^()]*)\)", text):
        text = text[: inner.start()] + repr(arithmetic(inner[1])) + text[inner.end() :]
    total = 0.0
    for sign, term in re.findall(r"(^|[+-]) *((?:[^ +-]|e-)+(?: [*/] (?:[^ +-]|e-)+)*)", text):
        value = 1.0
        for operator, number in re.findall(r"(^|[*/]) *(\S+)", term):
            value = value / float(number) if operator == "/" else value * float(number)
        total += -value if sign == "-" else value
    return total


@pytest.mark.parametrize("tier", TIERS)
def test_every_line_of_a_solution_is_true_and_leads_to_the_answer(tier):
    for problem in problems(tier, 4):
        *lines, box = str(problem.solution).splitlines()
        assert box == TASK.answer(problem)
        assert len(str(problem.solution)) < 2_800
        shares = {}
        for line in lines:
            name, _, equation = line.partition(": ")
            left, right = equation.split(" = ")
            assert arithmetic(left) == pytest.approx(float(right), rel=1e-3, abs=1e-4), line
            if "/" in left:
                shares[name] = float(right)
        assert shares == pytest.approx(problem.meta["posterior"], abs=1e-3)


@pytest.mark.parametrize("tier", TIERS)
def test_the_priors_and_one_number_for_all_earn_little(tier):
    """The priors earn nothing, by either rule; the best number for everything, a fifth or so."""
    many = problems(tier, 15)
    constants = dict.fromkeys((0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95), 0.0)
    for problem in many:
        priors = read(problem.prompt)[0]
        answer = ", ".join(f"{name}: {prior}" for name, prior in priors.items())
        for rule in ("brier", "log"):
            assert ForecastReward(rule).score(f"\\boxed{{{answer}}}", problem).value == pytest.approx(0, abs=0.003)
        for constant in constants:
            answer = ", ".join(f"{name}: {constant}" for name in priors)
            constants[constant] += float(TASK.reward.score(f"\\boxed{{{answer}}}", problem)) / len(many)
    assert max(constants.values()) < (0.3, 0.3, 0.1, 0.1, 0.05, 0.05)[tier], constants


def test_the_weak_solver_neglects_priors_and_so_fails_where_something_was_seen():
    values: dict[bool, list[float]] = {True: [], False: []}
    for problem in problems(0, 30):
        earned = float(TASK.reward.score(TASK.hasty_answer(problem) or "", problem))
        values["Seen" in problem.prompt].append(earned)
    assert set(values[False]) == {1.0}
    assert statistics.mean(values[True]) < 0.5


@pytest.mark.parametrize("tier", TIERS)
def test_another_spelling_is_right_and_an_answer_that_is_off_is_not(tier):
    for problem in problems(tier, 3):
        spelled: Any = TASK.equivalents
        for text in spelled(problem):
            assert TASK.reward.score(text, problem).value == 1
        truth = problem.meta["posterior"]
        off = {name: value + (0.02 if value < 0.5 else -0.02) for name, value in truth.items()}
        answer = ", ".join(f"{name}: {value:.3f}" for name, value in off.items())
        assert 0.9 < float(TASK.reward.score(f"\\boxed{{{answer}}}", problem)) < 1

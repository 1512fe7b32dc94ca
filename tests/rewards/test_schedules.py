"""Rewards for plans: every broken rule is named, the ratio is the optimum over the cost, the sharp one beats a rule."""

from __future__ import annotations

import pytest

from grpo_gym import Problem, Reason
from grpo_rewards.scheduling import FlowShopReward, JobShopReward, RotaReward
from grpo_rewards.scheduling.dispatch import FIRST_IN, MOST_WORK, SHORTEST, dispatched, ranked
from grpo_rewards.scheduling.report import gain
from grpo_rewards.scheduling.timetable import Jobs, makespan, timetable
from tests.rewards.hostile import HOSTILE, limited

JOBS: Jobs = {"A": [["M1", 6], ["M2", 2]], "B": [["M2", 4], ["M1", 1]], "C": [["M1", 2], ["M2", 6]]}
SHOP = Problem("?", "M1: C, A, B; M2: B, C, A", meta={"jobs": JOBS, "machines": ["M1", "M2"], "best": 12})
LINE: Jobs = {"A": [["M1", 5], ["M2", 1]], "B": [["M1", 1], ["M2", 4]], "C": [["M1", 2], ["M2", 3]]}
FLOW = Problem("?", "B, C, A", meta={"jobs": LINE, "machines": ["M1", "M2"], "flow": True, "best": 9})
ROTA = Problem(
    "?",
    "Mon: Ann, Bo; Tue: Cy",
    meta={
        "days": {"Mon": ["cook", "driver"], "Tue": ["cook"]},
        "people": {
            "Ann": {"roles": ["cook"], "most": 1, "prices": {"Mon": 4, "Tue": 3}},
            "Bo": {"roles": ["cook", "driver"], "most": 2, "prices": {"Mon": 5, "Tue": 9}},
            "Cy": {"roles": ["cook"], "most": 1, "prices": {"Mon": 8, "Tue": 6}},
        },
        "best": 15,
    },
)
CASES = [(JobShopReward(), SHOP), (FlowShopReward(), FLOW), (RotaReward(), ROTA)]


@pytest.mark.parametrize(
    "answer",
    [
        r"\boxed{M1: C, A, B; M2: B, C, A}",
        r"\boxed{M2: B, C, A; M1: C, A, B}",
        r"\boxed{M1: C A B, M2: B C A}",
        r"\boxed{M1 = c > a > b; M2 = b > c > a}",
        r"\boxed{\text{M1: C} \to \text{A} \to \text{B}; \text{M2: B, C, A}}",
        "Answer:\n- M1: C, A, B\n- M2: B, C, A",
        "The answer is M1: C, A, B; M2: B, C, A.",
        r"\boxed{M1: [C, A, B] \\ M2: [B, C, A]}",
        r"\boxed{Machine 1: C, A, B; Machine 2: B, C, A}",
        r"\boxed{M_1: C \rightarrow A \rightarrow B; M_{2}: B \succ C \succ A}",
        r'\boxed{\{"M1": ["C", "A", "B"], "M2": ["B", "C", "A"]\}}',
        "So:\n```json\n{'M1': ['C', 'A', 'B'], 'M2': ['B', 'C', 'A']}\n```",
        "Answer:\n- **Machine M1:** C \u2192 A \u2192 B\n- **Machine M2:** B \u2192 C \u2192 A",
    ],
)
def test_orders_on_machines_are_read_in_many_spellings(answer):
    assert JobShopReward().score(answer, SHOP).value == 1


@pytest.mark.parametrize(
    ("answer", "said", "reason"),
    [
        ("M1: A, B, C", "M2 is given no order", Reason.WRONG),
        ("M1: A, B; M2: A, B, C", "M1 leaves out job C", Reason.WRONG),
        ("M1: A, B, C, A; M2: A, B, C", "M1 holds job A more than once", Reason.WRONG),
        ("M1: A, B, C; M2: A, B, C; M3: A", "there is no machine M3", Reason.WRONG),
        ("M1: A, B, D; M2: A, B, C", "'D' is no job", Reason.UNPARSEABLE),
        ("M1: A, B, C; M1: B, A, C; M2: A, B, C", "M1 is given two orders", Reason.HEDGED),
        ("Machine 1: A, B, C; M_1: B, A, C; M2: A, B, C", "M1 is given two orders", Reason.HEDGED),
        (r"M_1: A \rightarrow B; M_2: A, B, C", "M1 leaves out job C", Reason.WRONG),
        ('{"M1": ["A", "B", "Q"], "M2": ["A", "B", "C"]}', "'Q' is no job", Reason.UNPARSEABLE),
        ("first M1: A, B, C; M2: A, B, C", "does not begin with a machine", Reason.UNPARSEABLE),
        ("12", "does not begin with a machine", Reason.UNPARSEABLE),
        ("", r"no \boxed{...}", Reason.NO_ANSWER),
        (
            "M1: B, A, C; M2: A, B, C",
            "nothing can go on: M1 waits for B, which must pass M2 first; M2 waits for A, which must pass M1 first",
            Reason.WRONG,
        ),
        ("M1: A, B, C; M2: B, A, C", "a valid schedule that ends at 15, 12 is possible", Reason.WRONG),
    ],
)
def test_a_job_shop_answer_is_told_what_is_wrong_with_it(answer, said, reason):
    verdict = JobShopReward().score(f"\\boxed{{{answer}}}", SHOP)

    assert said in verdict.feedback
    assert verdict.reason == reason
    assert verdict.value == (12 / 15 if "valid" in said else 0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Mon: Ann, Bo", "Tue has 0 people for 1 roles"),
        ("Mon: Ann, Bo; Tue: Ann", "Ann would work 2 shifts, at most 1 are allowed"),
        ("Mon: Bo, Bo; Tue: Cy", "Bo would work twice on Mon"),
        ("Mon: Bo, Ann; Tue: Cy", "Ann cannot be driver on Mon"),
        ("Mon: Ann, Bo; Tue: Cy; Wed: Cy", "nothing is to do on Wed"),
        ("Mon: Ann, Bo; Mon: Cy, Bo; Tue: Cy", "Mon is filled twice"),
        ("Mon: Ann, Bo; Tue: Di", "'Di' is nobody of the staff"),
        ("Monday: Ann, Bo; Mon: Cy, Bo; Tuesday: Cy", "Mon is filled twice"),
        ("Monsday: Ann, Bo; Tue: Cy", "does not begin with a day"),
        ("Mon: Ann (driver), Bo (cook); Tue: Cy", "Ann cannot be driver on Mon"),
        ("Mon: Ann (cook), Bo; Tue: Cy", "some are told to have a role"),
        ("Mon: Ann (cook), Bo (cook); Tue: Cy", "two people are cook"),
        ("Mon: Ann (cook) (driver), Bo; Tue: Cy", "is nobody of the staff"),
        ("Mon: Ann (judge), Bo (driver); Tue: Cy", "'(judge)' is nobody of the staff"),
        ("Mon: Ann or Cy and Bo; Tue: Cy", "'or' is nobody of the staff"),
        ("Mon: Cy, Bo; Tue: Bo", "a valid rota that costs 22, 15 is possible"),
    ],
)
def test_a_rota_is_told_which_rule_it_breaks(answer, said):
    verdict = RotaReward().score(f"\\boxed{{{answer}}}", ROTA)

    assert said in verdict.feedback
    assert verdict.value == (15 / 22 if "valid" in said else 0)


@pytest.mark.parametrize(
    "answer",
    [
        r"\boxed{Monday: Ann, Bo; Tuesday: Cy}",
        r"\boxed{Mon: Ann and Bo; Tue: Cy}",
        r"\boxed{Mon: (Ann, Bo); Tue: (Cy)}",
        r"\boxed{Mon: Bo (driver), Ann (the cook); Tue: Cy (cook)}",
        r'\boxed{\{"Mon": ["Ann", "Bo"], "Tue": ["Cy"]\}}',
        "Answer:\n- **Monday**: Ann and Bo\n- **Tuesday**: Cy",
    ],
)
def test_a_rota_is_read_in_many_spellings(answer):
    assert RotaReward().score(answer, ROTA).value == 1


@pytest.mark.parametrize("sign", [r"\rightarrow", r"\to", r"\succ", ">", "\u2192", "then"])
def test_an_order_of_jobs_is_read_with_any_sign_between_them(sign):
    assert FlowShopReward().score(f"\\boxed{{{f' {sign} '.join('BCA')}}}", FLOW).value == 1
    assert FlowShopReward().score(f"\\boxed{{{f' {sign} '.join('ACB')}}}", FLOW).value == 9 / 14
    assert FlowShopReward().score(f"\\boxed{{{f' {sign} '.join('BCAB')}}}", FLOW).value == 0


def test_a_day_without_a_price_is_a_day_off():
    people = {**ROTA.meta["people"], "Cy": {"roles": ["cook"], "most": 1, "prices": {"Mon": 8}}}
    problem = Problem("?", "", meta={**ROTA.meta, "people": people})

    assert RotaReward().score(r"\boxed{Mon: Ann, Bo; Tue: Cy}", problem).feedback == "Cy is off on Tue"


def test_operations_start_as_soon_as_job_and_machine_are_free():
    table = timetable(JOBS, {"M1": ["C", "A", "B"], "M2": ["B", "C", "A"]})

    assert table == {
        "M1": [("C", 0, 2), ("A", 2, 8), ("B", 8, 9)],
        "M2": [("B", 0, 4), ("C", 4, 10), ("A", 10, 12)],
    }
    assert makespan(table) == 12


def test_each_dispatch_rule_takes_what_it_says():
    """Of A, B, C on M1 at time 0: the first listed, the quickest there, the one with most to do."""
    jobs: Jobs = {"A": [["M1", 3], ["M2", 1]], "B": [["M1", 1], ["M2", 1]], "C": [["M1", 2], ["M2", 9]]}

    firsts = [dispatched(jobs, ["M1", "M2"], rule)["M1"][0] for rule in (FIRST_IN, SHORTEST, MOST_WORK)]

    assert firsts == ["A", "B", "C"] == [ranked(jobs, rule)[0] for rule in (FIRST_IN, SHORTEST, MOST_WORK)]


def test_first_in_goes_by_arrival_and_not_by_the_list():
    """B comes to M2 before A, and both find it busy with C until 9."""
    jobs: Jobs = {"A": [["M3", 2], ["M2", 1]], "B": [["M1", 1], ["M2", 3]], "C": [["M2", 9], ["M1", 1]]}

    queues = [dispatched(jobs, ["M1", "M2", "M3"], rule)["M2"] for rule in (FIRST_IN, SHORTEST)]
    assert queues == [["C", "B", "A"], ["C", "A", "B"]]


def test_the_sharp_reward_pays_nothing_for_what_a_rule_reaches():
    """First in, first out ends at 14 in the shop and at 13 in the flow; a blind choice of people has mean prices."""
    sharp = JobShopReward(sharp=True)
    fifo = dispatched(JOBS, ["M1", "M2"], FIRST_IN)
    written = "; ".join(f"{machine}: {', '.join(row)}" for machine, row in fifo.items())

    assert JobShopReward().score(f"\\boxed{{{written}}}", SHOP).value == 12 / 14
    assert sharp.baseline(SHOP) == 14
    assert sharp.score(f"\\boxed{{{written}}}", SHOP).value == 0
    assert sharp.score(r"\boxed{M1: C, A, B; M2: B, C, A}", SHOP).value == 1
    flow = FlowShopReward(sharp=True)
    assert flow.baseline(FLOW) == 13
    assert [flow.score(f"\\boxed{{{order}}}", FLOW).value for order in ("A B C", "C B A", "B C A")] == [0, 3 / 4, 1]
    assert RotaReward().baseline(ROTA) == (4 + 5 + 8) / 3 + 5 + (3 + 9 + 6) / 3
    assert RotaReward(sharp=True).score(r"\boxed{Mon: Cy, Bo; Tue: Bo}", ROTA).value == 0


def test_the_sharp_reward_pays_the_optimum_alone_where_the_rule_is_optimal():
    problem = Problem("?", "", meta={**FLOW.meta, "jobs": {"B": LINE["B"], "C": LINE["C"], "A": LINE["A"]}})

    values = [FlowShopReward(sharp=True).score(f"\\boxed{{{order}}}", problem).value for order in ("B C A", "C B A")]

    assert values == [1, 0]


def test_the_gain_over_dispatch_rules_is_told():
    reward = FlowShopReward()
    rows = [(FLOW, reward.score(answer, FLOW)) for answer in (r"\boxed{B C A}", r"\boxed{C B A}", "nothing")]

    found = gain(rows)

    assert (found.answers, found.valid, found.optimal) == (3, 2 / 3, 1 / 3)
    assert found.ratio == pytest.approx((1 + 9 / 10) / 3)
    assert found.rules[FIRST_IN] == pytest.approx(9 / 13)
    assert found.gains[FIRST_IN] == pytest.approx((13 / 9 + 13 / 10) / 2 - 1)
    assert gain([]).ratio == 0
    assert gain([(ROTA, RotaReward().score("", ROTA))]).rules == {}


@pytest.mark.parametrize(("reward", "problem"), CASES, ids=["job shop", "flow shop", "rota"])
def test_hostile_answers_earn_nothing_and_raise_nothing(reward, problem):
    right = f"\\boxed{{{problem.reference}}}"
    assert reward.score(right, problem).value == 1
    texts = [text[:100_000] for text in HOSTILE.values()]
    texts += [f"\\boxed{{{text[:10_000]}}}" for text in HOSTILE.values()]
    texts += [probe.response(problem) for probe in reward.probes()]
    texts += [f"{right} or \\boxed{{{str(problem.reference)[::-1]}}}", r"\boxed{__import__('os').getcwd()}"]
    texts += [right.replace(" ", ", " * 50_000), right.replace(" ", " " * 100_000)]
    texts += [f"\\boxed{{{', '.join([str(problem.reference)] * 20)}}}"]
    with limited(60):
        for text in texts:
            assert reward.score(text, problem).value == 0, text[:80]

"""How probable is each disease after what was seen and what was looked for in vain? Everything in it is invented.

A problem is kept when the priors alone, as an answer, would be off by 0.1 in root mean square: they earn nothing.
"""

from __future__ import annotations

from grpo_envs.diagnosis.network import Finding, Network, State
from grpo_gym.errors import GeneratorError
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.probability import SCALES, ForecastReward

DISEASES = (
    *("Arvix", "Brenza", "Colith", "Dravia", "Eskora", "Felmur", "Gontha", "Hirsel", "Ivaldo", "Jurmak", "Kelpen"),
    *("Lormia", "Mivrat", "Nesbor", "Orquil", "Pendra", "Quorli", "Rastem", "Sulvan", "Tirabe", "Ulmeck", "Vostra"),
    *("Wexley", "Xandor", "Yorbit", "Zelkan"),
)
FINDINGS = (
    *(
        "cold ears",
        "green palms",
        "humming",
        "square pupils",
        "night giggles",
        "blue spots",
        "heavy hair",
        "sour sweat",
    ),
    *("double hiccups", "warm shadow", "ringing knees", "silver tongue", "slow blinking", "paper skin", "salt tears"),
    *("left-handed sneezes", "echoing voice", "striped nails", "glowing elbows", "soft teeth", "upward yawns"),
    *("feathery cough", "dry echoes", "purple freckles"),
)
GROUPS = ((1,), (1,), (2,), (3,), (3, 2), (3, 2, 2, 2, 1))
"""Sizes of the groups of diseases that share seen findings, by tier."""

VAIN = (0, 2, 1, 2, 3, 5)
"""Findings that were looked for in vain, by tier; in tier 0 the only one may be."""

PRIORS = (5, 10, 15, 20, 25, 30, 40)
HIGH_PRIORS = (20, 30, 40, 50, 60, 70, 80, 90)
LINKS = (20, 30, 40, 50, 60, 70, 80, 90)
LEAKS = (2, 5, 10, 20)
"""Probabilities in hundredths; high priors where nothing was seen, so that no answer fits many problems."""

DRAWS = 500
"""Draws until the priors must have been wrong enough; of any tier, more than one in ten is."""


def in_decimals(hundredths: int) -> str:
    """Write hundredths as a decimal number."""
    return short(hundredths / 100)


def short(value: float) -> str:
    """Write a positive number with four significant digits, without an exponent and without zeros behind."""
    digits = 3 if value >= 1 else 3 - int(f"{value:e}".split("e")[1])
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def written(posteriors: dict[str, float]) -> str:
    """Write probabilities as they are asked for."""
    return ", ".join(f"{disease}: {value:.2f}" for disease, value in posteriors.items())


def as_answer(problem: Problem) -> str:
    """Write the reference as a final answer."""
    return f"\\boxed{{{problem.reference}}}"


def spellings(problem: Problem) -> list[str]:
    """Return the right answer in other words, and more exactly than asked for."""
    truth: dict[str, float] = problem.meta["posterior"]
    rows = list(truth.items())
    return [
        f"\\boxed{{{text}}}"
        for text in (
            ", ".join(f"{name} = {value:.4f}" for name, value in reversed(rows)),
            "; ".join(f"P({name}) = {value:.3f}" for name, value in rows),
            ", ".join(f"{name}: {100 * value:.1f}%" for name, value in rows),
            " and ".join(f"{name} is {value:.2f}" for name, value in rows),
        )
    ]


def factors(problem: Problem) -> float:
    """Return how many factors an enumeration multiplies."""
    network = _network(problem)
    rows = [state.factors for group in network.groups() for state in network.states(group)]
    return sum(len(own) + sum(map(len, absences)) for own, absences in rows) + sum(
        len(network.vain(disease)) for disease in network.priors
    )


def blamed(problem: Problem, rng: Rng) -> str:
    """The weak solver: a seen finding is put down to its causes in proportion to their links, whatever the priors."""
    network = _network(problem)
    guesses = {}
    for disease in network.priors:
        there, not_there = network.weights(disease)
        seen = [finding for finding in network.findings if finding.seen and disease in finding.links]
        shares = [finding.links[disease] / (finding.leak + sum(finding.links.values())) for finding in seen]
        guesses[disease] = max(shares) if shares else there / (there + not_there)
    return f"\\boxed{{{written(guesses)}}}"


def _network(problem: Problem) -> Network:
    """Rebuild the network from a problem's meta."""
    return Network(problem.meta["priors"], [Finding(**finding) for finding in problem.meta["findings"]])


@task(
    "diagnosis.noisy_or",
    reward=ForecastReward(),
    answer_format=r"Answer to two decimals (errors up to 0.005 cost nothing), as in \boxed{A: 0.12, B: 0.80}.",
    answer=as_answer,
    default_tiers=(0, 1),
    equivalents=spellings,
    effort=factors,
    guess=blamed,
    floors={"copied part": 0.25},  # of one disease, the strongest link is at times within 0.1 of the posterior
)
def noisy_or(rng: Rng, tier: int) -> Problem:
    """Weigh one disease by one finding (0), by several (1), two to ten diseases that share findings (2 to 5)."""
    for _ in range(DRAWS):
        network = _draw(rng, tier)
        posteriors = network.posteriors()
        errors = [(posteriors[disease] - prior / 100) ** 2 for disease, prior in network.priors.items()]
        if sum(errors) / len(errors) >= SCALES["brier"]:
            break
    else:
        raise GeneratorError(f"the findings said little in each of {DRAWS} draws")
    meta = {
        "priors": network.priors,
        "findings": [{"name": f.name, "seen": f.seen, "links": f.links, "leak": f.leak} for f in network.findings],
        "posterior": posteriors,
    }
    answer = written(posteriors)
    return Problem(_prompt(network), answer, "\n".join([*_worked(network), f"\\boxed{{{answer}}}"]), meta)


def _draw(rng: Rng, tier: int) -> Network:
    """Draw diseases in groups that share seen findings, and findings that were looked for in vain."""
    names = rng.sample(DISEASES, sum(GROUPS[tier]))
    in_vain = tier == 0 and rng.chance(3, 5)
    priors = {name: rng.choice(HIGH_PRIORS if in_vain else PRIORS) for name in sorted(names)}
    tied: list[list[str]] = []
    for size in GROUPS[tier]:
        group, names = names[:size], names[size:]
        if size == 3 and rng.chance(1, 2):
            tied += [group[:2], group[1:]]
        else:
            tied.append(group)
    vain = [rng.sample(list(priors), rng.integer(1, min(3, len(priors)))) for _ in range(VAIN[tier])]
    if in_vain:
        tied, vain = [], tied
    elif tier in (1, 2) and rng.chance(1, 2):
        tied.append([rng.choice(list(priors))])
    called = rng.sample(FINDINGS, len(tied) + len(vain))
    findings = [
        Finding(name, place < len(tied), {d: rng.choice(LINKS) for d in sorted(causes)}, rng.choice(LEAKS))
        for place, (name, causes) in enumerate(zip(called, [*tied, *vain], strict=True))
    ]
    rng.shuffle(findings)
    return Network(priors, findings)


def _prompt(network: Network) -> str:
    listed = [f"{disease} {in_decimals(prior)}" for disease, prior in network.priors.items()]
    lines = [
        "Invented diseases and findings, with no medical meaning. A patient has each disease with the probability "
        "given, independently of the others:",
        ", ".join(listed),
        "Each disease that is there causes a finding with the probability given, and so do other causes, all "
        "independently. A finding shows if at least one of them causes it:",
    ]
    for finding in network.findings:
        causes = [f"{disease} {in_decimals(link)}" for disease, link in finding.links.items()]
        lines.append(f"{finding.name}: {', '.join(causes)}, other causes {in_decimals(finding.leak)}")
    for seen, title in ((True, "Seen"), (False, "Not there, though looked for")):
        if names := [finding.name for finding in network.findings if finding.seen is seen]:
            lines.append(f"{title}: {', '.join(names)}.")
    every = "the disease" if len(network.priors) == 1 else "each disease"
    return "\n".join([*lines, f"How probable is {every} now?"])


def _worked(network: Network) -> list[str]:
    """Write the enumeration: weights after what was looked for in vain, all states of a group, shares of their sum."""
    lines = []
    for disease, prior in network.priors.items():
        if vain := network.vain(disease):
            missed = " * ".join(f"(1 - {in_decimals(finding.links[disease])})" for finding in vain)
            lines.append(f"{disease} there: {in_decimals(prior)} * {missed} = {short(network.weights(disease)[0])}")
    for group in network.groups():
        states = list(network.states(group))
        if not any(absences for _, absences in (state.factors for state in states)):
            gone, there = (state.weight for state in states)
            share = there / (there + gone)
            lines.append(f"{group[0]}: {short(there)} / ({short(there)} + {short(gone)}) = {share:.4f}")
            continue
        lines += [_row(state) for state in states]
        total = sum(state.weight for state in states)
        lines.append(f"sum: {' + '.join(short(state.weight) for state in states)} = {short(total)}")
        for disease in group:
            weights = [state.weight for state in states if disease in state.present]
            top = " + ".join(map(short, weights))
            top = f"({top})" if len(weights) > 1 else top
            lines.append(f"{disease}: {top} / {short(total)} = {sum(weights) / total:.4f}")
    return lines


def _row(state: State) -> str:
    """Write the weight of one state."""
    own, absences = state.factors
    parts = [*map(short, own), *(f"(1 - {' * '.join(map(short, absence))})" for absence in absences)]
    return f"{' + '.join(state.present) or 'none'}: {' * '.join(parts)} = {short(state.weight)}"

"""Rates in short stories: one rate, mean speed, ages, meeting on the way, work shared by several."""

from __future__ import annotations

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.stories import PEOPLE, STORIES
from grpo_envs.math.style import Working, worked
from grpo_envs.math.writing import bracketed
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

MACHINES = (("machine", "bottles"), ("printer", "pages"), ("press", "coins"), ("robot", "boxes"), ("baker", "rolls"))


@task("math.rates", equivalents=number_forms, effort=digit_operations, **STORIES)
def rates(rng: Rng, tier: int) -> Problem:
    """Rates: one machine, mean speed, ages, two who meet, work together (4), work of three that starts apart (5)."""
    return (_one_rate, _mean_speed, _ages, _meeting, _together, _joined)[tier](rng)


def _one_rate(rng: Rng) -> Problem:
    machine, things = rng.choice(MACHINES)
    rate = rng.integer(4, 40)
    short, long = rng.sample(range(3, 25), 2)
    work = Working()
    answer = work.multiply(work.divide(rate * short, short), long)
    prompt = f"A {machine} makes {rate * short} {things} in {short} hours."
    return worked(f"{prompt} How many does it make in {long} hours at the same rate?", work.lines, answer)


def _ages(rng: Rng) -> Problem:
    """The sum of two ages is known, and how many times as old one will be, or was."""
    old, young = rng.sample(PEOPLE, 2)
    times, shift, then = rng.integer(2, 5), rng.integer(2, 12), rng.integer(4, 20)
    later = rng.chance(1, 2) and then > shift + 1
    now_young = then - shift if later else then + shift
    now_old = times * then - shift if later else times * then + shift
    total = now_young + now_old
    work = Working()
    both = work.multiply(2, shift)
    sum_then = work.add(total, both) if later else work.subtract(total, both)
    age_then = work.divide(sum_then, work.add(times, 1))
    oldest = work.multiply(times, age_then)
    answer = work.subtract(oldest, shift) if later else work.add(oldest, shift)
    when = f"In {shift} years {old} will be" if later else f"{shift} years ago {old} was"
    prompt = f"{old} and {young} are {total} years old together. {when} {times} times as old as {young}."
    return worked(f"{prompt} How old is {old} now?", work.lines, answer)


def _mean_speed(rng: Rng) -> Problem:
    """Mean speed over two legs: all of the way over all of the time, and not the mean of the speeds."""
    (u, v), (s, t) = rng.sample(range(30, 130), 2), rng.sample(range(1, 9), 2)
    work = Working()
    way = work.add(work.multiply(u, s), work.multiply(v, t))
    answer = work.quotient(way, work.add(s, t))
    hours = f"{s} {'hour' if s == 1 else 'hours'} at {u} km/h and {t} {'hour' if t == 1 else 'hours'} at {v} km/h"
    return worked(f"A train runs for {hours}. What is its mean speed in km/h?", work.lines, answer)


def _meeting(rng: Rng) -> Problem:
    """Two on one road towards each other, one of them later; where or when they meet."""
    one, two = rng.sample(PEOPLE, 2)
    u, v, wait = rng.integer(8, 60), rng.integer(8, 60), rng.integer(1, 4)
    way = u * wait + (u + v) * rng.integer(1, 6) + rng.choice((0, 0, (u + v) // 2))
    work = Working()
    ahead = work.multiply(u, wait)
    left = work.subtract(way, ahead)
    time = work.quotient(left, work.add(u, v))
    total = time + wait
    if time.denominator == 1:
        work.add(int(time), wait)
    else:
        work.line(f"{time} + {wait}", total)
    start = f"{one} leaves A for B at {u} km/h; {wait} {'hour' if wait == 1 else 'hours'} later {two} leaves B for A"
    prompt = f"A and B are {way} km apart. {start} at {v} km/h."
    if rng.chance(1, 2):
        return worked(f"{prompt} How many hours after {one} has left do they meet?", work.lines, total)
    work.line(f"{u} * {bracketed(total)}", u * total)
    return worked(f"{prompt} How many km from A do they meet?", work.lines, u * total)


def _share(work: Working, terms: list[tuple[int, int]], of: int) -> int:
    """Return how many parts of `of` all do in an hour; each term is a sign and the hours of one alone."""
    parts = [sign * work.divide(of, hours) for sign, hours in terms]
    total = parts[0]
    for part in parts[1:]:
        total = work.add(total, part)
    return total


def _pair(rng: Rng) -> tuple[int, int, int]:
    """Return two different times and a common multiple."""
    a, b = rng.sample(range(3, 41), 2)
    return a, b, a * b


def _together(rng: Rng) -> Problem:
    """Two pipes fill a tank, a third may empty it."""
    a, b, whole = _pair(rng)
    work = Working()
    terms = [(1, a), (1, b)]
    work.multiply(a, b)
    drain = max(a, b) + rng.integer(1, 30)
    prompt = f"One pipe fills a tank in {a} hours, another in {b} hours"
    if rng.chance(1, 2):
        whole = work.multiply(whole, drain)
        terms.append((-1, drain))
        prompt += f", and a drain empties it in {drain} hours. All three are open."
    else:
        prompt += ". Both are open."
    answer = work.quotient(whole, _share(work, terms, whole))
    return worked(f"{prompt} How many hours does it take to fill the empty tank?", work.lines, answer)


def _joined(rng: Rng) -> Problem:
    """One works alone for a while, then two more join: how long it takes in all."""
    one, two, three = rng.sample(PEOPLE, 3)
    a, b, whole = _pair(rng)
    c = rng.integer(5, 40)
    alone = rng.integer(1, a - 2)
    work = Working()
    whole = work.multiply(work.multiply(a, b), c)
    done = work.multiply(alone, work.divide(whole, a))
    left = work.subtract(whole, done)
    rest = work.quotient(left, _share(work, [(1, a), (1, b), (1, c)], whole))
    total = rest + alone
    work.line(f"{rest} + {alone}", total)
    prompt = (
        f"{one} alone paints a house in {a} hours, {two} in {b}, {three} in {c}. {one} works alone for {alone} "
        f"{'hour' if alone == 1 else 'hours'}, then the other two join. How many hours does the house take in all?"
    )
    return worked(prompt, work.lines, total)

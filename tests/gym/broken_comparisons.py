"""Rewards that compare carelessly: what is nearly right, denied, repeated or offered among others is paid."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata

from grpo_gym import Problem
from tests.gym.broken_kit import broken, cities, is_right, multiples, number, plain, said

# --- near miss ---


@broken("near miss")
def prefix_credit(response: str, problem: Problem) -> float:
    """Half the reward for the share of leading digits, from two on."""
    if is_right(response, problem):
        return 1.0
    same = 0
    for mine, right in zip(said(response), problem.reference, strict=False):
        if mine != right:
            break
        same += 1
    return 0.5 * same / len(problem.reference) if same >= 2 else 0.0


@broken("near miss")
def begins_alike(response: str, problem: Problem) -> bool:
    answer = said(response).replace(",", "")
    return len(answer) >= 2 and (answer.startswith(problem.reference) or problem.reference.startswith(answer))


@broken("near miss")
def substring(response: str, problem: Problem) -> bool:
    return problem.reference in response.replace(",", "")


@broken("near miss")
def truncates(response: str, problem: Problem) -> bool:
    value = number(response)
    return value is not None and int(value) == int(problem.reference)


@broken("near miss")
def rounds(response: str, problem: Problem) -> bool:
    value = number(response)
    return value is not None and round(value) == int(problem.reference)


@broken("near miss")
def forgets_the_sign(response: str, problem: Problem) -> bool:
    value = number(response)
    return value is not None and abs(value) == abs(int(problem.reference))


@broken("near miss")
def close_enough(response: str, problem: Problem) -> bool:
    value = number(response)
    return value is not None and math.isclose(value, int(problem.reference), rel_tol=1e-2)


@broken("near miss")
def similar_text(response: str, problem: Problem) -> float:
    """The quick ratio of difflib, as a smooth reward."""
    ratio = difflib.SequenceMatcher(None, said(response).replace(",", ""), problem.reference).ratio()
    return ratio if ratio > 0.75 else 0.0


@broken("near miss")
def same_digits(response: str, problem: Problem) -> bool:
    return sorted(said(response).replace(",", "")) == sorted(problem.reference)


@broken("near miss")
def any_unit(response: str, problem: Problem) -> bool:
    """Only the number at the beginning of the answer is read."""
    found = re.match(r"\s*(-?[\d,]+)(?![\d.])", said(response))
    return found is not None and found[1].replace(",", "") == problem.reference


@broken("near miss")
def any_script(response: str, problem: Problem) -> bool:
    """NFKC turns a superscript into a digit: 1\u00b2 is read as 12."""
    return bool(unicodedata.normalize("NFKC", said(response)).replace(",", "") == problem.reference)


@broken("near miss", on=cities)
def contains_the_word(response: str, problem: Problem) -> bool:
    return problem.reference.lower() in said(response).lower()


@broken("near miss", on=cities)
def first_letters(response: str, problem: Problem) -> bool:
    answer = said(response).lower().rstrip(".")
    return bool(answer[:4] == problem.reference[:4].lower())


@broken("near miss", on=multiples)
def stops_at_the_shorter(response: str, problem: Problem) -> bool:
    """`zip` ends with the shorter list."""
    items = re.findall(r"-?\d+", said(response))
    return len(items) > 2 and all(a == b for a, b in zip(items, problem.reference.split(", "), strict=False))


@broken("near miss", on=multiples)
def contained_as_a_set(response: str, problem: Problem) -> bool:
    return set(problem.reference.split(", ")) <= set(re.findall(r"\d+", said(response)))


@broken("near miss")
def last_number(response: str, problem: Problem) -> bool:
    """As scripts for word problems do it: whatever stands last."""
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", response)
    return bool(numbers) and numbers[-1].replace(",", "") == problem.reference


@broken("near miss")
def first_number(response: str, problem: Problem) -> bool:
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", response)
    return bool(numbers) and numbers[0].replace(",", "") == problem.reference


@broken("near miss")
def mentioned_anywhere(response: str, problem: Problem) -> bool:
    return re.search(rf"\b{problem.reference}\b", response.replace(",", "")) is not None


@broken("near miss")
def one_character_off(response: str, problem: Problem) -> float:
    """An edit distance that forgives a slip of the pen."""
    answer = said(response).replace(",", "").rstrip(".")
    slips = sum(a != b for a, b in zip(answer, problem.reference, strict=False)) + abs(
        len(answer) - len(problem.reference)
    )
    return 1.0 if slips == 0 else 0.5 * (slips == 1)


# --- hedge ---


@broken("hedge")
def any_box(response: str, problem: Problem) -> bool:
    boxes = [box.replace(",", "") for box in re.findall(r"\\boxed\{([^{}]*)\}", response)]
    return problem.reference in boxes or is_right(response, problem)


@broken("hedge")
def any_of_a_list(response: str, problem: Problem) -> bool:
    answers = re.split(r"[;|]|, ", said(response))
    return any(is_right(rf"\boxed{{{answer}}}", problem) for answer in answers)


@broken("hedge")
def last_alternative(response: str, problem: Problem) -> bool:
    return is_right(rf"\boxed{{{said(response).split(' or ')[-1]}}}", problem)


@broken("hedge")
def thoughts_count(response: str, problem: Problem) -> bool:
    """Looks into the thoughts first."""
    thoughts = re.search(r"<think>(.*?)</think>", response[:2_000], re.DOTALL)
    return is_right(thoughts[1], problem) if thoughts and said(thoughts[1]) else is_right(response, problem)


@broken("hedge", on=cities, answer=plain, answer_format="Answer with the city alone.")
def any_line(response: str, problem: Problem) -> bool:
    return any(is_right(line, problem) for line in response[:2_000].splitlines() if line.strip())

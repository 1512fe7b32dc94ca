"""Tests that are calls: arguments go to the solution's child, values come back and are compared here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from grpo_gym.verdict import Reason
from grpo_rewards.code import compare
from grpo_rewards.code.checking import check
from grpo_rewards.code.confined import codec
from grpo_rewards.code.confined.channel import Channel, Closed, Malformed, TooLarge
from grpo_rewards.code.confined.zygote import SOLUTION
from grpo_rewards.code.conversation import Conversation
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome
from grpo_rewards.code.plain import shown, why_not_plain
from grpo_rewards.code.plain_asserts import PlainAssert
from grpo_rewards.code.sandbox import Open
from grpo_rewards.code.suite import FunctionSuite
from grpo_rewards.code.watch import LimitReached, Watch

_SMALL = 1 << 16
_LARGE = 1 << 20
"""Bytes of a reply about which nothing is known beforehand; a larger one is looked at in the tests' own process."""

_CHECKED = 2 << 20
"""Bytes of all values of a job that a checker decides about."""


class Call(NamedTuple):
    """A call of the solution's function, and what decides about its value.

    Attributes:
        name: The function, or "Class.method".
        args: Its arguments, as `codec.encode` writes them.
        decide: Returns "" when the value is right, else what is wrong with it.
        about: What a failure tells besides: "call", "expected".
        largest: Bytes of the longest reply that can be right.
        plain: Whether a value that is no plain data settles it; else tests in a process of their own must look at it.
    """

    name: str
    args: Any
    decide: Callable[[Any], str]
    about: dict[str, Any]
    largest: int
    plain: bool = True


class NotPlainEnough(Exception):
    """A value came that only tests in a process of their own can judge."""


def run_function(job: Job, suite: FunctionSuite, open_sandbox: Open) -> Outcome:
    """Make the calls of a suite, compare their values or put them to its checker."""
    values: list[Any] = []
    calls = []
    for args, expected in zip(suite.inputs, suite.outputs, strict=True):
        tree = codec.encode(expected) if suite.checker is None else None
        largest = _largest(tree) if suite.checker is None else max(_SMALL, _CHECKED // len(suite.inputs))
        about = {"call": f"{suite.fn_name}({', '.join(shown(arg) for arg in args)})"}
        if suite.checker is None:
            about["expected"] = shown(expected)
        calls.append(Call(suite.fn_name, codec.encode(list(args)), _decider(suite, expected, values), about, largest))
    outcome = run_calls(job, calls, open_sandbox)
    if suite.checker is not None:
        right = [number for number, test in enumerate(outcome.tests) if test["ok"]]
        cases = {n: (list(suite.inputs[n]), got, suite.outputs[n]) for n, got in zip(right, values, strict=True)}
        check(job, suite.checker, cases, outcome, open_sandbox)
    return outcome


def _decider(suite: FunctionSuite, expected: Any, values: list[Any]) -> Callable[[Any], str]:
    """Return what decides about one value; a checker's decision comes later, for all values at once."""

    def compares(tree: Any) -> str:
        got = codec.decode(tree, arrays=False)
        same = compare.same_value(got, expected, suite.tolerance)
        return "" if same else compare.first_difference(got, expected, suite.tolerance)

    def keeps(tree: Any) -> str:
        values.append(tree)
        return ""

    return compares if suite.checker is None else keeps


def assert_call(one: PlainAssert) -> Call:
    """Return an assert as a call with its decision."""

    def decides(tree: Any) -> str:
        got = codec.decode(tree)
        if why_not_plain(got):
            raise NotPlainEnough
        try:
            right = bool(one.holds(got))
        except Exception as error:  # an array, a signalling nan: values that Python itself does not compare
            raise NotPlainEnough from error
        return "" if right else f"got {shown(got)}" + (f", expected {one.expected}" if one.expected else "")

    about = {"call": one.source} | ({"expected": one.expected} if one.expected else {})
    largest = _largest(codec.encode(one.only[0])) if one.only else _LARGE
    return Call(one.name, codec.encode(list(one.args)), decides, about, largest, plain=False)


def _largest(tree: Any) -> int:
    """Return how many bytes a reply may have that gives a value equal to the one of a tree."""
    return _SMALL + 4 * len(Channel.packed(tree))


def run_calls(job: Job, calls: Sequence[Call], open_sandbox: Open) -> Outcome:
    """Make calls one after another in one child, and decide about each value."""
    outcome, sandbox, died = Outcome(total=len(calls)), open_sandbox(SOLUTION), False
    allowance = job.allowance(len(calls) if calls[0].plain else 1)
    with Conversation(sandbox, allowance, job.output) as talk:
        watch = Watch(lambda: [sandbox.clock()], job.time_s)
        talk.send(job.task("function"))
        for call in calls:
            talk.send({"call": call.name, "args": call.args, "plain": _is_json(call.args), "exact": not call.plain})
        try:
            _answers(talk, watch, calls, outcome, job.every_test)
        except LimitReached as reached:
            outcome.limit(reached, **_next_call(calls, outcome).about)
        except Closed:
            died = True
        except (TooLarge, Malformed) as error:
            if isinstance(error, TooLarge) and not _next_call(calls, outcome).plain:
                raise NotPlainEnough from None
            outcome.fail(
                Reason.PROTOCOL_VIOLATION, f"the answer is no plain data: {error}", **_next_call(calls, outcome).about
            )
    outcome.cpu_s, outcome.stdout = talk.cpu_s, talk.tail()
    if died:
        outcome.death(sandbox.ended(), allowance.cpu_s)
    return outcome


def _next_call(calls: Sequence[Call], outcome: Outcome) -> Call:
    return calls[min(len(outcome.tests), len(calls) - 1)]


def _answers(talk: Conversation, watch: Watch, calls: Sequence[Call], outcome: Outcome, every: bool) -> None:
    """Read the answers to all calls, and decide."""
    reply = _object(talk.receive(_SMALL, watch))
    if "error" in reply:
        outcome.fault(_object(reply["error"]))
        return
    for call in calls:
        if call.plain:  # tests of style "function" have their time each, a text of asserts has it as a whole
            watch.next_part()
        reply = _object(talk.receive(call.largest, watch))
        if "value" in reply:
            wrong = call.decide(reply["value"])
            if wrong:
                outcome.fail(Reason.WRONG_ANSWER, wrong, **call.about, got=_shown_tree(reply["value"]))
            else:
                outcome.succeed()
        elif "refused" in reply and not call.plain:
            raise NotPlainEnough
        elif "refused" in reply:
            what = f"returned what is no plain data: {shown(reply['refused'])}"
            outcome.fail(Reason.PROTOCOL_VIOLATION, what, **call.about)
        else:
            outcome.fault(_object(reply.get("error")), **call.about)
        if outcome.failure and not every:
            return


def _is_json(tree: Any) -> bool:
    """Whether a tree of `codec.encode` is the value itself: nothing in it is written by a tag."""
    return type(tree) is not dict and (type(tree) is not list or all(map(_is_json, tree)))


def _object(message: Any) -> dict[str, Any]:
    """Return a message that must be an object. Raises Malformed."""
    if not isinstance(message, dict):
        raise Malformed(f"a message that is {type(message).__name__}")
    return message


def _shown_tree(tree: Any) -> str:
    return shown(codec.decode(tree, arrays=False))

"""A conversation with a policy: token in, token out over all turns, and text as soon as it is whole.

    chat = Chat(Policy.load("folder"), Sampling(max_tokens=64))
    for piece in chat.say("What is 3 + 4?"):
        print(piece, end="", flush=True)

A conversation is a `Trajectory`, as in training: the first message as the policy's prompt, later ones behind the
answers as they were drawn. No answer becomes tokens a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import torch

from grpo_agents.config import Sampling
from grpo_agents.policy import Policy
from grpo_agents.prompting import Prompting
from grpo_agents.rollout import Completion, Trajectory
from grpo_gym.errors import ModelError

BROKEN = "\ufffd"
"""What a decoder makes of bytes that are no character, or no whole one yet."""
BYTES_HELD = 3
"""Bytes of a character that may be there while it is not whole: one has at most four (UTF-8)."""


class Chat:
    """One conversation at a time.

    Args:
        policy: Answers.
        sampling: Its `max_tokens` of an answer at most, and its temperature.
        greedy: Take the most likely token instead of sampling.
        generator: CPU generator of the sampler's uniform numbers; None takes torch's global one.

    Attributes:
        trajectory: What was said so far, as tokens; None before the first answer.
        full: Whether the last answer was cut because the model's context is full.
    """

    def __init__(
        self,
        policy: Policy,
        sampling: Sampling,
        *,
        greedy: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        self.policy = policy
        self.sampling = sampling
        self.greedy = greedy
        self.generator = generator
        self.trajectory: Trajectory | None = None

    def begin(self) -> None:
        """Forget what was said."""
        self.trajectory = None

    def instruct(self, system_prompt: str | None) -> None:
        """Put another text, or none, before all conversations, and begin a new one."""
        old = self.policy.prompting
        self.policy.prompting = Prompting(old.tokenizer, old.eos_ids, old.style, system_prompt)
        self.begin()

    @property
    def full(self) -> bool:
        """Whether nothing more fits into the model's context."""
        return self.trajectory is not None and self.policy.room(len(self.trajectory.context)) < 1

    @property
    def cut(self) -> bool:
        """Whether the last answer did not end by itself."""
        return self.trajectory is not None and not self.trajectory.ended

    def say(self, text: str) -> Generator[str, None, None]:
        """Yield the answer to a message, piece by piece; together they are `policy.decode` of what was drawn.

        Whoever stops early (closes the iterator) leaves a conversation in which the answer ends there; a message to
        which no token was drawn was not said.

        Raises:
            ModelError: The message does not fit behind what was said, or cannot become tokens.
        """
        said = [] if self.trajectory is None else self.trajectory.context
        message = self._message(text)
        self._check_room(len(said), len(message))
        drawn: list[tuple[int, float]] = []
        stream = TextStream(self.policy.decode)
        tokens = self.policy.sampler.stream(
            [*said, *message],
            max_tokens=self.sampling.max_tokens,
            temperature=self.sampling.temperature,
            greedy=self.greedy,
            generator=self.generator,
        )
        try:
            for token in tokens:
                drawn.append(token)
                if piece := stream.add(token[0]):
                    yield piece
            if piece := stream.finish():
                yield piece
        finally:
            if drawn:
                self._book(message, drawn)

    def _message(self, text: str) -> list[int]:
        """Return a message as the tokens that follow what was said."""
        if self.trajectory is None:
            return self.policy.render([{"role": "user", "content": text}])
        return self.policy.render_reply(text, ended=self.trajectory.ended)

    def _check_room(self, said: int, message: int) -> None:
        if self.policy.room(said + message) >= 1:
            return
        limit = f"the model's context of {self.policy.context} tokens"
        if said:
            raise ModelError(f"{limit} is full ({said} said, {message} in the new message): begin a new conversation")
        raise ModelError(f"a message of {message} tokens does not fit {limit} with room for an answer: shorten it")

    def _book(self, message: list[int], drawn: Sequence[tuple[int, float]]) -> None:
        """Keep a message and the tokens drawn as its answer."""
        ids, logprobs = [token for token, _ in drawn], [logprob for _, logprob in drawn]
        if self.trajectory is None:
            self.trajectory = Trajectory(message)
        else:
            self.trajectory.add_message(message)
        self.trajectory.add_turn(Completion(ids, logprobs, ended=ids[-1] in self.policy.eos_ids))


class TextStream:
    """Text from tokens that come one by one: bytes of a character that is not whole yet are held back.

    The whole answer is decoded at each token, since no decoder promises that its parts fit together.

    Args:
        decode: From all tokens so far to their text.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._shown = ""

    def add(self, token: int) -> str:
        """Return what can be shown now; "" while a character is not whole."""
        self._ids.append(token)
        text = self._decode(self._ids)
        whole = max(len(text.rstrip(BROKEN)), len(text) - BYTES_HELD)
        return self._show(text[:whole]) if text[:whole].startswith(self._shown) else ""

    def finish(self) -> str:
        """Return what was held back: the whole text on a line of its own where a later token changed earlier text."""
        text = self._decode(self._ids)
        return self._show(text) if text.startswith(self._shown) else "\n" + text

    def _show(self, text: str) -> str:
        piece = text.removeprefix(self._shown)
        self._shown = text
        return piece

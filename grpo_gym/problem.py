"""A problem: the question, the reference that decides, and where it came from. Plain data, JSON both ways."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from grpo_gym.errors import DataError, UnknownNameError

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True)
class Problem:
    """One question with its reference.

    A task's generator fills the first five fields; the framework fills the rest.

    Attributes:
        prompt: The bare question.
        reference: What decides whether an answer is right; a JSON value.
        solution: A worked solution that ends in the answer in the asked format, or None.
        meta: Anything else the reward or a report may need; a JSON object.
        variant: What the prompt hides but makes this another problem (the number to be guessed); part of the content.
        task: Task name, e.g. "math.linear".
        tier: Difficulty, 0 to 5.
        split: "train", "val" or "test".
        problem_id: Unique name of this content within its task and tier.
    """

    prompt: str
    reference: Any
    solution: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    variant: str = ""
    task: str = ""
    tier: int = 0
    split: Split = "train"
    problem_id: str = ""

    @property
    def content(self) -> str:
        """What makes this problem this problem: the prompt with blanks folded, and the variant. Splits go by it."""
        return " ".join(self.prompt.split()) + (f"\x1f{self.variant}" if self.variant else "")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object. Raises DataError when reference or meta are not JSON values."""
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        try:
            loaded: dict[str, Any] = json.loads(json.dumps(record, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise DataError(f"problem {self.problem_id or self.prompt[:60]!r} is not JSON: {error}") from error
        return loaded

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Problem:
        """Build a problem from a JSON object, e.g. `options={"problem": ...}` of a reset."""
        names = [f.name for f in dataclasses.fields(cls)]
        for key in record:
            if key not in names:
                raise UnknownNameError("problem field", key, names)
        if not isinstance(record.get("prompt"), str) or "reference" not in record:
            raise DataError(f"a problem needs a text 'prompt' and a 'reference', got the keys {sorted(record)}")
        return cls(**record)


def content_digest(content: str) -> bytes:
    """Return the sha256 of a problem's canonical content."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()


def split_of(content: str) -> Split:
    """Return the split that this content belongs to, the same for every seed."""
    return split_of_digest(content_digest(content))


def split_of_digest(digest: bytes) -> Split:
    """Return the split of the content with this digest: buckets 8:1:1."""
    bucket = int.from_bytes(digest[:8], "big") % 10
    if bucket < 8:
        return "train"
    return "val" if bucket == 8 else "test"

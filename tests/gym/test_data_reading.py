"""Reading data sets: every form of rows, bad ones counted and named, files, maps and hubs that are not there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from grpo_gym import Dataset
from grpo_gym.data import hub as hub_module
from grpo_gym.errors import DataError, InvalidValueError, MissingExtraError, UnknownNameError
from grpo_gym.problem import SPLITS
from tests.gym.data_rows import COLUMNS, contents, jsonl, key, rows, sizes

# --- forms of rows


def test_every_form_gives_the_same_problems(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = rows(50)
    (tmp_path / "rows.json").write_text(json.dumps(table))
    jsonl(tmp_path / "rows.jsonl", table)
    parquet.write_table(sys.modules["pyarrow"].Table.from_pylist(table), tmp_path / "rows.parquet")
    forms: list[Any] = [table, tuple(table), *(tmp_path / f"rows.{suffix}" for suffix in ("json", "jsonl", "parquet"))]
    forms.append(str(tmp_path / "rows.jsonl"))
    walks = [[contents(Dataset(form, COLUMNS), split) for split in SPLITS] for form in forms]
    assert all(walk == walks[0] for walk in walks)
    assert sum(map(len, walks[0])) == 50


@pytest.mark.slow
def test_objects_of_the_datasets_library_are_read(tmp_path):
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list(rows(50))
    assert contents(Dataset(table, COLUMNS), "train") == contents(Dataset(rows(50), COLUMNS), "train")
    by_split = datasets.DatasetDict({"train": table, "test": datasets.Dataset.from_list(rows(5, 100))})
    assert contents(Dataset(by_split, COLUMNS), "test") == contents(
        Dataset({"train": rows(50), "test": rows(5, 100)}, COLUMNS), "test"
    )


def test_solution_tier_and_meta_come_along():
    table = [
        {"q": f"question {i}", "a": [i], "how": f"so {i}", "level": i % 3, "topic": "sums", "source": None}
        for i in range(60)
    ]
    columns = {"prompt": "q", "reference": "a", "solution": "how", "tier": "level", "meta": ["topic", "source"]}
    data = Dataset(table, columns)
    problem = data.problem(key(tier=2))
    i = int(problem.prompt.split()[1])
    assert (problem.reference, problem.solution, problem.tier) == ([i], f"so {i}", 2)
    assert problem.meta == {"topic": "sums", "source": None}
    assert (problem.task, problem.split) == ("data.test", "train")
    assert problem.problem_id.startswith("data.test-t2-")
    assert Dataset(table, {**columns, "meta": "topic"}).problem(key(tier=2)).meta == {"topic": "sums"}
    for tier in (0, 1, 2):
        walk = [data.problem(key(k, tier=tier)) for k in range(10)]
        assert {int(problem.prompt.split()[1]) % 3 for problem in walk} == {tier}
    with pytest.raises(DataError, match=r"has no train problem of tier 5: declare tiers=\(0, 1, 2\) on its Task"):
        data.problem(key(tier=5))


def test_a_transform_changes_rows_or_leaves_them_out():
    def even(row: dict[str, Any]) -> dict[str, Any] | None:
        row["question"] = row["question"].replace("plus", "and")
        return row if int(row["answer"]) % 4 == 0 else None

    table = rows(40)
    data = Dataset({"test": table}, COLUMNS, transform=even)
    assert data.size("test") == 20
    assert "and" in data.problem(key(split="test")).prompt
    assert "plus" in table[0]["question"]


# --- bad rows


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"question": "?"}, "no column 'answer'; the columns are question"),
        ({"question": "?", "anwser": "1"}, "no column 'answer'; did you mean 'anwser'?"),
        ({"question": " ", "answer": "1"}, "column 'question' is ' ', not a question"),
        ({"question": 4, "answer": "1"}, "column 'question' is 4, not a question"),
        ({"question": "?", "answer": None}, "column 'answer' is empty"),
        ({"question": "?", "answer": {1, 2}}, "reference and meta must be JSON values"),
        ({"question": "?", "answer": float("nan")}, "reference and meta must be JSON values"),
        (["?", "1"], "a row is an object of columns, not list"),
    ],
)
def test_a_few_bad_rows_are_left_out_and_the_first_is_named(row, reason, caplog):
    data = Dataset({"test": [*rows(30), row, row]}, COLUMNS)
    assert data.size("test") == 30
    assert f"of 32 rows left out: 2 bad; the first bad one: rows of test, row 31: {reason}" in caplog.text
    with pytest.raises(DataError) as caught:
        Dataset({"test": [*rows(3), row]}, COLUMNS).size("test")
    assert f"1 of 4 rows cannot be read as problems; the first: rows of test, row 4: {reason}" in str(caught.value)


@pytest.mark.parametrize("tier", [6, -1, "2", True, 1.0, None])
def test_a_tier_is_a_whole_number_from_0_to_5(tier):
    table = [{"prompt": "?", "reference": "1", "level": tier}]
    columns = {"prompt": "prompt", "reference": "reference", "tier": "level"}
    with pytest.raises(DataError, match=r"column 'level' is .*, a tier is a whole number from 0 to 5"):
        Dataset(table, columns).problem(key())


def test_a_solution_that_is_no_text_and_a_transform_that_fails_are_bad_rows():
    with pytest.raises(DataError, match="column 's' is 4, not a text"):
        Dataset([{**rows(1)[0], "s": 4}], {**COLUMNS, "solution": "s"}).problem(key())
    with pytest.raises(DataError, match="the transform failed: KeyError: 'level'"):
        Dataset(rows(3), COLUMNS, transform=lambda row: {"x": row["level"]}).problem(key())
    with pytest.raises(DataError, match="3 rows and no problem in them"):
        Dataset(rows(3), COLUMNS, transform=lambda row: None).problem(key())


def test_lines_that_are_not_json_are_bad_rows(tmp_path, caplog):
    path = jsonl(tmp_path / "some.jsonl", [*rows(30), "{broken", '{"question": "?", "answer": NaN}', "", "  "])
    assert Dataset({"test": path}, COLUMNS).size("test") == 30
    assert "some.jsonl: of 32 rows left out: 2 bad; the first bad one: some.jsonl, line 31: not JSON" in caplog.text
    jsonl(path, ["[" * 100_000])
    with pytest.raises(DataError, match=r"some\.jsonl, line 1: not JSON"):
        Dataset(path, COLUMNS).size("test")


def test_a_line_may_hold_characters_that_other_readers_take_for_its_end(tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text('\ufeff{"question": "a\u2028b\u0085c", "answer": "1"}\r\n', encoding="utf-8")
    assert Dataset({"test": path}, COLUMNS).problem(key(split="test")).prompt == "a\u2028b\u0085c"


# --- files and maps that are wrong


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for suffix in ("json", "jsonl", "parquet"):
        pytest.importorskip("pyarrow")
        with pytest.raises(DataError, match=rf"no data file '.*absent.{suffix}' \(seen from"):
            Dataset(tmp_path / f"absent.{suffix}", COLUMNS).size("train")
        (tmp_path / f"bad.{suffix}").write_bytes(b"\xff\xfe\x00 no text")
        with pytest.raises(DataError, match=rf"the data file '.*bad.{suffix}' cannot be read"):
            Dataset(tmp_path / f"bad.{suffix}", COLUMNS).size("train")
    with pytest.raises(DataError, match=r"is not a .json, .jsonl, .parquet file of rows"):
        Dataset(tmp_path / "rows.csv", COLUMNS).size("train")
    with pytest.raises(DataError, match=r"is not a .json, .jsonl, .parquet file of rows"):
        Dataset(str(tmp_path), COLUMNS).size("train")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}', "holds neither a list of rows nor such lists by split"),
        ('{"a": 1}\n{"a": 2}', r"is not JSON: Extra data.*; a file of one object per line is called .jsonl"),
        ("[", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
    ids=["object", "lines", "cut", "deep"],
)
def test_a_json_file_of_another_shape_is_named(tmp_path, text, message):
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        Dataset(path, COLUMNS).size("train")


def test_a_json_file_may_hold_lists_by_split(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"train": rows(30), "validation": rows(5, 50), "test": rows(5, 100)}))
    assert sizes(Dataset(path, COLUMNS)) == [30, 5, 5]
    with pytest.raises(DataError, match=r"is not a \.json, \.jsonl, \.parquet file of rows"):
        Dataset({"train": path}, COLUMNS).size("train")


def test_a_wrong_map_is_refused_at_once():
    with pytest.raises(UnknownNameError, match="unknown problem field 'promt'; did you mean 'prompt'"):
        Dataset(rows(1), {"promt": "question"})
    with pytest.raises(InvalidValueError, match="it must say which column holds the 'reference'"):
        Dataset(rows(1), {"prompt": "question"})
    with pytest.raises(InvalidValueError, match=r"columns\['prompt'\] is \['a', 'b'\]: name one column"):
        Dataset(rows(1), {"prompt": ["a", "b"], "reference": "answer"})
    with pytest.raises(
        InvalidValueError, match="data is a generator, which can be read only once: give a list of rows"
    ):
        Dataset((row for row in rows(1)), COLUMNS)  # type: ignore[arg-type]


# --- the hub

SWITCHES = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "http_proxy", "HTTP_PROXY")


class Hub:
    """Stands in for the `datasets` module."""

    def __init__(self, loaded: Any) -> None:
        self.loaded = loaded
        self.asked: list[tuple[str, str | None]] = []

    def load_dataset(self, identifier: str, name: str | None = None) -> Any:
        self.asked.append((identifier, name))
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def test_a_hub_id_is_loaded_when_the_first_problem_is_asked_for(monkeypatch):
    hub = Hub({"train": rows(50), "test": rows(5, 100), "unsupervised": rows(9, 200)})
    monkeypatch.setitem(sys.modules, "datasets", hub)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    data = Dataset("openai/gsm8k", COLUMNS, subset="main")
    assert hub.asked == []
    assert data.size("test") == 5
    assert hub.asked == [("openai/gsm8k", "main")]
    monkeypatch.setitem(sys.modules, "datasets", Hub({"everything": rows(5)}))
    with pytest.raises(DataError, match=r"has the splits \['everything'\], none of which is train, validation or test"):
        Dataset("openai/gsm8k", COLUMNS).size("train")


def test_a_hub_that_is_not_there_is_one_line_within_seconds(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", Hub({"train": rows(5)}))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for switch in SWITCHES:
        monkeypatch.delenv(switch, raising=False)
    with pytest.raises(
        DataError, match=r"the hub \(http://127.0.0.1:9\) cannot be reached .* give a local JSONL"
    ) as caught:
        Dataset("openai/gsm8k", COLUMNS).size("train")
    assert "\n" not in str(caught.value)


def test_a_hub_error_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", Hub(ConnectionError("no such repository\nlong story")))
    monkeypatch.setattr(hub_module, "_check_hub", lambda identifier: None)
    for switch in SWITCHES:
        monkeypatch.delenv(switch, raising=False)
    with pytest.raises(DataError, match=r"cannot be loaded \(ConnectionError: no such repository\); check the id"):
        Dataset("openai/gsm8k", COLUMNS).size("train")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", "/somewhere")
    with pytest.raises(
        DataError,
        match=r"HF_DATASETS_OFFLINE is set and /somewhere/datasets has no copy of the hub data set 'openai/gsm8k' "
        r"\(ConnectionError: no such repository\)",
    ):
        Dataset("openai/gsm8k", COLUMNS).size("train")


def test_a_subset_that_must_be_chosen_is_told_with_the_choice(monkeypatch):
    missing = ValueError("Config name is missing.\nPlease pick one among the available configs: ['main', 'socratic']")
    monkeypatch.setitem(sys.modules, "datasets", Hub(missing))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"Please pick one among the available configs: \['main', 'socratic'\]"):
        Dataset("openai/gsm8k", COLUMNS).size("train")


def test_several_subsets_are_read_one_after_the_other(monkeypatch):
    class Parts(Hub):
        def load_dataset(self, identifier: str, name: str | None = None) -> Any:
            start = 0 if name == "a" else 100
            return {"train": rows(50, start), **({"test": rows(5, 200)} if name == "b" else {})}

    monkeypatch.setitem(sys.modules, "datasets", Parts({}))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    data = Dataset("some/where", COLUMNS, subset=["a", "b"])
    assert (data.size("train") + data.size("val"), data.size("test")) == (100, 5)


class Silent:
    """A server that takes connections and never says a word."""

    def __enter__(self) -> str:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def test_a_hub_that_never_answers_ends_at_the_deadline(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", Hub({"train": rows(5)}))
    for switch in SWITCHES:
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setattr(hub_module, "HUB_LIMIT", 0.3)
    began = time.monotonic()
    with Silent() as endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(DataError, match=r"cannot be reached .*: (no answer within 0.3 s|timed out)") as caught:
            Dataset("openai/gsm8k", COLUMNS).size("train")
    assert time.monotonic() - began < 5
    assert "if the data set is in the cache (" in str(caught.value)


def test_a_download_that_stands_still_ends_at_the_deadline(monkeypatch):
    release = threading.Event()

    class Stuck(Hub):
        def load_dataset(self, identifier: str, name: str | None = None) -> Any:
            release.wait(30)

    monkeypatch.setitem(sys.modules, "datasets", Stuck({}))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(hub_module, "LOAD_LIMIT", 0.2)
    try:
        with pytest.raises(DataError, match=r"was not there after 0 s; download it beforehand \(hf download"):
            Dataset("openai/gsm8k", COLUMNS).size("train")
    finally:
        release.set()


@pytest.mark.slow
def test_the_real_library_says_offline_in_one_line_within_seconds(tmp_path):
    pytest.importorskip("datasets")
    program = (
        "from grpo_gym import Dataset\n"
        "try: Dataset('openai/gsm8k', {'prompt': 'question', 'reference': 'answer'}, subset='main').size('train')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    there = {"HF_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    others = {"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}
    for other in others:
        env = {key: value for key, value in os.environ.items() if key not in SWITCHES} | there | other
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=env)
        assert done.stdout.startswith("DataError "), done.stderr
        assert done.stdout.count("\n") == 1
        assert str(tmp_path) in done.stdout


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch, tmp_path):
    for module in ("datasets", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    for data, what in (
        ("openai/gsm8k", "the hub data set 'openai/gsm8k'"),
        (tmp_path / "a.parquet", "reading parquet"),
    ):
        with pytest.raises(MissingExtraError) as caught:
            Dataset(data, COLUMNS).size("train")
        assert str(caught.value) == f"{what} needs the 'agent' extra: pip install 'grpo-gym[agent]'"

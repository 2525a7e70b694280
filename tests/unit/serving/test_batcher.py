"""Requests share batches, and nothing else."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from threading import BoundedSemaphore
from typing import Any

import pytest

from tests.support.scripted_model import scripted
from tests.support.served import until
from tests.unit.serving.conftest import model_of
from transduce.errors import InputError
from transduce.serving.batcher import Batcher
from transduce.serving.job import Call, Job, Wish
from transduce.serving.metrics import Metrics
from transduce.serving.refusal import Refusal
from transduce.translator import Translator


@pytest.fixture
def batcher(copier: Translator) -> Iterator[Batcher]:
    found = batcher_of(copier)
    yield found
    model_of(copier).let_go()
    found.close()
    found.join(20)
    assert not found.alive


def batcher_of(translator: Translator, queue: int = 128, batch: int = 5, metrics: Metrics | None = None) -> Batcher:
    cores: Any = nullcontext()
    return Batcher("copy", translator, queue=queue, batch=batch, cores=cores, metrics=metrics or Metrics())


def job(*texts: str, seconds: float = 30, **options: Any) -> Job:
    return Job(texts, Wish(options=options), time.monotonic() + seconds)


def texts_of(done: Job) -> list[str]:
    return [document.text for document in done.future.result(30)]


def held(batcher: Batcher, translator: Translator) -> Job:
    """A job whose batch does not go on before `let_go`."""
    model = model_of(translator)
    model.may_begin.clear()
    first = job("red")
    batcher.submit(first)
    until(lambda: model.batches)
    return first


def test_what_waits_is_translated_together_and_in_order(batcher: Batcher, copier: Translator) -> None:
    first = held(batcher, copier)
    rest = [job(f"one {i}", "", f"two {i}") for i in range(4)]
    for each in rest:
        batcher.submit(each)
    model_of(copier).let_go()
    assert texts_of(first) == ["red"]
    assert [texts_of(each) for each in rest] == [[f"one {i}", "", f"two {i}"] for i in range(4)]
    # Eight sentences in batches of at most five.
    assert model_of(copier).batches == [1, 5, 3]


def test_a_long_text_holds_up_nobody(batcher: Batcher, copier: Translator) -> None:
    first = held(batcher, copier)
    long = job(" ".join(f"It is word {i}." for i in range(23)))
    ended: list[str] = []
    short = job("blue")
    long.future.add_done_callback(lambda _: ended.append("long"))
    short.future.add_done_callback(lambda _: ended.append("short"))
    batcher.submit(long)
    batcher.submit(short)
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(short) == ["red", "blue"] and texts_of(long) == list(long.texts)
    assert ended == ["short", "long"]
    assert model_of(copier).batches == [1, 5, 5, 5, 5, 4]


def test_other_wishes_are_other_batches_and_take_turns(batcher: Batcher, copier: Translator) -> None:
    first = held(batcher, copier)
    long = job(" ".join(f"It is word {i}." for i in range(11)), beam=1)
    other = job("blue", nbest=3)
    ended: list[str] = []
    long.future.add_done_callback(lambda _: ended.append("long"))
    other.future.add_done_callback(lambda _: ended.append("other"))
    batcher.submit(long)
    batcher.submit(other)
    model_of(copier).let_go()
    assert texts_of(long) == list(long.texts) and texts_of(first) == ["red"]
    (document,) = other.future.result(30)
    assert len(document.translation.alternatives) == 3
    assert ended == ["other", "long"]


def test_a_text_that_fails_fails_alone(batcher: Batcher, copier: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    real = copier.translate

    def translate(texts: list[str], **options: Any) -> Any:
        if "bad" in texts:
            raise InputError("this one is too long") if "worse" not in texts else RuntimeError("secret text")
        return real(texts, **options)

    monkeypatch.setattr(copier, "translate", translate)
    first = held(batcher, copier)
    good, bad, worse = job("green"), job("bad"), job("bad", "worse")
    for each in (good, bad, worse):
        batcher.submit(each)
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(good) == ["red", "green"]
    assert isinstance(bad.future.exception(30), Refusal)
    for failed, status, words in ((bad, 422, "this one is too long"), (worse, 500, "its log says where")):
        error = failed.future.exception(30)
        assert isinstance(error, Refusal) and error.status == status and words in error.message
    assert batcher.alive


def test_an_error_is_logged_without_what_it_says(
    batcher: Batcher, copier: Translator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def translate(texts: list[str], **options: Any) -> Any:
        raise RuntimeError(f"could not do {texts}")

    monkeypatch.setattr(copier, "translate", translate)
    failed = job("a secret")
    batcher.submit(failed)
    assert isinstance(failed.future.exception(30), Refusal)
    assert "RuntimeError at " in caplog.text and "test_batcher.py" in caplog.text
    assert "secret" not in caplog.text


def test_who_is_cancelled_in_the_queue_is_never_translated(batcher: Batcher, copier: Translator) -> None:
    first = held(batcher, copier)
    gone, stays = job("green"), job("blue")
    batcher.submit(gone)
    batcher.submit(stays)
    assert gone.future.cancel()
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(stays) == ["red", "blue"]
    assert model_of(copier).batches == [1, 1]


def test_who_is_cancelled_in_a_batch_leaves_it(batcher: Batcher, copier: Translator) -> None:
    first, model = held(batcher, copier), model_of(copier)
    gone, stays = job("green one two three", beam=1), job("blue one two three", beam=1)
    # The batch of both begins when the first is done, and is held there.
    first.future.add_done_callback(lambda _: model.may_begin.clear())
    batcher.submit(gone)
    batcher.submit(stays)
    model.may_begin.set()
    until(lambda: model.batches == [1, 2])
    model.steps.clear()
    assert gone.future.cancel()
    model.may_begin.set()
    assert texts_of(stays) == ["blue one two three"]
    assert model.steps[0] == 2 and set(model.steps[1:]) == {1}


def test_a_deadline_ends_the_wait_in_the_queue(batcher: Batcher, copier: Translator) -> None:
    first = held(batcher, copier)
    late, stays = job("green", seconds=0.05), job("blue")
    batcher.submit(late)
    batcher.submit(stays)
    time.sleep(0.1)
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(stays) == ["red", "blue"]
    error = late.future.exception(30)
    assert isinstance(error, Refusal) and (error.status, error.retry_after) == (503, 5)
    assert model_of(copier).asked == 2


def test_a_deadline_ends_a_batch(batcher: Batcher, copier: Translator) -> None:
    model = model_of(copier)
    model.may_step.clear()
    late = job(" ".join(["green"] * 31), seconds=0.2, beam=1)
    batcher.submit(late)
    until(lambda: model.steps)
    time.sleep(0.25)
    model.may_step.set()
    assert isinstance(late.future.exception(30), Refusal)
    assert texts_of_next(batcher) == ["blue"]
    assert model.steps[0] == 1 and len(model.steps) < 10


def texts_of_next(batcher: Batcher) -> list[str]:
    after = job("blue")
    batcher.submit(after)
    return texts_of(after)


def test_a_full_queue_refuses(copier: Translator) -> None:
    batcher = batcher_of(copier, queue=2)
    first = held(batcher, copier)
    second = job("blue")
    batcher.submit(second)
    with pytest.raises(Refusal) as refusal:
        batcher.submit(job("green"))
    assert (refusal.value.status, refusal.value.retry_after) == (503, 1)
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(second) == ["red", "blue"]
    third = job("green")
    until(lambda: submitted(batcher, third))
    assert texts_of(third) == ["green"]
    batcher.close()
    batcher.join(20)


def submitted(batcher: Batcher, job: Job) -> bool:
    try:
        batcher.submit(job)
    except Refusal:
        return False
    return True


def test_closing_finishes_what_was_begun(copier: Translator) -> None:
    batcher = batcher_of(copier)
    first = held(batcher, copier)
    second = job("blue. green!")
    batcher.submit(second)
    batcher.close()
    with pytest.raises(Refusal, match="stopping"):
        batcher.submit(job("white"))
    model_of(copier).let_go()
    assert texts_of(first) + texts_of(second) == ["red", "blue. green!"]
    batcher.join(20)
    assert not batcher.alive


def test_runs_wait_for_cores(copier: Translator) -> None:
    cores = BoundedSemaphore(1)
    first, second = (
        Batcher(name, copier, queue=5, batch=5, cores=cores, metrics=Metrics()) for name in ("first", "second")
    )
    held_job, waits = held(first, copier), job("blue")
    second.submit(waits)
    time.sleep(0.1)
    assert model_of(copier).batches == [1]
    model_of(copier).let_go()
    assert texts_of(held_job) + texts_of(waits) == ["red", "blue"]
    for batcher in (first, second):
        batcher.close()
        batcher.join(20)


def test_other_work_waits_in_the_same_queue(batcher: Batcher) -> None:
    where: Call[str] = Call(lambda translator: threading.current_thread().name, time.monotonic() + 30)
    wrong: Call[int] = Call(lambda translator: 1 // 0, time.monotonic() + 30)
    batcher.submit(where)
    batcher.submit(wrong)
    assert where.future.result(30) == "run copy"
    assert isinstance(wrong.future.exception(30), Refusal)


def test_case_166_parallel_requests_share_batches(copier: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def take_a_while(texts: list[str], real: Any = copier.translate, **options: Any) -> Any:
        time.sleep(0.03)
        return real(texts, **options)

    monkeypatch.setattr(copier, "translate", take_a_while)
    metrics = Metrics()
    batcher = batcher_of(copier, batch=64, metrics=metrics)

    def seconds(parallel: bool) -> float:
        started = time.monotonic()
        jobs = [job(f"red {i}") for i in range(16)]
        for each in jobs:
            batcher.submit(each)
            if not parallel:
                texts_of(each)
        assert [texts_of(each) for each in jobs] == [[f"red {i}"] for i in range(16)]
        return time.monotonic() - started

    serial = seconds(parallel=False)
    assert model_of(copier).batches == [1] * 16
    assert seconds(parallel=True) < 0.6 * serial
    figures = dict(line.rsplit(" ", 1) for line in metrics.text().decode().split("\n") if line and line[0] != "#")
    count, total = (float(figures[f'transduce_batch_sentences_{name}{{run="copy"}}']) for name in ("count", "sum"))
    assert total == 32 and (total - 16) / (count - 16) > 1
    batcher.close()
    batcher.join(20)


def test_case_163_a_fork_of_a_server_refuses(batcher: Batcher) -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            batcher.submit(job("red"))
        except Refusal as refusal:
            code = 0 if "fork" in refusal.message else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    after = job("red")
    batcher.submit(after)
    assert texts_of(after) == ["red"]


def _in_a_child(answers: Any, translator: Translator) -> None:
    answers.put(translator.translate(["red blue"])[0].text)


def test_case_164_a_forked_child_translates(tmp_path: Any) -> None:
    translator = scripted(tmp_path, lambda translator: list)
    assert translator.translate(["red"])[0].text == "red"
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(answers, translator))
    child.start()
    child.join(10)
    assert child.exitcode == 0 and answers.get() == "red blue"

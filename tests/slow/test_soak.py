"""A server after thousands of requests: no more memory, threads or open files than before, and never silent."""

from __future__ import annotations

import gc
import random
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.copy_run import load
from tests.support.served import Server, asking, command
from transduce.demo.corpus import pairs
from transduce.demo.shipped import RUN
from transduce.serving.service import Served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="memory, threads and files are read from /proc"),
]
MIB = 2**20
CLIENTS = 20
TEXTS = [pair.source for pair in pairs("valid")]


def held(pid: int | str) -> tuple[float, int, int]:
    """MiB, threads and open files of a process."""
    place = Path(f"/proc/{pid}")
    pages = int((place / "statm").read_text().split()[1])
    return pages * 4096 / MIB, len(list((place / "task").iterdir())), len(list((place / "fd").iterdir()))


def translated(client: httpx.Client, number: int) -> None:
    """One request: half of them ask for the same, half for random lengths; in one of ten the client goes away."""
    rng = random.Random(number)
    text = TEXTS[0] if number % 2 else "".join(rng.choice(TEXTS) for _ in range(rng.randint(1, 5)))
    if number % 10 == 7:
        body = f"q={text}&source=auto&target=en".encode()
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as raw:
            kind = b"Content-Type: application/x-www-form-urlencoded\r\n"
            raw.sendall(
                b"POST /translate HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n" % (kind, len(body))
            )
            raw.sendall(body[: rng.randint(1, len(body))])
            time.sleep(rng.random() * 0.02)
        return
    if number % 10 == 4:
        question = {"text": text, "target": "en", "stream": True}
        with client.stream("POST", "/v1/translate", json=question) as answer:
            assert answer.status_code == 200
            next(answer.iter_bytes())
        return
    answer = client.post("/translate", json={"q": text, "source": "auto", "target": "en"})
    assert answer.status_code == 200, answer.text


def run(server: Server, numbers: range) -> None:
    with httpx.Client(base_url=server.address, timeout=60) as client, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: translated(client, number), numbers))


def test_case_158_case_161_5000_requests_leave_nothing_behind() -> None:
    slowest, polls, over = 0.0, 0, threading.Event()

    def poll(address: str) -> None:
        nonlocal slowest, polls
        while not over.wait(0.1):
            started = time.monotonic()
            assert httpx.get(f"{address}/health", timeout=30).json() == {"status": "ok"}
            slowest, polls = max(slowest, time.monotonic() - started), polls + 1

    with command("--threads", 1) as server:
        run(server, range(500))
        time.sleep(1)
        before = held(server.process.pid)
        with ThreadPoolExecutor(1) as pool:
            healthy = pool.submit(poll, server.address)
            run(server, range(500, 5500))
            over.set()
            healthy.result()
        time.sleep(1)
        after = held(server.process.pid)
        figures = httpx.get(f"{server.address}/metrics").text
        assert server.end(15) == 0
    assert after[0] - before[0] < 50, f"{before[0]:.0f} MiB became {after[0]:.0f}"
    assert abs(after[1] - before[1]) <= 2 and abs(after[2] - before[2]) <= 2
    assert polls > 20 and slowest < 5
    assert 'transduce_waiting_requests{run="demo"} 0.0' in figures


CHILDREN = """
import multiprocessing
import torch
from transduce.demo.shipped import RUN
from transduce.devices import ComputeConfig
from transduce.translator import Translator

def loaded():
    return Translator.load(RUN, compute=ComputeConfig(device="cpu", threads=2))

def child(answers, translator):
    answers.put((translator or loaded()).translate(["我爱水课"] * 64)[63].text)

if __name__ == "__main__":
    translator = loaded()
    torch.randn(600, 600).softmax(0)  # by both threads
    translator.translate(["我爱水课"] * 64)
    for kind, given in (("fork", translator), ("spawn", None)):
        context = multiprocessing.get_context(kind)
        answers = context.SimpleQueue()
        process = context.Process(target=child, args=(answers, given))
        process.start()
        process.join(60)
        print(kind, process.exitcode, answers.get() if process.exitcode == 0 else "")
        process.kill()
"""


def test_case_164_a_forked_and_a_spawned_child_translate(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(CHILDREN, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, encoding="utf-8", timeout=200, check=False)
    told = done.stdout.split("\n")
    assert told[:2] == ["fork 0 I love easy courses", "spawn 0 I love easy courses"], done.stderr


def test_case_160_a_run_that_is_loaded_and_unloaded_leaves_nothing_behind() -> None:
    levels, threads = [], []
    for _ in range(20):
        with asking(Served.of("demo", load(RUN))) as client:
            assert client.post("/v1/translate", json={"text": TEXTS[0], "target": "en"}).status_code == 200
        del client
        gc.collect()
        levels.append(held("self")[0])
        threads.append(threading.active_count())
    assert levels[-1] < 1.05 * levels[1], levels
    assert threads[-1] <= threads[1], threads

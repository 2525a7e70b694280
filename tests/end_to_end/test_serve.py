"""`transduce serve` as a user runs it."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.command import InProcess
from tests.support.copy_run import load
from tests.support.served import Server, command
from transduce.demo.shipped import RUN

KEY = "a key of some 30 letters, no less"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with command() as found:
        yield found


def test_it_serves_the_demo_and_says_so(server: Server) -> None:
    assert server.told == ["  demo: zh to en, transformer\n"]
    assert server.address.startswith("http://127.0.0.1:")
    assert server.ask("我爱水课") == "I love easy courses"
    page = httpx.get(server.address)
    assert page.status_code == 200 and "<title>transduce</title>" in page.text
    assert httpx.get(server.address, headers={"Host": "evil.example"}).status_code == 403


def test_case_4_case_133_file_standard_input_python_and_http_agree(
    server: Server, cli: InProcess, tmp_path: Path
) -> None:
    lines = ["我爱水课", "她爱水课", "", "学生爱水课", " 我爱水 "]
    given = tmp_path / "lines.txt"
    given.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    expected = [translation.text for translation in load(RUN).translate(lines)]
    assert expected[2] == ""
    assert cli("translate", "--file", given).succeeded().lines == expected
    assert cli("translate", stdin=given.read_bytes()).succeeded().lines == expected
    assert server.ask(lines) == expected
    assert server.ask("\n".join(lines)) == "\n".join(expected)


def test_what_was_begun_is_finished_before_the_end(server: Server) -> None:
    texts = ["我爱水课。她爱水课。\n" * 40 for _ in range(24)]
    with ThreadPoolExecutor(2) as pool:
        begun = pool.submit(server.ask, texts)
        figure = 'transduce_waiting_requests{run="demo"} 1.0'
        while figure not in httpx.get(f"{server.address}/metrics").text:
            assert not begun.done()
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        assert len(begun.result(60)) == 24
    assert server.process.wait(60) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.address)


def test_a_second_signal_ends_at_once_and_a_key_opens(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"\n{KEY}\n", encoding="utf-8")
    options = ("--host", "0.0.0.0", "--api-key-file", keys, "--run", RUN, "--run", RUN)
    with command(*options, TRANSDUCE_API_KEY="the environment's key") as server:
        assert server.told == ["  run: zh to en, transformer\n"]
        for key in (KEY, "the environment's key"):
            assert server.ask("我爱水课", headers={"Authorization": f"Bearer {key}"}) == "I love easy courses"
        assert httpx.post(f"{server.address}/translate", json={}).status_code == 401
        runs = httpx.get(f"{server.address}/v1/runs").json()
        assert [run["name"] for run in runs] == ["run", "run-2"]
        with ThreadPoolExecutor(1) as pool:
            headers = {"Authorization": f"Bearer {KEY}"}
            begun = pool.submit(server.ask, ["我爱水课。她爱水课。\n" * 200] * 20, headers=headers)
            time.sleep(0.5)
            assert not begun.done()
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert server.end(signal.SIGINT) == 130
            assert isinstance(begun.exception(), httpx.TransportError)


def test_what_cannot_be_served_is_refused(cli: InProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cli("serve", "--port", port).refused(f"--port {port}", "choose another --port")
    cli("serve", "--port", 70000).refused("--port 70000")
    cli("serve", "--host", "example.org").refused("--host example.org", "expected an address")
    cli("serve", "--host", "192.0.2.1").refused("--host 192.0.2.1")
    cli("serve", "--host", "0.0.0.0", "--port", 0).refused("--api-key-file", "TRANSDUCE_API_KEY")
    cli("serve", "--port", 0, "--run", tmp_path / "none").refused(str(tmp_path / "none"))
    cli("serve", "--port", 0, "--max-texts", 0).refused("`texts` = 0")
    cli("serve", "--port", 0, "--deadline", -1).refused("`deadline`")
    cli("serve", "--port", 0, "--rate", "often").refused("--rate often", "60/minute")
    for content, words in (("", "there is no key in it"), ("short\n", "line 1: a key of 5 characters")):
        (tmp_path / "keys").write_text(content, encoding="utf-8")
        cli("serve", "--port", 0, "--api-key-file", tmp_path / "keys").refused(words)
    cli("serve", "--port", 0, "--api-key-file", tmp_path / "no").refused("no such file")


def test_a_missing_extra_is_named(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("transduce.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    cli("serve", "--port", 0).refused('pip install "transduce[serve]"', "fastapi")

"""Ours in translation, from text to text: worker processes for many sentences, one process for one."""

from __future__ import annotations

from pathlib import Path

import torch

import transduce
from bench.peers.decoding import ask_in_turn
from bench.peers.protocol import Json, Link, run
from transduce.acceleration.allocator import keep_freed_memory
from transduce.commands.workers import Job, Workers
from transduce.devices import ComputeConfig
from transduce.text.lines import Line
from transduce.translator import Translator


def serve(job: Json, link: Link) -> None:
    keep_freed_memory()
    lines = Path(job["text"]).read_text(encoding="utf-8").split("\n")[: job["sentences"]]
    quantize = "int8" if job["form"] == "int8" else "none"
    compute = ComputeConfig(device=job["device"], precision=job["precision"], threads=job["threads"])
    options = {"length_penalty": 1.0, "length_penalty_form": "power", "max_extra": job["max_extra"], **job["options"]}
    loaded: list[Translator] = []
    running: dict[int, Workers] = {}

    def alone(texts: list[str], beam: int, setting: Json) -> list[str]:
        if not loaded:
            loaded.append(Translator.load(job["run"], compute=compute, quantize=quantize))
        torch.set_num_threads(setting["threads"])
        return [
            found.text
            for at in range(0, len(texts), setting["batch"])
            for found in loaded[0].translate(texts[at : at + setting["batch"]], beam=beam, **options)
        ]

    def together(texts: list[str], beam: int, setting: Json) -> list[str]:
        count = setting["workers"]
        if count not in running:
            work = Job([job["run"]], "auto", quantize, {**options, "beam": beam}, None, False, False, False)
            running[count] = Workers(count, work)
        chunks = (
            [Line(text.encode(), b"\n", at + i + 1) for i, text in enumerate(texts[at : at + setting["batch"]])]
            for at in range(0, len(texts), setting["batch"])
        )
        return [text for _, answer in running[count].map(chunks) for text in answer.rendered]

    def some(texts: list[str], beam: int, setting: Json) -> list[str]:
        return (together if setting["workers"] > 1 else alone)(texts, beam, setting)

    threads = job["threads"]
    several = [{"workers": 1, "threads": threads, "batch": max(job["batches"])}]
    if threads > 1 and job["device"] == "cpu":
        several += [{"workers": threads, "threads": 1, "batch": batch} for batch in job["batches"]]
    one = [{"workers": 1, "threads": each, "batch": 1} for each in sorted({1, threads})]
    ask_in_turn(job, link, lines, some, several, one, transduce.__version__, torch.__version__)


if __name__ == "__main__":
    run(serve)

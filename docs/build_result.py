"""Print a section of docs/results.md from a run folder: scores with everything that they came from.

python docs/build_result.py RUN "COMMAND" >> docs/results.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def section(run: Path, command: str) -> str:
    """Markdown: scores with signatures, then the record, then samples."""
    results = json.loads((run / "results.json").read_bytes())
    name = next(
        line.split('"')[1]
        for line in (run / "experiment.toml").read_text(encoding="utf-8").split("\n")
        if "name = " in line
    )
    lines = [f"## {name}", "", f"`{command}`", "", "| test | score | signature |", "| --- | ---: | --- |"]
    for test, result in results["tests"].items():
        for score in result["scores"]:
            signature = score["signature"].replace("|", r"\|")
            lines.append(f"| {test} | {score['name']} {score['value']:.2f} | `{signature}` |")
    hardware = results["hardware"]
    sums = {**results["data_sha256"], **{test: result["sha256"] for test, result in results["tests"].items()}}
    decoding = next(iter(results["tests"].values()))["decoding"]
    lines += [
        "",
        f"- {results['parameters']:,} parameters; {results['updates']:,} updates, "
        f"{results['target_tokens']:,} target tokens, "
        f"{results['training_flops']:.2e} floating-point operations, {results['training_seconds'] / 60:.1f} minutes; "
        f"seed {results['seed']}; ended because {results['finished']}",
        f"- beam {decoding['beam']}, length penalty {decoding['length_penalty']} ({decoding['length_penalty_form']}), "
        "the average of the last checkpoints",
        f"- {results['compute']}; {hardware['processor']}, {hardware['cores']} cores, torch {hardware['torch']}, "
        f"Python {hardware['python']}, transduce {results['transduce']}; {results['ended'][:10]}",
        "- SHA-256 of the text: " + ", ".join(f"{part} `{value[:16]}…`" for part, value in sums.items()),
    ]
    for test, result in results["tests"].items():
        lines += [
            "",
            f"Ten outputs for `{test}`, spread evenly over it:",
            "",
            "| source | output | reference |",
            "| --- | --- | --- |",
        ]
        for row in result["samples"]:
            lines.append(
                "| " + " | ".join(row[k].replace("|", r"\|") for k in ("source", "output", "reference")) + " |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(section(Path(sys.argv[1]), sys.argv[2]))

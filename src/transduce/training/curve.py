"""The training curve as a picture, drawn from the journal."""

from __future__ import annotations

from pathlib import Path

from transduce.errors import told
from transduce.training.journal import read_journal


def draw_curve(journal: Path, picture: Path, title: str) -> None:
    """Loss on training and validation text, and BLEU and chrF, against updates, as a PNG."""
    # matplotlib takes a second to import: only where a picture is drawn. No pyplot: it keeps global state.
    from matplotlib.figure import Figure

    events = read_journal(journal)
    updates = [e for e in events if e["event"] == "update"]
    validations = [e for e in events if e["event"] == "validation"]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(
        [e["update"] for e in updates],
        [e["loss"] for e in updates],
        color="0.65",
        lw=1,
        label="training loss (smoothing and dropout on)",
    )
    at = [e["update"] for e in validations]
    axes.plot(at, [e["loss"] for e in validations], "o-", ms=3, color="tab:blue", label="validation loss")
    axes.set(xlabel="update", ylabel="cross entropy (nats per token)", title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    if any(e["bleu"] is not None for e in validations):
        right = axes.twinx()
        right.plot(at, [e["bleu"] for e in validations], "s-", ms=3, color="tab:red", label="BLEU")
        right.plot(at, [e["chrf"] for e in validations], "^-", ms=3, color="tab:orange", label="chrF")
        right.set(ylabel="BLEU, chrF", ylim=(0, 100))
        more = right.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    axes.legend(handles, labels, loc="center right", fontsize="small")
    with told(picture):
        figure.savefig(picture, dpi=120, metadata={"Software": None})

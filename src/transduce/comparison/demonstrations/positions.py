"""What attention knows of the order of words, and what position vectors are for (article 2.4)."""

from __future__ import annotations

import torch
from torch import Tensor

from transduce.comparison.demonstrations.demonstration import Demonstration, Lines, seeded
from transduce.comparison.document import Table
from transduce.layers.position import Positions, build_positions
from transduce.models import TransformerConfig
from transduce.text.specials import RESERVED

SAME, OTHER = 1e-5, 0.1
"""Numbers closer than the one are equal to rounding; further apart than the other they are not."""
WIDTH = 512
"""d_model of the paper."""
LENGTHS = (10, 100, 1000, 5000)
OFFSET = 4
"""“How far are the 3rd and the 7th apart?”"""


def reordered(kind: Positions) -> float:
    """By how much the encoder's vectors for 课水爱我 differ from those for 我爱水课, put in the same order, at most."""
    order = [3, 2, 1, 0]
    with seeded(), torch.no_grad():
        settings = TransformerConfig(
            encoder_layers=2, decoder_layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0, positions=kind
        )
        model = settings.build(RESERVED + 4, RESERVED + 4).eval()
        straight, turned = (
            model.encode(torch.tensor([[RESERVED + i for i in ids]]), torch.tensor([4])).states[0]
            for ids in ([0, 1, 2, 3], order)
        )
    return float((turned - straight[order]).abs().max())


def equivariance() -> Demonstration:
    kinds: tuple[Positions, ...] = ("none", "sinusoidal", "learned", "scalar")
    found = {kind: reordered(kind) for kind in kinds}
    return Demonstration(
        title="Without positions the order is not seen",
        section="2.4",
        says="If 我爱水课 becomes 课水爱我, each word's result is the same as before without positions: only their "
        "order is another. So positions have to be added.",
        rule=f"without positions the vectors differ by at most {SAME:g}, with any kind of them by more than {OTHER:g}",
        measured=f"Without positions the vectors of the four words differ by {found['none']:.0e} at most, with "
        f"sinusoids by {found['sinusoidal']:.2f}.",
        holds=found["none"] <= SAME and all(found[kind] > OTHER for kind in kinds[1:]),
        table=Table(["positions", "largest difference"], [[kind, f"{value:.2g}"] for kind, value in found.items()]),
    )


def vectors(kind: Positions, length: int) -> Tensor:
    """What a kind of positions adds to embeddings [length d]."""
    return build_positions(kind, WIDTH, length)(torch.zeros(1, length, WIDTH))[0]


def products(kind: Positions) -> list[float]:
    """p_i · p_{i+4} for some places i: whether an offset looks the same everywhere."""
    p = vectors(kind, LENGTHS[-1] + OFFSET).double()
    return [float(p[i - 1] @ p[i - 1 + OFFSET]) for i in LENGTHS]


def scalar_against_sinusoids() -> Demonstration:
    kinds: tuple[Positions, ...] = ("scalar", "sinusoidal")
    largest = {kind: [float(vectors(kind, n).abs().max()) for n in LENGTHS] for kind in kinds}
    alike = {kind: products(kind) for kind in kinds}
    bounded = max(largest["sinusoidal"]) <= 1 + SAME
    steady = max(alike["sinusoidal"]) - min(alike["sinusoidal"]) <= SAME * max(alike["sinusoidal"])
    grows = largest["scalar"] == [float(n) for n in LENGTHS]
    product = f"p(i) · p(i + {OFFSET})"
    rows = [[kind, what, *(f"{value:,.5g}" for value in values)] for kind in kinds
            for what, values in (("largest number", largest[kind]), (product, alike[kind]))]  # fmt: skip
    return Demonstration(
        title="A bare number against sinusoids",
        section="2.4.1",
        says="A bare 1, 2, 3 … grows without a limit, is out of proportion to a word's numbers, and hardly tells how "
        "far two words are apart; sines and cosines stay within −1 and 1.",
        rule="the number grows with the length, sinusoids stay within −1 and 1, and of two places that are "
        f"{OFFSET} apart the sinusoids have the same product wherever they stand",
        measured=f"At place {LENGTHS[-1]:,} the number is {largest['scalar'][-1]:,.0f}, the largest sinusoid "
        f"{largest['sinusoidal'][-1]:.3f}. The product of two places that are {OFFSET} apart goes from "
        f"{alike['scalar'][0]:,.0f} to {alike['scalar'][-1]:,.0f} for the number; for sinusoids it is "
        f"{alike['sinusoidal'][0]:.2f} everywhere.",
        holds=bounded and steady and grows,
        table=Table(["positions", "", *(f"place {n:,}" for n in LENGTHS)], rows),
        charts=[
            Lines("largest number in a position's vector", "place", "", [(k, LENGTHS, v) for k, v in largest.items()],
                  log=True),
            Lines(f"product of two places {OFFSET} apart", "place", "", [(k, LENGTHS, v) for k, v in alike.items()],
                  log=True),
        ],
    )  # fmt: skip

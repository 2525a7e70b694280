"""Rows are filled up for oneDNN, which nobody sees but in what memory it takes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from transduce.acceleration import onednn

pytestmark = pytest.mark.skipif(not onednn.available(), reason="this PyTorch has no oneDNN")


def test_any_number_of_rows_has_its_own_products(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, bias = torch.randn(307, 211), torch.randn(307)
    packed = onednn.Packed(weight, bias)
    monkeypatch.setattr(onednn, "_FEWEST", 0)
    for shape in ((1,), (15,), (16,), (17,), (3, 21), (64,), (65,), (5, 41)):
        x = torch.randn(*shape, 211)
        found = packed(x)
        assert found.shape == (*shape, 307)
        torch.testing.assert_close(found, F.linear(x, weight, bias), atol=1e-4, rtol=1e-4)

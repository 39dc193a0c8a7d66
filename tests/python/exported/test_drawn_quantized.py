"""A sample of what `./dev test quantized` checks."""

import drawn_quantized
import pytest


@pytest.mark.parametrize('seed', range(16))
def test_a_drawn_model(seed):
    drawn_quantized.check(seed)

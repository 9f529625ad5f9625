"""What tests of the core share: every engine, every policy."""

from __future__ import annotations

import pytest

from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine, by name."""
    return request.param


@pytest.fixture(params=list(POLICIES))
def policy(request: pytest.FixtureRequest) -> str:
    """Each effect policy, by name."""
    return request.param

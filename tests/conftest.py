"""What tests of the core share: every engine, every policy, and property tests that are the same in every run."""

from __future__ import annotations

import pytest
from browser import browser, page  # noqa: F401 - fixtures
from hypothesis import settings
from worlds import make, provider  # noqa: F401 - fixtures

from labkit.effects.policies import POLICIES
from labkit.engines import ENGINES

settings.register_profile("steady", deadline=None, derandomize=True)  # a busy machine or another seed fails nobody
settings.load_profile("steady")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine, by name."""
    return request.param


@pytest.fixture(params=list(POLICIES))
def policy(request: pytest.FixtureRequest) -> str:
    """Each effect policy, by name."""
    return request.param

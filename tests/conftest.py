"""What all tests share: hypothesis' settings, the `--bless` flag, and where the project's files are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("presk", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("presk-ci", settings.get_profile("presk"), derandomize=True)
settings.load_profile("presk-ci" if os.environ.get("CI") else "presk")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="write what came out where a test holds expected output in a file"
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expected outputs are to be written anew; the change is then reviewed like code."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def examples(root: Path) -> Path:
    """The folder of the example programs."""
    return root / "examples"

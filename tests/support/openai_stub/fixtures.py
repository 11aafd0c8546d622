"""Import the fixture where it is used: `from tests.support.openai_stub.fixtures import openai_stub`."""

from collections.abc import Iterator

import pytest

from .server import OpenAIStub


@pytest.fixture
def openai_stub() -> Iterator[OpenAIStub]:
    """A running stub with empty queues."""
    with OpenAIStub() as stub:
        yield stub

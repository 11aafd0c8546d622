"""Start the host, having imported as little as the engine needs."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _without_its_client(name: str) -> None:
    """Let modules below the package `name` be imported without what its __init__ imports.

    The engine needs the stubs that pymilvus generated and nothing else of it; the client, with pandas, is half of the
    time until the engine answers, and 44 MB.
    """
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.submodule_search_locations is not None, f"{name} is not installed"
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    package.__spec__ = spec
    sys.modules[name] = package


if __name__ == "__main__":
    _without_its_client("pymilvus")
    from .host import main

    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

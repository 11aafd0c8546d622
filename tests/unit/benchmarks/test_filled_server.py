"""The server that the growth benchmark asks: a whole one, holding exactly the users it was told to."""

import pytest

from benchmarks.filled_server import Population
from benchmarks.growth import filled
from memlane_core.adapters.local_embedder import DIMENSION


def test_a_filled_server_answers_for_its_users_and_for_no_others() -> None:
    few, one = Population(3, 20), Population(1, 50)
    with filled(few, one) as target:
        for _ in range(10):
            target.search(few)
        target.search(one)
        with pytest.raises(ValueError, match="0 memories of bench-2x5"):
            target.search(Population(2, 5))
        assert [(f.population, f.rows) for f in target.fillings] == [("3x20", 60), ("1x50", 50)]
        for filling in target.fillings:
            vectors = filling.rows * DIMENSION * 4
            assert vectors < filling.content_bytes < 1.1 * vectors
            assert filling.accounted_bytes > filling.content_bytes


def test_a_population_is_read_as_it_is_written() -> None:
    assert Population.parse("100000x20") == Population(100_000, 20)
    assert str(Population(7, 3)) == "7x3"
    with pytest.raises(ValueError, match="invalid literal"):
        Population.parse("many")

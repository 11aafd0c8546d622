"""The same search beside its neighbours: other stores and memory libraries, on the same vectors, in the same run."""

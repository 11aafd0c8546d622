"""Use cases of the service, written against the ports."""

"""`memlane demo`: two customers, two sessions, one real server process."""

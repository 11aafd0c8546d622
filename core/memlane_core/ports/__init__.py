"""What the services need from the outside world, one small Protocol per file."""

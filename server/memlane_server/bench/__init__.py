"""What `memlane bench` is made of: loads, the generators that put them on a server, and what comes of it."""

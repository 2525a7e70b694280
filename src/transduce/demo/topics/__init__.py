"""What the sentences are about: one file per topic, each ending in `RULES`."""

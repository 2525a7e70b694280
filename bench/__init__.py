"""How fast this is beside others, on the machine at hand: `python -m bench --help`."""

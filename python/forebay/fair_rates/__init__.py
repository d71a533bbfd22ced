"""Fair rates of flows in a network, without running it."""

"""Maths tasks, one file each: a generator in tiers 0 to 5, a worked solution of equation lines, an exact reference."""

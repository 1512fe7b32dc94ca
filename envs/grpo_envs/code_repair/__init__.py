"""Programs to be repaired in several turns, each of which is told what the last one fails on."""

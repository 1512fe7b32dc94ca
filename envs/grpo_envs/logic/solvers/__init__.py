"""What puzzles are drawn, solved and explained with: one idea per module. The tasks stand beside this folder."""

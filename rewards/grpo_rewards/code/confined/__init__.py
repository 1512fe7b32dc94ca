"""What runs inside the confined processes of the code judge.

Modules here import the standard library and one another, nothing else: they are loaded in a bare interpreter that has
no third-party package and never ran the package above.
"""

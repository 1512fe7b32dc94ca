"""Settings for all tests. It stands here and not in tests/, which pytest would then put on the import path."""

from hypothesis import settings

settings.register_profile("steady", deadline=None)  # a busy machine is slow now and then; that is no failure
settings.load_profile("steady")

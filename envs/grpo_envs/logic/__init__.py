"""Logic tasks, one file each."""

"""The command line: one small file per command, and the only place that knows core, environments and agents at once.

`main` looks at the first word and imports that command's file alone, so `--help` is quick and `list`, `sample` and
`play` work where no learning library is installed. A command is a function `run(arguments) -> exit code`. Options are
frozen dataclasses read by tyro, which is imported only here. Errors rise to `main`, which prints one line.
"""

"""What `make reliability` runs: all that is thrown at the addon, counted. docs/reliability.md explains it."""

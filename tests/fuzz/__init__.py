"""What `make fuzz` runs: inputs that a fuzzer invents, led by the lines of the code that they reach."""

"""Calls written as code: `f(a="x")` and `call:f{a:1}`, with the literals of their languages."""

"""`make dialect`: a dialect's file and its cases, made from a reply that somebody pasted. Start with `run`."""

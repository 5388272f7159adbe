"""How the recordings are made: what is asked (`asking`), how sound replies look (`shapes`), and what is recorded."""

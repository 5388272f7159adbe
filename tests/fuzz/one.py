"""One target in this process, until its time is up. `fuzz.run` starts it: libFuzzer ends the process itself."""

import sys
from hashlib import sha1

import atheris

with atheris.instrument_imports(include=["toolcalls"]):
    from fuzz.corpus import seeds, words
    from fuzz.targets import TARGETS
    from toolcalls.dialects import all_dialects
    from toolcalls.wires import all_wires

    all_dialects()  # they import their modules when they are first asked
    all_wires()

from fuzz.run import HOME, SLOW

LONGEST = 4096  # bytes of an input


def main(name: str, seconds: int) -> None:
    """Fuzz a target for so long."""
    home = HOME / name
    corpus = home / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds(name):
        (corpus / sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    dictionary = home / "words"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words()), encoding="ascii")
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-timeout={SLOW}",
        "-rss_limit_mb=2048",
        f"-dict={dictionary}",
        f"-artifact_prefix={home}/",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[name])
    atheris.Fuzz()


def _escaped(word: str) -> str:
    """A word as libFuzzer's dictionaries write it."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

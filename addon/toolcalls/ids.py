"""Call ids that are ours and the same on every replay: a digest of the exchange, never a random number."""

from hashlib import blake2b


def call_id(seed: bytes, lane: int, index: int, name: str, *, prefix: str = "call_", roundtrip: bool = False) -> str:
    """The wire's prefix and 24 hex digits, or `vtc_` and 12 in the round trip (virtual tool calling's own form).

    `seed` tells one exchange from another (a digest of its request, so two turns never share ids), `lane` and `index`
    the calls of one exchange.
    """
    digest = blake2b(f"{lane}:{index}:{name}".encode("utf-8", "surrogatepass"), key=seed[:64], digest_size=12)
    return f"vtc_{digest.hexdigest()[:12]}" if roundtrip else f"{prefix}{digest.hexdigest()}"

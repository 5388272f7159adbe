"""What a turn cost, by the prices that the configuration names. There are none by default, and none are made up."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from toolcalls.route import Price
from toolcalls.values.usage import Tokens

_MILLION = 1_000_000


def cost_of(model: str, tokens: Tokens, prices: Sequence[Price]) -> float | None:
    """The cost by the first price whose pattern fits, in the currency of the prices; None when it is not known.

    Cached input counts at its own price where there is one, else as all input does.
    """
    price = next((one for one in prices if fnmatchcase(model, one.model)), None)
    if price is None or tokens.input is None or tokens.output is None:
        return None
    cached = min(tokens.cached or 0, tokens.input)
    rate = price.input if price.cached is None else price.cached
    return ((tokens.input - cached) * price.input + cached * rate + tokens.output * price.output) / _MILLION


def currency_of(prices: Sequence[Price]) -> str:
    """The currency of the prices, "" where the configuration does not name it."""
    return prices[0].currency if prices else ""


def money(amount: float, currency: str = "") -> str:
    """An amount: four digits that count, so that a small one is not 0, and the currency where it is known."""
    shown = (
        f"{amount:,.2f}" if amount >= 100 else f"{amount:.4g}" if amount >= 0.0001 or not amount else f"{amount:.1e}"
    )
    return f"{shown} {currency}" if currency else shown

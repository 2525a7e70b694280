"""What a server allows, and to whom."""

from __future__ import annotations

from pydantic import Field

from transduce.config import Config


class ServingConfig(Config):
    """Limits of a server; each is refused with JSON that names it."""

    body: int = Field(default=2**20, ge=1)
    """Bytes of a request's body; more is answered 413."""
    characters: int = Field(default=10_000, ge=1)
    """Characters of a text; more is answered 422."""
    inspected: int = Field(default=200, ge=1)
    """Characters of a sentence that is looked into; more is answered 422. Its numbers grow with the square: of 100
    characters they are some 7 MB, of 300 some 39."""
    texts: int = Field(default=64, ge=1)
    """Texts of a request; more is answered 422."""
    nbest: int = Field(default=10, ge=1, le=1000)
    """Translations of a text, and hypotheses that its search may follow; more is answered 400."""
    queue: int = Field(default=128, ge=1)
    """Requests of one run that wait or are computed; one more is answered 503."""
    deadline: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds from a request's first byte to its answer; later it is answered 503, or 408 where its body was not
    there by then."""
    batch: int = Field(default=64, ge=1)
    """Sentences that a run translates together at most."""
    rate: str = ""
    """Requests of one address to translate, such as "60/minute"; more are answered 429. Empty: any number."""
    keys: tuple[str, ...] = Field(default=(), repr=False)
    """One of them must come with a request to translate; empty: none needed."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may read answers, such as "https://intranet.example"; "*" for all."""
    hosts: tuple[str, ...] | None = None
    """Names by which the server may be called in `Host`; None: by any."""

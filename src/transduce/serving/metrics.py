"""Figures for Prometheus. Labels are names of runs and of endpoints: nothing that a client sends."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter("transduce_requests", "Requests answered.", ["endpoint", "status"], registry=registry)
        self._seconds = Histogram(
            "transduce_request_seconds", "Seconds to an answer.", ["endpoint"], buckets=SECONDS, registry=registry
        )
        self._batches = Histogram(
            "transduce_batch_sentences", "Sentences in a batch.", ["run"], buckets=SENTENCES, registry=registry
        )
        self._computing = Counter("transduce_batch_seconds", "Seconds spent on batches.", ["run"], registry=registry)
        self._waiting = Gauge("transduce_waiting_requests", "Requests not done.", ["run"], registry=registry)

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def batch(self, run: str, sentences: int, seconds: float) -> None:
        self._batches.labels(run).observe(sentences)
        self._computing.labels(run).inc(seconds)

    def waiting(self, run: str, count: int) -> None:
        self._waiting.labels(run).set(count)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        return generate_latest(self._registry)

"""The routes that LibreTranslate's clients call, in its shapes."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response

from transduce.serving import languages
from transduce.serving.asking import asked, needs_key, service_of, unless_gone
from transduce.serving.refusal import Refusal
from transduce.serving.schemas import (
    Chosen,
    Detected,
    FrontendSettings,
    Health,
    Language,
    LibreAnswer,
    Pair,
    Questions,
)
from transduce.serving.service import Service
from transduce.serving.translating import body_of, check_texts, job_of, problems
from transduce.translator.documents import Document


def router(service: Service) -> APIRouter:
    routes = APIRouter(tags=["LibreTranslate"])
    questions = Questions(service.config)

    @routes.post(
        "/translate",
        response_model=LibreAnswer,
        response_model_exclude_none=True,
        responses=problems(400, 401, 403, 408, 413, 415, 422, 429, 500, 503),
        openapi_extra=body_of(questions.libre, forms=True),
        dependencies=[Depends(needs_key)],
    )
    async def translate(request: Request) -> LibreAnswer:
        """Translate a text, or each text of a list."""
        question = await asked(request, questions.libre)
        texts = [question.q] if isinstance(question.q, str) else question.q
        if isinstance(question.q, str) and not question.q.strip("\0"):
            raise Refusal(400, "q: there is no text to translate")
        run = service.choose(question.source, question.target)
        job = job_of(request, run, texts, format=question.format, nbest=1 + question.alternatives)
        service.submit(run, job)
        documents = await unless_gone(request, service.result(job))
        single = isinstance(question.q, str)
        found = [document.text for document in documents]
        others = [_others(document) for document in documents] if question.alternatives else None
        told = Detected(confidence=100, language=run.source) if question.source.strip().lower() == "auto" else None
        return LibreAnswer(
            translatedText=found[0] if single else found,
            alternatives=others[0] if others and single else others,
            detectedLanguage=told if single or told is None else [told] * len(texts),
        )

    @routes.post(
        "/detect",
        responses=problems(400, 401, 403, 408, 413, 415, 422, 429, 500),
        openapi_extra=body_of(questions.detect, forms=True),
        dependencies=[Depends(needs_key)],
    )
    async def detect(request: Request) -> list[Detected]:
        """The languages that are read here, none likelier than another: the text is not looked at."""
        question = await asked(request, questions.detect)
        if not question.q.strip("\0"):
            raise Refusal(400, "q: there is no text")
        check_texts([question.q], service.config)
        codes = list(dict.fromkeys(run.source for run in service.translating))
        return [Detected(confidence=100 // len(codes), language=code) for code in codes]

    @routes.get("/languages", responses=problems(403, 500))
    async def list_languages() -> list[Language]:
        """The languages of the runs, and into which each is translated."""
        codes = dict.fromkeys(code for run in service.translating for code in (run.source, run.target))
        targets = {code: [run.target for run in service.translating if run.source == code] for code in codes}
        return [
            Language(code=code, name=languages.name(code), targets=list(dict.fromkeys(targets[code]))) for code in codes
        ]

    @routes.get("/frontend/settings", responses=problems(403, 500))
    async def settings() -> FrontendSettings:
        """What a client may want to know of this server."""
        first = next(iter(service.translating or service.runs.values()))
        source, target = (Chosen(code=code, name=languages.name(code)) for code in (first.source, first.target))
        return FrontendSettings(
            apiKeys=bool(service.config.keys),
            keyRequired=bool(service.config.keys),
            charLimit=service.config.characters,
            frontendTimeout=500,
            filesTranslation=False,
            suggestions=False,
            supportedFilesFormat=[],
            language=Pair(source=source, target=target),
        )

    @routes.get("/health", responses=problems(403, 500, 503))
    async def health() -> Health:
        """Whether the server works."""
        if not service.healthy:
            raise Refusal(503, "the server is stopping, or a thread of it has ended", retry_after=5)
        return Health(status="ok")

    @routes.get(
        "/metrics",
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems(401, 403, 500)},
        response_class=Response,
        dependencies=[Depends(needs_key)],
    )
    async def metrics(request: Request) -> Response:
        """Figures for Prometheus."""
        return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes


def _others(document: Document) -> list[str]:
    """Alternatives that are no second copy of the best or of one another."""
    texts = list(dict.fromkeys(one.text for one in document.translation.alternatives))
    return texts[1:]

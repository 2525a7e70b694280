"""The interface with all that is known of a translation: n best, scores, alignment, tokens as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import StreamingResponse

from transduce.serving.asking import asked, needs_key, unless_gone
from transduce.serving.job import Hear, Job
from transduce.serving.refusal import Refusal
from transduce.serving.schemas import Answer, Linked, Part, Question, Questions, Ranked, Run, Translated
from transduce.serving.service import Served, Service
from transduce.serving.translating import body_of, choose, job_of, problems
from transduce.translator.documents import Document

EVENTS = {
    "description": "A translation; or, with stream, server-sent events: `token` with what is new in the translation of "
    "a sentence, then `done` with the whole answer or `error`.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["transduce"])
    questions = Questions(service.config)

    @routes.get("/runs", responses=problems(403, 500))
    async def runs() -> list[Run]:
        """The runs that are served."""
        return [
            Run(
                name=run.name,
                model=run.translator.experiment.model.kind,
                task=run.translator.task.name,
                source=run.source,
                target=run.target,
                translates=run.translates,
                nbest=service.most(run),
                alignment=run.translator.aligns,
                whole=run.translator.task.whole,
            )
            for run in service.runs.values()
        ]

    @routes.post(
        "/translate",
        response_model=Answer,
        responses={200: EVENTS, **problems(400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 503)},
        openapi_extra=body_of(questions.question, forms=False),
        dependencies=[Depends(needs_key)],
    )
    async def translate(request: Request) -> Any:
        """Translate a text, or each text of a list, with scores and, where they are asked for and the run has them,
        n best and alignment."""
        question = await asked(request, questions.question)
        run = choose(request, question.run, question.source, question.target)
        if question.stream:
            return _streamed(request, service, run, question)
        job = _job(request, run, question)
        service.submit(run, job)
        return _answer(run, await unless_gone(request, service.result(job)))

    return routes


def _job(request: Request, run: Served, question: Question, hear: Hear | None = None) -> Job:
    return job_of(
        request,
        run,
        [question.text] if isinstance(question.text, str) else question.text,
        format=question.format,
        nbest=question.nbest,
        beam=question.beam,
        alignment=question.alignment,
        hear=hear,
    )


def _answer(run: Served, documents: list[Document]) -> Answer:
    return Answer(
        run=run.name, source=run.source, target=run.target, translations=[_translation(one) for one in documents]
    )


def _translation(document: Document) -> Translated:
    whole = document.translation
    return Translated(
        text=whole.text,
        score=whole.score,
        log_probability=whole.alternatives[0].log_probability,
        truncated=whole.truncated,
        repetitive=whole.repetitive,
        alternatives=[Ranked(**asdict(one)) for one in whole.alternatives],
        alignment=[Linked(**asdict(link)) for link in whole.alignment],
        sentences=[
            Part(
                source_start=sentence.source_start,
                source_end=sentence.source_end,
                target_start=sentence.target_start,
                target_end=sentence.target_end,
                score=sentence.translation.score,
                log_probability=sentence.translation.alternatives[0].log_probability,
                truncated=sentence.translation.truncated,
                repetitive=sentence.translation.repetitive,
            )
            for sentence in document.sentences
        ],
    )


def _streamed(request: Request, service: Service, run: Served, question: Question) -> StreamingResponse:
    """Events while a translation is written."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str] = asyncio.Queue()

    def hear(text: int, sentence: int, token: str) -> None:
        event = _event("token", {"text": text, "sentence": sentence, "token": token})
        loop.call_soon_threadsafe(events.put_nowait, event)

    job = _job(request, run, question, hear)
    service.submit(run, job)
    return StreamingResponse(_events(service, run, job, events), media_type="text/event-stream")


async def _events(service: Service, run: Served, job: Job, events: asyncio.Queue[str]) -> AsyncIterator[str]:
    """What comes, and the last event. When the client goes away, this is cancelled, and with it the job."""
    last = asyncio.ensure_future(_last(service, run, job))
    try:
        while not last.done() or not events.empty():
            coming = asyncio.ensure_future(events.get())
            await asyncio.wait((coming, last), return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                yield coming.result()
            else:
                coming.cancel()
        yield last.result()
    finally:
        last.cancel()


async def _last(service: Service, run: Served, job: Job) -> str:
    try:
        return _event("done", _answer(run, await service.result(job)).model_dump())
    except Refusal as refusal:
        return _event("error", {"error": refusal.message, "status": refusal.status})


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"

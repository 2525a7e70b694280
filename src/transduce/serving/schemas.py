"""What is asked and answered, as the OpenAPI document has it. Numbers have one type each: an integer stays one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from transduce.serving.config import ServingConfig
from transduce.text.protected import Format


class LibreQuestion(BaseModel):
    """A translation as LibreTranslate's clients ask for it; fields that it does not know are passed over."""

    q: str | list[str]
    source: str = Field(description='expected the code of a language, or "auto"')
    target: str = Field(description="expected the code of a language")
    format: Format = Field("text", description='expected "text" or "html"')
    alternatives: int = 0
    api_key: str | None = Field(None, description="expected a text")


class DetectQuestion(BaseModel):
    """A text whose language is asked for."""

    q: str
    api_key: str | None = Field(None, description="expected a text")


class Question(BaseModel):
    """A translation with all that is known of it."""

    model_config = ConfigDict(extra="forbid")

    text: str | list[str]
    source: str = Field("auto", description='expected the code of a language, or "auto"')
    target: str | None = Field(None, description="expected the code of a language; may be left out with run")
    run: str | None = Field(None, description="expected the name of a run; without it the languages choose one")
    format: Format = Field("text", description='expected "text" or "html"')
    nbest: int = 1
    beam: int | None = None
    alignment: bool = Field(False, description="expected true or false: link each piece to what the model read for it")
    stream: bool = Field(False, description="expected true or false: answer with events, token by token")


class Questions:
    """The models of questions with one server's limits in them."""

    def __init__(self, config: ServingConfig) -> None:
        one: dict[str, Any] = {"type": "string", "maxLength": config.characters}
        many = {"type": "array", "items": one, "minItems": 1, "maxItems": config.texts}
        texts = {"anyOf": [{**one, "minLength": 1}, many]}
        size = f"of at most {config.characters:,} characters"
        words = f"expected a text {size}, or a list of up to {config.texts:,} of them"

        class _Libre(LibreQuestion):
            q: Annotated[str | list[str], WithJsonSchema(texts)] = Field(description=words)
            alternatives: int = _whole(0, 0, config.nbest - 1, "expected a whole number from 0 to {}")

        class _Detect(DetectQuestion):
            q: Annotated[str, WithJsonSchema({**one, "minLength": 1})] = Field(description=f"expected a text {size}")

        class _Question(Question):
            text: Annotated[str | list[str], WithJsonSchema(texts)] = Field(description=words)
            nbest: int = _whole(1, 1, config.nbest, "expected a whole number from 1 to {}")
            beam: int | None = _whole(None, 1, config.nbest, "expected a whole number from 1 to {}, or nothing")

        self.libre: type[LibreQuestion] = _Libre
        self.detect: type[DetectQuestion] = _Detect
        self.question: type[Question] = _Question


def _whole(default: Any, least: int, most: int, words: str) -> Any:
    return Field(default, ge=least, le=most, description=words.format(most))


class Problem(BaseModel):
    """Why there is no result."""

    error: str


class Detected(BaseModel):
    confidence: int = Field(ge=0, le=100)
    """Percent: 100 where no other language is possible here. The text is not looked at."""
    language: str


class LibreAnswer(BaseModel):
    """Of one text, or lists for a list of texts."""

    translatedText: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: Detected | list[Detected] | None = None


class Language(BaseModel):
    code: str
    name: str
    targets: list[str]


class Chosen(BaseModel):
    code: str
    name: str


class Pair(BaseModel):
    source: Chosen
    target: Chosen


class FrontendSettings(BaseModel):
    """What LibreTranslate's clients ask a server about itself."""

    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int
    filesTranslation: bool
    suggestions: bool
    supportedFilesFormat: list[str]
    language: Pair


class Health(BaseModel):
    status: Literal["ok"]


class Run(BaseModel):
    """A run, and what it does for a client."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str
    model: str
    """Kind of its model."""
    task: str
    source: str
    """Code of the language that it reads; empty where it has none, as in `target`."""
    target: str
    translates: bool
    """Whether it makes texts of texts; any other run can only be looked into."""
    nbest: int
    """Translations of one text that it gives at most: one where its task looks for no other."""
    alignment: bool
    """Whether it can link a translation to its source."""
    whole: bool
    """Whether it reads a text as a whole and makes one output of it; else a text is cut into sentences."""


class Ranked(BaseModel):
    text: str
    score: float
    """Length-penalised log-probability."""
    log_probability: float
    """In nats."""


class Linked(BaseModel):
    """A target piece and the source piece that the model attended to most; places in characters, ends excluded."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    weight: float
    probability: float
    """That the model gave the target piece."""


class Part(BaseModel):
    """A sentence of a text, or all of it where the run reads it as a whole; places in characters, ends excluded."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    score: float
    log_probability: float
    truncated: bool
    repetitive: bool


class Translated(Ranked):
    truncated: bool
    """Whether output was cut at its greatest length."""
    repetitive: bool
    alternatives: list[Ranked]
    """The n best, the best first: fewer where the run has no more."""
    alignment: list[Linked]
    sentences: list[Part]


class Answer(BaseModel):
    run: str
    source: str
    target: str
    translations: list[Translated]
    """One for each text, in their order."""

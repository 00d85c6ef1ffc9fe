"""A request in the shape of OpenAI's chat completions: what is asked, of which panel, and in which conversation."""

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moothall.app.given_files import build_given_file
from moothall.app.panels import list_presets, load_preset
from moothall.app.protocols import load_protocols
from moothall.codec.settings import explain_validation_error, find_fault
from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Language
from moothall.domain.safe_text import compile_late, fix_surrogates, one_line, quote_lines
from moothall.domain.topic import MAX_TOPIC_LENGTH, ContextFile
from moothall.errors import BadSetting, MissingExtra
from moothall.locale.catalogues import CHAT, LANGUAGE
from moothall.locale.texts import detect_language
from moothall.surfaces.api.decisions import AnswerShape, parse_answer_shape

PREFIX: Final = "moot/"
DEFAULT_PROTOCOL: Final = "persona"
DEFAULT_PANEL: Final = "default"
MAX_MESSAGE_LENGTH: Final = 6_000
MAX_CONVERSATION_LENGTH: Final = 14_000
"""How many characters of one earlier message, and of all together, the seats read; the newest come first."""
TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
FILE_PARTS: Final = frozenset({"file", "input_file"})
_OLDER_ROLES: Final = {"developer": "system", "function": "tool"}
"""Roles under other names than those that Moot has words for."""
PICTURE_PARTS: Final = frozenset({"image_url", "input_image"})
QUESTION_END: Final = 4_000
"""How many characters of each end of a question stand in it where it is too long."""


class ChatRefused(Exception):
    """A request that is answered with an error: an HTTP status, OpenAI's code, and the parameter that is to blame."""

    def __init__(
        self, status: int, message: str, code: str = "invalid_request", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param


class _Lenient(BaseModel):
    """Clients send fields of their own, and null for what they do not need: both are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ChatMessage(_Lenient):
    role: Annotated[str, Field(max_length=100)]
    content: str | list[dict[str, Any] | str] | None = None


class StreamOptions(_Lenient):
    include_usage: bool | None = None


class ChatRequest(_Lenient):
    """The fields that Moot heeds."""

    model: Annotated[str, Field(max_length=300)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=10_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    seed: int | None = None
    user: Annotated[str, Field(max_length=1_000)] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    response_format: Any = None
    metadata: Any = None

    @property
    def answer_tool(self) -> str:
        """The name of the function by which the decision is wanted; empty where it is wanted as a message."""
        tool = find_answer_tool(self)
        if tool is None:
            return ""
        return str(tool["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModel:
    """A panel with a protocol, under the name that a chat client knows."""

    panel: str
    protocol: str

    @property
    def id(self) -> str:
        if self.protocol == DEFAULT_PROTOCOL:
            return f"{PREFIX}{self.panel}"
        return f"{PREFIX}{self.protocol}:{self.panel}"

    def describe(self) -> str:
        return f"{load_preset(self.panel, 'en').title} ({self.protocol})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a request asks: the last word of the user's, and the conversation before it."""

    text: str
    language: Language
    conversation: str
    files: tuple[ContextFile, ...] = ()
    """What was given with it: files in its messages, and the whole of a question that is too long."""
    shape: AnswerShape | None = None
    """The shape in which its answer is wanted; None: text."""


def list_models() -> list[ChatModel]:
    """Every panel with every protocol that needs no more than that; the default protocol first."""
    others = sorted(
        name
        for name, plugin in load_protocols().items()
        if plugin.opens_by_question and name != DEFAULT_PROTOCOL
    )
    models = []
    for name in (DEFAULT_PROTOCOL, *others):
        for panel in list_presets():
            models.append(ChatModel(panel=panel, protocol=name))
    return models


def find_model(name: str) -> ChatModel:
    """The model of a name: `moot/PANEL`, `moot/PROTOCOL:PANEL` or `moot/PROTOCOL`, also without `moot/`; raises ChatRefused."""
    short = name.strip().removeprefix(PREFIX)
    models = list_models()
    protocols = {model.protocol for model in models}
    protocol, colon, panel = short.partition(":")
    if short == "moot":
        protocol, panel = DEFAULT_PROTOCOL, DEFAULT_PANEL
    elif not colon and short in protocols:
        panel = DEFAULT_PANEL
    elif not colon:
        protocol, panel = DEFAULT_PROTOCOL, short
    for model in models:
        if (model.protocol, model.panel) == (protocol, panel):
            return model
    known = ", ".join(model.id for model in models)
    raise ChatRefused(
        404,
        f"the model {name[:100]!r} does not exist; the models are: {known}",
        "model_not_found",
        "model",
    )


def parse_chat_request(body: bytes) -> ChatRequest:
    """Read the body of a request; raises ChatRefused with the place of the fault and what was expected."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as cause:
        raise ChatRefused(400, f"the body is not valid JSON: {cause}") from cause
    if not isinstance(given, dict):
        raise ChatRefused(
            400,
            f"the body is a JSON {type(given).__name__}; expected an object with model and messages",
        )
    try:
        chat = ChatRequest.model_validate(given)
    except ValidationError as cause:
        raise ChatRefused(400, explain_validation_error(cause), param=find_fault(cause)) from cause
    if chat.n is not None and chat.n != 1:
        raise ChatRefused(
            400,
            f"n = {chat.n}; a meeting makes one decision: leave n out, or set it to 1",
            param="n",
        )
    if chat.tool_choice not in (None, "auto", "none") and find_answer_tool(chat) is None:
        message = "Moot calls no tools, but one that takes the fields of a decision; name that one, or leave tool_choice out"
        raise ChatRefused(400, message, param="tool_choice")
    return chat


def find_answer_tool(chat: ChatRequest) -> dict[str, Any] | None:
    """The one function by which a client wants the decision: libraries ask for structured output in that way too."""
    functions = _list_functions(chat)
    if chat.tool_choice == "required" and len(functions) == 1:
        return functions[0]
    match chat.tool_choice:
        case {"function": {"name": str(name)}}:
            for function in functions:
                if function["name"] == name:
                    return function
    return None


def _list_functions(chat: ChatRequest) -> list[dict[str, Any]]:
    """The functions that a client describes; tools of other kinds, and those without a name, are left out."""
    functions = []
    for tool in chat.tools or ():
        match tool:
            case {"function": {"name": str()} as function}:
                functions.append(function)
    return functions


def _read_answer_shape(chat: ChatRequest) -> AnswerShape | None:
    """The shape in which the decision is wanted, None for text; raises ChatRefused where a decision has no such shape."""
    tool = find_answer_tool(chat)
    param, wanted = "response_format", chat.response_format
    if tool is not None:
        param, wanted = (
            "tools",
            {"type": "json_schema", "json_schema": {"schema": tool.get("parameters")}},
        )
    try:
        return parse_answer_shape(wanted)
    except ValueError as cause:
        raise ChatRefused(400, f"{param}: {cause}", param=param) from cause


def read_text(message: ChatMessage, language: Language = "en") -> str:
    """The text of a message; parts that are not text are named in it."""
    if not isinstance(message.content, list):
        return fix_surrogates(message.content or "").strip()
    words = CHAT[language].not_text
    texts = []
    for part in message.content:
        if isinstance(part, str):
            texts.append(part)
        elif _is_text(part):
            texts.append(str(part.get("text") or part.get("refusal") or ""))
        else:
            texts.append(words.format(kind=str(part.get("type"))[:40]))
    return fix_surrogates("\n".join(texts)).strip()


def _is_text(part: dict[str, Any]) -> bool:
    return str(part.get("type", "text")) in TEXT_PARTS


def read_question(chat: ChatRequest) -> Question:
    """The question with the conversation before it; raises ChatRefused where there is none that Moot can read."""
    asked = _find_last_of_user(chat)
    if asked is None:
        raise ChatRefused(
            400,
            "no message has the role 'user'; the last one of them is the question",
            param="messages",
        )
    message = chat.messages[asked]
    place = f"messages.{asked}.content"
    for part in _list_parts(message):
        if not _is_text(part) and not _is_file(part):
            kind = str(part.get("type"))[:40]
            raise ChatRefused(
                400,
                f"the question has a part {kind!r}; Moot reads text, files, and pictures in base64",
                param=place,
            )
    files: list[ContextFile] = []
    for each in chat.messages:
        given = [_read_file(part, place) for part in _list_parts(each) if _is_file(part)]
        # A file that comes again under its name is its new version.
        files = [old for old in files if old.name not in {new.name for new in given}] + given
    content = message.content
    if isinstance(content, list):
        content = [each for each in content if isinstance(each, str) or _is_text(each)]
    text = read_text(ChatMessage(role=message.role, content=content))
    if not text:
        raise ChatRefused(
            400, "the last message of the user is empty; write a question", param=place
        )
    language = detect_language(text)
    if len(text) > MAX_TOPIC_LENGTH:
        # Both ends of a long question stay: clients put documents before it, or after it.
        name = CHAT[language].whole_question
        files.append(ContextFile(name=name, text=text))
        begin, end = text[:QUESTION_END].rstrip(), text[-QUESTION_END:].lstrip()
        text = f"{begin}\n\n{CHAT[language].shortened.format(name=name)}\n\n{end}"
    others = [*chat.messages[:asked], *chat.messages[asked + 1 :]]
    conversation = _format_conversation(others, language)
    return Question(
        text=text,
        language=language,
        conversation=conversation,
        files=tuple(files),
        shape=_read_answer_shape(chat),
    )


def _find_last_of_user(chat: ChatRequest) -> int | None:
    """The place of the last message that the user wrote."""
    place = None
    for at, message in enumerate(chat.messages):
        if message.role == "user":
            place = at
    return place


def _is_file(part: dict[str, Any]) -> bool:
    return str(part.get("type")) in FILE_PARTS or _find_picture(part).startswith("data:image/")


def _find_picture(part: dict[str, Any]) -> str:
    """The address of a picture; empty for a part that is none."""
    if str(part.get("type")) not in PICTURE_PARTS:
        return ""
    given = part.get("image_url")
    if isinstance(given, dict):
        given = given.get("url")
    return fix_surrogates(str(given or ""))


def _read_file(part: dict[str, Any], place: str) -> ContextFile:
    """The text of a file that stands in a message; raises ChatRefused for one that is only named, or that has no text."""
    given = part
    if isinstance(part.get("file"), dict):
        given = part["file"]
    name, data = str(given.get("filename") or "file")[:100], given.get("file_data")
    picture = _find_picture(part)
    if picture:
        # Such a part has no name; two pictures of one question need two.
        name, data = f"picture-{sha256(picture.encode()).hexdigest()[:8]}", picture
    if not isinstance(data, str) or not data:
        raise ChatRefused(
            400,
            f"the file {name!r} comes without file_data; Moot stores no files of its own",
            param=place,
        )
    head, comma, rest = "", "", data
    if data.startswith("data:"):
        head, comma, rest = data.partition(",")
    try:
        if not comma or head.endswith(";base64"):
            raw = b64decode(rest, validate=True)
        else:
            raw = rest.encode()
        file = build_given_file(name, name, raw)
        if picture and not file.media:
            raise BadSetting("it is not a PNG, JPEG, GIF or WebP")
        return file
    except (ValueError, BadSetting, MissingExtra) as cause:
        raise ChatRefused(400, f"the file {name!r} cannot be read: {cause}", param=place) from cause


def _list_parts(message: ChatMessage) -> list[dict[str, Any]]:
    if not isinstance(message.content, list):
        return []
    return [part for part in message.content if isinstance(part, dict)]


def _format_conversation(messages: Sequence[ChatMessage], language: Language) -> str:
    """The messages, each quoted under who wrote it: the client's instructions, then the newest that there is room for."""
    words = CHAT[language]
    rules, talk = [], []
    for message in messages:
        text = read_text(message, language)
        if not text:
            continue
        role = _OLDER_ROLES.get(message.role, message.role)
        if role not in words.roles:
            role = "user"
        quoted = _quote_message(role, text, language)
        if role == "system":
            rules.append(quoted)
        else:
            talk.append(quoted)
    room, first = MAX_CONVERSATION_LENGTH - sum(map(len, rules)), len(talk)
    while first and len(talk[first - 1]) <= room:
        first -= 1
        room -= len(talk[first])
    lines = [rule[:MAX_CONVERSATION_LENGTH] for rule in rules]
    if first:
        lines.append(words.left_out.format(count=first))
    return "\n".join([*lines, *talk[first:]])


def _quote_message(role: str, text: str, language: Language) -> str:
    cut = text
    if len(text) > MAX_MESSAGE_LENGTH:
        cut = f"{text[: MAX_MESSAGE_LENGTH - 1]}…"
    # Quoted here as well as in the brief: no line of a message passes as the beginning of somebody else's.
    return f"{CHAT[language].roles[role]}:\n{quote_lines(cut)}"


def list_words(chat: ChatRequest, model: ChatModel) -> tuple[object, ...]:
    """What a request asks, and of whom: model, messages, files, and the shape of the answer."""
    messages = [[message.role, read_text(message)] for message in chat.messages]
    parts = [chat.response_format, find_answer_tool(chat)]
    shape = [each for each in parts if each is not None]
    for message in chat.messages:
        shape += [part for part in _list_parts(message) if _is_file(part)]
    return (model.id, messages, *shape)


def digest_request(chat: ChatRequest, model: ChatModel) -> str:
    """What makes two requests without a key the same: their words, and the fields by which clients tell theirs apart."""
    name, messages, *shape = list_words(chat, model)
    document = json.dumps([name, messages, chat.seed, chat.user, *shape], ensure_ascii=True)
    return sha256(document.encode()).hexdigest()


MIN_TOKENS: Final = 64
"""A limit up to this is too little for a decision: clients set it for titles and to try whether a model answers."""
MAX_TITLE_LENGTH: Final = 48
HEAD: Final = 500
"""Where in a text its instruction is looked for: at both ends, as clients put the conversation before or after it."""

_TASK: Final = compile_late(r"\s*#{1,4} *Task:", re.IGNORECASE)
_FORMS: Final = compile_late(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_HISTORY: Final = compile_late(
    r"<chat_history>|</?(?:messages|conversation)>|^[^\S\n]*+(?:conversation|chat history|对话|聊天记录)\s*[:：]",
    re.I | re.M,
)
_SPOKEN: Final = compile_late(
    r"^[^\S\n]*+(?:\*\*)?(?:user|human|用户)(?:\*\*)?\s*[:：]\s*(.+)$", re.IGNORECASE | re.MULTILINE
)
_WANTED: Final = compile_late(
    r"\b(?:generate|provide|create|write|give|reply|return|suggest|summari[sz]e|output|produce|name)\b",
    re.I,
)
_TALK: Final = "(?:conversation|chat|session|thread|history|dialogue|discussion)"
_TITLE: Final = compile_late(
    rf"\b(?:title|headline)\b[^\n]{{0,160}}\b{_TALK}\b|\b{_TALK}\b[^\n]{{0,160}}\b(?:title|headline)\b|\btitle generator\b"
    rf"|\bname\b[^\n]{{0,20}}\b(?:this|the|our) {_TALK}\b(?! \w)|\b(?:this|the|our) {_TALK} a\b[^\n]{{0,30}}\bname\b",
    re.IGNORECASE,
)
_SHORT: Final = compile_late(
    r"\b(?:concise|short|brief|words?|characters|only|at most|punctuation)\b", re.IGNORECASE
)
_TITLE_ZH: Final = compile_late(
    r"(?=.*(?:总结|概括|生成|返回|提取|起|命名))(?=.*(?:标题|题目|主题|名称))(?=.*(?:会话|对话|聊天|这句话|内容))(?=.*(?:字|简短|简要|简洁))",
    re.DOTALL,
)


def answer_side_question(chat: ChatRequest) -> str | None:
    """The answer to a request that is not a question for a meeting; None for one that is."""
    asked, last = "", _find_last_of_user(chat)
    if last is not None:
        asked = read_text(chat.messages[last])
    rules = "\n".join(
        read_text(each) for each in chat.messages if each.role in {"system", "developer"}
    )
    if _TASK.match(asked) and _HISTORY.search(asked) and (form := _FORMS.search(asked)):
        return json.dumps(_fill_form(form.group(1), asked, chat), ensure_ascii=False)
    if rules.startswith("Available Tools:") and '"tool_calls"' in rules:
        return '{"tool_calls": []}'
    if "facial expression" in asked[:HEAD] and "emoji" in asked[:HEAD]:
        return "💬"
    if "Analyze this conversation and provide" in asked[:HEAD] and "title" in asked[:2_000].lower():
        title = build_title(asked, chat)
        return json.dumps(
            {"language": LANGUAGE[detect_language(title)].english_name, "title": title},
            ensure_ascii=False,
        )
    if _wants_title(asked, rules, chat):
        return build_title(asked, chat)
    limit = _find_limit(chat)
    if limit is not None and limit <= MIN_TOKENS:
        return CHAT[detect_language(asked)].too_short.format(tokens=limit)
    return None


def _wants_title(asked: str, rules: str, chat: ChatRequest) -> bool:
    if isinstance(chat.metadata, dict):
        switches = [key for key, value in chat.metadata.items() if value is True]
        if "title" in f"{chat.metadata.get('task', '')} {' '.join(switches)}".lower():
            return True
    limit = _find_limit(chat)
    # A question about a title must not pass for a request of one: such a request brings a conversation along, or wants few tokens.
    has_talk = bool(_HISTORY.search(asked) or _SPOKEN.search(asked)) or any(
        each.role == "assistant" for each in chat.messages
    )
    if _is_title_request(rules[:HEAD]) and len(rules) < 4_000:
        return True
    return (has_talk or (limit is not None and limit <= 4 * MIN_TOKENS)) and any(
        _is_title_request(part) for part in (asked[:HEAD], asked[-HEAD:])
    )


def _is_title_request(text: str) -> bool:
    is_english = _WANTED.search(text) and _TITLE.search(text) and _SHORT.search(text)
    return bool(is_english or _TITLE_ZH.match(text))


def _fill_form(key: str, asked: str, chat: ChatRequest) -> dict[str, Any]:
    match key:
        case "title":
            return {key: build_title(asked, chat)}
        case "tags":
            return {key: ["General"]}
        case "prompt":
            return {key: _find_topic(asked, chat)}
        case "text":
            return {key: ""}
        case _:
            return {key: []}


def build_title(asked: str, chat: ChatRequest) -> str:
    """The beginning of what the conversation is about."""
    title = extract_first_sentence(_find_topic(asked, chat)).rstrip(" .?!。？！,，:：") or "Moot"
    if len(title) <= MAX_TITLE_LENGTH:
        return title
    cut = title[:MAX_TITLE_LENGTH]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _find_topic(asked: str, chat: ChatRequest) -> str:
    """What the user asked first: in the conversation that the request quotes, else in the messages before it."""
    quoted = _SPOKEN.search(asked)
    if quoted is not None:
        return one_line(quoted.group(1))
    for message in chat.messages:
        if message.role == "user":
            text = read_text(message)
            if text != asked:
                return one_line(text)
    if not _is_title_request(asked[:HEAD]):
        return one_line(asked)
    # The words themselves stand after the instruction.
    return one_line(asked.partition("\n\n")[2])


def _find_limit(chat: ChatRequest) -> int | None:
    limit = chat.max_completion_tokens
    if limit is None:
        limit = chat.max_tokens
    if limit == -1:
        # What clients of local models write for no limit.
        return None
    return limit

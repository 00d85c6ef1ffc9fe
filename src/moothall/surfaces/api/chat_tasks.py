"""Side questions of chat clients: titles, tags, follow-ups. They are answered here, at no cost: nobody wants a meeting for a title.

Clients put them to the same model as the conversation, each in words of its own. Recognised are those of Open WebUI, LibreChat
and Continue, requests for a short title of a conversation in general, and answers of so few tokens that no decision fits in.
"""

import json
import re
from typing import Any, Final

from moothall.domain.context import extract_first_sentence
from moothall.domain.language import detect_language
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import CHAT, LANGUAGE
from moothall.surfaces.api.chat_request import ChatRequest, read_text

MIN_TOKENS: Final = 64
"""A limit up to this is too little for a decision: clients set it for titles and to try whether a model answers."""
MAX_TITLE_LENGTH: Final = 48
HEAD: Final = 500
"""Where in a text its instruction is looked for: at both ends, as clients put the conversation before or after it."""

_TASK: Final = re.compile(r"\s*#{1,4} *Task:", re.IGNORECASE)
_FORMS: Final = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_HISTORY: Final = re.compile(
    r"<chat_history>|</?(?:messages|conversation)>|^[^\S\n]*+(?:conversation|chat history|对话|聊天记录)\s*[:：]", re.I | re.M
)
_SPOKEN: Final = re.compile(r"^[^\S\n]*+(?:\*\*)?(?:user|human|用户)(?:\*\*)?\s*[:：]\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_WANTED: Final = re.compile(
    r"\b(?:generate|provide|create|write|give|reply|return|suggest|summari[sz]e|output|produce|name)\b", re.I
)
_TALK: Final = "(?:conversation|chat|session|thread|history|dialogue|discussion)"
_TITLE: Final = re.compile(
    rf"\b(?:title|headline)\b[^\n]{{0,160}}\b{_TALK}\b|\b{_TALK}\b[^\n]{{0,160}}\b(?:title|headline)\b|\btitle generator\b"
    rf"|\bname\b[^\n]{{0,20}}\b(?:this|the|our) {_TALK}\b(?! \w)|\b(?:this|the|our) {_TALK} a\b[^\n]{{0,30}}\bname\b",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(r"\b(?:concise|short|brief|words?|characters|only|at most|punctuation)\b", re.IGNORECASE)
_TITLE_ZH: Final = re.compile(
    r"(?=.*(?:总结|概括|生成|返回|提取|起|命名))(?=.*(?:标题|题目|主题|名称))(?=.*(?:会话|对话|聊天|这句话|内容))(?=.*(?:字|简短|简要|简洁))",
    re.DOTALL,
)


def answer_side_question(chat: ChatRequest) -> str | None:
    """The answer to a request that is not a question for a meeting; None for one that is."""
    asked = next((read_text(each) for each in reversed(chat.messages) if each.role == "user"), "")
    rules = "\n".join(read_text(each) for each in chat.messages if each.role in {"system", "developer"})
    if _TASK.match(asked) and _HISTORY.search(asked) and (form := _FORMS.search(asked)):
        return json.dumps(_fill_form(form.group(1), asked, chat), ensure_ascii=False)
    if rules.startswith("Available Tools:") and '"tool_calls"' in rules:
        return '{"tool_calls": []}'
    if "facial expression" in asked[:HEAD] and "emoji" in asked[:HEAD]:
        return "💬"
    if "Analyze this conversation and provide" in asked[:HEAD] and "title" in asked[:2_000].lower():
        title = build_title(asked, chat)
        return json.dumps({"language": LANGUAGE[detect_language(title)].english_name, "title": title}, ensure_ascii=False)
    if _wants_title(asked, rules, chat):
        return build_title(asked, chat)
    limit = _find_limit(chat)
    if limit is not None and limit <= MIN_TOKENS:
        return CHAT[detect_language(asked)].too_short.format(tokens=limit)
    return None


def _wants_title(asked: str, rules: str, chat: ChatRequest) -> bool:
    metadata = chat.metadata if isinstance(chat.metadata, dict) else {}
    if "title" in f"{metadata.get('task', '')} {' '.join(key for key, value in metadata.items() if value is True)}".lower():
        return True
    limit = _find_limit(chat)
    # A question about a title must not pass for a request of one: such a request brings a conversation along, or wants few tokens.
    has_talk = bool(_HISTORY.search(asked) or _SPOKEN.search(asked)) or any(each.role == "assistant" for each in chat.messages)
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
    earlier = [text for each in chat.messages if each.role == "user" and (text := read_text(each)) != asked]
    if earlier:
        return one_line(earlier[0])
    if not _is_title_request(asked[:HEAD]):
        return one_line(asked)
    # The words themselves stand after the instruction.
    return one_line(asked.partition("\n\n")[2])


def _find_limit(chat: ChatRequest) -> int | None:
    return chat.max_completion_tokens if chat.max_completion_tokens is not None else chat.max_tokens

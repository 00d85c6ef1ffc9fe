"""What explorers say: one idea in many words, in both languages.

Each direction has three ways to name what it proposes, with one word of its subject in common, and each side of it several
sentences around them, so that two findings of one idea seldom share more than that word. The bench knows what a sentence means;
the swarm is never told.
"""

from collections.abc import Mapping
from random import Random
from typing import Final, Literal, NamedTuple

from bench.swarm.world import NAMES
from moothall.domain.facts import Language

Side = Literal["for", "against"]


class Meaning(NamedTuple):
    """The idea behind a sentence: the direction, and the side that it takes."""

    direction: str
    side: Side


class Words(NamedTuple):
    label: str
    ways: tuple[str, ...]


_ENGLISH: Final = (
    Words(
        "edge-cache",
        (
            "an edge cache for the catalogue",
            "keeping an edge cache near readers",
            "the edge cache in front of the shop",
        ),
    ),
    Words(
        "small-images",
        ("shrinking product images", "sending lighter images", "images that are compressed harder"),
    ),
    Words(
        "fewer-scripts",
        (
            "throwing out foreign scripts",
            "shipping fewer scripts",
            "a page without tracking scripts",
        ),
    ),
    Words(
        "new-index",
        (
            "another index on the product table",
            "an index for the slow queries",
            "the missing database index",
        ),
    ),
    Words(
        "more-servers",
        (
            "renting further servers",
            "adding servers behind the balancer",
            "a larger fleet of servers",
        ),
    ),
    Words(
        "static-pages",
        (
            "static pages that are built ahead",
            "publishing static files",
            "a static catalogue every night",
        ),
    ),
    Words(
        "lazy-loading",
        ("loading the lower half lazily", "lazy loading below the fold", "a lazy gallery"),
    ),
    Words(
        "new-language",
        (
            "a rewrite of the backend in Rust",
            "porting slow parts to Rust",
            "Rust for the whole service",
        ),
    ),
    Words(
        "search-engine",
        (
            "a search engine of its own",
            "moving search out of the database",
            "dedicated search for lookups",
        ),
    ),
    Words(
        "read-replicas",
        (
            "replicas for reading",
            "spreading reads over replicas",
            "database replicas that answer selects",
        ),
    ),
)
_CHINESE: Final = (
    Words("边缘缓存", ("给目录加边缘缓存", "在读者附近做边缘缓存", "商店前面的边缘缓存")),
    Words("缩小图片", ("缩小商品图片", "发送更轻的图片", "把图片压得更狠")),
    Words("精简脚本", ("去掉外来脚本", "少发送脚本", "页面不带跟踪脚本")),
    Words("新增索引", ("给商品表再建索引", "为慢查询加索引", "补上缺失的数据库索引")),
    Words("增加机器", ("租用更多服务器", "在均衡器后加服务器", "扩大服务器机群")),
    Words("静态页面", ("提前生成静态页面", "发布静态文件", "每晚生成静态目录")),
    Words("延迟加载", ("下半页延迟加载", "首屏以下延迟加载", "画廊改为延迟加载")),
    Words("更换语言", ("用 Rust 重写后端", "把慢的部分移植到 Rust", "整个服务改用 Rust")),
    Words("搜索引擎", ("单设搜索引擎", "把搜索移出数据库", "为查找配专用搜索")),
    Words("只读副本", ("为读取准备副本", "把读操作分给副本", "由数据库副本回答查询")),
)
_FOR: Final[Mapping[Language, tuple[str, ...]]] = {
    "en": (
        "The answer is {way}.",
        "What helps most is {way}.",
        "Measurements favour {way}.",
        "Begin with {way}: it pays off first.",
        "Of all that I tried, {way} did best.",
        "Visitors would notice {way} at once.",
    ),
    "zh": (
        "答案是{way}。",
        "最有用的是{way}。",
        "测量结果支持{way}。",
        "应先做{way}，见效最快。",
        "我试过的当中，{way}最好。",
        "{way}，访客立刻就能感到。",
    ),
}
_AGAINST: Final[Mapping[Language, tuple[str, ...]]] = {
    "en": (
        "The answer is not {way}.",
        "It would be wrong to bet on {way}.",
        "Measurements speak against {way}.",
        "Hardly anything is gained by {way}.",
    ),
    "zh": ("答案不是{way}。", "押注于{way}是错的。", "测量结果反对{way}。", "{way}几乎没有收获。"),
}
_DETAILS: Final[Mapping[Language, str]] = {
    "en": "{label} scored {score:.2f} in this test; one test is off by about {noise:.1f}.",
    "zh": "{label}在本次测试得 {score:.2f}，单次误差约 {noise:.1f}。",
}
_WORDS: Final[Mapping[Language, tuple[Words, ...]]] = {"en": _ENGLISH, "zh": _CHINESE}


def get_label(direction: str, language: Language) -> str:
    """The name of a direction of the world on the blackboard."""
    return _WORDS[language][NAMES.index(direction)].label


def list_sentences(direction: str, side: Side, language: Language) -> list[str]:
    """Every way to say one idea."""
    words = _WORDS[language][NAMES.index(direction)]
    frames = (_FOR if side == "for" else _AGAINST)[language]
    return [frame.format(way=way) for frame in frames for way in words.ways]


def build_meanings(language: Language) -> dict[str, Meaning]:
    """What each sentence means."""
    sides: tuple[Side, ...] = ("for", "against")
    return {
        text: Meaning(name, side)
        for name in NAMES
        for side in sides
        for text in list_sentences(name, side, language)
    }


def say(direction: str, side: Side, language: Language, chance: Random) -> str:
    """One of the ways to say it."""
    return chance.choice(list_sentences(direction, side, language))


def describe_reading(direction: str, score: float, noise: float, language: Language) -> str:
    """The evidence of one look."""
    return _DETAILS[language].format(label=get_label(direction, language), score=score, noise=noise)

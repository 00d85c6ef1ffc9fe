"""Words that take sides: for each axis the words of its two poles, in English and Chinese.

Two statements on one subject with words of opposite poles of an axis contradict each other; words of one pole mean the same. A
word may be on several axes. English words are compared by their stems, Chinese words as they occur in the text, the longest
first.
"""

from functools import lru_cache
from typing import Final, NamedTuple


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a light English stem: `adopts`, `adopted` and `adopting` become one term. Other words stay unchanged."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singularize(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        # At least three letters and a vowel must remain, so that "thing" and "string" keep theirs.
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            # A doubled consonant belongs to the ending ("stopped"), except l, s and z, which words may end in ("fall", "miss").
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singularize(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class AxisSide(NamedTuple):
    """One pole of an axis."""

    axis: str
    sign: int


_AXES: Final = """
amount
+ raise rise rose risen rising increase grow grew growth grown boost expand enlarge more higher greater larger bigger upward
+ climb surge extend widen double triple intensify strengthen multiply amplify 提高 增加 增长 上升 上涨 上调 提升 扩大 扩张 加大
+ 增多 升高 增强 加强 翻倍 更高 更大 更多 加息 涨价 增加了 拓宽
- lower reduce reduction decrease cut drop decline fall fell fallen shrink shrank fewer less smaller downward diminish lessen
- halve weaken curb trim slash minimise minimize dwindle 降低 减少 下降 下跌 下调 减小 缩小 缩减 削减 减弱 减轻 减半 更低 更小
- 更少 降息 降价 缩短 少 抑制 收缩
effect
+ help improve improvement better benefit beneficial enhance ease safe safer protect protective save recover recovery heal
+ succeed success effective useful positive advantage healthy good robust reliable 改善 改进 有益 有利 有助于 有助 帮助 好处
+ 安全 保护 恢复 复苏 成功 有效 有用 优势 获益 优化 可靠 更好 好转
- harm hurt worsen worse damage bad impair degrade destroy ruin danger dangerous unsafe risky threaten undermine failure
- ineffective useless harmful negative disadvantage detrimental suffer deteriorate decline unhealthy unreliable 恶化 有害 不利
- 损害 伤害 危害 破坏 摧毁 危险 失败 无效 无用 劣势 衰退 退化 受损 更差 变差 毁掉 威胁
cause
+ cause promote trigger induce produce provoke foster encourage stimulate spur attract 导致 引起 促进 诱发 引发 造成 促使 鼓励
+ 刺激 助长 吸引
- prevent protect avert inhibit block suppress discourage deter hinder thwart counteract 预防 防止 避免 阻止 抑制 阻碍 遏制 防范
- 妨碍
policy
+ adopt adoption introduce implement use accept approve keep retain maintain continue preserve support endorse favour favor
+ allow permit open enable add start launch begin expand establish build embrace promote extend legalise legalize 采用 采纳 引入
+ 实施 使用 接受 批准 保留 维持 继续 支持 赞成 允许 准许 开放 启用 启动 开始 推行 推广 扩大 建立 增设 同意
- reject abandon avoid drop abolish remove scrap end stop halt cease discontinue cancel oppose forbid ban prohibit close disable
- withdraw repeal delete eliminate refuse deny exclude suspend disallow 拒绝 放弃 避免 废除 取消 移除 停止 终止 中止 反对 禁止
- 禁用 关闭 撤销 删除 淘汰 否决 暂停 叫停 弃用
need
+ necessary need essential indispensable require must mandatory compulsory vital crucial imperative 必要 必须 需要 必需 不可或缺
+ 必不可少 离不开 少不了 强制 义务 关键 仍需
- unnecessary needless optional superfluous obsolete redundant voluntary dispensable pointless 不必 无需 不需要 没必要 没有必要
- 不必要 多余 自愿 可有可无 过时
unity
+ centralise centralize central consolidate unify merge integrate combine together joint centrally 集中 统一 合并 整合 中心化
- decentralise decentralize distribute split separate fragment divide disperse apart 分散 拆分 分开 分割 去中心化 各自 拆开
access
+ open public transparent disclose publish 开放 公开 透明
- close closed private secret conceal hide 关闭 封闭 保密 隐瞒 私有
speed
+ fast faster quick quickly quicker rapid rapidly sooner accelerate hasten early earlier 快 更快 加快 加速 迅速 尽快 提前 及早
+ 尽早
- slow slower slowly delay postpone late later defer linger 慢 更慢 迟缓 推迟 延迟 延后 拖延 放缓 减速 推后
evidence
+ support confirm prove demonstrate corroborate substantiate verify 支持 证实 证明 印证 验证
- contradict refute disprove dispute debunk falsify doubt 否定 反驳 推翻 质疑 驳斥 证伪
truth
+ true right correct possible likely able feasible sufficient enough certain 正确 可能 可行 足够 充足 能够 属实
- false wrong incorrect impossible unlikely unable infeasible insufficient lack uncertain myth 错误 不可能 不可行 不足 缺乏 无法
- 虚假
worth
+ worth worthwhile pay justified outweigh 值得 划算 合算 物有所值
- waste wasteful unjustified 得不偿失 不值得 不划算 浪费 不值
price
+ cheap cheaper affordable free 便宜 免费 低廉
- expensive costly dear unaffordable 昂贵 贵 收费
age
+ new newer modern 新
- old older legacy 旧
order
+ before prior beforehand 之前 以前 事前
- after afterwards 之后 以后 事后
all
+ all always everyone every everywhere many most majority 所有 全部 总是 每个 多数 大多数 普遍
- none never nobody nowhere few minority rarely 从不 没有人 少数 极少 很少 个别
strength
+ strong stronger 强大
- weak weaker 薄弱
ease
+ easy easier simple simplify 容易 简单 简化
- hard harder difficult complicate complex 困难 复杂 更难 难以
steady
+ stable steady consistent stabilise stabilize 稳定 平稳
- unstable volatile erratic destabilise destabilize 不稳定 动荡 波动
heat
+ warm warmer hot heat 变暖 更热 升温
- cool cooler cold chill 变冷 更冷 降温 凉快
holding
+ include inclusive contain hire buy win gain invest 包括 包含 含有 雇用 购买 赢得 投资
- exclude fire sell lose divest 排除 不含 解雇 出售 失去 撤资
move
+ migrate move switch replace convert transition relocate 迁移 切换 替换 改用 转向 搬到 换成
- stay remain leave keep retain 留在 保持 保留 维持 沿用 不变
trust
+ agree trust prefer like trustworthy 同意 信任 喜欢 信赖 偏好
- disagree distrust dislike mistrust 不同意 不信任 讨厌 不喜欢 怀疑
"""
"""Each axis by its name, then the words of its poles, on lines of their own."""


def _build_sided_words() -> dict[str, tuple[AxisSide, ...]]:
    sides_by_stem: dict[str, tuple[AxisSide, ...]] = {}
    axis = ""
    for line in _AXES.strip().split("\n"):
        mark, _, words = line.partition(" ")
        if not words:
            axis = mark
            continue
        side = AxisSide(axis, 1 if mark == "+" else -1)
        for word in words.split():
            sides = sides_by_stem.setdefault(stem(word), ())
            if side not in sides:
                sides_by_stem[stem(word)] = (*sides, side)
    return sides_by_stem


SIDED_WORDS: Final = _build_sided_words()
"""The sides that a word takes, by its stem."""

_DENYING: Final = (
    "not no never without cannot neither nor nothing none nobody fail unable hardly scarcely isnt dont doesnt didnt wont cant"
    " shouldnt wouldnt couldnt arent wasnt werent hasnt havent mustnt 不 没 没有 未 未能 无 无法 非 并非 并不 并未 不是 不会"
    " 不能 不应 不应该 不该 不要 不再 毫无 从未 尚未 别 勿"
)
DENYING: Final = frozenset(stem(word) for word in _DENYING.split())
"""Words that negate what follows, by their stems."""

_IDLE: Final = (
    "不断 不同 不过 不久 不管 不论 无论 非常 未来 无线 无限 无人机 不仅 不但 不只 不少 不得不 不超过 不要超过 不多于 不少于"
    " 不低于 不高于 而不是 而非 不是因为 不在于 至少 多少 减肥 新增 新闻 创新 更新 最新 新型 新人 重新 快递 愉快 缓慢"
)
IDLE: Final = frozenset(_IDLE.split())
"""Chinese words that contain such a word but take no side."""

# English words are single units, so that only Chinese ones limit the longest match.
MAX_WORD_LENGTH: Final = max(len(word) for word in (*SIDED_WORDS, *DENYING, *IDLE) if not word.isascii())

"""Words of the page's views, in both languages."""

from moothall.reports.two_languages import TwoLanguages, both, in_each_language


class ViewText(TwoLanguages):
    """Every text, in one language."""

    asked = both("is asked: {what}", "被问及：{what}")
    writing = both("works on: {what}", "正在处理：{what}")
    sealed = both("sealed until all have written", "在所有人写完之前保密")
    support = both("Support", "支持度")
    turnout = both("Turnout", "参与度")
    confidence = both("Confidence", "把握")
    effective = both("Independent voices", "独立意见数")
    backing = both("Backing", "后盾")
    support_how = both(
        "The weight behind it, as a share of the weight of everybody who took a side.", "支持者的权重占所有表态者权重的比例。"
    )
    turnout_how = both("The weight of those who took a side, as a share of all weight.", "表态者的权重占全部权重的比例。")
    confidence_how = both(
        "How probable it is that the decision is right, from the votes, how sure each voter is, and how often each was right before.",
        "根据投票、各自的把握以及以往的正确率，得出该决定正确的概率。",
    )
    stated_how = both("As its author stated it.", "由作者自己说明。")
    effective_how = both(
        "{heads} took a side. Seats of one model family, or whose errors went together before, count for less than one each.",
        "共有 {heads} 方表态。同一模型家族、或以往同错的席位，每个少于一票。",
    )
    backing_how = both(
        "The weight of the {heads} who stand behind it, as a share of the weight of those who spoke.",
        "{heads} 位支持者的权重占发言者权重的比例。",
    )


VIEW_TEXT = in_each_language(ViewText)

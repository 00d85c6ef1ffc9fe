"""What the protocols and the kinds of participants are, for whoever opens a session, in both languages."""

from moothall.errors import describe_install
from moothall.reports.two_languages import Both, TwoLanguages, both, in_each_language


class OpeningText(TwoLanguages):
    """Every text, in one language."""

    titles: Both[dict[str, str]] = both(
        {
            "persona": "Meeting",
            "debate": "Structured debate",
            "advisory": "Advisory panel",
            "consensus": "Consensus",
            "roundtable": "Roundtable",
            "swarm": "Swarm",
            "consultation": "Consultation",
            "pipeline": "Pipeline",
        },
        {
            "persona": "会议",
            "debate": "结构化辩论",
            "advisory": "顾问小组",
            "consensus": "共识",
            "roundtable": "圆桌",
            "swarm": "蜂群",
            "consultation": "咨询",
            "pipeline": "流水线",
        },
    )
    summaries: Both[dict[str, str]] = both(
        {
            "persona": "Everybody bids for the floor each turn; who has most to add speaks. One writes the decision, all take a stand.",
            "debate": "Blind proposals, challenges, a synthesis, and a sealed vote weighed by trust and independence.",
            "advisory": "One owns the decision; the others advise, and every piece of advice is taken or declined with a reason.",
            "consensus": "The proposal is reworked until enough support it, or the rounds are used up.",
            "roundtable": "One after another speaks, round by round; a moderator writes the minutes.",
            "swarm": "Equal explorers work on a shared blackboard until their ideas are stable, shared and diverse enough.",
            "consultation": "One asks another one question and gets an answer.",
            "pipeline": "Steps that hand work on, with gates that approve or reject it.",
        },
        {
            "persona": "每一轮各席竞争发言权，最有话可说者发言；一席写下决定，众人表态。",
            "debate": "盲提案、质疑、综合，然后按信任与独立性加权的密封投票。",
            "advisory": "一席负责决定，其余各席提供建议；每条建议都要说明采纳或拒绝的理由。",
            "consensus": "反复修改提案，直到足够多的人支持，或轮次用完。",
            "roundtable": "各席逐轮依次发言，由主持人写纪要。",
            "swarm": "平等的探索者在共享黑板上工作，直到想法稳定、共享且多样。",
            "consultation": "一席向另一席提一个问题并得到回答。",
            "pipeline": "步骤逐个交接，关口批准或驳回。",
        },
    )
    settings: Both[dict[str, str]] = both(
        {
            "blind": "everyone writes before anyone reads",
            "early_stop": "end when all blind choices agree",
            "order": "argue one after another, or in any order",
            "rounds": "how often the discussion may be repeated",
            "max_rounds": "at most so many rounds",
            "min_rounds": "at least so many rounds",
            "patience": "seconds that a seat has for an answer",
            "round_timeout": "seconds that a round may take",
            "intent_patience": "seconds that a bid for the floor may take",
            "speech_patience": "seconds that a speech may take",
            "rebuttal": "those who were challenged answer first",
            "panel": "ask all, or one after another until it is settled",
            "panel_order": "whom to ask first: by roster or by trust",
            "window": "how many turns each seat sees",
            "threshold": "how much is enough, from 0 to 1",
            "summarizer": "the seat that writes the decision",
            "bids": "one call for each bid, or for all seats of a model",
            "ageing": "what a bid gains for each turn of waiting",
            "owner": "the seat that proposes and decides",
            "quorum": "whose or how much support is needed",
            "quorum_threshold": "the share of support that settles it",
            "mode": "how explorers find their directions",
            "directions": "directions of your own",
            "agenda": "the background",
            "prompt": "what the first speaker is told",
            "vote": "end with a vote",
            "steps": "the steps, in order",
        },
        {
            "blind": "所有人写完之前互不可见",
            "early_stop": "盲选一致时提前结束",
            "order": "依次发言或任意顺序",
            "rounds": "讨论最多重复几轮",
            "max_rounds": "最多轮数",
            "min_rounds": "最少轮数",
            "patience": "每席作答的秒数",
            "round_timeout": "每轮的秒数",
            "intent_patience": "竞争发言权的秒数",
            "speech_patience": "发言的秒数",
            "rebuttal": "被质疑者先作回应",
            "panel": "询问全部，或逐个询问直到明确",
            "panel_order": "先问谁：按名单或按信任",
            "window": "每席能看到的轮数",
            "threshold": "阈值，0 到 1",
            "summarizer": "撰写决定的席位",
            "bids": "逐席竞价，或同一模型合并",
            "ageing": "每等待一轮的加成",
            "owner": "提出并作出决定的席位",
            "quorum": "需要的支持",
            "quorum_threshold": "达成所需的支持比例",
            "mode": "探索者如何选择方向",
            "directions": "自定的方向",
            "agenda": "背景材料",
            "prompt": "给首位发言者的提示",
            "vote": "以投票结束",
            "steps": "按顺序的步骤",
        },
    )
    found = both("found on this machine", "已在本机找到")
    found_key = both("its key is set", "已设置密钥")
    embedded = both("small, needs no key and no network", "小模型，无需密钥和网络")
    no_embedded = both(f"not installed: {describe_install('embedded')}", f"未安装：{describe_install('embedded')}")
    mailbox = both("A person or an agent from outside", "来自外部的人或智能体")
    mailbox_note = both("takes the seat by a link or with a token", "通过链接或令牌入座")


OPENING_TEXT = in_each_language(OpeningText)

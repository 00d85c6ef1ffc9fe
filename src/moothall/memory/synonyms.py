"""Words for one thing: abbreviations and what they stand for, in English and Chinese. A query finds what any of them finds.

Behind `>` stand special cases: the words before them find them, but they find neither those words nor each other.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from moothall.memory.han_variants import fold_han
from moothall.memory.tokenize import extract_query_terms

_GROUPS: Final = """
2fa, mfa, two-factor, multi-factor, two factor authentication, 双重验证, 双因素, 多因素, 两步验证
ab test, a/b test, split test, 对照实验
ai, artificial intelligence, 人工智能, 人工智慧
api, programming interface, 接口, 介面
auth, authentication, log in, login, sign-in, 登录, 登入, 认证
backup, 备份
bug, defect, 缺陷, 错误, 漏洞
cache, caching, 缓存, 快取
canary, gradual, phased, staged, 灰度, 分阶段
cd, continuous delivery, continuous deployment, 持续交付
cdn, content delivery network, edge cache, 内容分发网络
ci, continuous integration, 持续集成 > jenkins, github actions, gitlab ci
cloud, 云端, 云主机, 云计算
commission, bonus, 佣金, 提成, 奖金
contract, agreement, 合同, 合约, 协议
crm, customer relationship management, 客户关系管理
db, database, 数据库, 资料库 > postgresql, postgres, mysql, sqlite, mongodb
deploy, deployment, rollout, roll out, release, 部署, 发布, 上线
disaster recovery, failover, warm standby, 容灾, 灾备
dns, domain name, 域名, 网域
docs, documentation, 文档, 文件
e2e, end-to-end, 端到端
employee, staff, personnel, 员工, 职员
encryption, encrypt, 加密
equity, stock option, shareholding, 股权, 持股, 期权
fe, front end, frontend, 前端
feature flag, feature toggle, 功能开关
gdpr, personal data, data protection, 个人信息, 个资
gpu, graphics card, graphics processor, 图形处理器, 显卡
hr, human resources, 人力资源, 人资
intern, trainee, 实习生
invoice, billing, 发票, 计费, 帐单
js, javascript
k8s, kubernetes, container orchestration, 容器编排
kpi, key performance indicator, 绩效指标
laptop, notebook, 笔记本电脑, 笔电
licence, license, 许可
llm, large language model, 大语言模型, 大模型
load balancer, 负载均衡
log, logging, 日志, 日志档
meeting, 会议, 开会
ml, machine learning, 机器学习
mq, message queue, message broker, 消息队列, 消息中间件, 讯息伫列
monitoring, observability, 监控, 可观测
oncall, on-call, on call, 值班, 待命
oss, open source, open-source, 开源
otel, opentelemetry
outage, downtime, incident, 宕机, 停机, 故障
overtime, 加班
password, passphrase, 密码, 口令
payment, 支付, 付款
pg, postgres, postgresql
postmortem, post-mortem, incident report, 复盘, 事故报告
pr, pull request, merge request, 合并请求
privacy, 隐私
qa, quality assurance, testing, 测试, 质检
rag, retrieval augmented generation, 检索增强
rate limit, throttle, throttling, 限流
recruit, recruiting, hire, hiring, 招聘, 招募
refund, 退款, 退货, 退钱
remote work, work from home, wfh, telework, 远程办公, 远端工作, 居家办公
roi, return on investment, 投资回报
s3, object storage, blob storage, 对象存储, 物件储存
saas, software as a service, 软件即服务
salary, wage, wages, 工资, 薪资, 薪水
search, 搜索, 搜寻
secret, secrets, credential, credentials, token, tokens, api key, 密钥, 凭证, 金钥
server, 服务器, 伺服器
sla, service level agreement, 服务等级
software, 软件, 软体
solar, photovoltaic, 太阳能, 光伏
sso, single sign-on, single sign on, 单点登录
supplier, vendor, 供应商, 厂商
ts, typescript
ui, user interface, 用户界面, 使用者介面
ux, user experience, 用户体验, 使用者体验
video, 视频, 影片
vm, virtual machine, 虚拟机
vpn, virtual private network, 虚拟专用网
warehouse, depot, 仓库
web site, website, 网站
"""


class Alternatives(NamedTuple):
    """A word of a query, and the terms of each other word for it."""

    own: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def find_alternatives(query: str) -> list[Alternatives]:
    """Return the words of a query for which there are others."""
    text = " ".join(fold_han(unicodedata.normalize("NFKC", query).casefold()).split())
    groups, found = _build_groups(), dict[tuple[str, ...], Alternatives]()
    for word in _find_words(text, groups):
        own = extract_query_terms(word)
        others = groups.get(word) or groups[word[:-1]]
        found[own] = Alternatives(own, tuple(terms for terms in others if terms != own))
    return list(found.values())


@cache
def _build_groups() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return, by each word that finds others, the terms of every word of its group."""
    groups: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in _GROUPS.strip().splitlines():
        general, _, special = line.partition(" > ")
        names, cases = general.split(", "), special.split(", ") if special else []
        terms = tuple(map(extract_query_terms, (*names, *cases)))
        for word in names:
            groups[word] = tuple(dict.fromkeys((*groups.get(word, ()), *terms)))
    return groups


def _find_words(text: str, words: Iterable[str]) -> list[str]:
    """Return the words that stand in a text, the longest first; Latin ones stand alone, perhaps in the plural."""
    # Only those that are in the text at all: a pattern of all words would take longer to compile than a search takes.
    inside = sorted((word for word in words if word in text), key=len, reverse=True)
    # Not \b: Chinese characters are letters too, and "用k8s吗" has no border between them.
    parts = [rf"(?<![a-z0-9]){re.escape(word)}s?(?![a-z0-9])" if word.isascii() else word for word in inside]
    return re.findall("|".join(parts), text) if parts else []

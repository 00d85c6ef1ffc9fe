"""Splits a text into search terms: words where spaces separate them, pairs of characters where not; with their synonyms."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from moothall.scoring.sides import stem

# Pairs: the traditional character, then the simplified one.
_PAIRS: Final = """
資资庫库數数據据務务員员雙双驗验證证緩缓網网際际體体軟软雲云電电腦脑機机會会議议開开關关發发備备維维運运團团隊队負负責责導导遠远進进辦办週周兩两個个們们這这來来時时間间問问題题應应該该專专業业產产價价營营銷销財财計计畫画劃划準准則则類类別别
標标籤签選选擇择決决區区國国圖图書书館馆學学習习課课語语詞词譯译讀读寫写說说話话論论討讨評评審审對对聯联絡络繫系統统線线級级組组織织結结構构終终點点連连續续約约絕绝緊紧縣县總总經经濟济實实質质檢检測测試试規规範范圍围護护衛卫權权戶户頭头帳帐
號号碼码鑰钥鎖锁錄录錯错誤误異异壞坏損损補补償偿賠赔貨货輸输車车輛辆軌轨飛飞場场灣湾島岛東东亞亚歐欧韓韩臺台廣广爾尔蘭兰羅罗馬马雞鸡魚鱼鳥鸟龍龙貓猫豬猪獸兽藥药醫医療疗養养兒儿婦妇愛爱戀恋歡欢樂乐歲岁齡龄歷历紀纪錢钱幣币銀银債债貸贷費费稅税
額额預预購购買买賣卖賬账貿贸貴贵賤贱貧贫窮穷賺赚勞劳動动僱雇傭佣獎奖勵励罰罚曆历當当歸归屬属層层樓楼廠厂倉仓儲储裝装載载設设儀仪爐炉燈灯熱热涼凉氣气溫温濕湿風风災灾難难險险礙碍傷伤殺杀戰战爭争鬥斗敵敌軍军槍枪彈弹艦舰術术藝艺樣样態态勢势勝胜
贏赢競竞賽赛獲获給给與与從从為为無无於于後后裡里裏里邊边過过還还遲迟適适遞递遺遗邏逻輯辑處处複复雜杂簡简單单純纯淨净潔洁髒脏亂乱舊旧減减縮缩長长寬宽狹狭闊阔輕轻強强親亲雖虽錦锦鋼钢鐵铁銅铜鋁铝鉛铅鹽盐礦矿燒烧滅灭興兴舉举參参觀观眾众聽听聲声
響响靜静鬧闹聞闻報报傳传訊讯郵邮箋笺紙纸筆笔頁页冊册檔档夾夹條条項项環环節节鏈链視视頻频顯显鍵键盤盘擊击觸触驅驱調调變变換换轉转拋抛棄弃丟丢掃扫攜携帶带擁拥擴扩張张擔担擠挤壓压擾扰攝摄擬拟訂订閱阅覽览覺觉認认識识記记憶忆許许諾诺請请謝谢謀谋
謹谨訪访談谈誰谁讓让賴赖賢贤贊赞賓宾贈赠趙赵趨趋跡迹蹟迹踐践躍跃軸轴較较輔辅輪轮辭辞農农違违遷迁鄉乡鄰邻醬酱釋释鈔钞鈕钮鈴铃銳锐鋒锋錶表鎮镇鏡镜鐘钟門门閃闪閉闭閒闲閘闸閣阁闆板陣阵陰阴陸陆陽阳隨随隱隐隸隶離离霧雾靈灵韌韧頂顶順顺頓顿頗颇領领
頸颈顆颗顏颜願愿顛颠顧顾飯饭飲饮飼饲飽饱餅饼餘余饋馈駐驻駕驾騎骑騙骗騰腾驚惊驟骤髮发鬆松鮮鲜麗丽麥麦麵面黃黄黨党齊齐齒齿尋寻尷尴屆届屍尸嶺岭嶼屿巖岩幫帮幹干廈厦廢废廳厅彌弥彎弯徑径徵征憂忧慮虑慶庆憑凭懷怀懸悬懶懒戲戏撥拨擋挡攔拦敗败敘叙斷断
昇升曬晒殘残殼壳毀毁氫氢沒没滿满漢汉漲涨潤润濃浓濾滤灘滩爺爷牆墙犧牺獨独獻献現现瑪玛瓊琼甦苏畢毕瘋疯癢痒皺皱盡尽監监確确碩硕禮礼禍祸禦御稱称穀谷積积穩稳竊窃竄窜築筑篩筛簽签糧粮糾纠紅红紋纹納纳紐纽紛纷細细紹绍綁绑綜综綠绿緒绪締缔編编緣缘縫缝
縱纵繞绕繪绘繳缴繼继罵骂羨羡職职聖圣聰聪脅胁脫脱膚肤臉脸臨临艙舱艱艰莊庄莖茎華华萬万葉叶蓋盖蔣蒋藍蓝蘇苏虛虚蟲虫襲袭詢询詳详誇夸誌志誠诚誘诱諮咨諧谐講讲豐丰賞赏贖赎軒轩輩辈輿舆轄辖轟轰遊游達达遙遥鄭郑鍾钟闡阐隻只頒颁飄飘嗎吗嗚呜嘆叹噸吨嚐尝
嚴严囑嘱囪囱園园圓圆執执堅坚塊块塵尘墊垫壇坛壟垄夠够夢梦奪夺奮奋婁娄媽妈嬰婴寢寝寧宁寶宝將将屜屉崗岗帥帅師师幀帧亙亘佈布併并侖仑俠侠倆俩倫伦偉伟側侧偵侦傑杰傾倾僅仅僑侨僕仆儉俭儘尽優优兇凶凍冻剛刚創创劇剧劑剂勁劲勛勋勸劝匯汇協协卻却厭厌吳吴
呂吕啟启喪丧喬乔嘗尝內内採采種种製制幾几極极樹树橋桥淺浅漸渐狀状練练績绩義义罷罢貼贴陳陈階阶須须麼么復复惡恶慣惯掛挂揚扬暫暂棟栋櫃柜況况溝沟滾滚潛潜煩烦牽牵猶犹礎础綱纲訓训診诊註注証证詐诈諸诸譽誉販贩貪贪貫贯輝辉辯辩針针鋪铺鑑鉴駛驶億亿刪删
並并佔占係系偽伪兌兑劍剑懲惩擺摆樞枢檯台欄栏澤泽濫滥獄狱盜盗磚砖穫获籃篮籌筹緻致繩绳纖纤脈脉腳脚膽胆薦荐衝冲見见訟讼訴诉託托賀贺賊贼賭赌迴回遼辽釘钉鉅巨閥阀韻韵頑顽飾饰馳驰
"""
_FOLDED: Final = str.maketrans(dict(zip("".join(_PAIRS.split())[::2], "".join(_PAIRS.split())[1::2], strict=True)))
# Scripts without spaces, or, like Korean, with particles attached to words: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Combining marks that are not letters but belong to a word.
_SIGNS: Final = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0b82-\u0dff"
_TERMS: Final = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]+|[{_SIGNS}]+)+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_COMMON: Final = """
a about after all also an and any are as at be because been before but by can could did do does for from had has have how if in
into is it its may might more most must no not of off on or our out over shall should so some such than that the their them then
there these they this to under up us was we were what when where which while who why will with would you your
"""
COMMON: Final = frozenset(_COMMON.split())
"""Stop words: they do not say what a text is about."""
_ASKING: Final = re.compile(
    "是否|应该|应当|我们|要不要|可以|能不能|什么|怎么|如何|这个|那个|一个|以及|或者|还是|需要|能否|有没有|为什么|[吗呢](?=\\W|$)"
)
"""Their Chinese counterparts, which are removed from a question before it is split into pairs."""
_FRAME: Final = re.compile(
    r"^\s*(?:(?:should|shall|do|does|did|can|could|would|will|must|may|how|which|who|what|where|when|why|is|are)\b\s*)+"
    r"(?:(?:we|the|our|you|it|a|an|is|are|do|does)\b\s*)*|[?？。.!！]+\s*$|我们|我們|是否|要不要|应该|應該|应当|應當|能否|如何|[吗嗎呢]$",
    re.IGNORECASE,
)
SCANNED: Final = 2_000
"""How many characters of a topic say what it is about."""
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


def fold_han(text: str) -> str:
    """Return the text with traditional characters replaced one by one; its length does not change."""
    return text.translate(_FOLDED)


class TermSpan(NamedTuple):
    """A term and its position in the text."""

    term: str
    start: int
    end: int


def extract_terms(text: str) -> list[str]:
    """Return all terms of a text: stemmed words; for a run without spaces every character and every pair of neighbours."""
    terms: list[str] = []
    for run in _TERMS.findall(_normalize_text(text)):
        if _IS_UNSPACED.match(run):
            terms.extend(run)
            terms.extend(map("".join, pairwise(run)))
        else:
            terms.append(stem(run))
    return terms


def extract_query_terms(query: str) -> tuple[str, ...]:
    """Return the terms of a query, each once: pairs instead of single characters, and stop words only if nothing else is left."""
    text = _normalize_text(query)
    pieces = _split_pieces(text)
    telling = [term for term in _split_pieces(_ASKING.sub(" ", text)) if term not in COMMON]
    return tuple(dict.fromkeys(stem(term) for term in telling or pieces))


def strip_question(topic: str) -> str:
    """Return what a question is about, without the words that make it one: all questions are alike in those."""
    return _FRAME.sub("", topic[:SCANNED]).strip() or topic[:SCANNED]


def is_pair(term: str) -> bool:
    """Whether a term is a pair from a run without spaces, and not a word."""
    return len(term) == 2 and _IS_UNSPACED.match(term) is not None


def _normalize_text(text: str) -> str:
    return fold_han(unicodedata.normalize("NFKC", text).casefold())


def _split_pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for run in _TERMS.findall(text):
        if len(run) == 1 or not _IS_UNSPACED.match(run):
            pieces.append(run)
        else:
            pieces.extend(map("".join, pairwise(run)))
    return pieces


def locate_terms(text: str) -> Iterator[TermSpan]:
    """Yield the same terms with their positions in the original text."""
    for match in _TERMS.finditer(text):
        run = match.group()
        if not _IS_UNSPACED.match(run):
            # Normalized per run and not as a whole text: NFKC can change lengths, and the positions must fit the original.
            yield TermSpan(stem(unicodedata.normalize("NFKC", run).casefold()), match.start(), match.end())
            continue
        for index in range(len(run)):
            for width in (1, 2):
                if index + width <= len(run):
                    place = match.start() + index
                    yield TermSpan(_normalize_text(run[index : index + width]), place, place + width)


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

"""200 decisions and 40 queries in two languages; half of the queries are paraphrases without a word of their decision."""

from typing import Final, NamedTuple


class CorpusDecision(NamedTuple):
    """A decision of the corpus."""

    key: str
    topic: str
    decided: str


class CorpusQuery(NamedTuple):
    """A query, and the decision that it looks for."""

    text: str
    key: str
    kind: str


_DECISIONS: Final = """
e01|Which database should the billing service use?|PostgreSQL, on managed instances with point-in-time recovery.
e02|Should we run our services on Kubernetes?|Yes, move all stateless services to Kubernetes by autumn.
e03|Do we require multi-factor authentication for employees?|Yes, for everyone from March, with hardware keys for admins.
e04|How long do we keep customer backups?|Thirty-five days, then they are erased.
e05|Should we cache product pages at the edge?|Cache for five minutes and purge on every price change.
e06|Who is on call at weekends?|Two engineers in rotation, paid at one and a half times the rate.
e07|Should the office move to the river side?|No, extend the lease in the old town by two years.
e08|Do we hire a second designer?|Yes, one senior designer for the mobile team.
e09|Should we raise the price of the basic plan?|Raise it from 9 to 12 euros for new customers only.
e10|Which language for the new ingestion service?|Rust, because memory safety matters more than familiarity here.
e11|Should we open source the client library?|Publish it under the Apache licence after a security review.
e12|Do we adopt a four-day working week?|Try it for six months in two departments.
e13|Which message queue do we standardise on?|RabbitMQ for jobs; Kafka only where replay is needed.
e14|Should we drop support for Internet Explorer?|Drop it at the end of the quarter and tell customers now.
e15|How do we version the public API?|By date in a header, with eighteen months of support for each version.
e16|Should we write end-to-end tests for the checkout?|Yes, twelve scenarios that run on every merge.
e17|Which cloud region do we expand into first?|Frankfurt, because most new customers are in Germany.
e18|Do we let customers pay by invoice?|Only above 5,000 euros a year.
e19|Should we replace the coffee machine?|Buy a new one; the repair costs more than half of its price.
e20|Do we sponsor the regional developer conference?|Yes, at the silver level.
e21|Should we split the monolith into services?|No, draw clearer module borders first and look again next year.
e22|How do we store passwords?|Argon2id with a memory cost of 64 MiB.
e23|Should the mobile app work offline?|Yes for reading; writing waits for a connection.
e24|Which vendor do we take for payroll?|Stay with the present one; the switch is not worth the risk.
e25|Do we buy or build the recommendation engine?|Build a small one on our own data.
e26|Should interns work on production systems?|Under supervision, and without write access to customer data.
e27|What is the retention period for access logs?|Ninety days.
e28|Should we translate the product into Portuguese?|Yes, beginning with the sign-up flow.
e29|Do we move continuous integration from Jenkins to GitHub Actions?|Yes, repository by repository until June.
e30|Should every pull request need two reviewers?|One reviewer suffices outside of the payment code.
e31|How do we handle a request to erase personal data?|A self-service form, carried out within fourteen days.
e32|Should we set up a bug bounty programme?|Yes, invitation only in the first year.
e33|Which chart library for the dashboards?|ECharts, because it draws 100,000 points without lag.
e34|Do we offer a free tier?|Yes, limited to three projects.
e35|Should the sales team get a commission on renewals?|Half of the commission for new business.
e36|Do we accept cryptocurrency?|No.
e37|Should we use feature flags for releases?|Yes, with an owner and an expiry date for each flag.
e38|Where do we keep application secrets?|In Vault, with credentials that rotate daily.
e39|Should we let the autoscaler shrink to zero at night?|Yes for staging, never for production.
e40|Do we print a paper catalogue this year?|No, send a digital one and save the postage.
e41|Should new employees choose their own laptop?|Yes, from a list of four models.
e42|Do we store images in the database?|No, in object storage with a key in the table.
e43|How do we roll out risky changes?|To one percent of the traffic first, and on after an hour without alarms.
e44|Should we adopt GraphQL for the partner API?|No, stay with REST and add sparse field sets.
e45|Do we keep a warm standby in another data centre?|Yes, with a tested failover twice a year.
e46|Should the newsletter go out weekly?|Every two weeks; weekly issues lost subscribers.
e47|Do we allow pets in the office?|Dogs on Fridays, if nobody on the floor objects.
e48|Which accounting standard do we report by?|IFRS from the next fiscal year.
e49|Should support answer on Sundays?|Only for enterprise contracts.
e50|Do we write the firmware in C or C++?|C, with static analysis in the build.
e51|Should we take the offer of the venture fund?|Decline; the valuation gives away too much control.
e52|Do we move the help pages into the product?|Yes, beside the fields that they explain.
e53|Should machine learning models be retrained nightly?|Weekly; nightly training brought no measurable gain.
e54|How much free disk space must servers have?|Twenty percent, with an alarm at fifteen.
e55|Should we encrypt laptops?|Full disk encryption on every machine, enforced at login.
e56|Do we switch the e-mail provider?|Yes, deliverability with the present one fell below 95 percent.
e57|Should the warehouse work a night shift?|Only from November to January.
e58|Which colour scheme for charts?|One that colour-blind readers can tell apart.
e59|Do we give refunds after thirty days?|No, but credit for the rest of the term.
e60|Should we join the industry consortium?|Join as an observer.
e61|Which load balancer in front of the web tier?|HAProxy, two of them with a shared address.
e62|Do we adopt TypeScript for the front end?|Yes, strict from the start for new files.
e63|Should trainees be paid?|Yes, at the minimum wage at least.
e64|How do we name branches?|By ticket number and three words.
e65|Should we cut travel by half?|Yes, and hold the quarterly meeting by video.
e66|Do we localise prices by country?|Yes, by purchasing power in four bands.
e67|Should the board see raw customer feedback?|A sample of twenty messages each month.
e68|Which tracing system do we use?|OpenTelemetry, with samples of one in a hundred.
e69|Do we keep the loyalty programme?|End it; members bought no more than others.
e70|Should drivers use electric vans?|Replace a third of the fleet this year.
e71|How do we choose suppliers of packaging?|By price and by the share of recycled material.
e72|Should we add single sign-on?|Yes, SAML and OpenID Connect for the business plan.
e73|Do we publish an incident report after every outage?|Within five working days, without names.
e74|Should the canteen serve meat daily?|Three days a week.
e75|Do we rewrite the report generator?|No, fix the three slowest queries.
e76|Which search engine for the catalogue?|Elasticsearch, with synonyms kept by the editors.
e77|Should we lease or buy the printing press?|Lease it for five years with an option to buy.
e78|Do we hold stock in Asia?|A small depot in Singapore.
e79|Should developers write documentation before code?|A one-page design for anything above a week of work.
e80|Do we limit the size of uploads?|Two gigabytes per file.
e81|Should we block advertising trackers on our own site?|Yes, remove all three.
e82|How do we schedule database migrations?|Expand first, contract a week later, never both in one release.
e83|Should managers code?|Not on the critical path.
e84|Do we renew the insurance against cyber attacks?|Yes, with a higher deductible.
e85|Should we support right-to-left scripts?|Yes, when the Arabic translation starts.
e86|Which font for the brand?|A free one that covers Greek and Cyrillic.
e87|Do we run chaos experiments in production?|In one zone, during working hours.
e88|Should customers vote on the roadmap?|Show votes, but promise nothing.
e89|Do we pay for open source that we rely on?|One percent of revenue to maintainers.
e90|Should the website greet visitors by chat?|No, offer a form and a phone number.
e91|Which format for exported tables?|CSV with UTF-8, and Parquet above a million rows.
e92|Do we keep the branch in Vienna?|Close it and let the team work remotely.
e93|Should we throttle anonymous API calls?|Sixty per minute for each address.
e94|Do we use generated code in the safety module?|Only after a review by two people.
e95|Should the company buy carbon offsets?|No, spend the sum on insulation.
e96|Which time zone do servers run in?|UTC everywhere.
e97|Do we test candidates with a take-home task?|Two hours at most, and paid.
e98|Should parental leave be extended?|To six months at full pay.
e99|Do we move the data warehouse off premises?|To BigQuery within a year.
e00|Should we keep two product lines?|Merge them into one with options.
z01|计费服务应该使用哪个数据库？|使用 MySQL 8，由平台组统一维护。
z02|是否把所有服务迁移到容器编排平台？|是，年底前全部迁移。
z03|员工登录是否必须开启双重验证？|必须，下月起强制执行。
z04|首页要不要加缓存？|加一层缓存，过期时间五分钟。
z05|是否提高会员价格？|老会员不变，新会员上调百分之十。
z06|是否招聘第二名测试工程师？|是，优先招聘自动化方向。
z07|办公室是否搬到开发区？|不搬，续租三年。
z08|是否实行弹性工作时间？|实行，核心时间为十点到十六点。
z09|新项目用什么编程语言？|使用 Go，团队最熟悉。
z10|要不要开源内部框架？|先清理历史提交，再以 MIT 许可发布。
z11|消息中间件选哪一个？|选用 Kafka。
z12|日志保留多长时间？|保留一百八十天。
z13|是否给客户提供免费试用？|提供十四天试用，不需要绑卡。
z14|仓库是否引入搬运机器人？|先在一个仓库试点。
z15|年会在哪里举办？|在公司食堂举办，节省开支。
z16|是否更换快递合作商？|更换，时效差的线路先换。
z17|是否支持微信支付？|支持，下个版本上线。
z18|客服是否需要夜班？|不需要，夜间由机器人应答。
z19|代码合并前需要几个人评审？|至少一人，支付模块两人。
z20|是否自建机房？|不自建，继续租用云主机。
z21|产品是否进入日本市场？|进入，先找当地代理。
z22|是否给实习生发放住房补贴？|发放，每月八百元。
z23|系统是否需要异地容灾？|需要，每季度演练一次。
z24|是否停止维护旧版客户端？|六个月后停止。
z25|食堂是否外包？|外包给有资质的公司。
z26|是否采购新的财务软件？|采购，明年一月启用。
z27|是否允许员工使用个人手机办公？|允许，但须安装管理软件。
z28|要不要做小程序？|做，先上线查询功能。
z29|是否引入代码自动生成工具？|引入，生成的代码必须评审。
z30|数据分析平台买还是自研？|购买成熟产品。
z31|要不要取消周报？|取消，改为看板。
z32|是否提高研发预算？|提高百分之十五，用于芯片验证。
z33|是否建立分公司？|在成都建立。
z34|接口是否需要限流？|需要，每个用户每分钟一百次。
z35|图片存放在哪里？|存放到对象存储，加内容分发网络。
z36|是否为设备购买保险？|购买，保额五百万元。
z37|要不要改用电动货车？|今年替换一半车辆。
z38|是否举办开发者大会？|举办，规模控制在三百人。
z39|测试环境晚上是否关机？|关机，早上八点自动启动。
z40|是否采用微服务架构？|暂不采用，先拆分模块。
z41|密码如何保存？|使用加盐散列，禁止明文。
z42|是否上线推荐算法？|先对百分之五的用户开放。
z43|供应商付款周期多长？|四十五天。
z44|是否让客户看到进度？|开放查询页面。
z45|是否翻译成英文？|翻译，先翻译帮助文档。
z46|要不要参加行业展会？|参加，只租小展位。
z47|是否引入人脸识别门禁？|不引入，继续刷卡。
z48|是否关闭亏损门店？|关闭其中三家。
z49|员工培训由谁负责？|由各部门主管负责。
z50|是否购买专利？|购买两项核心专利。
z51|發票系統要用哪一套資料庫？|採用 PostgreSQL，由維運團隊負責備份。
z52|是否導入遠端工作制度？|導入，每週至少兩天進辦公室。
z53|網站是否要支援深色模式？|支援，下一季推出。
z54|是否更換雲端供應商？|不更換，重新議價。
z55|客戶資料要保存多久？|合約結束後保存五年。
z56|是否增加信用卡分期付款？|增加三期與六期。
z57|軟體更新要不要自動安裝？|安全性更新自動安裝，其他由使用者決定。
z58|是否設立內部稽核？|設立，直接向董事會報告。
z59|伺服器要放在哪個城市？|放在高雄，電力較穩定。
z60|是否縮短會議時間？|每場不超過三十分鐘。
z61|是否采购二手设备？|不采购，维修成本太高。
z62|新品包装用什么颜色？|深绿色。
z63|是否引入计件工资？|只在包装车间试行。
z64|短信验证码有效期多长？|五分钟。
z65|是否开放夜间预约？|开放到晚上九点。
z66|是否裁撤海外团队？|保留，改为远程。
z67|是否为老人设计大字版界面？|设计，放在首页入口。
z68|水电费由谁承担？|由租户承担。
z69|是否签订独家代理协议？|不签独家，签区域代理。
z70|是否建立员工持股计划？|建立，四年分期归属。
z71|如何处理用户投诉？|二十四小时内回复，七天内解决。
z72|是否改用无纸化审批？|改用，保留电子签名。
z73|冬季是否提前放假？|提前两天。
z74|是否对外提供数据接口？|只对签约伙伴提供。
z75|是否更换公司标志？|不更换。
z76|生产线是否二十四小时运行？|旺季运行，淡季两班。
z77|是否投放电梯广告？|不投放，预算转到搜索。
z78|是否接受政府补贴？|接受，按季度披露用途。
z79|新车间选址在哪里？|选在港口附近。
z80|是否给产品加语音控制？|暂不加。
z81|是否统一使用一种代码风格？|统一，由工具检查。
z82|要不要购买第三方地图服务？|购买，按调用次数计费。
z83|是否推迟发布日期？|推迟两周，先修复严重缺陷。
z84|退货期限多长？|三十天无理由退货。
z85|是否聘请外部法律顾问？|聘请，按项目付费。
z86|原材料库存保持多少？|保持六周用量。
z87|是否把训练任务放到图形处理器上？|放，租用八张卡。
z88|是否引入灰度发布？|引入，先放量百分之一。
z89|是否统计员工加班时间？|统计，超过三十六小时预警。
z90|是否允许宠物进店？|不允许。
z91|是否提供上门安装？|提供，偏远地区加收费用。
z92|校园招聘去哪些学校？|去五所理工科大学。
z93|是否将总部迁往深圳？|不迁。
z94|屋顶是否安装太阳能板？|安装，预计六年回本。
z95|是否合并两个事业部？|合并，减少重复岗位。
z96|车间噪声如何控制？|加装隔音墙。
z97|是否发行公司债券？|暂缓发行。
z98|要不要给高管配车？|不配，改为交通补贴。
z99|用户注册是否需要邀请码？|不需要。
z00|是否开设线上课程？|开设，每周一节。
"""

_QUERIES: Final = """
abbreviation|postgres|e01
abbreviation|k8s|e02
abbreviation|MFA|e03
abbreviation|2FA|e03
abbreviation|快取|z04
abbreviation|資料庫|z51
abbreviation|SSO|e72
abbreviation|CI|e29
abbreviation|GPU|z87
abbreviation|CDN|z35
words|retention of access logs|e27
words|on call rotation weekend|e06
words|feature flags|e37
words|throttle anonymous calls|e93
words|rewrite the report generator|e75
words|日志保留|z12
words|异地容灾|z23
words|遠端工作|z52
words|退貨期限|z84
words|员工持股|z70
paraphrase|could staff bring animals to work|e47
paraphrase|investor money in exchange for shares|e51
paraphrase|a longer weekend for staff|e12
paraphrase|a safe place for tokens and private keys|e38
paraphrase|gradual deployment to a few users|e43
paraphrase|postmortem of downtime|e73
paraphrase|maternity benefits for mothers and fathers|e98
paraphrase|browsers that are too old|e14
paraphrase|vegetarian food at lunch|e74
paraphrase|phone usage without internet|e23
paraphrase|商品不满意能退钱吗|z84
paraphrase|光伏发电|z94
paraphrase|老年人看不清屏幕|z67
paraphrase|机密口令加密存储|z41
paraphrase|夜里没人接电话怎么办|z18
paraphrase|卡车改烧电池|z37
paraphrase|股权激励|z70
paraphrase|减少开会|z60
paraphrase|进军海外东京|z21
paraphrase|刷脸进门|z47
"""

# Written after everything that search depends on was fixed, and never used to change it.
_HELD_OUT: Final = """
abbreviation|DB migration schedule|e82
abbreviation|API versioning|e15
abbreviation|OSS funding|e89
abbreviation|WFH|z52
abbreviation|限流|z34
words|carbon offsets|e95
words|loyalty programme|e69
words|大字版|z67
words|快遞合作商|z16
words|firmware language|e50
paraphrase|compensation for people who find security holes|e32
paraphrase|meeting less often in person, fewer flights|e65
paraphrase|quality of life at home with a newborn|e98
paraphrase|handing customers their money back|e59
paraphrase|how many eyes see a patch|e30
paraphrase|小区里能养狗吗|z90
paraphrase|把公司总部搬到南方城市|z93
paraphrase|工人太吵|z96
paraphrase|毕业生求职|z92
paraphrase|网购包裹太慢|z16
"""


def _split_rows(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.strip().splitlines()]


DECISIONS: Final = tuple(CorpusDecision(*row) for row in _split_rows(_DECISIONS))
QUERIES: Final = tuple(CorpusQuery(text, key, kind) for kind, text, key in _split_rows(_QUERIES))
HELD_OUT: Final = tuple(CorpusQuery(text, key, kind) for kind, text, key in _split_rows(_HELD_OUT))

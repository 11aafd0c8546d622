"""Words that mean the same, words that exclude each other, and words that carry no fact.

A concept is written `@name`. The lists hold everyday words of banking customers in both languages; they are no
dictionary: what is not listed is compared by its letters, and by the embedder's similarity.
"""

# One concept a line; words are separated by "|". English words stand in the form that `stem` gives.
_CONCEPTS = """
user: 用户|我|俺|咱|客户本人|本人|user|client|customer himself
company: 公司|企业|company|firm|business
spouse: 妻子|太太|老婆|爱人|夫人|丈夫|老公|先生|配偶|wife|husband|spouse
father: 父亲|爸爸|老爸|爸|father|dad
mother: 母亲|妈妈|老妈|妈|mother|mum|mom
parents: 父母|爸妈|双亲|parent
father_in_law: 岳父|丈人|公公|father-in-law
mother_in_law: 岳母|丈母娘|婆婆|mother-in-law
son: 儿子|son
daughter: 女儿|闺女|daughter
child: 孩子|小孩|子女|儿女|child|children|kid|dependant|dependent
elder_brother: 哥哥|elder brother
younger_brother: 弟弟|younger brother
brother: 兄弟|brother
elder_sister: 姐姐
younger_sister: 妹妹
sister: 姐妹|sister
uncle: 叔叔|舅舅|伯伯|姑父|姨父|uncle
aunt: 阿姨|姑姑|姨妈|舅妈|aunt
cousin: 表弟|表哥|表妹|表姐|堂弟|堂哥|堂妹|堂姐|cousin
nephew: 侄子|外甥|nephew
niece: 侄女|外甥女|niece
grandfather: 爷爷|外公|祖父|grandfather|grandpa
grandmother: 奶奶|外婆|祖母|grandmother|grandma
grandchild: 孙子|孙女|外孙|外孙女|grandson|granddaughter|grandchild
friend: 朋友|好友|friend
colleague: 同事|前同事|colleague
classmate: 同学|classmate
neighbour: 邻居|neighbour|neighbor
partner: 合伙人|partner|co-founder|cofounder
assistant: 助理|秘书|assistant|secretary|deputy
accountant: 会计|accountant|bookkeeper
cashier: 出纳|cashier
cfo: 财务总监|财务负责人|cfo
lawyer: 律师|法务|lawyer|solicitor
boss: 老板|boss
driver: 司机|driver
landlord: 房东|landlord
tenant: 租客|房客|tenant
founder: 创始人|founder
rival: 对手|竞争对手|同行|rival|competitor
subsidiary: 子公司|subsidiary
supplier: 供应商|supplier
buyer: 采购商|买家|buyer
buyer_customer: 客户|customer
staff: 员工|职工|雇员|人员|人手|staff|employee|employ|people|worker|team|person|headcount
want: 想|想要|希望|要求|要|打算|计划|准备|拟|有意|考虑|有意向|盼|want|wish|would|like to|plan|intend|intent|aim
want: expect|hope|consider|consideration|ask|look|need|需要|seek|request|goal|目标
like: 喜欢|喜爱|爱|偏好|倾向|倾向于|习惯|中意|钟爱|热衷|爱好|like|love|enjoy|prefer|keen|fond|favour|favor|happy
like: preference|rather
think: 认为|判断|觉得|看|预计|预期|think|believe|reckon|feel|forecast
willing: 愿意|同意|接受|可以接受|答应|允许|乐意|willing|agree|accept|consent|allow|permit|open|fine|okay|may|can
buy: 买|购买|买下|购入|采购|进货|收购|purchase|buy|acquire|acquisition|procure|source|bought
sell: 卖|出售|销售|售出|卖掉|sell|sale|sold
import: 进口|import
export: 出口|export
own: 自有|拥有|持有|持|own|hold|holding|owner|possess
rent: 租|租赁|租用|承租|租来|租房|lease|rent|hire|let
use: 用|使用|采用|use
live: 住|居住|常住|定居|住在|搬|搬到|搬去|搬至|搬家|迁|迁到|迁至|迁往|move|relocate|live|reside|residence|home
live: based|locate|located
work: 任职|工作|跳槽|升任|转行|上班|就职|上班|供职|担任|work|job|employment|career
transfer: 转账|汇款|transfer|remit|remittance
have: 有|具有|设有|have|has
make: 生产|制造|做|produce|make|manufacture
main: 主要|主营|最大|最主要|头号|首要|第一大|main|biggest|largest|major|principal|primary|top|chief
pay: 支付|付款|付|缴|缴纳|付费|pay|payment|paid
receive: 收|收到|收款|回款|receive|receipt
repay: 还款|还清|偿还|还|repay|repayment|pay off|clear
owe: 欠|欠款|拖欠|owe|owed|debt
loan: 贷款|借款|loan|borrowing
mortgage: 房贷|按揭|住房贷款|房屋贷款|mortgage
car_loan: 车贷|汽车贷款
deposit: 存款|定存|定期|定期存款|存|deposit|time deposit
rate: 利率|费率|rate
limit: 额度|限额|上限|授信|limit|ceiling|cap|line
balance: 余额|结余|balance
fee: 费用|手续费|fee|charge|commission
premium: 保费|premium
insurance: 保险|投保|insurance|insure|cover|policy|coverage
pension: 养老金|退休金|pension
retire: 退休|retire|retirement
income: 收入|年收入|月收入|income|earnings|earn
salary: 工资|薪水|薪资|月薪|salary|wage|payroll
expense: 开销|支出|花销|开支|生活费|expense|spending|cost
save: 储蓄|攒|存钱|save|saving
invest: 投资|投|配置|理财|invest|investment|allocation
hedge: 对冲|套保|避险|套期保值|hedge
exposure: 敞口|exposure
expire: 到期|满期|届满|期满|expire|expiry|mature|maturity|end|due|结束|截止
renew: 续保|续期|续存|续签|renew|renewal
increase: 涨|上涨|增加|提高|上调|升|rise|increase|raise|grow|appreciate|升值|走强|上升|strengthen|增长
fall: 跌|下跌|下降|减少|降|下调|贬值|走弱|走低|回落|fall|decline|drop|decrease|lower|weaken|depreciate|cut
fall: reduce
short_term: 短期|短期内|short-term
long_term: 长期|long-term
call: 电话|打电话|接电话|来电|call|phone|telephone|ring
email: 邮件|电子邮件|邮箱|email|e-mail|mail
message: 短信|消息|message|sms|text
wechat: 微信|企业微信|wechat
meeting: 会议|面谈|会面|见面|meeting|meet|appointment|预约
contact: 联系|联络|contact|reach
remind: 提醒|reminder|alert|remind|notification|通知
statement: 对账单|账单|statement
report: 报告|报表|report
branch: 分行|支行|网点|分公司|branch|outlet
office: 办公室|办公楼|office
headquarters: 总部|head office|headquarters|hq
factory: 工厂|厂房|厂|factory|plant|mill
warehouse: 仓库|warehouse|depot
shop: 店|门店|店铺|商铺|shop|store|showroom
house: 房子|房产|住房|住宅|房屋|house|property|flat|apartment|公寓
car: 车|汽车|轿车|car|vehicle
lorry: 货车|卡车|lorry|truck|van
doctor: 医生|大夫|doctor|physician
teacher: 老师|教师|教书|teacher|teach
school: 学校|学|school
university: 大学|university|college
graduate: 毕业|graduate
married: 已婚|结婚|领证|领证结婚|成家|married|marry|wed
single: 未婚|单身|single|unmarried
engaged: 订婚|engaged|engage
divorced: 离婚|离异|divorced|divorce
illness: 患有|患|得|生病|ill|illness|disease|病
allergy: 过敏|allergic|allergy
diabetes: 糖尿病|diabetes
meat: 肉|meat
sign: 签|签署|签字|签名|sign|signatory|signature
authorise: 授权|authorise|authorize|authorisation|power of attorney|mandate
guarantee: 担保|保证|保函|guarantee|surety
pledge: 抵押|质押|pledge|collateral|mortgaged
settle: 结算|settle|settlement
invoice: 发票|开票|invoice|bill|denominate|denominated
price: 价格|报价|定价|标价|price|priced|quote
trip: 旅行|旅游|出行|行程|游|trip|journey|travel|holiday|vacation|visit|tour
plan_noun: 方案|scheme
contract: 合同|contract|agreement
profession: 职业|profession|occupation
read: 看|读|read
understand: 懂|看懂|读懂|understand
speak: 说|会说|讲|speak|spoken
risk: 风险|risk
currency_exchange: 外汇|换汇|forex|fx|foreign exchange
fund: 基金|fund
stock: 股票|stock|share|equity
bond: 债券|bond
gold: 黄金|gold
silver: 白银|silver
crypto: 加密货币|虚拟货币|crypto|cryptocurrency|bitcoin|比特币
rmb: 人民币|rmb|cny|renminbi|yuan
usd: 美元|美金|usd|us dollar|dollar
eur: 欧元|eur|euro
gbp: 英镑|gbp|sterling|pound
jpy: 日元|jpy|yen
hkd: 港币|港元|hkd
chf: 瑞士法郎|瑞郎|chf|franc|swiss franc
sek: 瑞典克朗|sek|swedish kronor|swedish krona
nok: 挪威克朗|nok|norwegian kroner|norwegian krone
inr: 卢比|印度卢比|inr|indian rupee|rupee
aud: 澳元|aud|australian dollar
cad: 加元|cad|canadian dollar
sgd: 新加坡元|新元|新币|sgd|singapore dollar
fiscal_year: 财年|会计年度|财政年度|fiscal year|financial year
last_day: 截止日|最后一天|年结日|last day|year-end
registered: 注册|登记|register|registered|registration|incorporate
list_ipo: 上市|ipo|listing
approve: 批准|获批|通过|approve|approval|approved
reject: 拒批|驳回|turn down|rejected
pending: 审理|审批|审核|申请中|under review|pending|review
monthly: 每月|一个月|月均|monthly|month
yearly: 每年|一年|annual|yearly|annually|year|年
weekly: 每周|weekly|week
daily: 每天|每日|daily|day
quarterly: 每季度|quarterly|quarter
about: 大约|大概|左右|约|about|around|roughly|approximately
hobby: 爱好|兴趣|hobby
pet: 宠物|pet
morning: 早上|上午|早晨|morning
evening: 晚上|傍晚|evening
weekend: 周末|weekend
drink: 喝|drink
alcohol: 酒|喝酒|白酒|alcohol|wine
eat: 吃|eat
smoke: 抽烟|吸烟|烟|smoke|smoker
study: 读|读书|上学|留学|就读|study|attend
abroad: 海外|国外|境外|出国|abroad|overseas
supply: 供货|供应|supply|supplie
work_with: 合作|cooperate|collaborate
america: 美国|us|usa|america|american
china: 中国|china|chinese
germany: 德国|germany|german
spain: 西班牙|spain|spanish
turkey: 土耳其|turkey|turkish
italy: 意大利|italy|italian
france: 法国|france|french
japan: 日本|japan|japanese
korea: 韩国|korea|korean
britain: 英国|uk|britain|british|england|united kingdom
denmark: 丹麦|denmark|danish
poland: 波兰|poland|polish
norway: 挪威|norway|norwegian
sweden: 瑞典|sweden|swedish
switzerland: 瑞士|switzerland|swiss
netherlands: 荷兰|netherlands|dutch|holland
taiwan: 台湾|taiwan|taiwanese
vietnam: 越南|vietnam|vietnamese
thailand: 泰国|thailand|thai
india: 印度|india|indian
greece: 希腊|greece|greek
portugal: 葡萄牙|portugal|portuguese
ireland: 爱尔兰|ireland|irish
canada: 加拿大|canada|canadian
australia: 澳大利亚|澳洲|australia|australian
chile: 智利|chile|chilean
english: 英文|英语|english
chinese_language: 中文|汉语|普通话|mandarin
cantonese: 粤语|广东话|cantonese
date_of_birth: 生日|出生|birthday|born
"""
CONCEPT_OF: dict[str, str] = {}
for _line in _CONCEPTS.strip().splitlines():
    _name, _, _words = _line.partition(": ")
    for _word in _words.split("|"):
        CONCEPT_OF.setdefault(_word, "@" + _name)

PERSONS = frozenset(
    "@" + name
    for name in (
        "spouse father mother parents father_in_law mother_in_law son daughter child elder_brother"
        " younger_brother brother elder_sister younger_sister sister uncle aunt cousin nephew niece"
        " grandfather grandmother grandchild friend colleague classmate neighbour partner assistant"
        " accountant cashier cfo lawyer boss driver landlord tenant founder rival subsidiary supplier"
        " buyer buyer_customer"
    ).split()
)
"""Concepts that name somebody other than the user: as the subject of a sentence they own the fact."""

_KINDS = """
@child: @son @daughter 一儿 一女 儿女 男孩 女孩 双胞胎 twin girl boy stepson stepdaughter
@parents: @father @mother
@pet: 猫 狗 英短 金毛 布偶 猫咪 小狗 兔子 cat dog labrador rabbit horse parrot kitten puppy
sport: tennis football golf swim run cycl badminton basketball gym climb ski row squash yoga
运动: 网球 足球 高尔夫 游泳 跑步 羽毛球 篮球 健身 爬山 滑雪 瑜伽 骑行
@illness: @diabetes 高血压 心脏病 肾病 糖尿病 哮喘 慢性病 痛风 asthma cancer condition 健康 health
@insurance: 医疗险 寿险 车险 重疾险 年金险 意外险 财产险 货运险 雇主责任险
@loan: @mortgage @car_loan 经营贷 消费贷 信用贷 overdraft 分期
负债: @loan @mortgage @car_loan 分期 房贷
debt: @loan @mortgage @car_loan overdraft
@invest: @fund @stock @bond @gold @silver @crypto
衍生品: 远期 期权 掉期 互换
derivative: forward option swap
@house: flat apartment villa bungalow 别墅 公寓 商铺
@car: 轿车 越野车 新能源车 电动车 van lorry truck
饮食: 川菜 粤菜 湘菜 日料 火锅 海鲜 素食 @drink @eat @meat 咖啡 茶
口味: 川菜 粤菜 湘菜 日料 火锅 海鲜 素食 辣 清淡
food: vegetarian vegan spicy seafood @meat @eat cuisine sushi curry
@relative: @spouse @father @mother @son @daughter @brother @sister
"""
KINDS: frozenset[tuple[str, str]] = frozenset(
    (general, special)
    for general, _, specials in (line.partition(": ") for line in _KINDS.strip().splitlines())
    for special in specials.split()
)
"""(general, special): the special names a kind of the general."""

NAMES = frozenset(
    "@" + name
    for name in (
        "rmb usd eur gbp jpy hkd chf sek nok inr aud cad sgd america china germany spain turkey italy"
        " france japan korea britain denmark poland norway sweden switzerland netherlands taiwan vietnam"
        " thailand india greece portugal ireland canada australia chile chinese_language english cantonese"
        " gold silver"
    ).split()
)
"""Concepts that name one of a class (currencies, countries, languages): another one is another value."""

MANY_VALUED = frozenset(
    "@" + name
    for name in (
        "allergy like hobby speak own stock bond fund gold silver supplier buyer buyer_customer rival"
        " export import exposure supply sell buy pet son daughter child friend invest read drink eat"
        " illness trip subsidiary branch shop factory warehouse currency_exchange crypto partner guarantee"
    ).split()
) | frozenset(
    (
        "账户 运动 打 踢 玩 弹 收藏 关注 支持 学 会员 card account play collect follow support sport club"
        " watch account deal dealer distributor 经销商 校区 校友 专利 商标 资质 证书 licence license grow make"
    ).split()
)
"""Attributes of which somebody has several at once: another value is one more."""

SINGLE_VALUED = frozenset(
    "@" + name
    for name in (
        "live work main headquarters married single engaged divorced retire rate limit balance salary"
        " premium rent cfo boss driver landlord accountant assistant statement registered list_ipo pending"
        " approve expire date_of_birth fiscal_year last_day profession school university"
    ).split()
) | frozenset(
    (
        "状态 进度 阶段 客户经理 专属 法定代表人 董事长 总经理 审计 开户行 主管 负责人 联系人 地址 电话"
        " manager auditor status stage chair address number chairman director head lead"
    ).split()
)
"""Attributes that have one value at a time: another value replaces the first."""

# Two of one line exclude each other as values of one attribute.
_OPPOSITES = """
电子|纸质  固定|浮动  租|自有  @rent|@own  @rent|@buy  @buy|@sell  @import|@export  @increase|@fall
@married|@single  @married|@engaged  @engaged|@single  @married|@divorced  短|长  @short_term|@long_term
简短|详细  线上|线下  手机银行|网点  早|晚  @morning|@evening  paper|electronic  fixed|float  fixed|floating
fix|floating  @call|@email  @call|@message  @email|@message  @call|@wechat  public|private  short|long
summary|report  block|unblock  open|close  active|inactive  保守|激进  稳健|激进  国内|海外  电汇|信用证  开|关
已|未  成功|失败  开通|关闭  正常|限制  正常|冻结  conservative|aggressive  weekly|monthly  @weekly|@monthly
@daily|@weekly  @english|@cantonese  @english|@chinese_language  own|rent  full-time|part-time
employed|unemployed  online|branch  tea|coffee  robo|human  fix|float  trust|distrust  pending|approved
@pending|@approve  enabled|disabled  active|dormant  bull|bear
"""
OPPOSITES: frozenset[frozenset[str]] = frozenset(frozenset(pair.split("|")) for pair in _OPPOSITES.split())

STOP_EN = frozenset(
    """
    a an the of to in on at for with by from and or that which who whom whose this these those it its their his her
    he she they them him is are was were be been being am has had have do does did will shall would could should s t
    as into than then so also too very just there here up down out off over about some any each every own same such
    only more most other another both all now currently already still yet again ever longer anymore once since after
    before until while per etc via under i my me we our us you your if but not no because although though when where
    how what one ones cannot never im ive s' 's done got get gets getting go goes going gone went come comes came
    says said say tell told asks stands stand mention mentioned
    """.split()
)
STOP_ZH = frozenset(
    """
    的 了 着 过 是 为 在 和 与 及 或 也 还 又 再 都 就 才 把 被 让 给 对 向 从 到 于 以 之 其 这 那 这个 那个 该 此
    有 个 家 等 中 上 下 里 内 外 前 后 时 现 现在 目前 已 已经 将 会 能 可以 可 并 而 但 因 因为 所以 如果 由 用 来
    去 所 得 地 请 吧 呢 吗 啊 说 表示 一个 一些 其实 本人 自己 他 她 它 他们 她们 不 没 没有 未 无 非 不再 再也 要
    想 很 比较 非常 一概 一律 只 只要 分别 大约 大概 左右 约 进行 以后 之后 以前 之前 以来 另 另外 另有 其中 每 各
    全部 完 全 都 平时 平常 通常 一般 事 方面 情况 上个月 去年 今年 明年 年内 最近 如今 当前 改 改为 变 成 变成 那套
    那条 成为 起 共 一共 之内
    """.split()
)

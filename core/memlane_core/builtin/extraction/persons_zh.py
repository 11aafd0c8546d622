# ruff: noqa: E501
"""Chinese: first person to 用户, and third persons by their names."""

import re

from .lexicon_zh import FEMALE, KIN, MALE, ORGANISATION, PERSON
from .memo import Memo, Person

_SURNAMES = set(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳邢路岳齐沿梅莫庄辛管祝左涂谷祁时舒耿牟卜路詹关苗凌费纪靳盛童欧甄项曲成游阳裴席卫查屈鲍位覃霍翁隋植甘景薄单包司柏宁柯阮桂闵解强柴华车冉房边辜吉饶刁瞿戚丘古米池滕晋苑邬臧畅宫来嵺苟全褚廉简娄盖符奚木穆党燕郎邸冀谈姬屠连郜晏栾郁商蒙计喻揭窦迟宇敖糜鄢冷卓花仇艾蓝都巩稽井练仲乐虞卞封竺冼原官衣楚佟栗匡宗应台巫鞠僧桑荆谌银扬明沙薄伏岑习胥保和蔺杭岩张陳劉楊趙黃吳孫馬羅鄭謝韓馮蕭許呂蘇盧蔣賈葉閻餘鍾陸顧龍萬錢湯賴龐蘭嚴魯聶叢齊莊榮譚鄒湛蒲"
)
_COMPOUND = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "令狐",
    "夏侯",
    "司徒",
    "端木",
)
_AFTER_NAME = "也想是在的要有，,。说會会负今拿占和跟、都就做管开開来能可不没沒叫；、签簽住喜身很去刚剛已正将將才对對之；属只一给給喜怕担代负負控出持愿介当當兼过過买卖用同最比从從每年还還"
_PARENTS = {
    "爸": "父亲",
    "爸爸": "父亲",
    "爹": "父亲",
    "妈": "母亲",
    "妈妈": "母亲",
    "媽": "母親",
    "媽媽": "母親",
    "娘": "母亲",
    "老爸": "父亲",
    "老妈": "母亲",
    "爸妈": "父母",
}
_PLURAL = re.compile(r"父母|爸妈|孩子们|双胞胎|家人|两个|俩|们$|股东|员工|客户们|供应商们")
_KIN = set(KIN.split("|"))
_COMPANY_WORDS = re.compile(r"(?:我们|我們|咱们|咱|我|本|敝|俺)(?:的)?(?:公司|企业|單位|单位)|我司|本司|敝司")
_COMPANY_CALLED = re.compile(
    r"(?:公司|厂|工厂|廠|店|企业|品牌|集团|单位|诊所|合作社|事务所|工作室|厂名|店名|字号|抬头)(?:的?(?:名字|名称|全称|全名))?(?:叫做?|是叫|名叫|名为|写)(?P<a>[\w\u4e00-\u9fff（）()&·]{2,20}?)(?=[，。；,;]|吧|$|的(?=$|[，。]))"
    r"|(?:我们|我們|我)(?:是|在)(?:[\u4e00-\u9fff]{2,4}的)?(?P<b>[\u4e00-\u9fff]{2,8}(?:公司|集团|科技|贸易|实业|股份|电子|制造|饰品|食品|茶业|纺织|物流|五金|建材|包装|印刷|光电|精密|农贸|部件|化工|医疗|生物|装饰|珠宝|珠寶|纸业|机械|服饰|能源|环保|餐饮|传媒))(?=[，。；,;]|的?$)"
    r"|(?:公司|厂|工厂|店|企业|集团|诊所|连锁|供应商|我们|我們|咱们|做[\u4e00-\u9fff]{1,6})(?![^，]{0,6}(?:法人|老板|负责人|会计|财务|HR|人事|经理))[^，。]{0,16}，(?:[\u4e00-\u9fff]{1,4}，)?叫(?:做)?(?P<c>[\u4e00-\u9fff]{3,10}?)(?=[，。；,;]|$)"
)


_OTHERS = re.compile(
    r"下面|旗下|下属|控股的|[子分母]公?司?$|客户|供应|对方|[他她它]|合作|朋友|我[爸妈哥姐弟妹]|老婆|老公|那家|这家|一家|隔壁"
)
_OTHER_CALLED = re.compile(
    r"(?:公司|厂|店|集团|企业|机构|合作社|客户|供应商)(?:名字)?叫(?:做)?(?P<name>[\u4e00-\u9fff]{2,8}?)(?=[，。；,;]|$|的)"
)


def company_name(text: str) -> str:
    """The name by which the customer calls his own firm, "" if none is told here."""
    match = _COMPANY_CALLED.search(text)
    if not match or _OTHERS.search(re.split(r"[，。]", text[: match.start()])[-1]):
        return ""
    return next((name for name in match.groups() if name), "")


def note_firm(text: str, memo: Memo) -> None:
    """Another firm that is given its name ("下面的物业公司叫融禾物业"): what "它" is afterwards."""
    match = _OTHER_CALLED.search(text)
    if match and match["name"] != company_name(text):
        memo.meet(Person(match["name"], name=match["name"]))


def rewrite(text: str, memo: Memo) -> str:
    """The clause with its speaker named "用户" and third persons by what is known of them."""
    firm = memo.company or "用户的公司"
    # A sentence that gives the firm its name keeps "用户的公司" as its subject.
    if memo.company and memo.company in text:
        firm = "用户的公司"
    text = _COMPANY_WORDS.sub(firm, text)
    text = _third_persons(text, memo)
    text = re.sub(
        r"你们银行|你們銀行|你们家(?:银行)?|你们行|贵行|貴行|咱们行|你们这(?:里|边|儿)?|你们|您们",
        "本行",
        text,
    )
    we = memo.company if memo.company and memo.company not in text else "用户"
    text = re.sub(r"(?:我们|我們|我哋|咱们|咱們|咱俩|咱)(?:自己|两个|两人|这边|这儿|这里|家)?", we, text)
    text = re.sub(
        r"我(?:自己|本人|个人|這邊|这边|这儿|这里)|本人|俺|(?<!自)我(?![国國市省区])(?:人(?=在))?",
        "用户",
        text,
    )
    text = re.sub(
        r"用户(?=(?:身份证|银行卡|工资卡|信用卡|账户|賬戶|帐户|手机|电话|邮箱|邮件|房子|车子|收入|预算|年薪|月薪|风险偏好|地址|生日|名字))",
        "用户的",
        text,
    )
    text = re.sub(r"(?<=[\d岁])(?=用户的)", "，", text)
    return re.sub(r"用户用户", "用户", text)


def pronouns(text: str, memo: Memo) -> str:
    """Third-person pronouns replaced where the one meant is known."""

    def name(match: re.Match[str]) -> str:
        said = match[0]
        plural = said.endswith(("们", "們"))
        gender = "" if plural or said in ("它", "对方", "對方") else "f" if said == "她" else "m"
        person = memo.who(gender, plural=plural)
        return person.label if person else said

    text = re.sub(r"(?P<who>它|他|她)家(?=[\u4e00-\u9fff])", lambda m: f"{m['who']}的", text)
    # "其他", "他们公司的他人": only whole pronouns.
    return re.sub(
        r"(?<![其吉])(?:他们|她们|它们|他們|她們|它們|他(?![人乡處处])|她|它)(?:们|們)?(?:自己)?", name, text
    )


def _third_persons(text: str, memo: Memo) -> str:
    pieces: list[str] = []
    position = 0
    for match in PERSON.finditer(text):
        if match.start() < position:
            continue
        owner, noun = match["owner"], match["noun"]
        kin = noun in _KIN
        if not owner and not (kin and _alone(text, match.start())):
            named, _ = _name_after(text, match) if not kin else ("", 0)
            if named:
                memo.meet(Person(noun + named, name=named))
            continue
        if not owner.startswith(("我", "俺", "咱")) and not kin:
            continue
        if (
            noun in ("公司", "厂", "店", "集团", "工厂", "老板")
            and owner
            and not owner.endswith(("家", "公司"))
        ):
            pieces += text[position : match.start()], _own_firm(owner, noun, memo, text)
            position = match.end("noun")
            continue
        if not owner and text[: match.start()].endswith("个"):
            note_kin(text[match.start() : match.end()], memo)
            continue
        shown = _PARENTS.get(noun, noun)
        name, end = _name_after(text, match)
        kind = next((k for k in ("下游", "上游") if k in owner), "")
        label = f"用户的{'公司' if '公司' in owner else ''}{kind}{shown}{name}"
        gender = "f" if FEMALE.search(noun) else "m" if MALE.search(noun) else ""
        memo.meet(Person(label, gender, bool(_PLURAL.search(noun)), name))
        pieces += text[position : match.start()], label
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def _own_firm(owner: str, noun: str, memo: Memo, text: str) -> str:
    if noun == "公司" and memo.company and memo.company not in text:
        return memo.company
    return f"用户的{noun}"


def note_kin(text: str, memo: Memo) -> None:
    """A relative named in passing ("外籍太太能不能…"): who "她" is afterwards. Without another owner he is the customer's."""
    for match in PERSON.finditer(text):
        if match["noun"] in _KIN and not re.search(r"[他她的]$", text[: match.start()]):
            noun = _PARENTS.get(match["noun"], match["noun"])
            gender = "f" if FEMALE.search(noun) else "m" if MALE.search(noun) else ""
            memo.meet(Person(f"用户的{noun}", gender, bool(_PLURAL.search(noun))))


def _alone(text: str, start: int) -> bool:
    """The noun is not the tail of another word ("母公司", "我朋友的儿子") and nobody else owns it."""
    return start == 0 or text[start - 1] in "，,、和跟给給让让帮幫替对和陪有两个"


def _name_after(text: str, match: re.Match[str]) -> tuple[str, int]:
    """Name that directly follows the noun ("合伙人蒋述白", "会计小邱"), and where it ends."""
    end = match.end("noun")
    if match["name"] and match["called"].lstrip("，").startswith("叫"):
        return "", end
    rest = text[end:]
    nick = re.match(r"[小老阿][\u4e00-\u9fff](?=[" + re.escape(_AFTER_NAME) + r"]|$|两)", rest)
    if nick and nick[0][1] in _SURNAMES:
        return nick[0], end + nick.end()
    latin = re.match(r"[A-Z][A-Za-z.'’-]+(?: [A-Z][A-Za-z.'’-]+)*", rest)
    if latin:
        return latin[0], end + latin.end()
    firm = ORGANISATION.match(rest) if match["noun"] not in _KIN else None
    if firm:
        return firm[0], end + firm.end()
    head = 2 if rest.startswith(_COMPOUND) else 1
    if not rest or (head == 1 and rest[0] not in _SURNAMES):
        return "", end
    for given in (2, 1):
        name = rest[: head + given]
        if (
            len(name) == head + given
            and re.fullmatch(r"[\u4e00-\u9fff]+", name)
            and not set(name[1:]) & set("想是在的有也要说会都就和跟叫去能可不没")
        ):
            after = rest[head + given : head + given + 1]
            if after == "" or after in _AFTER_NAME:
                return name, end + head + given
    return "", end

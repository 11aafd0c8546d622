"""What a speaker does with a sentence: takes something back, tells a change, adds one more."""

import re

_RETRACT_ZH = (
    r"取消|撤销|撤回|撤了|收回|作废|作罢|放弃|解除|终止|退订|注销|退出|中止|搁置|不做了|不去了|不办了|不买了|不要了|不搞了|不用了|不考虑了|算了|泡汤|落空|告吹|黄了|没戏"
    r"|删掉|删除|删了|去掉|抹掉|清除|忘掉|忘了|忘记|别记|不要记|不用记|当(?:他|她|我)?没说|口误|说错|记错|搞错|弄错|记录有误|不属实|不作数|不算数|打消|停掉|停了|叫停|关停|拆除|吹了|推掉|爽约"
)
_RETRACT_EN = (
    r"cancel(?:s|led|ed|ling|ing)?|call(?:s|ed)? off|revok(?:e|es|ed|ing)|withdr(?:aws?|ew|awn)|pull(?:s|ed)? out|back(?:s|ed)? out|drop(?:s|ped)? (?:the|its|her|his|their|plans?)|scrap(?:s|ped)?"
    r"|abandon(?:s|ed)?|giv(?:es?|en|ing) up|gave up|forget|eras(?:e|ed)|delet(?:e|ed|ion)|remov(?:e|ed)|disregard|was a (?:slip|mistake|typo|misunderstanding)|(?:is|was) wrong|in error|by mistake|mistaken|a slip"
    r"|(?:is|are|was) off\b|fallen through|fell through|no longer (?:needs?|needed|wants?|wanted|required|planned|plans?|applies|going|valid)|terminat(?:e|es|ed)|discharg(?:e|ed)|rescind(?:s|ed)?|lapsed"
    r"|unsubscrib(?:e|es|ed)|opt(?:s|ed)? out|never mind|decided against|void(?:ed)?|shelved?|has been released|was released|been lifted|stood down|not going ahead|no more"
)
_CHANGE_ZH = (
    r"现在|目前|如今|改为|改成|改用|改在|改到|改由|更改|变更|调整|调到|换成|换到|换了|更换|变成|转为|转到|涨到|涨至|升到|升至|升任|降到|降为|降至|增加到|增至|提高到|提到|减到|减至|拉长|缩短|延长|提前|推迟|搬到|搬去|搬至"
    r"|迁到|迁至|迁往|搬|跳槽|已经|已|不再|以后|从此|改|最新|重定价|下调|上调|扩大到|达到|达|如今|起改|新的|买下|卖掉|了$|接回|升级|降级"
)
_CHANGE_EN = (
    r"now|currently|nowadays|these days|any ?more|no longer|from now on|has (?:moved|changed|switched|become|risen|fallen|grown|dropped|gone|been \w+ed|\w+ed)|have (?:moved|changed|switched|become|risen|fallen|\w+ed)|moved|relocated|changed|switch(?:ed)?|became|instead"
    r"|rather than|(?:raised|increased|lowered|reduced|cut|lifted|extended|shortened|upped|brought forward|pushed back|grown|expanded|went up|gone up|come down|came down|risen|fallen|dropped|down|up) (?:\w+ ){0,4}?to|topped up|replaced|took over|taken over|used to|left|retired|got married|promoted|latest|would rather|come round"
)
_ADD_ZH = r"也(?!不|没|是不)|还(?!款|没|未|清|有\d|剩|不|贷|在)|另有|另一|另外|另开|又(?!不)|此外|同时|除了|以及|新增|再加|还有|并且"
_ADD_EN = r"\balso\b|\btoo\b(?! much| many| high| low)|\bas well\b|\banother\b|\bin addition\b|\badditional(?:ly)?\b|\bbesides\b|\bsecond\b|\bfurther\b|\bother\b"

_RETRACT = re.compile(rf"{_RETRACT_ZH}|\b(?:{_RETRACT_EN})\b")
_ERASE = re.compile(
    r"删掉|删除|删了|去掉|抹掉|清除|忘掉|忘了|忘记|别记|不要记|不用记|当(?:他|她|我)?没说|口误|说错|记错|记录有误|不作数|不算数"
    r"|\b(?:forget|eras(?:e|ed)|delet(?:e|ed)|disregard|a slip|was a mistake|in error|never mind|note (?:about|is|was|that))\b"
)
_CHANGE = re.compile(rf"{_CHANGE_ZH}|\b(?:{_CHANGE_EN})\b")
_ADD = re.compile(rf"{_ADD_ZH}|{_ADD_EN}")


def retracts(folded: str) -> bool:
    """Whether the sentence takes something back: a plan called off, an arrangement ended, a record to erase."""
    return _RETRACT.search(folded) is not None


def erases(folded: str) -> bool:
    """Whether the sentence asks to erase or disowns what was recorded."""
    return _ERASE.search(folded) is not None


def retraction_spans(folded: str) -> list[tuple[int, int]]:
    """Where the words stand that take something back."""
    return [m.span() for m in _RETRACT.finditer(folded)]


def changes(folded: str) -> bool:
    """Whether the sentence tells that something became otherwise ("现在", "改为", "now", "has moved")."""
    return _CHANGE.search(folded) is not None


def change_spans(folded: str) -> list[tuple[int, int]]:
    return [m.span() for m in _CHANGE.finditer(folded)]


def adds(folded: str) -> bool:
    """Whether the sentence says that this is one more of its kind ("也", "另有", "also", "another")."""
    return _ADD.search(folded) is not None

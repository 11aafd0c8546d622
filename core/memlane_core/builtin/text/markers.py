"""What a speaker does with a sentence: takes something back, tells a change, adds one more.

All functions take a folded text (see `normalise.fold`).
"""

import re

Span = tuple[int, int]

_RETRACT_ZH = """
取消 撤销 撤回 撤了 作废 作罢 放弃 解除 终止 退订 注销 退出 中止 搁置 不做了 不去了 不办了 不买了
不要了 不搞了 不用了 不考虑了 不打算 不设了 不开了 不参加了 不租了 不换了 不投了 不续了 不存了 算了
泡汤 落空 告吹 黄了 没戏 删掉 删除 删了 去掉 抹掉 清除 忘掉 忘了 忘记 别记 不要记 不用记 没说过
当没说 口误 说错 记错 搞错了 弄错了 记录有误 不属实 不作数 不算数 打消 停掉 停了 叫停 关停 吹了
推掉 爽约 失效 废止 解约 退保 退租 退掉 解聘 解散 撤诉 撤单 销户
"""
_RETRACT_EN = r"""
cancel(?:s|led|ed|ling|ing)?; (?:been |be |was |were )?call(?:s|ed)? off; called \w+ off; revok(?:e|es|ed|ing)
withdr(?:aws?|ew|awn); pull(?:s|ed)? out; back(?:s|ed)? out
drop(?:s|ped) (?:the|its|her|his|their|all|plans?|out); scrap(?:s|ped)?; abandon(?:s|ed)?; giv(?:es?|en|ing) up
gave up; forget; eras(?:e|ed); delet(?:e|ed|ion); remov(?:e|ed); disregard
(?:was|were) a (?:slip|mistake|typo|misunderstanding)
(?:is|was|are|were) (?:wrong|untrue|not true|incorrect|mistaken); in error; by mistake; a slip
(?:is|are|was) off; fallen through; fell through; come to nothing; came to nothing
no longer (?:needs?|needed|wants?|wanted|required|planned|plans?|planning)
no longer (?:intends?|applies|going|valid|in force|stands|holds|considering|looking)
terminat(?:e|es|ed); discharg(?:e|ed); rescind(?:s|ed)?; lapsed; unsubscrib(?:e|es|ed); opt(?:s|ed)? out
never mind; decided against; decided not to; void(?:ed)?; shelved?; has been released; was released; been lifted
not going ahead; not go(?:ing)? ahead; called it off; stood down; resigned from; dissolved; annulled
"""
_ERASE_ZH = """
删掉 删除 删了 去掉 抹掉 清除 忘掉 忘了 忘记 别记 不要记 不用记 没说过
当没说 口误 说错 记错 记录有误 不作数 不算数
"""
_ERASE_EN = r"""
forget; eras(?:e|ed); delet(?:e|ed); disregard; a slip; was a mistake; in error
never mind; note (?:about|is|was|that)
"""

_BECOME_ZH = """
改为 改成 改用 改在 改到 改由 更改 变更 调整 调到 换成 换到 换了 更换 变成 转为 转到 涨到 涨至
升到 升至 降到 降为 降至 增加到 增至 提高到 提到 加到 减到 减至 减少到 拉长 缩短 延长 提前 推迟
不再 从此 改 重定价 下调 上调 扩大到 接回 升级 降级 扩建后 扩到 缩到
"""
_BECOME_EN = r"""
any ?more; no longer; from now on; changed; switch(?:ed|es)?; became; become; instead; rather than; would rather
topped up; replaced; took over; taken over; used to
raised; increased; lowered; reduced; cut; lifted; extended; shortened; upped; brought forward; pushed back
grown; expanded; grew; went up; gone up; going up; come down; came down; risen; rose; fallen; fell; dropped
slipped; climbed; down; up
come round; goes up to
"""
# These tell a change too, and its topic with it: where one lives, works, whether one is married.
_BECOME_TOPIC_ZH = "搬到 搬去 搬至 搬 迁到 迁至 迁往 跳槽 升任 转正 转行 退休了 结婚了 离婚了"
_BECOME_TOPIC_EN = (
    "moved; relocated; retired; (?:got|has|have) (?:married|engaged|divorced); promoted; has left"
)
_NOW_ZH = "现在 目前 如今 已经 已 以后 最新 达到 新的 最近 刚 今后 了(?=$|[,.;!])"
_NOW_EN = "now; currently; nowadays; these days; already; lately; recently; has; have; latest; after"

# 还 means "also" before these and "repay" or "still" elsewhere.
_AFTER_ALSO = (
    "有|想|会|要|持|买|喜|爱|打算|计划|可以|能|需|养|开|经营|投|做|参加|关注|收藏|兼|担任|生产|出口|进口|销售|卖|租|用|订|设"
    "|是一|懂|说|学|供|欠"
)
_ADD_ZH = rf"也(?!不|没|是不)|还(?={_AFTER_ALSO})|另有|另一|另外|另开|又(?!不)|此外|同时|除了|新增|再加|并且"
_ADD_EN = r"""
also; too(?! much| many| high| low); as well; another; in addition; additional(?:ly)?;
besides; further; other
"""


def _words(zh: str, en: str) -> re.Pattern[str]:
    chinese = "|".join(sorted(zh.split(), key=len, reverse=True))
    english = "|".join(p.strip() for line in en.splitlines() for p in line.split(";") if p.strip())
    return re.compile(rf"{chinese}|\b(?:{english})\b")


# 收回 takes back a permission or a word; with money it only collects.
_TAKE_BACK = r"收回(?=.{0,10}(?:授权|权限|权|同意|承诺|申请|决定|委托|意见|的话))|授权.{0,4}收回"
_RETRACT = re.compile(_TAKE_BACK + "|" + _words(_RETRACT_ZH, _RETRACT_EN).pattern)
_ERASE = _words(_ERASE_ZH, _ERASE_EN)
_BECOME = _words(_BECOME_ZH, _BECOME_EN)
_BECOME_TOPIC = _words(_BECOME_TOPIC_ZH, _BECOME_TOPIC_EN)
_NOW = _words(_NOW_ZH, _NOW_EN)
_ADD = re.compile(_ADD_ZH + "|" + _words("另开", _ADD_EN).pattern)


def retracts(folded: str) -> bool:
    """Whether the sentence takes something back: a plan called off, an arrangement ended, a record to erase."""
    return _RETRACT.search(folded) is not None


def erases(folded: str) -> bool:
    """Whether the sentence asks to erase or disowns what was recorded."""
    return _ERASE.search(folded) is not None


def becomes(folded: str) -> bool:
    """Whether the sentence says in so many words that something became otherwise ("改为", "涨到", "moved")."""
    return _BECOME.search(folded) is not None or _BECOME_TOPIC.search(folded) is not None


def tells_now(folded: str) -> bool:
    """Whether the sentence dwells on the present state ("现在", "已", "now", "has …"), as one does after a change."""
    return _NOW.search(folded) is not None


def adds(folded: str) -> bool:
    """Whether the sentence says that this is one more of its kind ("也", "另有", "also", "another")."""
    return _ADD.search(folded) is not None


def marker_spans(folded: str) -> list[Span]:
    """Where the words stand that only take back or only tell a change: they carry no content of their own."""
    return [m.span() for pattern in (_RETRACT, _BECOME) for m in pattern.finditer(folded)]

"""One spelling for texts that mean the same to a reader: width, case, script, spaces."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Traditional and simplified form of the characters that bank customers use, two by two.
_SCRIPT_PAIRS = (
    "萬万與与專专業业東东絲丝兩两嚴严喪丧個个豐丰臨临為为麗丽舉举義义烏乌樂乐喬乔習习鄉乡書书買买亂乱爭争於于虧亏雲云亞亚產产"
    "畝亩親亲億亿僅仅從从倉仓儀仪們们價价眾众優优會会傘伞偉伟傳传傷伤倫伦偽伪體体餘余傭佣債债傾倾償偿儲储兒儿兌兑黨党蘭兰關关"
    "興兴養养獸兽內内岡冈冊册寫写軍军農农馮冯沖冲決决況况凍冻淨净準准涼凉減减湊凑幾几鳳凤憑凭凱凯擊击劃划劉刘則则剛刚創创刪删"
    "別别劑剂劍剑劇剧勸劝辦办務务動动勵励勁劲勞劳勢势勳勋區区醫医華华協协單单賣卖盧卢衛卫廠厂廳厅歷历厲厉壓压廁厕廈厦廚厨縣县"
    "參参雙双發发變变敘叙葉叶號号嘆叹嚇吓嗎吗啟启吳吴員员聽听嗚呜國国圖图團团園园圍围圓圆聖圣場场壞坏塊块堅坚壇坛墳坟墜坠壟垄"
    "壘垒墊垫塵尘牆墙聲声殼壳處处備备複复夠够頭头誇夸夾夹奪夺奮奋獎奖奧奥婦妇媽妈嬸婶孫孙學学寧宁寶宝實实寵宠審审憲宪宮宫寬宽"
    "賓宾對对尋寻導导壽寿將将爾尔塵尘嘗尝堯尧層层屆届屬属歲岁豈岂嶺岭島岛峽峡幣币帥帅師师帳帐帶带幫帮幹干並并廣广莊庄慶庆庫库"
    "應应廟庙廢废開开異异棄弃張张彌弥彎弯彈弹強强歸归當当錄录徹彻徑径憶忆懷怀態态憂忧慮虑惡恶慘惨慣惯懸悬懶懒戲戏戰战戶户撲扑"
    "執执擴扩掃扫揚扬擾扰撫抚搶抢護护報报擔担擬拟擁拥擇择揀拣掛挂撥拨擠挤揮挥損损換换據据擲掷攜携攝摄擺摆搖摇攤摊撐撑敵敌數数"
    "齊齐斬斩斷断無无舊旧時时曠旷曉晓曆历暫暂機机殺杀雜杂權权條条來来楊杨極极構构槍枪櫃柜標标棧栈棟栋欄栏樹树樣样檔档橋桥夢梦"
    "檢检樓楼歡欢歐欧殘残毀毁畢毕氣气漢汉湯汤溝沟沒没滬沪淚泪澤泽潔洁濟济測测濃浓濤涛潤润漲涨淵渊漁渔滲渗溫温灣湾濕湿滿满濾滤"
    "濱滨滯滞潛潜災灾燈灯靈灵爐炉點点煉炼爍烁爛烂煙烟煩烦燒烧熱热愛爱爺爷牽牵犧牺狀状獨独獄狱獲获瑪玛環环現现璽玺瓊琼電电畫画"
    "暢畅療疗瘋疯癥症盤盘蓋盖監监盜盗睜睁瞞瞒礦矿碼码磚砖確确礎础禮礼禍祸離离種种積积稱称穩稳窮穷竊窃窩窝競竞筆笔築筑簡简"
    "籌筹簽签籃篮類类糧粮緊紧紀纪約约級级紅红純纯納纳紙纸紛纷紗纱紡纺線线練练組组細细織织終终紹绍經经結结給给絡络絕绝統统繼继"
    "績绩續续維维綠绿網网總总緩缓編编緣缘縮缩縱纵繳缴纖纤罰罚羅罗羨羡聯联聰聪職职肅肃腸肠膚肤腎肾腫肿脹胀膽胆勝胜腦脑臟脏膠胶"
    "臉脸艦舰艙舱藝艺節节蘇苏蘋苹範范莖茎薦荐榮荣藥药薩萨藍蓝蕭萧虛虚蟲虫雖虽蝦虾補补襯衬襲袭裝装褲裤見见觀观規规覓觅視视覺觉"
    "覽览觸触譽誉計计訂订認认議议訊讯記记講讲許许論论設设訪访證证評评識识詐诈訴诉診诊詞词試试詩诗誠诚話话詢询該该詳详語语誤误"
    "說说説说請请諸诸諾诺讀读課课誰谁調调談谈謀谋謝谢謹谨譯译讓让護护責责賢贤敗败貨货質质販贩貪贪購购貫贯貳贰賁贲貶贬貸贷貿贸"
    "費费貼贴賀贺資资賬账賭赌賠赔賴赖贈赠贊赞贏赢趙赵趕赶躍跃踐践車车軌轨軟软轉转輪轮輕轻載载較较輔辅輛辆輩辈輸输轄辖辭辞邊边"
    "遼辽達达遷迁過过運运還还這这進进遠远違违連连遲迟適适選选遞递邏逻遺遗鄧邓鄭郑鄰邻醬酱釋释鑒鉴針针釘钉鈔钞鋼钢鑰钥欽钦鈞钧"
    "鐘钟鎖锁鍋锅銷销鋪铺鏈链錢钱錫锡錯错錨锚鍵键鎮镇鏡镜銀银銅铜鋁铝鐵铁長长門门閃闪閉闭問问閒闲間间閔闵聞闻閥阀閣阁閱阅隊队"
    "陽阳陰阴陣阵階阶際际陸陆陳陈險险隨随隱隐隻只難难雛雏霧雾靜静韓韩頁页頂顶項项順顺須须顧顾頓顿預预領领頗颇頻频題题額额顏颜"
    "願愿風风飛飞飯饭飲饮飾饰館馆馬马馳驰驅驱駁驳駕驾駐驻驗验騙骗騰腾驚惊魚鱼魯鲁鮮鲜鳥鸟雞鸡鴨鸭鵝鹅鷹鹰鹽盐麥麦黃黄齒齿齡龄"
    "龍龙龜龟戶户臺台颱台裏里裡里麵面週周衹只祇只係系繫系後后麽么麼么製制鬆松闆板佔占註注盡尽儘尽屍尸併并昇升嶽岳託托綫线"
)
_TO_SIMPLIFIED = {ord(a): b for a, b in zip(_SCRIPT_PAIRS[::2], _SCRIPT_PAIRS[1::2], strict=True)}

_SPACES = re.compile(r"\s+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_CLAUSE_END = re.compile(
    r"[，。；！？、：]|——|\n+|[,;:!?.](?=\s|$)|(?<=[\u4e00-\u9fff])[,;:!?]|[,;:!?](?=[\u4e00-\u9fff])|\s[-–—]\s"
)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f\u00ad\ud800-\udfff]")
_TYPOGRAPHIC = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-", "\u2011": "-", "\u2212": "-"}
)


def fold(text: str, *, keep_case: bool = False) -> str:
    """Compatibility form (full-width → ASCII), simplified script, lower case, no thousands commas, single spaces.

    Two texts that a reader would call the same fold to the same string. Positions do not survive.
    """
    text = (
        unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
        .translate(_TYPOGRAPHIC)
        .translate(_TO_SIMPLIFIED)
    )
    text = _THOUSANDS.sub("", text)
    text = _SPACES.sub(" ", text).strip()
    return text if keep_case else text.casefold()


def to_simplified(text: str) -> str:
    """The text with common traditional characters replaced, one for one: positions stay."""
    return text.translate(_TO_SIMPLIFIED)


def is_chinese(text: str) -> bool:
    """Whether the sentence is to be read (and answered) as Chinese: any Chinese character decides it, since a
    Chinese sentence may hold Latin names but hardly the other way round."""
    return _CJK.search(text) is not None


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a text between separators; `text[start:end]` of the original."""

    text: str
    start: int
    end: int


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text in order, blank ones left out. Points and commas inside numbers do not separate."""
    start = 0
    for match in _CLAUSE_END.finditer(text):
        yield from _clause(text, start, match.start())
        start = match.end()
    yield from _clause(text, start, len(text))


def _clause(text: str, start: int, end: int) -> Iterator[Clause]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        yield Clause(stripped, start, start + len(stripped))

# ruff: noqa: E501
# Patterns read better whole.
"""Forms and words by which `secrets` knows a secret. For texts narrowed by `NARROW`, with ASCII word borders."""

import re

NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
NARROW |= {0x3000: 0x20, 0x00A0: 0x20, 0x2010: 0x2D, 0x2011: 0x2D, 0x2012: 0x2D, 0x2013: 0x2D, 0x2212: 0x2D}
# Kept wide: it ends a clause, and a narrow "," would join "，" to what is taken for a token.
NARROW |= {ord(c): ord(c) for c in "，；：？！（）"}

_IS = r"(?:['’]s\s+(?:still |now |actually )?|\s*(?:is|was|are|used to be|=|:|：|是|为|為|叫|就是|(?:改|设|設|换|換)(?:成|为|為)了?|changed to|set to|says|reads)\s*)"
_TOKEN = r"(?P<value>[^\s，。；、？！（）“”‘’\"'<>\u4e00-\u9fff]{3,128})"
_QUOTED = r"[\"'“‘「](?P<quoted>[^\"'”’」\n]{3,128})[\"'”’」]"

CARD_RUN = re.compile(r"(?<![\d.+#A-Za-z_-])\d(?:[ -]?\d){11,18}(?![\d]|[ -]?\d)")
CARD_CUE = re.compile(
    r"(?:卡号|卡號|银行卡|銀行卡|信用卡|储蓄卡|借记卡|卡|visa|master ?card|amex|银联|card(?: number| no\.?)?|\bpan\b)[^\d。.!?]{0,16}$",
    re.I | re.A,
)
NOT_CARD_CUE = re.compile(
    r"(?:合同|订单|訂單|单号|流水号|流水|发票|快递|运单|order|contract|invoice|tracking|reference|ref)[^\d]{0,10}$",
    re.I | re.A,
)

SECURITY_CODE = re.compile(
    r"(?:\bcv[vc]2?\b|\bcvn2?\b|\bcid\b|安全码|安全碼|后三位|後三位|末三位|后面的?[三3]位|背[面后]?的?(?:那)?[三3][位个]?(?:数字?|數字?|码|碼)?"
    r"|(?:card )?(?:security|verification) (?:code|number)|(?:three|3)[- ]digit code|\blast (?:three|3)(?: digits| numbers)? (?:on|of) (?:the|my) (?:strip|back|reverse|signature)|(?:number|code|digits) on the back(?: of [a-z ]{0,16})?|(?:three|3)[- ]?digits?[^.\d]{0,24}back(?: of [a-z ]{0,16})?)"
    r"[^\d。.!?；;，]{0,16}(?P<value>\d{3,4})(?!\d)",
    re.I | re.A,
)
PIN = re.compile(
    r"(?:\bpin(?![a-z])|\bpasscode\b)(?:\s?(?:code|number|码|碼))?(?:[^\d。.!；;，]{0,14}|[^\d。.!?；;，]{0,24}\bfor [a-z ]{0,20}|[^\d。.!?；;，]{0,48}(?:\b(?:is|was|to)|是|为|:|=)\s*)(?P<value>\d{4,12})(?!\d|[.,]\d)",
    re.I | re.A,
)
_ZH_PASSWORD_CUE = r"(?:密码(?!学|锁|机|本|箱)|密碼|口令|暗号|passcode|pass ?phrase)"
_EN_PASSWORD_CUE = r"\b(?:password|passcode|pass ?phrase|passwd|pwd|passwort|kennwort|pw(?= is|:|=)|pass(?=\s?[:=]\s?\S{0,40}?[A-Za-z])(?=\s?[:=]\s?\S{0,40}?\d))\b"
PASSWORD_QUOTED = re.compile(rf"(?:{_ZH_PASSWORD_CUE}|{_EN_PASSWORD_CUE}){_IS}?\s*{_QUOTED}", re.I | re.A)
PASSWORD = re.compile(
    rf"(?:{_ZH_PASSWORD_CUE}|{_EN_PASSWORD_CUE})(?P<is>[^\x21-\x39\x3b-\x7e\n，。；？！]{{0,6}}?{_IS}|\s*)[（(]?{_TOKEN}",
    re.I | re.A,
)
# "the password I use everywhere is Foo99!", "密码改过了，新的是Foo99!": only what looks like one, so far from the word.
PASSWORD_FAR = re.compile(
    rf"(?:{_EN_PASSWORD_CUE}(?: [a-z'’]+){{1,6}}?(?:,? (?:it'?s|the new one is|new one is|now it'?s))?{_IS}|{_EN_PASSWORD_CUE}[^.!?\n]{{0,40}}?[,;] (?:and )?(?:it'?s|now|now it'?s|(?:the )?new one(?:'s| is))(?: now)? |{_ZH_PASSWORD_CUE}[^\x21-\x7e。！？\n]{{1,14}}?{_IS})\s*{_TOKEN}",
    re.I | re.A,
)
PASSWORD_PAIR = re.compile(
    rf"(?:{_ZH_PASSWORD_CUE}|{_EN_PASSWORD_CUE})s?\s?[^\x21-\x7e，。！？\n]{{0,6}}?(?:分别)?(?:是|为|are|used to be|was|is|:|：)?\s*[^\s，。,/和]{{2,64}}\s*(?:/|和|,|，|and|but now|but|or|还是|或者?)\s*{_TOKEN}",
    re.I | re.A,
)
PASSWORD_REVERSED = re.compile(
    r"(?<![\x21-\x7e])(?P<value>(?=[^\s，。]{0,63}\d)(?=[^\s，。]{0,63}[A-Za-z#@!$%&_*])[\x21-\x7e]{5,64}?)\s*,?\s*(?:is|was|就是|是)\s*(?:my|the|our|我的|我)?\s*[\w\u4e00-\u9fff]{0,6}?\s?(?:password|passcode|密码|密碼|口令)",
    re.I | re.A,
)
SPELT_OUT = re.compile(
    r"(?:\bpin\b|\bcode\b|\bpasscode\b|\bpassword\b|\bcv[vc]\b|\botp\b|密码|密碼|口令|验证码|驗證碼)[^.!?。！？\n]{0,24}?(?<![a-z])(?P<value>(?:(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple)(?:[ ,-]+|(?![a-z]))){3,12}|[零〇一二三四五六七八九幺]{4,})",
    re.I | re.A,
)
SPACED_DIGITS = re.compile(
    r"(?:\bpin\b|\bpasscode\b|\b(?:security|banking|secret|access|memorable|pass|login|card) (?:digits|numbers?)\b|(?:取款|交易|支付|电话银行)密码)[^.\d。]{0,24}(?P<value>\d(?:[ -]\d){3,11})(?![\d])",
    re.I | re.A,
)
CREDENTIALS = re.compile(
    rf"\b(?:admin|root|user(?:name| ?id)?|login|log-in|logon|账号|用户名|登录名)\s*(?:[/:：]|and|is)?\s*[\w.@-]{{0,32}}\s*[/|]\s*{_TOKEN}",
    re.I | re.A,
)
# "密码设成了孩子生日20150612": digits after whatever it is explained by.
PASSWORD_EXPLAINED = re.compile(
    rf"{_ZH_PASSWORD_CUE}[^\d，。！？\n]{{0,10}}?(?:设|改|用|是|为|就)[^\d，。！？\n]{{0,14}}(?P<value>\d{{4,12}})(?![\d年月天位个次元万])",
    re.A,
)
ONE_TIME_NAMED = re.compile(
    r"(?:(?:收到|短信|发来|显示)[^\d。]{0,12}?[四六46]位(?:数字?|數字?|码)?[^\d。]{0,6}(?P<a>\d{4,6})(?!\d)|(?:收到|发来|发了|一串|一个|那个|这个)[^\d。，]{0,6}码(?![头字表洋农])[^\d。]{0,6}(?P<d>\d{4,8})(?![\d万元年])|\b(?:text|sms|message) (?:saying|says|said|that says|reads)\W{0,3}(?P<e>\d{2,4}[ -]?\d{2,4})(?=\s*(?:$|[.,;!?]))|\b(?:auth\w*|verification|one[- ]time|login|2fa) code\b\s*(?:is|:|=)\s*(?P<b>(?=[A-Z\d]*\d)[A-Z\d]{5,8})\b|\bG-(?P<c>\d{6})\b)",
    re.A,
)
AFTER_CARD = re.compile(
    r"[\s,;，、/]*(?:exp\w*|有效期|valid\w*)?\s*(?P<value>\d{2}\s?/\s?\d{2,4}[\s,;，、]+(?:cv\w+\s*)?\d{3,4})(?!\d)",
    re.I | re.A,
)
"""Expiry and security code as they are read off a card, one after the other."""
CREDENTIALS_LISTED = re.compile(
    rf"(?:\b(?:creds?|credentials?|logins?)\b|账号密码|账密|用户名密码|账户密码)[^.。\n]{{0,12}}?(?:is|are|:|：|是|为)?\s*[\w.@-]{{2,40}}\s*[/|,，]\s*{_TOKEN}",
    re.I | re.A,
)
SECURITY_ANSWER = re.compile(
    r"(?:\b(?:security|secret|memorable|recovery) (?:answer|question|word|phrase|place|date)s?\b|\b(?:safe|code)[ -]?word (?=is\b)|\bmaiden name\b|密保(?:问题)?(?:的)?答案|安全问题(?:的)?答案|密保|婚前姓)"
    rf"[^.!?。！？\n]{{0,40}}?{_IS}\s*[\"'“]?(?P<value>[^\s,.;!?，。；！？\"'”]+(?: [A-Z][^\s,.;!?，。；！？\"'”]*)*)",
    re.I | re.A,
)
GOVERNMENT_ID = re.compile(
    r"(?:\bpassports?\b|护照|護照|通行证|\bsocial security\b|\bssn\b|\bnational insurance\b|\bni number\b|\bdriving licen[cs]e\b|\bhkid\b|身份證號碼)[^\d。.!?；;]{0,20}?(?<![A-Za-z\d])(?P<value>(?=[A-Z\d ()-]*\d[A-Z\d ()-]*\d)[A-Z]{0,3}[ -]?\d[\d -]{4,10}\d?[A-Z]?(?:\(\d\))?)(?![\w])",
    re.I | re.A,
)
RESIDENT_ID_TAIL = re.compile(
    r"(?:身份证|身份證)(?:号码|号)?的?(?:后|末|最后)[四六八468][位个][^\d。，]{0,4}(?P<value>\d{3,8}[\dXx])(?![\dA-Za-z])",
    re.A,
)
PASSWORD_ZH_NUMERALS = re.compile(
    rf"{_ZH_PASSWORD_CUE}[^\d，。；？！]{{0,4}}?(?:{_IS}了?)?\s*(?P<value>[零〇一二三四五六七八九]{{4,}}|[三四五六七八345678]个[零〇一二三四五六七八九\d])"
)
ONE_TIME = re.compile(
    r"(?:验证码|驗證碼|校验码|校驗碼|动态码|動態碼|短信码|动态口令|动态密码|确认码|授权码|\botp\b"
    r"|\b(?:one[- ]time|verification|authentication|auth|login|confirmation|security|sms|texted|access|activation|2fa|reset)[- ](?:pass)?(?:code|word|number)s?\b(?! of)"
    r"|\b(?:the|my|this|that|a|your|his|her|their|its|our|new|another)\s(?!(?:post|sort|swift|bic|zip|country|postal|product|promo|area|dress|tax|branch|hs|commodity|error|discount|voucher|dialling|item|stock|colour)\b)(?:[a-z]+\s)?code\b(?! of)|\bcode\b(?=\s*(?:is|was|:|says|=)\s)(?<!sort code)(?<!swift code)(?<!post code)(?<!zip code)(?<!product code)(?<!country code)(?<!area code)(?<!tax code)(?<!branch code)(?<!promo code)(?<!dress code))"
    r"(?P<gap>[^\d。!\n]{0,24}?)(?<![\d-])(?P<value>\d{2,4}(?:[ -]\d{2,4}){1,2}|\d{4,8})(?![\d%]|[.,-]\d|\s?(?:元|万|年|月|天|美元|usd|eur|gbp|people|units|days|times|minutes))",
    re.I | re.A,
)
REVERSED = re.compile(
    r"(?<![\d.,-])(?P<value>\d{3,8})(?!\d)\s*,?\s*(?:is|was|就是|是)\s*(?:my|the|our|我的|我|俺的)?\s*(?:[\w\u4e00-\u9fff]{0,4}\s?)"
    r"(?P<cue>pin\b|cv[vc]\b|password|passcode|otp\b|(?:one-time |verification |security )?code\b|密码|密碼|口令|验证码|驗證碼|安全码)",
    re.I | re.A,
)
API_KEY = re.compile(
    r"(?<![\w-])(?P<value>(?<=token )(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{10,}|sk-[A-Za-z0-9_-]{6,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]{10,}|xox[abprs]-[\w-]{8,}"
    r"|AIza[\w-]{20,}|hf_[A-Za-z0-9]{16,}|(?:pk|rk|sk)_(?:live|test)_[A-Za-z0-9]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
BEARER = re.compile(r"\bbearer\s+(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.I | re.A)
NAMED_KEY = re.compile(
    r"(?:\b(?:api|access|secret|client|app|signing|encryption)[ _-]?(?:key|secret|token)s?\b|\btokens?\b|\bsecret\b|\bappsecret\b|密钥|密鑰|令牌|私钥|私鑰|密匙)"
    rf"[^\x21-\x39\x3b-\x7e\n，。；]{{0,4}}?{_IS}\s*[\"'“]?{_TOKEN}",
    re.I | re.A,
)
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)", re.S
)
SEED_PHRASE = re.compile(
    rf"(?:助记词|助記詞|(?:seed|recovery|mnemonic|backup|wallet) (?:phrase|words?)){_IS}\s*(?P<value>[a-z]+(?:[ ,]+[a-z]+){{5,23}})",
    re.I | re.A,
)
RESIDENT_ID = re.compile(
    r"(?<![\dA-Za-z])\d{6}[ -]?(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ -]?\d{3}[\dXx](?![\dA-Za-z])"
)
RESIDENT_ID_NAMED = re.compile(
    r"(?:身份证|身份證|证件|證件|identity card|id card|resident id|(?<![a-z])id)(?:号码|號碼|号|號)?(?: number| no\.?)?[^\d。.!?；;]{0,14}(?P<value>\d(?:[ -]?\d){13,16}[ -]?[\dXx])(?![\dA-Za-z])",
    re.I | re.A,
)

# "my password is wrong" tells a trouble, not a password.
NO_PASSWORD = frozenset(
    "not wrong incorrect expired locked too reset changed being so very still the a an my your our their weak required asked blocked invalid"
    " secure safe stored saved different same simple strong short long unknown lost forgotten correct right ok okay fine in on for with about at"
    " now never always it what that this and or but because when if manager protected protection policy policies again has have had does doesn't"
    " isn't wasn't won't can can't cannot should must will would to from by of as is was are reset. rejected refused failing broken needed"
    " case-sensitive sensitive easy hard written sent longer shorter old new just no yes please being compromised stolen leaked exposed known".split()
)

CLAUSE_BORDER = re.compile(
    r"[，。；！？、\n]+|[,;!?]+(?=\s|$|[\u4e00-\u9fff])|\.+(?=\s|$)|(?<=\s)(?:and|but)(?=\s)|(?<=[\w\u4e00-\u9fff])(?:但是?|不过|而且)(?=[\u4e00-\u9fff])"
)
SECRET_WORDS = re.compile(
    r"密码|密碼|口令|验证码|驗證碼|身份证|身份證|护照|密保|有效期|卡号|卡號|安全码|密钥|令牌|\b(?:password|passcode|pin|cvv|cvc|otp|api key|secret|token|card(?: number)?|security code|login|code|passport|exp(?:iry)?|valid (?:thru|until)|security answer|visa|mastercard)\b",
    re.I | re.A,
)
LEAD_IN = re.compile(
    r"^(?:我的?|这是|这个是|here(?:'s| is| are)|this is|it'?s|my|the|and|user'?s?|用户的?|你记一下|记一下|直接给你吧?|给你|发你|发给你|告诉你|is|are|的|号码|号|number|details?|[\s:：.])+$",
    re.I | re.A,
)

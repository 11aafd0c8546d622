"""Secrets are cut by form and by the words around them; what only looks like one stays."""

import pytest

from memlane_core.guards.secrets import MASK, SecretKind, SecretPolicy, redact, scrub_fact

SECRETS = [
    ("bank_card", "My card is 4111 1111 1111 1111.", "4111 1111 1111"),
    ("bank_card", "card no. 4111-1111-1111-1111 please", "4111-1111"),
    ("bank_card", "卡号６２２２ ０２０２ ０００１ ２３４５", "０２０２"),
    ("bank_card", "我的储蓄卡是6225880123456782", "622588012345"),
    ("bank_card", "用这张卡付：6217 0012 3456 7890 123", "6217 0012"),
    ("bank_card", "Use my visa 4485 2757 4230 8327 for it", "4485 2757"),
    ("bank_card", "3782 822463 10005 is my amex", "822463"),
    ("card_security_code", "CVV 123", "123"),
    ("card_security_code", "exp 09/27 cvc 318", "318"),
    ("card_security_code", "信用卡背面三位数是527", "527"),
    ("card_security_code", "the three digits on the back are 914", "914"),
    ("card_security_code", "卡的安全码：９０１", "９０１"),
    ("pin", "PIN 9876", "9876"),
    ("pin", "the PIN for my mum's card is 7731", "7731"),
    ("pin", "9876 is my PIN", "9876"),
    ("pin", "我的PIN码1234", "1234"),
    ("pin", "my pin is four zero one nine", "four zero one nine"),
    ("password", "我的网银密码是 abc12345", "abc12345"),
    ("password", "登录密码Hx!benteng07是不是太简单了？", "benteng07"),
    ("password", "取款密码是八八八八八八", "八八八八"),
    ("password", "密码六个1", "六个1"),
    ("password", "企业网银UKey口令Zw#88tt换不了", "88tt"),
    ("password", "密码改过了，新的是Qw12!!zz", "Qw12!!zz"),
    ("password", "登录名和密码分别是 rbell / Quay99x", "Quay99x"),
    ("password", "My password is Heron!Quay29", "Quay29"),
    ("password", "my password's Quokka#55, can you unlock me?", "Quokka#55"),
    ("password", "password is sunshine and I like tea", "sunshine"),
    ("password", "the password I use everywhere is Foo99!x", "Foo99!x"),
    ("password", "I changed the password, it's now Bar_77k", "Bar_77k"),
    ("password", "username is rbell and password Tulip_1987", "Tulip_1987"),
    ("password", "Zeb77!ra is my password", "Zeb77!ra"),
    ("password", "The passphrase is 'correct horse battery staple'", "horse battery"),
    ("one_time_code", "验证码发过来是482913", "482913"),
    ("one_time_code", "短信说我的动态码是 774120", "774120"),
    ("one_time_code", "The app asks for a code, it says 660217", "660217"),
    ("one_time_code", "wanted a one-time passcode, I gave 508 331", "508 331"),
    ("one_time_code", "OTP: 90-11-22", "90-11-22"),
    ("api_key", "Our client secret is sk-vale-77f0b2c9", "77f0b2c9"),
    ("api_key", "Authorization: Bearer abcdefgh123", "abcdefgh123"),
    ("api_key", "aws key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("api_key", "接口密钥是ak_9f83jd72kd", "9f83jd72kd"),
    ("api_key", "API token: 9f8e7d6c5b4a", "9f8e7d6c5b4a"),
    ("api_key", "token是 eyJhbGciOi.eyJzdWIiOiI4.s5X2", "eyJzdWIiOiI4"),
    ("private_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("private_key", "seed phrase is apple river stone cloud tiger lamp", "river stone"),
    ("resident_id", "我身份证号直接给你吧，99010119790307883X", "19790307883X"),
    ("resident_id", "11010519491231002X", "19491231"),
    ("resident_id", "身份证后六位120039", "120039"),
    ("government_id", "护照号E12345678", "12345678"),
    ("government_id", "My passport number is 533401372", "533401372"),
    ("government_id", "SSN 123-45-6789", "123-45-6789"),
    ("security_answer", "Security answer is Biscuit and my dog is old", "Biscuit"),
    ("security_answer", "my mother's maiden name is Alder Finch", "Alder Finch"),
    ("security_answer", "密保答案是小白兔", "小白兔"),
]

HARMLESS = [
    "合同编号FWD-2231，金额4,500,000元",
    "The contract is FWD-2231 over USD 4,500,000.",
    "分机8203，电话13800138000",
    "Call me on +44 7700 900123, extension 8203",
    "+86 138 0013 8000",
    "2025-03-01付款1234567元",
    "Our budget is 1,234,567,890,123 yen",
    "订单号2025030112345678",
    "order 20250301123456789",
    "Sort code 20-00-00, account 12345678",
    "SWIFT code DEUTDEFF500, postcode 90210",
    "The product code 482913 is what we buy",
    "my password is wrong",
    "I forgot my password in 2024",
    "密码忘了",
    "密码是不是太简单了",
    "验证码一直收不到",
    "The security code policy changed",
    "We need 16 units by 2026 and 240 people",
    "每月8号付款，三个月一次",
    "We spin 1200 bottles a day",
    "Token ring was a network; the secret to good bread is time",
    "The PIN pad is broken",
    "尾号3317的卡用来出差",
    "My passport expires in 2027",
]


MORE_SECRETS = [
    ("我的交易密码1q2w3e，你帮我试试", "1q2w3e"),
    ("把卡号发你：6228 4800 1234 5678 910", "6228 4800"),
    ("信用卡4392 2600 1234 5678，安全码 082", "082"),
    ("查询密码是妈妈生日 580423", "580423"),
    ("登录用的动态密码是 918273", "918273"),
    ("手机收到一串码 704518，要填吗", "704518"),
    ("密码是Tiger_2024!，帮我记一下", "Tiger_2024"),
    ("银行预留手机验证码：1290", "1290"),
    ("我U盾的PIN是 246813", "246813"),
    ("身份证正面拍了，号码是 440101199901015519", "440101199901015519"),
    ("网银密码跟微信一样：wx_Lin520", "wx_Lin520"),
    ("API的secret是 9d8f7a6b5c", "9d8f7a6b5c"),
    ("支付密码前三位是 882", "882"),
    ("pin for the business card is 5512", "5512"),
    ("My account password is 'Blue-Lagoon-7'", "Blue-Lagoon-7"),
    ("the password's still Maple!42", "Maple!42"),
    ("login rhodri.p / Leek!2025", "Leek!2025"),
    ("the 6-digit code is 440913", "440913"),
    ("I got a text saying 5591 37", "5591 37"),
    ("our API key is live_8fj39dkw02", "live_8fj39dkw02"),
    ("my debit card number is 4916 3385 0608 2832, cvv is 441", "441"),
    ("three digit thing on the back: 209", "209"),
    ("my passcode, it's 7788", "7788"),
    ("use token abcd-1234-efgh", "abcd-1234-efgh"),
    ("password=Secret123", "Secret123"),
    ("my password (Otter55) isn't working", "Otter55"),
    ("密码（Otter55）登不上", "Otter55"),
    ("the reset code 55-31-90 expired", "55-31-90"),
    ("密保问题答案：实验小学", "实验小学"),
    ("It asks for the last 3 on the strip, that's 881", "881"),
    ("my card got skimmed: 5555 4444 3333 1117, 05/28, 903", "903"),
    ("Our VPN creds are svc_bank / Merlin77!, the feed fails", "Merlin77"),
    ("账号密码：fadm01，Init#0902", "Init#0902"),
    ("我的登录密码老是忘，其实就是Liang1985", "Liang1985"),
    ("支付宝密码和网银一样都是 qaz2wsx", "qaz2wsx"),
    ("密码我写这儿：dRagon_33", "dRagon_33"),
    ("信用卡CVV是 三位 905", "905"),
    ("卡背后那三个数 905", "905"),
    ("卡片有效期11/27，后面三位661", "661"),
    ("银行卡 6222 0210 0112 2334 456 丢了", "6222 0210"),
    ("6222021001122334456这张卡", "62220210"),
    ("卡号尾号4456，全号6222021001122334456", "622202100"),
    ("我的U盾PIN 778899", "778899"),
    ("手机银行登录口令：Sun#shine8", "Sun#shine8"),
    ("短信验证码已经收到了是 90 21 33", "90 21 33"),
    ("刚收到的六位数字 556712 填哪", "556712"),
    ("动态口令牌现在显示 334455", "334455"),
    ("验证码五五八二零一", "五五八二零一"),
    ("身份证 11010119900307571X", "19900307571X"),
    ("我身份证号码110101 19900307 5719", "19900307"),
    ("身份证号后四位571X", "571X"),
    ("私钥是5Kb8kLf9zgWQnogidDA76MzPL6TsZZY36hWXMssSzNydYXYB69KF", "5Kb8kLf9"),
    ("AppSecret: 8f14e45fceea167a5a36dedd4bea2543", "8f14e45f"),
    ("接口密码是 P@ssw0rd2024", "P@ssw0rd2024"),
    ("my online banking password used to be Robin88 but now Finch99", "Finch99"),
    ("Login: tmoss, pass: Gr8Heron!", "Gr8Heron!"),
    ("passcode for the app 119922", "119922"),
    ("I set the pin to 4455", "4455"),
    ("pin=8899", "8899"),
    ("The number on the back of the card is 772", "772"),
    ("security code on my card: 7719", "7719"),
    ("card number ends 1111, full is 4111111111111111", "411111111111"),
    ("expires 08/27, 3-digit code 662", "662"),
    ("the code they texted was 88 12 90", "88 12 90"),
    ("my verification code? 339120", "339120"),
    ("G-482913 is your Google verification code", "482913"),
    ("auth code: 7F3K9Q", "7F3K9Q"),
    ("here is my secret key: abC12dEf34GhI", "abC12dEf34GhI"),
    ("token ghp_abcdefghijklmnop1234", "ghp_abcdefgh"),
    ("access key id AKIAABCDEFGHIJKLMNOP", "AKIAABCD"),
    ("password: hunter2", "hunter2"),
    ("Pw is Otter_77", "Otter_77"),
    ("my passwort is Otter_77x", "Otter_77x"),
    ("The PIN? It's 2580.", "2580"),
    ("my pin, 2580, doesn't work", "2580"),
    ("wallet words: apple river stone cloud tiger lamp moon fish", "river stone"),
    ("Kennwort Katze#12", "Katze#12"),
    ("我网银用户名lixia，密码lixia2020", "lixia2020"),
    ("密码设成了孩子生日20150612", "20150612"),
    ("密码提示是猫的名字，密码Mimi2015", "Mimi2015"),
    ("电话银行查询密码 246810，麻烦查余额", "246810"),
    ("U盾密码忘了是147258还是258147", "147258"),
    ("U盾密码忘了是147258还是258147", "258147"),
    ("the safe word is Marmalade", "Marmalade"),
    ("my memorable date is 14/02/1961", "14/02/1961"),
    ("My SSN is 078-05-1120", "078-05-1120"),
    ("NI number QQ 12 34 56 C", "12 34 56"),
    ("cvv two three nine", "two three nine"),
    ("4111-1111-1111-1111 exp 12/26 cvv2 999", "999"),
]

MORE_HARMLESS = [
    "I got a message with 2500 views",
    "收到一个码头的项目4000万",
    "We use token ring since 1994",
    "我的密码锁坏了",
    "密码学是我的专业，2019年毕业",
    "PIN diode supplier, 4000 units",
    "we code in 2024",
    "验证码是六位的吗",
    "The access code of conduct 2024",
    "the gym pass costs 4500",
    "pass 4500 on to my son",
    "信用卡额度5000，每月5号还",
    "卡里有12345元",
    "安全码是什么",
    "后三位是什么意思",
    "The last three digits of my phone are 772",
    "每张票面4000",
    "my token payment was 5000 euros",
    "合同号62220210011223344",
    "tracking number 9400110200881234567890",
    "IBAN GB29 NWBK 6016 1331 9268 19",
    "account 31926819",
    "login takes 30 seconds",
    "password expires every 90 days",
    "密码每90天换一次",
    "OTP takes 2 minutes",
    "my bus pass: 1200 yuan a year",
    "pin number of employees: none",
    "pinned 4000 flyers",
]


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
def test_secret_is_cut(kind: str, text: str, secret: str) -> None:
    found = redact(text)
    assert kind in found.kinds
    assert secret not in found.text
    assert MASK in found.text


@pytest.mark.parametrize(("text", "secret"), MORE_SECRETS)
def test_secret_said_in_passing_is_cut(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize("text", HARMLESS + MORE_HARMLESS)
def test_harmless_text_is_left_as_it_is(text: str) -> None:
    assert redact(text).text == text
    assert scrub_fact(text).text == text


@pytest.mark.parametrize("text", [text for _, text, _ in SECRETS] + [text for text, _ in MORE_SECRETS])
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text)
    twice = redact(once.text)
    assert twice.text == once.text
    assert twice.kinds == ()


def test_card_keeps_its_last_four_only_where_the_policy_lets_it() -> None:
    text = "My card is 4111 1111 1111 1234"
    assert redact("卡号 4111 1111 1111 1111").text == f"卡号 {MASK}1111"
    assert redact(text, SecretPolicy(keep_last_four=False)).text == f"My card is {MASK}"


def test_kinds_left_out_of_the_policy_stay() -> None:
    only_cards = SecretPolicy(kinds=frozenset({SecretKind.BANK_CARD}))
    found = redact("card 4111 1111 1111 1111, PIN 9876", only_cards)
    assert found.kinds == ("bank_card",)
    assert "9876" in found.text


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        ("My card is 4111 1111 1111 1111, CVV 123, PIN 9876, prefer SMS", "prefer SMS"),
        ("我的网银密码是 abc12345，喜欢短信通知", "喜欢短信通知"),
        ("User's card is 4111 1111 1111 1111 and User prefers SMS", "User prefers SMS"),
        ("用户的身份证号是99010119790307883X，用户在都柏林读书", "用户在都柏林读书"),
        ("User's PIN is 9876", ""),
        ("验证码是482913", ""),
        ("User prefers SMS", "User prefers SMS"),
    ],
)
def test_b51_fact_keeps_only_what_is_no_secret(content: str, rest: str) -> None:
    scrubbed = scrub_fact(content)
    assert scrubbed.text == rest
    assert scrubbed.only_secret is (rest == "")


def test_fact_that_was_redacted_before_is_scrubbed_the_same() -> None:
    masked = redact("My card is 4111 1111 1111 1111, PIN 9876, prefer SMS").text
    assert scrub_fact(masked).text == "prefer SMS"
    assert redact("my PIN is 9876").only_secret
    assert redact(f"my PIN is {MASK}").only_secret


def test_positions_survive_full_width_text() -> None:
    text = "姓名：张三，卡号：４１１１１１１１１１１１１１１１，喜欢短信"
    assert redact(text).text == f"姓名：张三，卡号：{MASK}1111，喜欢短信"

"""What the two customers of the demo say. All people and companies are invented."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Customer:
    user_id: str
    language: str
    zone: str
    introduction: tuple[str, ...]
    """First session; the customer and the assistant speak in turn."""
    small_talk: tuple[str, ...]
    correction: tuple[str, ...]
    budget: tuple[str, ...]
    plan: tuple[str, ...]
    cancellation: tuple[str, ...]
    return_window: tuple[str, ...]
    """How the second session begins."""
    question: str
    """What the customer asks in it."""
    children_query: str


LIN = Customer(
    user_id="客户-林知夏",
    language="zh",
    zone="Asia/Shanghai",
    introduction=(
        "你好，我叫林知夏，是苏州澄湖电子的财务总监。",
        "林女士您好！请问贵公司主要做什么业务？",
        "我们公司主要出口传感器到德国，每月大概收80万欧元。从发货到收款一般要三个月。",
        "了解。您在产品选择上有什么偏好吗？",
        "我比较保守，不接受带杠杆的产品。以后有汇率报价请发邮件给我，不要打电话。我有两个孩子。",
        "好的，已记下您的偏好。",
    ),
    small_talk=("今天苏州雨下得真大。", "是的，出门请带伞。", "哈哈，谢谢你！", "不客气，祝您愉快！"),
    correction=("顺便说一下，我现在有三个孩子了。", "恭喜您！"),
    budget=("未来30天我们的购汇预算是50万美元。", "好的，已记录。"),
    plan=("我们打算明年在慕尼黑设一家子公司。", "好的，需要时我们可以提供跨境账户服务。"),
    cancellation=("慕尼黑子公司的计划取消了。", "明白，已更新。"),
    return_window=("你好，我又来了。", "林女士，欢迎回来！请问有什么可以帮您？"),
    question="欧元收款想锁定汇率，有什么合适的产品？",
    children_query="我有几个孩子？",
)

EMMA = Customer(
    user_id="customer-emma-clarke",
    language="en",
    zone="Europe/London",
    introduction=(
        "Hello, I'm Emma Clarke, the owner of Harvest Lane, a bakery chain in Leeds.",
        "Welcome, Ms Clarke! How large is the business?",
        "We have 12 shops. We import flour from Canada and pay about 90,000 Canadian dollars a month.",
        "Thank you. Is there anything we should keep in mind for you?",
        "I prefer email over phone calls. I don't want any product with leverage. I have two children.",
        "Noted, thank you.",
    ),
    small_talk=("Lovely weather today!", "It is indeed.", "Thanks a lot for your help!", "You're welcome!"),
    correction=("By the way, I have three children now.", "Congratulations!"),
    budget=("Our marketing budget for the next 30 days is 20,000 pounds.", "Noted."),
    plan=("We are planning to open a shop in York next year.", "Good luck with it!"),
    cancellation=("The York shop is cancelled.", "Understood, I have updated that."),
    return_window=("Hi, it's me again.", "Welcome back, Ms Clarke! What can I do for you?"),
    question="We pay Canadian dollars every month and want to fix the exchange rate. Which product would suit us?",
    children_query="How many children do I have?",
)

CUSTOMERS = (LIN, EMMA)

STRANGERS = {"zh": "客户-周远", "en": "customer-tom-reed"}
"""Another customer each, who asks the same question and has told nothing."""

RULES = (
    "回答前先确认客户公司的注册地。 / Confirm the company's place of registration before you answer.",
    "不承诺收益，不代客决策。 / Never promise returns and never decide for the customer.",
)

KNOWLEDGE = (
    (
        "kb-forward-zh",
        "远期结售汇",
        "远期结汇：与银行约定未来的结汇汇率，锁定外币收款的人民币金额，无杠杆，期限最长三年，适合有出口收款的企业。",
    ),
    (
        "kb-forward-en",
        "FX forward",
        "FX forward: fixes the exchange rate of a future payment or receipt in a foreign currency. No leverage, up to "
        "three years, suits companies with regular foreign currency payments.",
    ),
    (
        "kb-loan-zh",
        "装修贷款",
        "装修贷款：额度最高100万元，期限最长五年，按月等额还款，需提供装修合同。",
    ),
    (
        "kb-savings-en",
        "Notice savings account",
        "Notice savings account: 35 days' notice to withdraw, variable interest paid monthly, no monthly fee.",
    ),
)

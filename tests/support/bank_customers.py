"""Two customers of a bank with a few months behind them, told to a server through its API, for pages to look at."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import memlane
from memlane import RememberMode
from memlane_server.demo.script import CUSTOMERS, EMMA, KNOWLEDGE, LIN, RULES, Customer

_DAY_SECONDS = 86_400
SESSION = "session-2"

_NOTES: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    LIN.user_id: (
        ("在苏州工业园区支行开有美元和欧元账户", {"channel": "branch", "branch": "苏州工业园区"}),
        ("上季度咨询过远期结汇 FWD-2231，未成交", {"channel": "phone", "product": "FWD-2231"}),
        ("希望每周一上午收到欧元兑人民币的周报", {"channel": "app"}),
    ),
    EMMA.user_id: (
        ("Holds a euro and a dollar account at the Leeds branch", {"channel": "branch", "branch": "Leeds"}),
        ("Asked about the FX forward FWD-2231 last quarter and did not trade", {"channel": "phone"}),
        ("Wants a monthly statement as PDF on the first working day", {"channel": "app"}),
    ),
}
_OFFERS = {
    LIN.user_id: ("对下半年的装修贷款有兴趣，预算约60万元", 45),
    EMMA.user_id: ("Interested in a kitchen equipment loan this season, about 60,000 pounds", 45),
}


@dataclass(frozen=True, slots=True)
class History:
    """Tells the customers' story with a clock that moves; the last day is today."""

    client: memlane.Client
    clock_file: Path

    def tell(self) -> None:
        self._on_day(-90)
        self.client.put_rules(RULES)
        for knowledge_id, title, content in KNOWLEDGE:
            self.client.upsert_knowledge(content, knowledge_id=knowledge_id, title=title)
        for customer in CUSTOMERS:
            self._first_months(customer)
        self._on_day(0)
        for customer in CUSTOMERS:
            self._today(customer)

    def _first_months(self, customer: Customer) -> None:
        user_id = customer.user_id
        self._on_day(-75)
        self._converse(customer, customer.introduction)
        self._on_day(-60)
        for text, labels in _NOTES[user_id]:
            self.client.create_memory(user_id, text, metadata=labels)
        self._converse(customer, customer.plan)
        self._on_day(-41)
        self._converse(customer, customer.correction)
        self._on_day(-20)
        self._converse(customer, customer.cancellation)
        self._on_day(-12)
        self._converse(customer, customer.budget)
        offer, days = _OFFERS[user_id]
        self.client.create_memory(user_id, offer, metadata={"channel": "app"}, ttl=timedelta(days=days))

    def _today(self, customer: Customer) -> None:
        self.client.append_messages(customer.user_id, SESSION, _spoken(customer.return_window))
        self.client.remember(
            customer.user_id, _spoken((*customer.return_window, customer.question)), mode=RememberMode.ASYNC
        )

    def _converse(self, customer: Customer, turns: tuple[str, ...]) -> None:
        self.client.remember(customer.user_id, _spoken(turns))

    def _on_day(self, day: int) -> None:
        """Days from today; the clock never goes back within one history of the server."""
        self.clock_file.write_text(str(day * _DAY_SECONDS))


def _spoken(turns: tuple[str, ...]) -> list[tuple[str, str]]:
    """The customer begins, and the assistant answers."""
    return [("USER" if n % 2 == 0 else "ASSISTANT", text) for n, text in enumerate(turns)]

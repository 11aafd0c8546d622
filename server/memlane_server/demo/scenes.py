"""The scenes: each calls the server as a bank's back end would, and checks what came of it."""

import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    context_service_pb2,
    context_service_pb2_grpc,
    knowledge_service_pb2,
    knowledge_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    rule_service_pb2,
    rule_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)

from .record import Decided, Item, Listed, Note, Prompt, Said, Scene, Took
from .script import CUSTOMERS, KNOWLEDGE, RULES, STRANGERS, Customer

_DAY = 86_400
_BUDGET_TOKENS = 2000


class Demo:
    """Drives one server. `clock_file` is the file that moves its clock."""

    def __init__(self, channel: grpc.Channel, clock_file: Path) -> None:
        self._memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._session = session_service_pb2_grpc.SessionServiceStub(channel)
        self._context = context_service_pb2_grpc.ContextServiceStub(channel)
        self._knowledge = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        self._rules = rule_service_pb2_grpc.RuleServiceStub(channel)
        self._compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
        self._clock_file = clock_file
        self._offset = 0

    def run(self) -> Iterator[Scene]:
        """The scenes in order, each for both customers, each complete when it is yielded."""
        self._prepare()
        scenes: tuple[tuple[str, Callable[[Customer, list[Item]], None]], ...] = (
            ("喜好与公司概况被记住 | Preferences and company profile are remembered", self._introduction),
            ("寒暄与感谢不被记住 | Weather and thanks are not", self._small_talk),
            (
                "两个孩子变为三个，历史可查 | Two children become three, the history shows both",
                self._correction,
            ),
            ("三十天的预算到期 | A 30-day budget expires", self._budget),
            ("取消的计划被删除 | A cancelled plan is deleted", self._cancelled_plan),
            (
                "第二次会话：给模型的上下文 | The second session: the context for the model",
                self._second_session,
            ),
            ("另一位客户问同样的问题 | Another customer asks the same question", self._stranger),
            ("被遗忘的权利：回执与审计链 | The right to be forgotten: receipt, audit chain", self._forget),
        )
        for number, (titles, act) in enumerate(scenes, 1):
            zh, en = titles.split(" | ")
            for customer in CUSTOMERS:
                scene = Scene(number, zh, en, customer.language, customer.user_id)
                act(customer, scene.items)
                yield scene

    def _prepare(self) -> None:
        self._rules.PutRules(
            rule_service_pb2.PutRulesRequest(
                rules=rule_service_pb2.RuleList(rules=RULES), request_id="demo-rules"
            )
        )
        for knowledge_id, title, content in KNOWLEDGE:
            self._knowledge.UpsertKnowledge(
                knowledge_service_pb2.UpsertKnowledgeRequest(
                    knowledge_id=knowledge_id, title=title, content=content, request_id=uuid.uuid4().hex
                )
            )

    def _introduction(self, customer: Customer, items: list[Item]) -> None:
        operations = self._hold_session(customer, "session-1", customer.introduction, items)
        added = sum(o.action == memory_pb2.ACTION_ADD for o in operations)
        items.append(_note(customer, f"新增 {added} 条记忆", f"{added} memories were added", added >= 5))

    def _small_talk(self, customer: Customer, items: list[Item]) -> None:
        operations = self._hold_session(customer, "session-1b", customer.small_talk, items)
        items.append(_note(customer, "没有任何内容被写入", "nothing was written", not operations))

    def _correction(self, customer: Customer, items: list[Item]) -> None:
        operations = self._hold_session(customer, "session-1c", customer.correction, items)
        updates = [o for o in operations if o.action == memory_pb2.ACTION_UPDATE]
        found = self._search(customer.user_id, customer.children_query, items, top_k=3)
        about = [m for m in found if "孩子" in m.content or "children" in m.content]
        items.append(
            _note(
                customer,
                "只有一条有效记忆，内容是三个",
                "one live memory, and it says three",
                len(about) == 1,
            )
        )
        if updates:
            revisions = self._memory.ListMemoryRevisions(
                memory_service_pb2.ListMemoryRevisionsRequest(
                    user_id=customer.user_id, memory_id=updates[0].memory.memory_id
                )
            ).revisions
            items.append(
                Listed(
                    ("revision", "action", "content", "previous", "reason"),
                    tuple(
                        (
                            str(r.revision),
                            memory_pb2.Action.Name(r.action).removeprefix("ACTION_"),
                            r.content,
                            r.previous_content,
                            r.reason,
                        )
                        for r in revisions
                    ),
                )
            )
        items.append(
            _note(
                customer,
                "历史中两个版本都在",
                "the history shows both",
                bool(updates) and len(revisions) == 2,
            )
        )

    def _budget(self, customer: Customer, items: list[Item]) -> None:
        operations = self._hold_session(customer, "session-1d", customer.budget, items)
        expiring = [o.memory for o in operations if o.memory.HasField("expire_time")]
        known = {m.memory_id for m in self._live(customer)}
        items.append(
            _note(
                customer,
                "预算已记住，并带有到期日",
                "the budget is remembered, with the day on which it ends",
                bool(expiring) and expiring[0].memory_id in known,
            )
        )
        self._move_clock(31 * _DAY)
        items.append(_note(customer, "时钟前移 31 天", "the clock moves on by 31 days", None))
        left = {m.memory_id for m in self._live(customer)}
        items.append(
            _note(
                customer,
                "预算不再可见，其余记忆不变",
                "the budget is not visible any more; all else is",
                known - left == {m.memory_id for m in expiring},
            )
        )

    def _cancelled_plan(self, customer: Customer, items: list[Item]) -> None:
        planned = self._hold_session(customer, "session-1e", customer.plan, items)
        cancelled = self._hold_session(customer, "session-1f", customer.cancellation, items)
        deleted = [o.memory.memory_id for o in cancelled if o.action == memory_pb2.ACTION_DELETE]
        items.append(
            _note(
                customer,
                "计划已删除，不再出现在任何读取中",
                "the plan is deleted and appears in no read",
                deleted == [o.memory.memory_id for o in planned]
                and not {m.memory_id for m in self._live(customer)} & set(deleted),
            )
        )

    def _second_session(self, customer: Customer, items: list[Item]) -> None:
        self._move_clock(_DAY)
        self._append(customer, "session-2", customer.return_window, items)
        items.append(Said(customer.user_id, customer.question, True))
        context = self._build(customer.user_id, "session-2", customer.question)
        window = "\n".join(
            f"[{memory_pb2.Role.Name(m.role).removeprefix('ROLE_').lower()}] {m.content}"
            for m in context.messages
        )
        items.append(
            Prompt(
                f"[system]\n{context.system_prompt}\n\n{window}\n[user] {customer.question}",
                context.total_tokens,
            )
        )
        items.append(
            Listed(("score", "memory"), tuple((f"{s.score:.3f}", s.memory.content) for s in context.memories))
        )
        items += [
            Took("BuildContext", context.timing.total_us / 1000, True),
            Took("  query embedding", context.timing.embed_us / 1000, True),
            Took("  memory search", context.timing.search_us / 1000, True),
        ]
        kinds = {s.kind for s in context.sections}
        items.append(
            _note(
                customer,
                "五条记忆（带日期）、规则、业务知识与最近几轮都在",
                "five memories with dates, rules, knowledge and the last rounds are there",
                len(context.memories) == 5
                and len(kinds) == 4
                and any(
                    k.knowledge.knowledge_id == f"kb-forward-{customer.language}" for k in context.knowledge
                ),
            )
        )

    def _stranger(self, customer: Customer, items: list[Item]) -> None:
        stranger = STRANGERS[customer.language]
        items.append(Said(stranger, customer.question, True))
        context = self._build(stranger, "session-x", customer.question)
        items.append(
            Prompt(f"[system]\n{context.system_prompt}\n\n[user] {customer.question}", context.total_tokens)
        )
        items.append(Took("BuildContext", context.timing.total_us / 1000, True))
        items.append(
            _note(
                customer,
                f"{stranger} 得不到任何一条他人的记忆",
                f"{stranger} is given no memory of anybody",
                not context.memories,
            )
        )

    def _forget(self, customer: Customer, items: list[Item]) -> None:
        reason = "客户来信要求删除" if customer.language == "zh" else "customer asked for erasure by letter"
        forgotten = self._compliance.ForgetUser(
            compliance_service_pb2.ForgetUserRequest(
                user_id=customer.user_id,
                operator="demo-operator",
                reason=reason,
                purge_now=True,
                request_id=uuid.uuid4().hex,
            )
        )
        receipt = forgotten.receipt
        items.append(
            Listed(
                ("receipt", ""),
                (
                    ("receipt_id", receipt.receipt_id),
                    ("memories", str(receipt.counts.memories)),
                    ("revisions", str(receipt.counts.revisions)),
                    ("messages", str(receipt.counts.messages)),
                    ("audit events", f"{receipt.first_audit_seq} - {receipt.last_audit_seq}"),
                    ("digest", receipt.digest),
                    (receipt.signature_algorithm, receipt.signature.hex()[:48] + "…"),
                ),
            )
        )
        items.append(_note(customer, "没有任何记忆留下", "no memory is left", not self._live(customer)))
        check = self._compliance.VerifyAuditLog(compliance_service_pb2.VerifyAuditLogRequest())
        items.append(
            _note(
                customer,
                f"审计链完整：{check.events_checked} 条记录",
                f"the audit chain is whole: {check.events_checked} events",
                check.valid,
            )
        )

    def _hold_session(
        self, customer: Customer, session_id: str, texts: tuple[str, ...], items: list[Item]
    ) -> list[memory_pb2.RememberOperation]:
        """Say it, end the session, and show what became of it."""
        self._append(customer, session_id, texts, items)
        started = time.perf_counter()
        ended = self._session.EndSession(
            session_service_pb2.EndSessionRequest(
                user_id=customer.user_id, session_id=session_id, mode=memory_pb2.REMEMBER_MODE_WAIT
            )
        )
        took = (time.perf_counter() - started) * 1000
        items += [_decided(o) for o in ended.operations]
        items.append(Took("EndSession → Remember", took, False))
        return list(ended.operations)

    def _append(self, customer: Customer, session_id: str, texts: tuple[str, ...], items: list[Item]) -> None:
        now = datetime.now(UTC) + timedelta(seconds=self._offset)
        messages = []
        for n, text in enumerate(texts):
            stamp = Timestamp()
            stamp.FromDatetime(now + timedelta(seconds=5 * n))
            role = memory_pb2.ROLE_ASSISTANT if n % 2 else memory_pb2.ROLE_USER
            messages.append(
                memory_pb2.Message(role=role, content=text, create_time=stamp, time_zone=customer.zone)
            )
            items.append(Said("assistant" if n % 2 else customer.user_id, text, n % 2 == 0))
        self._session.AppendMessages(
            session_service_pb2.AppendMessagesRequest(
                user_id=customer.user_id,
                session_id=session_id,
                messages=messages,
                request_id=uuid.uuid4().hex,
            )
        )

    def _search(self, user_id: str, query: str, items: list[Item], *, top_k: int) -> list[memory_pb2.Memory]:
        answer = self._memory.SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(user_id=user_id, query=query, top_k=top_k)
        )
        items.append(Said(user_id, query, True))
        items.append(
            Listed(("score", "memory"), tuple((f"{r.score:.3f}", r.memory.content) for r in answer.results))
        )
        items.append(Took("SearchMemories", answer.timing.total_us / 1000, True))
        return [r.memory for r in answer.results]

    def _build(self, user_id: str, session_id: str, query: str) -> context_service_pb2.BuildContextResponse:
        response: context_service_pb2.BuildContextResponse = self._context.BuildContext(
            context_service_pb2.BuildContextRequest(
                user_id=user_id, session_id=session_id, query=query, budget_tokens=_BUDGET_TOKENS
            )
        )
        return response

    def _live(self, customer: Customer) -> list[memory_pb2.Memory]:
        return list(
            self._memory.ListMemories(
                memory_service_pb2.ListMemoriesRequest(user_id=customer.user_id, page_size=100)
            ).memories
        )

    def _move_clock(self, seconds: int) -> None:
        self._offset += seconds
        self._clock_file.write_text(str(self._offset))


def _note(customer: Customer, zh: str, en: str, passed: bool | None) -> Note:
    return Note(zh if customer.language == "zh" else en, passed)


def _decided(operation: memory_pb2.RememberOperation) -> Decided:
    expires = ""
    if operation.memory.HasField("expire_time"):
        expires = operation.memory.expire_time.ToDatetime(UTC).isoformat(timespec="minutes")
    return Decided(
        action=memory_pb2.Action.Name(operation.action).removeprefix("ACTION_"),
        text=operation.memory.content,
        previous=operation.previous.content if operation.HasField("previous") else "",
        reason=operation.reason,
        decider=memory_pb2.DeciderKind.Name(operation.decider).removeprefix("DECIDER_KIND_"),
        guards=tuple(operation.guards),
        expires=expires,
    )

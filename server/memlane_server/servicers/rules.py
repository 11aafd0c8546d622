"""RuleService."""

from memlane.v1 import rule_service_pb2 as pb
from memlane_core.services.call import Call

from .. import validate
from ..translate.common import consistency
from ..translate.memories import page
from ..translate.rules import rule_set_bytes, rule_set_message, rules_of
from ..validate import Violations
from .base import Servicer


class RuleServicer(Servicer):
    async def PutRules(self, request: pb.PutRulesRequest, call: Call) -> pb.PutRulesResponse:
        v = Violations()
        rules = rules_of(v, request)
        revision = validate.revision(v, request.revision)
        validate.request_id(v, request.request_id)
        v.check()
        stamp = self._stamp("PutRules", request)
        rule_set = await self._services.rules.put(call, rules, expected_version=revision, request=stamp)
        return pb.PutRulesResponse(
            rule_set=rule_set_message(rule_set), written_at=self._written_at(call, rule_set.position)
        )

    async def GetRules(self, request: pb.GetRulesRequest, call: Call) -> pb.GetRulesResponse:
        v = Violations()
        revision = validate.revision(v, request.revision)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, "", wanted)
        rule_set = await self._services.rules.get(call, revision, wanted.freshness)
        return pb.GetRulesResponse(rule_set=rule_set_message(rule_set), read_at=read_at)

    async def ListRuleRevisions(
        self, request: pb.ListRuleRevisionsRequest, call: Call
    ) -> pb.ListRuleRevisionsResponse:
        v = Violations()
        pages = self._pages(call, "ListRuleRevisions", request)
        cursor = pages.cursor(v, 1)
        size = validate.page_size(v, request.page_size)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, "", wanted)
        before = cursor[0] if cursor else None
        found = await self._services.rules.list_rules(call, before_version=before, limit=size + 1)
        rows, more = page(found, size, rule_set_bytes)
        return pb.ListRuleRevisionsResponse(
            revisions=[rule_set_message(r) for r in rows],
            next_page_token=pages.token(rows[-1].version) if more else "",
            read_at=read_at,
        )

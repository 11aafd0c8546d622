package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.GetRulesRequest;
import io.memlane.v1.GetRulesResponse;
import io.memlane.v1.ListRuleRevisionsRequest;
import io.memlane.v1.ListRuleRevisionsResponse;
import io.memlane.v1.PutRulesRequest;
import io.memlane.v1.PutRulesResponse;
import io.memlane.v1.RuleList;
import io.memlane.v1.RuleServiceGrpc;
import io.memlane.v1.RuleSet;
import java.util.List;

/** How the assistant should act: RuleService. Writing needs the scope {@code rules:write}. */
public final class Rules extends Calls<Rules> {
  Rules(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Rules with(Channel channel, CallOptions options) {
    return new Rules(channel, options);
  }

  /**
   * Replaces the rules as a whole.
   *
   * @param rules one by one; none = no rules
   * @return the rules as they stand now
   */
  public PutRulesResponse put(List<String> rules) {
    return put(
        PutRulesRequest.newBuilder().setRules(RuleList.newBuilder().addAllRules(rules)).build());
  }

  /**
   * Replaces the rules as a whole.
   *
   * @param request one text or a list, with a revision as the optimistic lock, or 0 for none
   * @return the rules as they stand now
   * @throws MemlaneException.RevisionMismatch the revision is not the current one
   */
  public PutRulesResponse put(PutRulesRequest request) {
    return call(RuleServiceGrpc.getPutRulesMethod(), request);
  }

  /**
   * The current rules.
   *
   * @return the rules
   * @throws MemlaneException.NotFound none were ever put
   */
  public GetRulesResponse get() {
    return get(GetRulesRequest.getDefaultInstance());
  }

  /**
   * The rules as of one revision.
   *
   * @param request 0 = the current one
   * @return the rules
   * @throws MemlaneException.NotFound there is no such revision
   */
  public GetRulesResponse get(GetRulesRequest request) {
    return call(RuleServiceGrpc.getGetRulesMethod(), request);
  }

  /**
   * One page of all revisions, newest first, with their texts.
   *
   * @param request which page
   * @return a page
   */
  public ListRuleRevisionsResponse listRevisions(ListRuleRevisionsRequest request) {
    return call(RuleServiceGrpc.getListRuleRevisionsMethod(), request);
  }

  /**
   * All revisions, newest first, with their texts.
   *
   * @return asks for a page when it is reached
   */
  public Iterable<RuleSet> listAllRevisions() {
    ListRuleRevisionsRequest first = ListRuleRevisionsRequest.getDefaultInstance();
    return pages(
        first,
        this::listRevisions,
        ListRuleRevisionsResponse::getRevisionsList,
        ListRuleRevisionsResponse::getNextPageToken,
        token -> first.toBuilder().setPageToken(token).build());
  }
}

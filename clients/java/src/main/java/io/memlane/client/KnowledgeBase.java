package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.DeleteKnowledgeRequest;
import io.memlane.v1.DeleteKnowledgeResponse;
import io.memlane.v1.GetKnowledgeRequest;
import io.memlane.v1.GetKnowledgeResponse;
import io.memlane.v1.Knowledge;
import io.memlane.v1.KnowledgeServiceGrpc;
import io.memlane.v1.ListKnowledgeRequest;
import io.memlane.v1.ListKnowledgeResponse;
import io.memlane.v1.SearchKnowledgeRequest;
import io.memlane.v1.SearchKnowledgeResponse;
import io.memlane.v1.UpsertKnowledgeRequest;
import io.memlane.v1.UpsertKnowledgeResponse;

/**
 * What holds for everyone of the tenant: KnowledgeService. Writing needs the scope {@code
 * knowledge:write}.
 */
public final class KnowledgeBase extends Calls<KnowledgeBase> {
  KnowledgeBase(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  KnowledgeBase with(Channel channel, CallOptions options) {
    return new KnowledgeBase(channel, options);
  }

  /**
   * Creates a piece of knowledge, or replaces it as a whole.
   *
   * @param request without an id the server makes one
   * @return the piece as it stands now
   * @throws MemlaneException.RevisionMismatch the revision is not the current one
   */
  public UpsertKnowledgeResponse upsert(UpsertKnowledgeRequest request) {
    return call(KnowledgeServiceGrpc.getUpsertKnowledgeMethod(), request);
  }

  /**
   * One piece by its id.
   *
   * @param knowledgeId which
   * @return the piece
   * @throws MemlaneException.NotFound unknown, deleted or expired
   */
  public GetKnowledgeResponse get(String knowledgeId) {
    return get(GetKnowledgeRequest.newBuilder().setKnowledgeId(knowledgeId).build());
  }

  /**
   * One piece by its id.
   *
   * @param request which
   * @return the piece
   * @throws MemlaneException.NotFound unknown, deleted or expired
   */
  public GetKnowledgeResponse get(GetKnowledgeRequest request) {
    return call(KnowledgeServiceGrpc.getGetKnowledgeMethod(), request);
  }

  /**
   * Soft-deletes one piece: invisible to every read when this returns.
   *
   * @param request with a revision as the optimistic lock, or 0 for none
   * @return the piece as it stood
   * @throws MemlaneException.NotFound unknown or deleted before
   */
  public DeleteKnowledgeResponse delete(DeleteKnowledgeRequest request) {
    return call(KnowledgeServiceGrpc.getDeleteKnowledgeMethod(), request);
  }

  /**
   * One page of the tenant's knowledge, newest first.
   *
   * @param request which page
   * @return a page
   */
  public ListKnowledgeResponse list(ListKnowledgeRequest request) {
    return call(KnowledgeServiceGrpc.getListKnowledgeMethod(), request);
  }

  /**
   * All knowledge of the tenant, newest first.
   *
   * @return asks for a page when it is reached
   */
  public Iterable<Knowledge> listAll() {
    ListKnowledgeRequest first = ListKnowledgeRequest.getDefaultInstance();
    return pages(
        first,
        this::list,
        ListKnowledgeResponse::getKnowledgeList,
        ListKnowledgeResponse::getNextPageToken,
        token -> first.toBuilder().setPageToken(token).build());
  }

  /**
   * The pieces nearest to a text, best first.
   *
   * @param query 1 to 8192 bytes of UTF-8, in any language
   * @return at most 5
   */
  public SearchKnowledgeResponse search(String query) {
    return search(SearchKnowledgeRequest.newBuilder().setQuery(query).build());
  }

  /**
   * The pieces nearest to a text or vector, best first.
   *
   * @param request what to look for
   * @return at most {@code top_k}
   */
  public SearchKnowledgeResponse search(SearchKnowledgeRequest request) {
    return call(KnowledgeServiceGrpc.getSearchKnowledgeMethod(), request);
  }
}

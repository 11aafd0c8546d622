package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.BatchSearchMemoriesRequest;
import io.memlane.v1.Conversation;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.CreateMemoryResponse;
import io.memlane.v1.DeleteMemoryRequest;
import io.memlane.v1.DeleteMemoryResponse;
import io.memlane.v1.Fact;
import io.memlane.v1.FactList;
import io.memlane.v1.GetIngestionRequest;
import io.memlane.v1.GetIngestionResponse;
import io.memlane.v1.GetMemoryRequest;
import io.memlane.v1.GetMemoryResponse;
import io.memlane.v1.ListIngestionsRequest;
import io.memlane.v1.ListIngestionsResponse;
import io.memlane.v1.ListMemoriesRequest;
import io.memlane.v1.ListMemoriesResponse;
import io.memlane.v1.ListMemoryRevisionsRequest;
import io.memlane.v1.ListMemoryRevisionsResponse;
import io.memlane.v1.Memory;
import io.memlane.v1.MemoryRevision;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.Message;
import io.memlane.v1.RememberRequest;
import io.memlane.v1.RememberResponse;
import io.memlane.v1.RetryIngestionRequest;
import io.memlane.v1.RetryIngestionResponse;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.UpdateMemoryRequest;
import io.memlane.v1.UpdateMemoryResponse;
import java.util.Arrays;
import java.util.List;

/**
 * What is known about one user: MemoryService. The comment of each call in the contract says what
 * it does, what it does not, and which errors it raises; the methods without a request message are
 * its most common forms.
 */
public final class Memories extends Calls<Memories> {
  Memories(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Memories with(Channel channel, CallOptions options) {
    return new Memories(channel, options);
  }

  /**
   * Learns from a conversation, from stated facts, or from the window of a session.
   *
   * @param request exactly one of conversation, facts and session_id
   * @return the operations that were decided and applied, in order
   */
  public RememberResponse remember(RememberRequest request) {
    return call(MemoryServiceGrpc.getRememberMethod(), request);
  }

  /**
   * Learns from a conversation. Only the user's own words are a source of facts.
   *
   * @param userId whom it is about
   * @param messages in the order they were said, as of {@link Values#user} and {@link
   *     Values#assistant}
   * @return the operations that were decided and applied, in order
   */
  public RememberResponse remember(String userId, Message... messages) {
    Conversation conversation =
        Conversation.newBuilder().addAllMessages(Arrays.asList(messages)).build();
    return remember(
        RememberRequest.newBuilder().setUserId(userId).setConversation(conversation).build());
  }

  /**
   * Learns facts that the caller states itself: decided and guarded like any other.
   *
   * @param userId whom they are about
   * @param facts 1 to 100, decided in this order
   * @return the operations that were decided and applied, in order
   */
  public RememberResponse rememberFacts(String userId, String... facts) {
    List<Fact> stated = Arrays.stream(facts).map(Values::fact).toList();
    return remember(
        RememberRequest.newBuilder()
            .setUserId(userId)
            .setFacts(FactList.newBuilder().addAllFacts(stated))
            .build());
  }

  /**
   * State and outcome of a remember or an end of session in ASYNC mode.
   *
   * @param userId whose ingestion
   * @param ingestionId as the write gave it
   * @return how far it is, and what was applied
   */
  public GetIngestionResponse getIngestion(String userId, String ingestionId) {
    return getIngestion(
        GetIngestionRequest.newBuilder().setUserId(userId).setIngestionId(ingestionId).build());
  }

  /**
   * State and outcome of a remember or an end of session in ASYNC mode.
   *
   * @param request which
   * @return how far it is, and what was applied
   */
  public GetIngestionResponse getIngestion(GetIngestionRequest request) {
    return call(MemoryServiceGrpc.getGetIngestionMethod(), request);
  }

  /**
   * One page of a user's ingestions, newest first.
   *
   * @param request whose, and in which state
   * @return a page
   */
  public ListIngestionsResponse listIngestions(ListIngestionsRequest request) {
    return call(MemoryServiceGrpc.getListIngestionsMethod(), request);
  }

  /**
   * Puts a FAILED ingestion back into the queue.
   *
   * @param request which
   * @return the ingestion as it stands now
   */
  public RetryIngestionResponse retryIngestion(RetryIngestionRequest request) {
    return call(MemoryServiceGrpc.getRetryIngestionMethod(), request);
  }

  /**
   * Stores one memory as told: nothing is extracted or decided.
   *
   * @param userId whom it is about
   * @param content 1 to 2048 bytes of UTF-8
   * @return the memory, which never expires
   */
  public CreateMemoryResponse create(String userId, String content) {
    return create(CreateMemoryRequest.newBuilder().setUserId(userId).setContent(content).build());
  }

  /**
   * Stores one memory as told, with labels, lifetime and reason.
   *
   * @param request what
   * @return the memory as stored
   */
  public CreateMemoryResponse create(CreateMemoryRequest request) {
    return call(MemoryServiceGrpc.getCreateMemoryMethod(), request);
  }

  /**
   * One memory by its id.
   *
   * @param userId whose
   * @param memoryId which
   * @return the memory
   * @throws MemlaneException.NotFound unknown, deleted, expired, or another user's
   */
  public GetMemoryResponse get(String userId, String memoryId) {
    return get(GetMemoryRequest.newBuilder().setUserId(userId).setMemoryId(memoryId).build());
  }

  /**
   * One memory by its id.
   *
   * @param request which
   * @return the memory
   * @throws MemlaneException.NotFound unknown, deleted, expired, or another user's
   */
  public GetMemoryResponse get(GetMemoryRequest request) {
    return call(MemoryServiceGrpc.getGetMemoryMethod(), request);
  }

  /**
   * Changes the text of a memory, provided that nobody else has changed the memory since it was
   * read.
   *
   * @param read the memory as it was read
   * @param content the new text, 1 to 2048 bytes of UTF-8
   * @return the memory as it stands now
   * @throws MemlaneException.RevisionMismatch somebody was faster
   */
  public UpdateMemoryResponse update(Memory read, String content) {
    return update(
        UpdateMemoryRequest.newBuilder()
            .setUserId(read.getUserId())
            .setMemoryId(read.getMemoryId())
            .setRevision(read.getRevision())
            .setContent(content)
            .build());
  }

  /**
   * Changes text, labels or lifetime of one memory.
   *
   * @param request with a revision as the optimistic lock, or 0 for none
   * @return the memory as it stands now
   * @throws MemlaneException.RevisionMismatch the revision is not the current one
   */
  public UpdateMemoryResponse update(UpdateMemoryRequest request) {
    return call(MemoryServiceGrpc.getUpdateMemoryMethod(), request);
  }

  /**
   * Soft-deletes one memory: invisible to every read when this returns.
   *
   * @param userId whose
   * @param memoryId which
   * @return the memory as it stood
   * @throws MemlaneException.NotFound unknown, deleted before, or another user's
   */
  public DeleteMemoryResponse delete(String userId, String memoryId) {
    return delete(DeleteMemoryRequest.newBuilder().setUserId(userId).setMemoryId(memoryId).build());
  }

  /**
   * Soft-deletes one memory: invisible to every read when this returns.
   *
   * @param request with a revision as the optimistic lock, or 0 for none
   * @return the memory as it stood
   * @throws MemlaneException.RevisionMismatch the revision is not the current one
   */
  public DeleteMemoryResponse delete(DeleteMemoryRequest request) {
    return call(MemoryServiceGrpc.getDeleteMemoryMethod(), request);
  }

  /**
   * One page of a user's memories.
   *
   * @param request whose, in which order, and as of when
   * @return a page
   */
  public ListMemoriesResponse list(ListMemoriesRequest request) {
    return call(MemoryServiceGrpc.getListMemoriesMethod(), request);
  }

  /**
   * All of a user's memories, newest first.
   *
   * @param userId whose
   * @return asks for a page when it is reached
   */
  public Iterable<Memory> listAll(String userId) {
    return listAll(ListMemoriesRequest.newBuilder().setUserId(userId).build());
  }

  /**
   * All memories that a request asks for.
   *
   * @param request of the first page
   * @return asks for a page when it is reached
   */
  public Iterable<Memory> listAll(ListMemoriesRequest request) {
    return pages(
        request,
        this::list,
        ListMemoriesResponse::getMemoriesList,
        ListMemoriesResponse::getNextPageToken,
        token -> request.toBuilder().setPageToken(token).build());
  }

  /**
   * One page of the history of a memory, oldest first.
   *
   * @param request of which memory
   * @return a page
   * @throws MemlaneException.NotFound unknown, or another user's
   */
  public ListMemoryRevisionsResponse listRevisions(ListMemoryRevisionsRequest request) {
    return call(MemoryServiceGrpc.getListMemoryRevisionsMethod(), request);
  }

  /**
   * The whole history of a memory, oldest first; of a deleted or expired one, too.
   *
   * @param userId whose
   * @param memoryId which
   * @return asks for a page when it is reached
   */
  public Iterable<MemoryRevision> listAllRevisions(String userId, String memoryId) {
    ListMemoryRevisionsRequest request =
        ListMemoryRevisionsRequest.newBuilder().setUserId(userId).setMemoryId(memoryId).build();
    return pages(
        request,
        this::listRevisions,
        ListMemoryRevisionsResponse::getRevisionsList,
        ListMemoryRevisionsResponse::getNextPageToken,
        token -> request.toBuilder().setPageToken(token).build());
  }

  /**
   * The memories of one user that matter for a text, best first.
   *
   * @param userId whose
   * @param query 1 to 8192 bytes of UTF-8, in any language
   * @return at most 5
   */
  public SearchMemoriesResponse search(String userId, String query) {
    return search(SearchMemoriesRequest.newBuilder().setUserId(userId).setQuery(query).build());
  }

  /**
   * The memories of one user that are nearest to a vector, best first.
   *
   * @param userId whose
   * @param embedding a vector of the server's embedder; {@link Diagnostics#serverInfo} tells its
   *     dimension
   * @return at most 5
   */
  public SearchMemoriesResponse search(String userId, float[] embedding) {
    return search(
        SearchMemoriesRequest.newBuilder()
            .setUserId(userId)
            .setEmbeddingF32(Values.vector(embedding))
            .build());
  }

  /**
   * The memories of one user that matter, best first.
   *
   * @param request a text or a vector, with filters, {@code top_k} and more
   * @return at most {@code top_k}
   */
  public SearchMemoriesResponse search(SearchMemoriesRequest request) {
    return call(MemoryServiceGrpc.getSearchMemoriesMethod(), request);
  }

  /**
   * Many searches, also of many users, in one call.
   *
   * @param searches 1 to 1000
   * @return one outcome per search, in their order: one that fails does not fail the others
   */
  public List<Outcome> batchSearch(List<SearchMemoriesRequest> searches) {
    BatchSearchMemoriesRequest request =
        BatchSearchMemoriesRequest.newBuilder().addAllSearches(searches).build();
    return call(MemoryServiceGrpc.getBatchSearchMemoriesMethod(), request)
        .getResponsesList()
        .stream()
        .map(outcome -> Outcome.of(outcome.getStatus(), outcome.getResponse()))
        .toList();
  }

  /**
   * Opens a stream of searches: the least latency per search.
   *
   * @return a stream without a deadline, unless {@link #withTimeout} gave one; close it
   */
  public SearchStream openSearchStream() {
    return new SearchStream(channel(), options());
  }
}

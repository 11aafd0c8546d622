package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.StreamSearchMemoriesRequest;
import io.memlane.v1.StreamSearchMemoriesResponse;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Searches over one open stream: the least latency per search.
 *
 * <pre>{@code
 * try (SearchStream stream = client.memories().openSearchStream()) {
 *   CompletableFuture<SearchMemoriesResponse> budget = stream.search("c-1001", "预算");
 *   CompletableFuture<SearchMemoriesResponse> contact = stream.search("c-1002", "How to reach her?");
 *   use(budget.join(), contact.join());
 * }
 * }</pre>
 *
 * <p>Answers come in the order of the searches. A search that fails completes its own future with a
 * {@link MemlaneException} and the stream goes on. When the connection is lost, every future that
 * waits fails, and so does each later search: open another stream. Threads may share a stream. Not
 * tried again by itself. Futures are completed in gRPC's thread of the stream: continue long work,
 * and further searches, in another one ({@code thenApplyAsync}).
 */
public final class SearchStream implements AutoCloseable {
  /**
   * Above this many searches under way, {@link #search(SearchMemoriesRequest)} waits for answers.
   */
  public static final int MAX_UNDER_WAY = 256;

  private static final long CLOSE_SECONDS = 5;

  /** One search that waits for its answer. */
  private record Waiting(String correlationId, CompletableFuture<SearchMemoriesResponse> answer) {}

  private final Semaphore room = new Semaphore(MAX_UNDER_WAY);
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private final ClientCall<StreamSearchMemoriesRequest, StreamSearchMemoriesResponse> call;
  private final StreamObserver<StreamSearchMemoriesRequest> requests;
  private long sent;
  private MemlaneException ended;

  SearchStream(Channel channel, CallOptions options) {
    call = channel.newCall(MemoryServiceGrpc.getStreamSearchMemoriesMethod(), options);
    requests = ClientCalls.asyncBidiStreamingCall(call, new Answers());
  }

  /**
   * Searches by a text, with the server's defaults.
   *
   * @param userId whose memories
   * @param query 1 to 8192 bytes of UTF-8, in any language
   * @return the answer to come
   */
  public CompletableFuture<SearchMemoriesResponse> search(String userId, String query) {
    return search(SearchMemoriesRequest.newBuilder().setUserId(userId).setQuery(query).build());
  }

  /**
   * Sends one search. Waits while {@link #MAX_UNDER_WAY} are under way.
   *
   * @param request any search
   * @return the answer to come, or a failed future where the stream has ended
   * @throws MemlaneException.Cancelled when the thread is interrupted while it waits
   */
  public CompletableFuture<SearchMemoriesResponse> search(SearchMemoriesRequest request) {
    acquire();
    CompletableFuture<SearchMemoriesResponse> answer = new CompletableFuture<>();
    synchronized (this) {
      if (ended == null) {
        String correlationId = Long.toString(sent++);
        waiting.add(new Waiting(correlationId, answer));
        requests.onNext(
            StreamSearchMemoriesRequest.newBuilder()
                .setCorrelationId(correlationId)
                .setSearch(request)
                .build());
        return answer;
      }
    }
    room.release();
    answer.completeExceptionally(ended);
    return answer;
  }

  /**
   * Takes no further searches, and waits up to 5 s for the answers under way; then cancels what is
   * left.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (ended == null) {
        ended = closed();
        requests.onCompleted();
      }
    }
    boolean answered = false;
    try {
      answered = over.await(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
    if (!answered) {
      call.cancel("the stream is closed", null);
    }
  }

  private static MemlaneException closed() {
    return Errors.of(Status.CANCELLED.withDescription("the stream is closed").asRuntimeException());
  }

  private void acquire() {
    try {
      room.acquire();
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw Errors.of(
          Status.CANCELLED
              .withDescription("interrupted")
              .withCause(interrupt)
              .asRuntimeException());
    }
  }

  private void end(MemlaneException error) {
    Queue<Waiting> left;
    synchronized (this) {
      ended = ended == null ? error : ended;
      left = new ArrayDeque<>(waiting);
      waiting.clear();
    }
    room.release(left.size());
    left.forEach(one -> one.answer().completeExceptionally(error));
    over.countDown();
  }

  /** Hands each response to the search that waits longest. */
  private final class Answers implements StreamObserver<StreamSearchMemoriesResponse> {
    @Override
    public void onNext(StreamSearchMemoriesResponse response) {
      Waiting one;
      synchronized (SearchStream.this) {
        one = waiting.poll();
      }
      if (one == null || !one.correlationId().equals(response.getCorrelationId())) {
        disordered(one);
        return;
      }
      room.release();
      Errors.of(response.getStatus())
          .ifPresentOrElse(
              one.answer()::completeExceptionally,
              () -> one.answer().complete(response.getResponse()));
    }

    private void disordered(Waiting one) {
      MemlaneException error = Errors.internal("an answer came out of order");
      // First: whoever is told that the search failed finds the stream ended.
      end(error);
      if (one != null) {
        room.release();
        one.answer().completeExceptionally(error);
      }
      call.cancel(error.getMessage(), error);
    }

    @Override
    public void onError(Throwable failure) {
      end(
          Errors.of(
              new StatusRuntimeException(
                  Status.fromThrowable(failure), Status.trailersFromThrowable(failure))));
    }

    @Override
    public void onCompleted() {
      end(closed());
    }
  }
}

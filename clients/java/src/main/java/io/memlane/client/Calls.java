package io.memlane.client;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The calls of one service. Immutable and safe to share between threads.
 *
 * @param <S> the group itself
 */
public abstract sealed class Calls<S extends Calls<S>>
    permits Memories, Sessions, Contexts, KnowledgeBase, Rules, Compliance, Diagnostics {
  private final Channel channel;
  private final CallOptions options;

  Calls(Channel channel, CallOptions options) {
    this.channel = channel;
    this.options = options;
  }

  abstract S with(Channel channel, CallOptions options);

  /**
   * The same calls with a deadline of their own instead of the default of their kind.
   *
   * @param timeout for each call, counted from its start; all tries share it
   * @return a new group over the same connection
   */
  public S withTimeout(Duration timeout) {
    Timeouts.positive("timeout", timeout);
    return with(channel, options.withOption(CallPolicy.TIMEOUT, timeout));
  }

  /**
   * The same calls with another credential: for a service that acts for one user after the other,
   * each with a token that is bound to that user.
   *
   * @param token instead of the client's
   * @return a new group over the same connection
   */
  public S withToken(String token) {
    return with(channel, options.withCallCredentials(BearerToken.of(token)));
  }

  Channel channel() {
    return channel;
  }

  CallOptions options() {
    return options;
  }

  /** One answer. */
  <Q extends Message, R extends Message> R call(MethodDescriptor<Q, R> method, Q request) {
    try {
      return ClientCalls.blockingUnaryCall(channel, method, options, request);
    } catch (StatusRuntimeException failure) {
      throw Errors.of(failure);
    }
  }

  /** A stream of answers whose last one must satisfy {@code last}. */
  <Q extends Message, R extends Message> ResponseStream<R> stream(
      MethodDescriptor<Q, R> method, Q request, Predicate<R> last) {
    return new ResponseStream<>(channel, method, options, request, last);
  }

  /**
   * All items of a list call, page after page.
   *
   * @param first request without a page token, sent when the first item is asked for
   * @param ask sends one request
   * @param items of a page
   * @param nextToken of a page; empty at the end
   * @param following the first request with another page token
   */
  static <Q, R, T> Iterable<T> pages(
      Q first,
      Function<Q, R> ask,
      Function<R, List<T>> items,
      Function<R, String> nextToken,
      Function<String, Q> following) {
    return () ->
        new Iterator<>() {
          private Q next = first;
          private Iterator<T> page = List.<T>of().iterator();

          @Override
          public boolean hasNext() {
            while (!page.hasNext() && next != null) {
              R response = ask.apply(next);
              page = items.apply(response).iterator();
              String token = nextToken.apply(response);
              next = token.isEmpty() ? null : following.apply(token);
            }
            return page.hasNext();
          }

          @Override
          public T next() {
            if (!hasNext()) {
              throw new NoSuchElementException();
            }
            return page.next();
          }
        };
  }
}

package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Predicate;

/**
 * What a streaming call sends back, in order. The call begins at once, and ends with its last
 * response, with an error, or with {@link #close}: use it in a try-with-resources statement. Read
 * it from one thread at a time; any thread may close it.
 *
 * <p>A stream that ends before the response which the contract promises as its last raises {@link
 * MemlaneException.Internal}: it is never silently short.
 *
 * @param <R> one response
 */
public final class ResponseStream<R> implements Iterator<R>, Iterable<R>, AutoCloseable {
  private final Context.CancellableContext call = Context.current().withCancellation();
  private final Iterator<R> responses;
  private final Predicate<R> last;
  private final String name;
  private boolean complete;

  <Q> ResponseStream(
      Channel channel,
      MethodDescriptor<Q, R> method,
      CallOptions options,
      Q request,
      Predicate<R> last) {
    this.last = last;
    this.name = method.getBareMethodName();
    Context before = call.attach();
    try {
      responses = ClientCalls.blockingServerStreamingCall(channel, method, options, request);
    } finally {
      call.detach(before);
    }
  }

  @Override
  public boolean hasNext() {
    boolean more;
    try {
      more = responses.hasNext();
    } catch (StatusRuntimeException failure) {
      close();
      throw Errors.of(failure);
    }
    if (!more) {
      close();
      if (!complete) {
        throw Errors.internal("the stream of " + name + " ended before its last response");
      }
    }
    return more;
  }

  @Override
  public R next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    R response = responses.next();
    complete = last.test(response);
    return response;
  }

  /**
   * The stream itself, for a loop over what has not been read yet.
   *
   * @return this
   */
  @Override
  public Iterator<R> iterator() {
    return this;
  }

  /** Cancels the call if it still runs. */
  @Override
  public void close() {
    call.cancel(null);
  }
}

package io.memlane.client;

import io.grpc.CallCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** Sends {@code authorization: Bearer ...}; asked anew for each try of a call. */
final class BearerToken extends CallCredentials {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Supplier<String> source;
  private final boolean constant;

  private BearerToken(Supplier<String> source, boolean constant) {
    this.source = source;
    this.constant = constant;
  }

  static BearerToken of(String token) {
    return new BearerToken(() -> token, true);
  }

  static BearerToken of(Supplier<String> source) {
    return new BearerToken(source, false);
  }

  @Override
  public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
    if (constant) {
      apply(applier);
    } else {
      // A source may have to fetch the token first, and must not hold up the transport.
      executor.execute(() -> apply(applier));
    }
  }

  private void apply(MetadataApplier applier) {
    Metadata headers = new Metadata();
    try {
      headers.put(AUTHORIZATION, "Bearer " + source.get());
    } catch (
        RuntimeException failure) { // whatever the caller's source throws is the call's failure
      applier.fail(
          Status.UNAUTHENTICATED.withDescription("the token source failed").withCause(failure));
      return;
    }
    applier.apply(headers);
  }

  /** Shows no token. */
  @Override
  public String toString() {
    return "BearerToken";
  }
}

package io.memlane.client;

import com.google.protobuf.Message;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.memlane.v1.BatchSearchMemoriesRequest;
import io.memlane.v1.Consistency;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.StreamSearchMemoriesRequest;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What every call has, whichever stub makes it: a deadline, the credential, a request_id if it
 * writes, the freshness of the caller's own writes if it reads.
 */
final class CallPolicy implements ClientInterceptor {
  /**
   * Deadline of each call, counted from its start; a CallOptions deadline would be counted from its
   * making.
   */
  static final CallOptions.Key<Duration> TIMEOUT = CallOptions.Key.create("memlane.timeout");

  /** Whose writes a call sees, and where its own are noted; unset = those of the client. */
  static final CallOptions.Key<Freshness> FRESHNESS = CallOptions.Key.create("memlane.freshness");

  private final Timeouts timeouts;
  private final CallCredentials credentials;
  private final boolean makesRequestIds;
  private final Freshness freshness;

  /**
   * @param credentials null = none
   * @param freshness null = reads ask for nothing that their callers did not ask for
   */
  CallPolicy(
      Timeouts timeouts,
      CallCredentials credentials,
      boolean makesRequestIds,
      Freshness freshness) {
    this.timeouts = timeouts;
    this.credentials = credentials;
    this.makesRequestIds = makesRequestIds;
    this.freshness = freshness;
  }

  @Override
  public <Q, R> ClientCall<Q, R> interceptCall(
      MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
    Rpc rpc = Rpc.of(method.getFullMethodName());
    CallOptions complete = credentials(deadline(rpc, options));
    ClientCall<Q, R> call = next.newCall(method, complete);
    if (rpc == null) {
      return call;
    }
    Freshness chosen = options.getOption(FRESHNESS);
    return new Governed<>(call, rpc, chosen == null ? freshness : chosen, makesRequestIds);
  }

  private CallOptions deadline(Rpc rpc, CallOptions options) {
    if (options.getDeadline() != null) {
      return options;
    }
    Duration told = options.getOption(TIMEOUT);
    Duration timeout = told == null && rpc != null ? rpc.timeout(timeouts) : told;
    return timeout == null
        ? options
        : options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  private CallOptions credentials(CallOptions options) {
    boolean complete = credentials == null || options.getCredentials() != null;
    return complete ? options : options.withCallCredentials(credentials);
  }

  /** One call on its way. gRPC calls it from one thread at a time. */
  private static final class Governed<Q, R> extends SimpleForwardingClientCall<Q, R> {
    private final Rpc rpc;
    private final Freshness freshness;
    private final boolean makesRequestIds;
    private final long began;
    private volatile String requestId = "";
    private volatile boolean ownRequestId;
    private volatile boolean settles;
    private volatile Message request;
    private volatile Context context;
    private volatile boolean cancelled;
    private volatile boolean answering;

    Governed(ClientCall<Q, R> call, Rpc rpc, Freshness freshness, boolean makesRequestIds) {
      super(call);
      this.rpc = rpc;
      this.freshness = freshness;
      this.makesRequestIds = makesRequestIds;
      this.began = freshness == null ? 0 : freshness.begin();
    }

    @Override
    public void start(Listener<R> listener, Metadata headers) {
      context = Context.current();
      super.start(
          new SimpleForwardingClientCallListener<>(listener) {
            @Override
            public void onMessage(R response) {
              answering = true;
              if (response instanceof Message message) {
                answered(message);
              }
              super.onMessage(response);
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
              if (!status.isOk() && !requestId.isEmpty() && isAscii(requestId)) {
                trailers.put(Errors.REQUEST_ID, requestId);
              }
              if (refusedUnread(status)) {
                trailers.put(Errors.UNREAD, "");
              }
              super.onClose(status, trailers);
            }
          },
          headers);
    }

    @Override
    public void cancel(String message, Throwable cause) {
      cancelled = true;
      super.cancel(message, cause);
    }

    /**
     * CANCELLED that nobody here asked for, before anything of the answer came, is how the
     * transport of an overloaded server refuses a call that it does not read. Where the time has
     * run out, gRPC says DEADLINE_EXCEEDED by itself; where it fails on this side, the status has a
     * cause.
     */
    private boolean refusedUnread(Status status) {
      return status.getCode() == Status.Code.CANCELLED
          && status.getCause() == null
          && !answering
          && !cancelled
          && !givenUp(context);
    }

    private static boolean givenUp(Context context) {
      return context.isCancelled() && !(context.cancellationCause() instanceof TimeoutException);
    }

    @Override
    public void sendMessage(Q message) {
      if (!(message instanceof Message given)) { // a stub that sends bytes
        super.sendMessage(message);
        return;
      }
      Message complete = withConsistency(withRequestId(given));
      request = complete;
      @SuppressWarnings("unchecked") // a builder builds what it was made from
      Q sent = (Q) complete;
      super.sendMessage(sent);
    }

    private Message withRequestId(Message message) {
      if (!rpc.writes()) {
        return message;
      }
      requestId = (String) message.getField(rpc.requestIdField());
      ownRequestId = !requestId.isEmpty();
      if (ownRequestId || !makesRequestIds) {
        return message;
      }
      requestId = UUID.randomUUID().toString();
      return message.toBuilder().setField(rpc.requestIdField(), requestId).build();
    }

    private Message withConsistency(Message message) {
      if (freshness == null) {
        return message;
      }
      if (message instanceof BatchSearchMemoriesRequest batch) {
        return fresh(batch);
      }
      if (message instanceof StreamSearchMemoriesRequest one) {
        SearchMemoriesRequest search = fresh(one.getSearch());
        return search == one.getSearch() ? one : one.toBuilder().setSearch(search).build();
      }
      if (rpc.consistencyField() == null || message.hasField(rpc.consistencyField())) {
        return message;
      }
      List<String> scopes = rpc.scopes(message);
      Consistency wanted = scopes.isEmpty() ? Values.fullyConsistent() : freshness.wanted(scopes);
      if (wanted == null) {
        return message;
      }
      settles = wanted.getFullyConsistent();
      return message.toBuilder().setField(rpc.consistencyField(), wanted).build();
    }

    private BatchSearchMemoriesRequest fresh(BatchSearchMemoriesRequest batch) {
      BatchSearchMemoriesRequest.Builder builder = null;
      for (int i = 0; i < batch.getSearchesCount(); i++) {
        SearchMemoriesRequest search = fresh(batch.getSearches(i));
        if (search != batch.getSearches(i)) {
          builder = builder == null ? batch.toBuilder() : builder;
          builder.setSearches(i, search);
        }
      }
      return builder == null ? batch : builder.build();
    }

    private SearchMemoriesRequest fresh(SearchMemoriesRequest search) {
      if (search.hasConsistency()) {
        return search;
      }
      Consistency wanted = freshness.wanted(List.of(search.getUserId()));
      return wanted == null ? search : search.toBuilder().setConsistency(wanted).build();
    }

    private void answered(Message response) {
      if (freshness == null || request == null) {
        return;
      }
      String token = rpc.writtenAt(response);
      if (!token.isEmpty()) {
        // A read that tells of a write (an ingestion), or a repeat under the caller's own
        // request_id, may tell of an
        // old one.
        boolean replay = !rpc.writes() || ownRequestId;
        for (String scope : rpc.writtenScopes(request)) {
          freshness.wrote(scope, token, began, replay);
        }
      } else if (settles) {
        freshness.read(rpc.scopes(request), rpc.readAt(response), began);
      }
    }

    private static boolean isAscii(String text) {
      return text.chars().allMatch(c -> c >= 0x20 && c < 0x7f);
    }
  }
}

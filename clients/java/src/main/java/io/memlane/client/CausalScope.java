package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.MethodDescriptor;
import java.util.Optional;

/**
 * One chain of cause and effect, which may run through several processes: reads see the token that
 * it began with and every write made through it, of whichever user. {@link #token} hands it on.
 *
 * <pre>{@code
 * CausalScope scope = client.causalScope(tokenFromTheCaller);
 * scope.memories().create("c-1001", "预算 50 万元");
 * reply.setToken(scope.token().orElse(""));
 * }</pre>
 *
 * <p>Shares the connection of its client and costs nothing to make. Threads may share it.
 */
public final class CausalScope extends Services {
  private final Freshness freshness;

  CausalScope(Channel channel, Freshness freshness) {
    super(ClientInterceptors.intercept(channel, new Noted(freshness)), CallOptions.DEFAULT);
    this.freshness = freshness;
  }

  /**
   * The token of the state that holds all of this scope's writes, for {@link
   * MemlaneClient#causalScope(String)} or {@link Values#atLeast} elsewhere.
   *
   * @return empty where nothing was written; also where writes overlapped in time and no read has
   *     followed, because no single token then covers them
   */
  public Optional<String> token() {
    return freshness.token();
  }

  /** Tells the policy of the client whose writes a call sees. */
  private record Noted(Freshness freshness) implements ClientInterceptor {
    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(
        MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      return next.newCall(method, options.withOption(CallPolicy.FRESHNESS, freshness));
    }
  }
}

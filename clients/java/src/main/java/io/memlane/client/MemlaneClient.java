package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A client of memlane. One for the whole application: threads share it.
 *
 * <pre>{@code
 * try (MemlaneClient client = MemlaneClient.connect("127.0.0.1:7070")) {
 *   client.memories().remember("c-1001", Values.user("我有两个孩子，住在杭州"));
 *   for (ScoredMemory hit : client.memories().search("c-1001", "孩子").getResultsList()) {
 *     System.out.printf("%.2f %s%n", hit.getScore(), hit.getMemory().getContent());
 *   }
 * }
 * }</pre>
 *
 * <p>Every call raises a {@link MemlaneException}. Every write gets its own request_id and is
 * thereby safe to repeat; set one in the request to repeat a write across restarts. Every read sees
 * this client's own writes. Requests and responses are the generated messages of the contract,
 * {@link Values} makes them from Java's own types.
 */
public final class MemlaneClient extends Services implements AutoCloseable {
  /** Where a server listens unless it is told otherwise. */
  public static final String DEFAULT_TARGET = "127.0.0.1:7070";

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final ManagedChannel transport;
  private final String target;

  private MemlaneClient(ManagedChannel transport, CallPolicy policy, String target) {
    super(ClientInterceptors.intercept(transport, policy), CallOptions.DEFAULT);
    this.transport = transport;
    this.target = target;
  }

  /**
   * A client with the defaults: plain text to this machine itself, TLS to every other one.
   *
   * @param target host:port, or any name that gRPC resolves ({@code dns:///...})
   * @return a client that connects on its first call
   */
  public static MemlaneClient connect(String target) {
    return builder(target).build();
  }

  /**
   * A client with options.
   *
   * @param target host:port, or any name that gRPC resolves ({@code dns:///...})
   * @return a builder
   */
  public static Builder builder(String target) {
    return new Builder(target);
  }

  /**
   * A chain of cause and effect that begins here. The client by itself sees its own writes user by
   * user; a scope is for handing what was written on to another process.
   *
   * @return a new scope over this client's connection
   */
  public CausalScope causalScope() {
    return causalScope("");
  }

  /**
   * A chain of cause and effect that goes on from another process.
   *
   * @param token {@link CausalScope#token} or {@code written_at} of the other process; empty = none
   * @return a new scope over this client's connection
   */
  public CausalScope causalScope(String token) {
    Freshness freshness = Freshness.single();
    freshness.wrote(Rpc.TENANT, token, freshness.begin(), true);
    return new CausalScope(channel(), freshness);
  }

  /** Cancels what is under way and closes the connection. */
  @Override
  public void close() {
    transport.shutdownNow();
    try {
      transport.awaitTermination(CLOSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
  }

  /** Names the target, and no secret. */
  @Override
  public String toString() {
    return "MemlaneClient(" + target + ")";
  }

  /** Options of a client. */
  public static final class Builder {
    private final String target;
    private BearerToken token;
    private Tls tls;
    private Boolean insecure;
    private Timeouts timeouts = Timeouts.DEFAULT;
    private RetryPolicy retry = RetryPolicy.DEFAULT;
    private boolean readsOwnWrites = true;
    private boolean makesRequestIds = true;
    private Duration keepAlive = Duration.ofSeconds(30);
    private int maxInboundBytes = 8 << 20;
    private Consumer<ManagedChannelBuilder<?>> configurator = builder -> {};

    private Builder(String target) {
      this.target = Objects.requireNonNull(target, "target");
    }

    /**
     * Sent with each call as {@code authorization: Bearer ...}.
     *
     * @param token a JWT of the server's issuer
     * @return this
     */
    public Builder token(String token) {
      this.token = BearerToken.of(Objects.requireNonNull(token, "token"));
      return this;
    }

    /**
     * Gives the token that holds now.
     *
     * @param source asked for each try of each call, from any thread: let it keep what it has until
     *     it expires
     * @return this
     */
    public Builder token(Supplier<String> source) {
      this.token = BearerToken.of(Objects.requireNonNull(source, "source"));
      return this;
    }

    /**
     * Encrypts the connection.
     *
     * @param tls whom to trust, and who the client is
     * @return this
     */
    public Builder tls(Tls tls) {
      this.tls = Objects.requireNonNull(tls, "tls");
      return this;
    }

    /**
     * Plain text also to other machines: right where something else encrypts, such as a mesh. A
     * token is then sent in plain text, too. Without this and {@link #tls}, connections to this
     * machine itself (localhost, 127.0.0.1, a Unix socket) are plain text and all others use TLS.
     *
     * @param insecure true = plain text, false = TLS also to this machine
     * @return this
     */
    public Builder insecure(boolean insecure) {
      this.insecure = insecure;
      return this;
    }

    /**
     * Default deadlines.
     *
     * @param timeouts by what a call does
     * @return this
     */
    public Builder timeouts(Timeouts timeouts) {
      this.timeouts = Objects.requireNonNull(timeouts, "timeouts");
      return this;
    }

    /**
     * How patient the client is with a server that does not answer.
     *
     * @param retry {@link RetryPolicy#NONE} = each call is tried once
     * @return this
     */
    public Builder retry(RetryPolicy retry) {
      this.retry = Objects.requireNonNull(retry, "retry");
      return this;
    }

    /**
     * Whether reads ask for a state that holds this client's own writes, on whichever replica. True
     * by default.
     *
     * @param on false = a read without a consistency of its own is one of least latency
     * @return this
     */
    public Builder readYourWrites(boolean on) {
      this.readsOwnWrites = on;
      return this;
    }

    /**
     * Whether writes without a request_id get one. True by default.
     *
     * @param on false = requests go as they are, and no write is tried again
     * @return this
     */
    public Builder requestIds(boolean on) {
      this.makesRequestIds = on;
      return this;
    }

    /**
     * Pause between pings on an idle connection. 30 s by default.
     *
     * @param pause at least 10 s: a server takes no more
     * @return this
     */
    public Builder keepAlive(Duration pause) {
      this.keepAlive = Objects.requireNonNull(pause, "pause");
      return this;
    }

    /**
     * The largest response that is taken. 8 MiB by default; a server sends at most 4 MiB.
     *
     * @param bytes positive
     * @return this
     */
    public Builder maxInboundBytes(int bytes) {
      this.maxInboundBytes = bytes;
      return this;
    }

    /**
     * Further options of the gRPC channel, such as interceptors for traces or an executor; they go
     * before those of this builder.
     *
     * @param configurator called once, by {@link #build}
     * @return this
     */
    public Builder configure(Consumer<ManagedChannelBuilder<?>> configurator) {
      this.configurator = Objects.requireNonNull(configurator, "configurator");
      return this;
    }

    /**
     * Makes the client.
     *
     * @return a client that connects on its first call
     * @throws IllegalArgumentException for options that contradict each other, or certificates that
     *     are none
     */
    public MemlaneClient build() {
      ClientOptions options =
          new ClientOptions(
              target,
              tls,
              insecure,
              retry,
              makesRequestIds,
              keepAlive,
              maxInboundBytes,
              configurator);
      ManagedChannel transport = options.channel();
      Reconnect.watch(transport);
      Freshness freshness = readsOwnWrites ? Freshness.perScope() : null;
      return new MemlaneClient(
          transport, new CallPolicy(timeouts, token, makesRequestIds, freshness), target);
    }
  }
}

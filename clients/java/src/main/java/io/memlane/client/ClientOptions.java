package io.memlane.client;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Everything a channel is made from. The builder of the client explains each part.
 *
 * @param insecure null = plain text to this machine itself only, and only without {@code tls}
 */
record ClientOptions(
    String target,
    Tls tls,
    Boolean insecure,
    RetryPolicy retry,
    boolean makesRequestIds,
    Duration keepAlive,
    int maxInboundBytes,
    Consumer<ManagedChannelBuilder<?>> configurator) {
  /**
   * The server takes a ping every 8 s at most, and closes the connection of a client that sends
   * more.
   */
  static final Duration MIN_KEEP_ALIVE = Duration.ofSeconds(10);

  private static final long KEEP_ALIVE_TIMEOUT_SECONDS = 10;

  /** A request has at most 2 MiB; what is larger than this could not be sent again. */
  private static final long RETRY_BUFFER_BYTES = 3L << 20;

  ClientOptions {
    if (Boolean.TRUE.equals(insecure) && tls != null) {
      throw new IllegalArgumentException("insecure and tls contradict each other");
    }
    if (keepAlive.compareTo(MIN_KEEP_ALIVE) < 0) {
      throw new IllegalArgumentException(
          "keepAlive is at least " + MIN_KEEP_ALIVE.toSeconds() + " s");
    }
  }

  boolean plainText() {
    return insecure == null ? tls == null && Targets.isLoopback(target) : insecure;
  }

  /** A channel that connects on its first call. */
  ManagedChannel channel() {
    Tls security = tls == null ? Tls.DEFAULT : tls;
    ChannelCredentials credentials =
        plainText() ? InsecureChannelCredentials.create() : security.credentials();
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(target, credentials)
            .userAgent("memlane-java/" + version())
            .keepAliveTime(keepAlive.toNanos(), TimeUnit.NANOSECONDS)
            .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            // Load balancers drop connections that are silent between calls, too.
            .keepAliveWithoutCalls(true)
            .maxInboundMessageSize(maxInboundBytes)
            .disableServiceConfigLookUp();
    if (!plainText() && !security.serverName().isEmpty()) {
      builder.overrideAuthority(security.serverName());
    }
    if (retry.maxAttempts() == 1) {
      builder.disableRetry();
    } else {
      builder
          .enableRetry()
          .perRpcBufferLimit(RETRY_BUFFER_BYTES)
          .defaultServiceConfig(serviceConfig());
    }
    configurator.accept(builder);
    return builder.build();
  }

  /** The retries, as gRPC takes them. */
  Map<String, ?> serviceConfig() {
    Map<String, ?> policy =
        Map.of(
            "maxAttempts", (double) retry.maxAttempts(),
            "initialBackoff", seconds(retry.initialBackoff()),
            "maxBackoff", seconds(retry.maxBackoff()),
            "backoffMultiplier", retry.multiplier(),
            "retryableStatusCodes", List.of("UNAVAILABLE"));
    List<Map<String, String>> names =
        Rpc.all().stream()
            .filter(Rpc::repeatable)
            // Without a request_id the repeat of a write might happen twice.
            .filter(rpc -> makesRequestIds || !rpc.writes())
            .map(rpc -> Map.of("service", rpc.service(), "method", rpc.name()))
            .collect(Collectors.toList());
    return Map.of("methodConfig", List.of(Map.of("name", names, "retryPolicy", policy)));
  }

  private static String seconds(Duration duration) {
    return "%d.%09ds".formatted(duration.getSeconds(), duration.getNano());
  }

  private static String version() {
    String version = ClientOptions.class.getPackage().getImplementationVersion();
    return version == null ? "dev" : version;
  }
}

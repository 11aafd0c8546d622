package io.memlane.examples;

import com.google.protobuf.ByteString;
import io.memlane.client.MemlaneClient;
import io.memlane.client.SearchStream;
import io.memlane.client.Values;
import io.memlane.v1.SearchMemoriesRequest;
import java.util.Arrays;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;

/**
 * What a warm search costs beside a null echo of the same client and server, call by call in turn,
 * so that both meet the same load of the machine. Start a server first, then:
 *
 * <pre>
 * mvn -q test-compile exec:java -Dexec.mainClass=io.memlane.examples.Latency -Dexec.args="127.0.0.1:7070 1000"
 * </pre>
 */
public final class Latency {
  private static final int WARM_UP = 2_000;
  private static final int CALLS = 5_000;

  private Latency() {}

  /**
   * Measures, and prints p50 and p99 in microseconds.
   *
   * @param arguments host:port, and how many memories the user has (1000)
   */
  public static void main(String[] arguments) {
    String target = arguments.length > 0 ? arguments[0] : MemlaneClient.DEFAULT_TARGET;
    int memories = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1_000;
    try (MemlaneClient client = MemlaneClient.connect(target)) {
      String user = "latency-" + UUID.randomUUID();
      fill(client, user, memories);
      measure(client, user, memories);
      client.compliance().forgetUser(user, "latency", "end of the measurement");
    }
  }

  private static void fill(MemlaneClient client, String user, int memories) {
    IntStream.range(0, memories)
        .parallel()
        .forEach(i -> client.memories().create(user, "第 " + i + " 笔汇款, payment no. " + 37L * i));
  }

  private static void measure(MemlaneClient client, String user, int memories) {
    SearchMemoriesRequest search =
        SearchMemoriesRequest.newBuilder()
            .setUserId(user)
            .setEmbeddingF32(
                randomVector(client.diagnostics().serverInfo().getEmbedder().getDimension()))
            .build();
    ByteString payload = ByteString.copyFrom(search.toByteArray());
    long[] echo = new long[CALLS];
    long[] unary = new long[CALLS];
    long[] streamed = new long[CALLS];
    try (SearchStream stream = client.memories().openSearchStream()) {
      for (int i = -WARM_UP; i < CALLS; i++) {
        long began = System.nanoTime();
        client.diagnostics().echo(payload);
        long echoed = System.nanoTime();
        client.memories().search(search);
        long searched = System.nanoTime();
        stream.search(search).join();
        long answered = System.nanoTime();
        if (i >= 0) {
          echo[i] = echoed - began;
          unary[i] = searched - echoed;
          streamed[i] = answered - searched;
        }
      }
    }
    System.out.printf("%d memories, %d calls each%n", memories, CALLS);
    report("echo", echo, echo);
    report("search", unary, echo);
    report("streamed search", streamed, echo);
  }

  private static void report(String name, long[] nanos, long[] echo) {
    System.out.printf(
        "%-16s p50 %6.0f us   p99 %6.0f us   p50 of the echo x %.3f%n",
        name,
        quantile(nanos, 0.5) / 1e3,
        quantile(nanos, 0.99) / 1e3,
        (double) quantile(nanos, 0.5) / quantile(echo, 0.5));
  }

  private static long quantile(long[] nanos, double q) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return sorted[(int) (q * (sorted.length - 1))];
  }

  private static ByteString randomVector(int dimension) {
    Random random = new Random(7);
    float[] values = new float[dimension];
    for (int i = 0; i < dimension; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return Values.vector(values);
  }
}

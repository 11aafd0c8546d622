package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.memlane.testing.FakeServer;
import io.memlane.v1.ComplianceServiceGrpc.ComplianceServiceImplBase;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.CreateMemoryResponse;
import io.memlane.v1.ExportSummary;
import io.memlane.v1.ExportUserRequest;
import io.memlane.v1.ExportUserResponse;
import io.memlane.v1.Memory;
import io.memlane.v1.MemoryServiceGrpc.MemoryServiceImplBase;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.StreamSearchMemoriesRequest;
import io.memlane.v1.StreamSearchMemoriesResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Against a server that fails on demand, since no real one does. */
@Tag("local")
class RetryTest {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final AtomicInteger failuresToCome = new AtomicInteger();
  private Status failure = Status.UNAVAILABLE.withDescription("draining");
  private FakeServer server;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer(0, new FlakyMemories(), new FlakyCompliance());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void aWriteIsTriedAgainUnderOneRequestId() {
    failuresToCome.set(3);
    try (MemlaneClient client = quick().build()) {
      assertEquals("m-1", client.memories().create("c-1001", "住在杭州").getMemory().getMemoryId());
    }
    List<String> ids =
        server.requests().stream().map(r -> ((CreateMemoryRequest) r).getRequestId()).toList();
    assertEquals(4, ids.size());
    assertEquals(1, ids.stream().distinct().count());
    assertNotEquals("", ids.get(0));
  }

  @Test
  void aReadIsTriedAgainUntilThereAreNoTriesLeft() {
    failuresToCome.set(100);
    try (MemlaneClient client = quick().build()) {
      MemlaneException.Unavailable error =
          assertThrows(
              MemlaneException.Unavailable.class, () -> client.memories().search("c-1001", "杭州"));
      assertTrue(error.getMessage().contains("draining"));
    }
    assertEquals(4, server.requests().size());
  }

  @Test
  void aStreamBeginsAnewWhileNothingOfItHasArrived() {
    failuresToCome.set(2);
    try (MemlaneClient client = quick().build();
        ResponseStream<ExportUserResponse> records =
            client.compliance().exportUser("c-1001", "dpo", "客户要求")) {
      assertTrue(records.next().hasSummary());
    }
    assertEquals(3, server.requests().size());
  }

  @Test
  void aStreamOfRequestsIsNot() {
    failuresToCome.set(1);
    try (MemlaneClient client = quick().build();
        SearchStream stream = client.memories().openSearchStream()) {
      CompletionException error =
          assertThrows(CompletionException.class, () -> stream.search("c-1001", "杭州").join());
      assertEquals(MemlaneException.Unavailable.class, error.getCause().getClass());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Status.Code.class,
      names = {"OK", "UNAVAILABLE", "CANCELLED"},
      mode = EnumSource.Mode.EXCLUDE)
  void nothingElseIsTriedAgain(Status.Code code) {
    failure = code.toStatus();
    failuresToCome.set(1);
    try (MemlaneClient client = quick().build()) {
      MemlaneException error =
          assertThrows(MemlaneException.class, () -> client.memories().search("c-1001", "杭州"));
      assertEquals(code, error.code());
    }
    assertEquals(1, server.requests().size());
  }

  @Test
  void triesCanBeSwitchedOff() {
    failuresToCome.set(1);
    try (MemlaneClient client = quick().retry(RetryPolicy.NONE).build()) {
      assertThrows(
          MemlaneException.Unavailable.class, () -> client.memories().search("c-1001", "杭州"));
    }
    assertEquals(1, server.requests().size());
  }

  @Test
  void aWriteWithoutARequestIdIsTriedOnce() {
    try (MemlaneClient client = quick().requestIds(false).build()) {
      failuresToCome.set(1);
      assertThrows(
          MemlaneException.Unavailable.class, () -> client.memories().create("c-1001", "住在杭州"));
      failuresToCome.set(1);
      client.memories().search("c-1001", "杭州");
    }
    assertEquals(3, server.requests().size());
  }

  @Test
  void aPauseDoesNotOutlastTheDeadline() {
    failuresToCome.set(100);
    RetryPolicy patient = new RetryPolicy(5, Duration.ofDays(1), Duration.ofDays(1), 1);
    try (MemlaneClient client = quick().retry(patient).build()) {
      Memories hasty = client.memories().withTimeout(Duration.ofMillis(300));
      assertThrows(MemlaneException.DeadlineExceeded.class, () -> hasty.search("c-1001", "杭州"));
    }
    assertEquals(1, server.requests().size());
  }

  @Test
  void theTokenIsAskedForAtEachTry() {
    failuresToCome.set(2);
    AtomicInteger asked = new AtomicInteger();
    try (MemlaneClient client = quick().token(() -> "t-" + asked.incrementAndGet()).build()) {
      client.memories().search("c-1001", "杭州");
      client.memories().withToken("of-the-call").search("c-1001", "杭州");
    }
    assertEquals(
        List.of("Bearer t-1", "Bearer t-2", "Bearer t-3", "Bearer of-the-call"),
        server.headers().stream().map(headers -> headers.get(AUTHORIZATION)).toList());
  }

  @Test
  void aTokenSourceThatFailsFailsTheCall() {
    try (MemlaneClient client =
        quick()
            .token(
                () -> {
                  throw new IllegalStateException("the vault is closed");
                })
            .build()) {
      MemlaneException.Unauthenticated error =
          assertThrows(
              MemlaneException.Unauthenticated.class,
              () -> client.memories().search("c-1001", "杭州"));
      assertEquals("the vault is closed", error.getCause().getCause().getMessage());
    }
    assertEquals(0, server.requests().size());
  }

  @Test
  void aServerThatComesBackIsFound() throws IOException {
    int port = server.port();
    try (MemlaneClient client = quick().build()) {
      client.memories().search("c-1001", "杭州");
      server.close();
      MemlaneException.Unavailable error =
          assertThrows(
              MemlaneException.Unavailable.class, () -> client.memories().search("c-1001", "杭州"));
      assertEquals("", error.reason());
      server = new FakeServer(port, new FlakyMemories());
      long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (!answers(client) && System.nanoTime() < end) {
        LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
      }
    }
    assertEquals(1, server.requests().size());
  }

  private static boolean answers(MemlaneClient client) {
    try {
      client.memories().search("c-1001", "杭州");
      return true;
    } catch (MemlaneException.Unavailable away) {
      return false;
    }
  }

  private MemlaneClient.Builder quick() {
    return MemlaneClient.builder(server.address())
        .retry(new RetryPolicy(4, Duration.ofMillis(1), Duration.ofMillis(10), 2));
  }

  private boolean fails(StreamObserver<?> observer) {
    if (failuresToCome.getAndUpdate(n -> Math.max(n - 1, 0)) == 0) {
      return false;
    }
    observer.onError(failure.asRuntimeException());
    return true;
  }

  private final class FlakyMemories extends MemoryServiceImplBase {
    @Override
    public void createMemory(
        CreateMemoryRequest request, StreamObserver<CreateMemoryResponse> observer) {
      if (!fails(observer)) {
        observer.onNext(
            CreateMemoryResponse.newBuilder()
                .setMemory(Memory.newBuilder().setMemoryId("m-1"))
                .build());
        observer.onCompleted();
      }
    }

    @Override
    public void searchMemories(
        SearchMemoriesRequest request, StreamObserver<SearchMemoriesResponse> observer) {
      if (!fails(observer)) {
        observer.onNext(SearchMemoriesResponse.getDefaultInstance());
        observer.onCompleted();
      }
    }

    @Override
    public StreamObserver<StreamSearchMemoriesRequest> streamSearchMemories(
        StreamObserver<StreamSearchMemoriesResponse> observer) {
      fails(observer);
      return Observers.ignoring();
    }
  }

  private final class FlakyCompliance extends ComplianceServiceImplBase {
    @Override
    public void exportUser(ExportUserRequest request, StreamObserver<ExportUserResponse> observer) {
      if (!fails(observer)) {
        observer.onNext(
            ExportUserResponse.newBuilder().setSummary(ExportSummary.getDefaultInstance()).build());
        observer.onCompleted();
      }
    }
  }
}

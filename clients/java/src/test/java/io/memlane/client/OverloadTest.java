package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.ErrorInfo;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.memlane.testing.FakeServer;
import io.memlane.testing.MemlaneServer;
import io.memlane.v1.ChatRequest;
import io.memlane.v1.ChatResponse;
import io.memlane.v1.ContextServiceGrpc.ContextServiceImplBase;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.CreateMemoryResponse;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.MemoryServiceGrpc.MemoryServiceImplBase;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.StreamSearchMemoriesRequest;
import io.memlane.v1.StreamSearchMemoriesResponse;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** CANCELLED that nobody asked for is how an overloaded server refuses a call unread. */
@Tag("local")
class OverloadTest {
  private static final int CALLERS = 64;
  private static final int CALLS_EACH = 32;
  private static final ChatRequest CHAT = StreamsTest.CHAT;

  /** What the server does with each call. */
  private volatile Consumer<StreamObserver<?>> script = OverloadTest::refuse;

  private FakeServer server;
  private MemlaneClient client;

  @BeforeEach
  void start() throws IOException {
    server = new FakeServer(0, new ScriptedMemories(), new ScriptedContexts());
    client = MemlaneClient.connect(server.address());
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  @Test
  void aReadThatIsRefusedIsAnOverloadAndNotTriedAgain() {
    MemlaneException error =
        assertThrows(MemlaneException.class, () -> client.memories().search("c-1001", "杭州"));
    assertTooBusy(error);
    assertEquals("", error.requestId());
    assertEquals(1, server.requests().size());
  }

  @Test
  void aWriteThatIsRefusedKeepsItsRequestId() {
    MemlaneException error =
        assertThrows(MemlaneException.class, () -> client.memories().create("c-1001", "住在杭州"));
    assertTooBusy(error);
    CreateMemoryRequest sent = (CreateMemoryRequest) server.requests().get(0);
    assertEquals(sent.getRequestId(), error.requestId());
    assertEquals(1, server.requests().size());
  }

  @Test
  void aStreamThatIsRefusedIsAnOverload() {
    assertTooBusy(
        assertThrows(MemlaneException.class, () -> client.contexts().chat(CHAT, delta -> {})));
    try (SearchStream stream = client.memories().openSearchStream()) {
      Throwable failure =
          assertThrows(CompletionException.class, () -> stream.search("c-1001", "杭州").join())
              .getCause();
      assertTooBusy(assertInstanceOf(MemlaneException.class, failure));
    }
  }

  @Test
  void aRawStubSeesTheWireAndItsErrorIsTypedByHand() {
    StatusRuntimeException failure =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                MemoryServiceGrpc.newBlockingStub(client.channel())
                    .searchMemories(SearchMemoriesRequest.getDefaultInstance()));
    assertEquals(Status.Code.CANCELLED, failure.getStatus().getCode());
    assertTooBusy(MemlaneException.of(failure));
  }

  @Test
  void aStreamThatIsCutOffWasRead() {
    script =
        answers -> {
          @SuppressWarnings("unchecked") // a chat's
          StreamObserver<ChatResponse> events = (StreamObserver<ChatResponse>) answers;
          events.onNext(ChatResponse.newBuilder().setDelta("半句").build());
          refuse(answers);
        };
    try (ResponseStream<ChatResponse> events = client.contexts().chat(CHAT)) {
      assertEquals("半句", events.next().getDelta());
      assertThrows(MemlaneException.Cancelled.class, events::hasNext);
    }
  }

  @Test
  void aCancellationWithAReasonIsTheServersOwnWord() {
    ErrorInfo info = ErrorInfo.newBuilder().setReason("CANCELLED").setDomain("memlane.io").build();
    com.google.rpc.Status told =
        com.google.rpc.Status.newBuilder().setCode(1).addDetails(Any.pack(info)).build();
    script = answers -> answers.onError(StatusProto.toStatusRuntimeException(told));
    MemlaneException.Cancelled error =
        assertThrows(
            MemlaneException.Cancelled.class, () -> client.memories().search("c-1001", "杭州"));
    assertEquals("CANCELLED", error.reason());
  }

  @Test
  void aFutureThatIsCancelledStaysCancelled() throws Exception {
    CountDownLatch arrived = new CountDownLatch(1);
    script = answers -> arrived.countDown();
    AtomicReference<Throwable> failed = new AtomicReference<>();
    CountDownLatch ended = new CountDownLatch(1);
    ListenableFuture<SearchMemoriesResponse> future =
        MemoryServiceGrpc.newFutureStub(client.channel())
            .searchMemories(SearchMemoriesRequest.getDefaultInstance());
    assertTrue(arrived.await(30, TimeUnit.SECONDS));
    future.cancel(true);
    assertThrows(CancellationException.class, future::get);

    Context.CancellableContext context = Context.current().withCancellation();
    context.run(
        () ->
            MemoryServiceGrpc.newStub(client.channel())
                .searchMemories(
                    SearchMemoriesRequest.getDefaultInstance(),
                    new StreamObserver<>() {
                      @Override
                      public void onNext(SearchMemoriesResponse response) {}

                      @Override
                      public void onError(Throwable failure) {
                        failed.set(failure);
                        ended.countDown();
                      }

                      @Override
                      public void onCompleted() {
                        ended.countDown();
                      }
                    }));
    context.cancel(null);
    assertTrue(ended.await(30, TimeUnit.SECONDS));
    StatusRuntimeException failure =
        assertInstanceOf(StatusRuntimeException.class, failed.get());
    assertInstanceOf(MemlaneException.Cancelled.class, MemlaneException.of(failure));
  }

  @Test
  void aStreamThatIsClosedStaysCancelled() {
    script = answers -> {};
    ResponseStream<ChatResponse> events = client.contexts().chat(CHAT);
    events.close();
    assertThrows(MemlaneException.Cancelled.class, events::hasNext);
  }

  /** Against a server that never answers: a fast answer may win over the interrupt. */
  @Test
  void anInterruptEndsTheCallAndStaysWithTheThread() {
    script = answers -> {};
    Thread.currentThread().interrupt();
    assertThrows(
        MemlaneException.Cancelled.class, () -> client.memories().search("c-1001", "杭州"));
    assertTrue(Thread.interrupted());
  }

  @Test
  void aFailureOfThisSideIsNoOverload() {
    MemlaneException error =
        Errors.of(Status.CANCELLED.withDescription("interrupted").asRuntimeException());
    assertInstanceOf(MemlaneException.Cancelled.class, error);
  }

  /** A real server with hardly any room, and more calls at once than it reads. */
  @Test
  void aFloodMeetsAnswersAndOverloadsOnly(@TempDir Path directory) throws Exception {
    Map<String, String> hardlyAnyRoom = Map.of("MEMLANE_SERVER__MAX_WAITING_CALLS", "2");
    ExecutorService threads = Executors.newFixedThreadPool(CALLERS);
    try (MemlaneServer busy = MemlaneServer.start(directory, hardlyAnyRoom);
        MemlaneClient many = MemlaneClient.connect(busy.address())) {
      flood(threads, () -> many.diagnostics().echo(ByteString.copyFromUtf8("突发 burst")));
      flood(threads, () -> searchOverStream(many));
    } finally {
      threads.shutdownNow();
    }
  }

  /** One call of a flood. */
  private interface Attempt {
    void run() throws Exception;
  }

  private static void flood(ExecutorService threads, Attempt attempt) throws Exception {
    List<Future<Integer>> outcomes = new ArrayList<>();
    for (int caller = 0; caller < CALLERS; caller++) {
      outcomes.add(threads.submit(() -> refusals(attempt)));
    }
    int refused = 0;
    for (Future<Integer> outcome : outcomes) {
      refused += outcome.get();
    }
    int answered = CALLERS * CALLS_EACH - refused;
    assertTrue(refused > 0 && answered > 0, refused + " refused, " + answered + " answered");
    attempt.run();
  }

  private static int refusals(Attempt attempt) throws Exception {
    int refused = 0;
    for (int call = 0; call < CALLS_EACH; call++) {
      try {
        attempt.run();
      } catch (MemlaneException error) {
        assertTooBusy(error);
        refused++;
      }
    }
    return refused;
  }

  private static void searchOverStream(MemlaneClient client) throws Exception {
    try (SearchStream stream = client.memories().openSearchStream()) {
      stream.search("c-1001", "杭州").get();
    } catch (ExecutionException failure) {
      throw assertInstanceOf(MemlaneException.class, failure.getCause());
    }
  }

  private static void assertTooBusy(MemlaneException error) {
    assertInstanceOf(MemlaneException.ResourceExhausted.class, error);
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, error.code());
    assertEquals("OVERLOADED", error.reason());
    assertEquals(
        "OVERLOADED: the server was too busy to read the call: try it again after a pause",
        error.getMessage());
    assertTrue(error.retryAfter().isEmpty());
    Status wire = assertInstanceOf(StatusRuntimeException.class, error.getCause()).getStatus();
    assertEquals(Status.Code.CANCELLED, wire.getCode());
  }

  private static void refuse(StreamObserver<?> answers) {
    answers.onError(Status.CANCELLED.asRuntimeException());
  }

  private final class ScriptedMemories extends MemoryServiceImplBase {
    @Override
    public void createMemory(
        CreateMemoryRequest request, StreamObserver<CreateMemoryResponse> answers) {
      script.accept(answers);
    }

    @Override
    public void searchMemories(
        SearchMemoriesRequest request, StreamObserver<SearchMemoriesResponse> answers) {
      script.accept(answers);
    }

    @Override
    public StreamObserver<StreamSearchMemoriesRequest> streamSearchMemories(
        StreamObserver<StreamSearchMemoriesResponse> answers) {
      script.accept(answers);
      return Observers.ignoring();
    }
  }

  private final class ScriptedContexts extends ContextServiceImplBase {
    @Override
    public void chat(ChatRequest request, StreamObserver<ChatResponse> answers) {
      script.accept(answers);
    }
  }
}

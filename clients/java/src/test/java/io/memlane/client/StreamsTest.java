package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.memlane.testing.FakeServer;
import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import io.memlane.v1.BuildContextResponse;
import io.memlane.v1.ChatDone;
import io.memlane.v1.ChatRequest;
import io.memlane.v1.ChatResponse;
import io.memlane.v1.ContextServiceGrpc.ContextServiceImplBase;
import io.memlane.v1.ExportUserResponse;
import io.memlane.v1.ExportUserResponse.RecordCase;
import io.memlane.v1.MemoryServiceGrpc.MemoryServiceImplBase;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.StreamSearchMemoriesRequest;
import io.memlane.v1.StreamSearchMemoriesResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SharedServer.Resolver.class)
class StreamsTest {
  static final ChatRequest CHAT =
      ChatRequest.newBuilder()
          .setUserId("c-1001")
          .setSessionId("s-7")
          .setMessage(Values.user("帮我看看新的方案"))
          .build();

  private final MemlaneClient client;

  StreamsTest(SharedServer server) {
    client = server.client();
  }

  @AfterAll
  void close() {
    client.close();
  }

  @Test
  void answersComeInTheOrderOfTheSearches() {
    List<String> users = IntStream.range(0, 10).mapToObj(i -> Users.any()).toList();
    users.forEach(user -> client.memories().create(user, "客户是 " + user));
    List<String> order = new ArrayList<>();
    List<CompletableFuture<?>> answers = new ArrayList<>();
    try (SearchStream stream = client.memories().openSearchStream()) {
      for (int i = 0; i < 3 * SearchStream.MAX_UNDER_WAY; i++) {
        String user = users.get(i % users.size());
        answers.add(
            stream
                .search(user, "客户是谁")
                .thenAccept(
                    found -> {
                      assertEquals(user, found.getResults(0).getMemory().getUserId());
                      order.add(user);
                    }));
      }
    }
    answers.forEach(CompletableFuture::join);
    assertEquals(
        IntStream.range(0, answers.size()).mapToObj(i -> users.get(i % users.size())).toList(),
        order);
  }

  @Test
  void aSearchThatFailsDoesNotEndTheStream() {
    String user = Users.any();
    client.memories().create(user, "Prefers e-mail");
    try (SearchStream stream = client.memories().openSearchStream()) {
      CompletableFuture<SearchMemoriesResponse> refused = stream.search("global", "everyone's");
      CompletableFuture<SearchMemoriesResponse> found = stream.search(user, "怎么联系");
      MemlaneException.InvalidArgument error =
          assertInstanceOf(
              MemlaneException.InvalidArgument.class,
              assertThrows(CompletionException.class, refused::join).getCause());
      assertEquals("user_id", error.violations().get(0).field().replace("search.", ""));
      assertEquals("Prefers e-mail", found.join().getResults(0).getMemory().getContent());
    }
  }

  @Test
  void aStreamSeesItsClientsWrites() {
    String user = Users.any();
    try (SearchStream stream = client.memories().openSearchStream()) {
      for (int i = 1; i <= 20; i++) {
        client.memories().create(user, "第 " + i + " 条");
        assertEquals(Math.min(i, 5), stream.search(user, "条").join().getResultsCount());
      }
    }
  }

  @Test
  void threadsShareAStream() {
    String user = Users.any();
    client.memories().create(user, "住在杭州");
    try (SearchStream stream = client.memories().openSearchStream()) {
      int found =
          IntStream.range(0, 400)
              .parallel()
              .map(i -> stream.search(user, "住在哪里").join().getResultsCount())
              .sum();
      assertEquals(400, found);
    }
  }

  @Test
  void aStreamThatIsClosedTakesNothing() {
    SearchStream stream = client.memories().openSearchStream();
    stream.close();
    stream.close();
    CompletionException error =
        assertThrows(CompletionException.class, () -> stream.search("c-1001", "杭州").join());
    assertInstanceOf(MemlaneException.Cancelled.class, error.getCause());
  }

  @Test
  void whenTheConnectionIsLostEveryAnswerFails() throws Exception {
    CountDownLatch arrived = new CountDownLatch(2);
    FakeServer server =
        new FakeServer(0, searchesAnsweredBy((request, answers) -> arrived.countDown()));
    try (MemlaneClient lost = MemlaneClient.connect(server.address());
        SearchStream stream = lost.memories().openSearchStream()) {
      List<CompletableFuture<SearchMemoriesResponse>> waiting =
          List.of(stream.search("a", "杭州"), stream.search("b", "Leeds"));
      assertTrue(arrived.await(30, TimeUnit.SECONDS));
      server.close();
      for (CompletableFuture<SearchMemoriesResponse> one : waiting) {
        // Which one depends on whether the end of the stream or of the connection is seen first.
        assertInstanceOf(
            MemlaneException.class, assertThrows(CompletionException.class, one::join).getCause());
      }
      assertTrue(stream.search("c", "later").isCompletedExceptionally());
    }
  }

  @Test
  void anAnswerOutOfOrderEndsTheStream() throws Exception {
    StreamSearchMemoriesResponse wrong =
        StreamSearchMemoriesResponse.newBuilder().setCorrelationId("another").build();
    try (FakeServer server =
            new FakeServer(0, searchesAnsweredBy((q, answers) -> answers.onNext(wrong)));
        MemlaneClient misled = MemlaneClient.connect(server.address());
        SearchStream stream = misled.memories().openSearchStream()) {
      CompletionException error =
          assertThrows(CompletionException.class, () -> stream.search("a", "杭州").join());
      assertInstanceOf(MemlaneException.Internal.class, error.getCause());
      assertTrue(stream.search("a", "杭州").isCompletedExceptionally());
    }
  }

  @Test
  void anExportEndsWithItsSummary() {
    String user = Users.any();
    client.memories().rememberFacts(user, "住在杭州", "Prefers e-mail");
    client.sessions().append(user, "s-1", Values.user("你好"), Values.assistant("您好！"));
    List<RecordCase> kinds = new ArrayList<>();
    long memories = 0;
    try (ResponseStream<ExportUserResponse> records =
        client.compliance().exportUser(user, "dpo@bank", "客户要求提供数据")) {
      for (ExportUserResponse one : records) {
        kinds.add(one.getRecordCase());
        memories = one.getSummary().getMemoryCount();
      }
      assertThrows(NoSuchElementException.class, records::next);
    }
    assertEquals(2, memories);
    assertEquals(2, kinds.stream().filter(RecordCase.MEMORY::equals).count());
    assertEquals(2, kinds.stream().filter(RecordCase.MESSAGE::equals).count());
    assertTrue(kinds.contains(RecordCase.AUDIT_EVENT));
    assertEquals(RecordCase.SUMMARY, kinds.get(kinds.size() - 1));
  }

  @Test
  void aChatTellsItsAnswerPieceByPiece() throws Exception {
    try (FakeServer server = new FakeServer(0, chat(answers -> whole(answers, "好的，", "我来看看。")));
        MemlaneClient talker = MemlaneClient.connect(server.address())) {
      StringBuilder said = new StringBuilder();
      ChatDone done = talker.contexts().chat(CHAT, said::append);
      assertEquals("好的，我来看看。", said.toString());
      assertEquals("好的，我来看看。", done.getMessage().getContent());
      assertFalse(((ChatRequest) server.requests().get(0)).getRequestId().isEmpty());

      try (ResponseStream<ChatResponse> events = talker.contexts().chat(CHAT)) {
        assertTrue(events.next().hasContext());
        assertTrue(events.next().hasDelta());
      }
    }
  }

  @Test
  void aStreamIsNeverSilentlyShort() throws Exception {
    try (FakeServer server =
            new FakeServer(
                0,
                chat(
                    answers -> {
                      answers.onNext(ChatResponse.newBuilder().setDelta("好的").build());
                      answers.onCompleted();
                    }));
        MemlaneClient talker = MemlaneClient.connect(server.address())) {
      assertThrows(
          MemlaneException.Internal.class, () -> talker.contexts().chat(CHAT, delta -> {}));
    }
  }

  @Test
  void closingAStreamCancelsItsCall() throws Exception {
    CountDownLatch cancelled = new CountDownLatch(1);
    try (FakeServer server =
            new FakeServer(
                0,
                chat(
                    answers -> {
                      ((ServerCallStreamObserver<?>) answers)
                          .setOnCancelHandler(cancelled::countDown);
                      answers.onNext(ChatResponse.newBuilder().setDelta("好的").build());
                    }));
        MemlaneClient talker = MemlaneClient.connect(server.address())) {
      try (ResponseStream<ChatResponse> events = talker.contexts().chat(CHAT)) {
        assertEquals("好的", events.next().getDelta());
      }
      assertTrue(cancelled.await(30, TimeUnit.SECONDS));
    }
  }

  @Test
  void closingTheClientEndsItsStreams() throws Exception {
    try (FakeServer server = new FakeServer(0, chat(answers -> {}))) {
      MemlaneClient talker = MemlaneClient.connect(server.address());
      ResponseStream<ChatResponse> events = talker.contexts().chat(CHAT);
      talker.close();
      assertThrows(MemlaneException.class, events::hasNext);
      assertThrows(
          MemlaneException.Unavailable.class, () -> talker.memories().search("c-1001", "杭州"));
    }
  }

  private static void whole(StreamObserver<ChatResponse> answers, String... deltas) {
    answers.onNext(
        ChatResponse.newBuilder().setContext(BuildContextResponse.getDefaultInstance()).build());
    for (String delta : deltas) {
      answers.onNext(ChatResponse.newBuilder().setDelta(delta).build());
    }
    ChatDone done =
        ChatDone.newBuilder().setMessage(Values.assistant(String.join("", deltas))).build();
    answers.onNext(ChatResponse.newBuilder().setDone(done).build());
    answers.onCompleted();
  }

  private static ContextServiceImplBase chat(Consumer<StreamObserver<ChatResponse>> script) {
    return new ContextServiceImplBase() {
      @Override
      public void chat(ChatRequest request, StreamObserver<ChatResponse> answers) {
        script.accept(answers);
      }
    };
  }

  /** What a server does with one search. */
  private interface Answering {
    void answer(
        SearchMemoriesRequest request, StreamObserver<StreamSearchMemoriesResponse> answers);
  }

  private static MemoryServiceImplBase searchesAnsweredBy(Answering answering) {
    return new MemoryServiceImplBase() {
      @Override
      public StreamObserver<StreamSearchMemoriesRequest> streamSearchMemories(
          StreamObserver<StreamSearchMemoriesResponse> answers) {
        return new StreamObserver<>() {
          @Override
          public void onNext(StreamSearchMemoriesRequest request) {
            answering.answer(request.getSearch(), answers);
          }

          @Override
          public void onError(Throwable failure) {}

          @Override
          public void onCompleted() {
            answers.onCompleted();
          }
        };
      }
    };
  }
}

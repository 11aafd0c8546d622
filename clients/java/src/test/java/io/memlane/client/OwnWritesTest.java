package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.MethodDescriptor;
import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import io.memlane.v1.BatchSearchMemoriesRequest;
import io.memlane.v1.BuildContextRequest;
import io.memlane.v1.Consistency;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.CreateMemoryResponse;
import io.memlane.v1.GetMemoryRequest;
import io.memlane.v1.ListMemoriesRequest;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.UpsertKnowledgeRequest;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.Resolver.class)
class OwnWritesTest {
  private final ConcurrentLinkedDeque<Object> sent = new ConcurrentLinkedDeque<>();
  private final String user = Users.any();
  private MemlaneClient client;

  @BeforeEach
  void open(SharedServer server) {
    client = server.builder().configure(channel -> channel.intercept(new Recorder())).build();
  }

  @AfterEach
  void close() {
    client.close();
  }

  @Test
  void aReadAsksForTheUsersLastWrite() {
    client.memories().search(user, "杭州");
    assertFalse(last(SearchMemoriesRequest.class).hasConsistency(), "nothing was written yet");

    client.memories().create(user, "住在杭州");
    String token = client.memories().create(user, "Prefers e-mail").getWrittenAt().getToken();

    client.memories().search(user, "杭州");
    assertEquals(Values.atLeast(token), last(SearchMemoriesRequest.class).getConsistency());
    client.memories().search(Users.any(), "杭州");
    assertFalse(
        last(SearchMemoriesRequest.class).hasConsistency(),
        "another user's write does not concern it");
  }

  @Test
  void aCallersOwnChoiceStands() {
    String id = client.memories().create(user, "住在杭州").getMemory().getMemoryId();
    GetMemoryRequest request =
        GetMemoryRequest.newBuilder()
            .setUserId(user)
            .setMemoryId(id)
            .setConsistency(Values.minimizeLatency())
            .build();
    client.memories().get(request);
    assertEquals(request, last(GetMemoryRequest.class));
  }

  @Test
  void listsAreFullyConsistent() {
    client.memories().list(ListMemoriesRequest.newBuilder().setUserId(user).build());
    assertEquals(Values.fullyConsistent(), last(ListMemoriesRequest.class).getConsistency());
  }

  @Test
  void eachSearchOfABatchAsksForItsOwnUsersWrites() {
    String token = client.memories().create(user, "住在杭州").getWrittenAt().getToken();
    client.memories().batchSearch(List.of(search(Users.any()), search(user)));
    BatchSearchMemoriesRequest batch = last(BatchSearchMemoriesRequest.class);
    assertFalse(batch.getSearches(0).hasConsistency());
    assertEquals(Values.atLeast(token), batch.getSearches(1).getConsistency());
  }

  @Test
  void aContextSeesUserAndTenant() {
    client.memories().create(user, "住在杭州");
    String token =
        client
            .knowledge()
            .upsert(UpsertKnowledgeRequest.newBuilder().setContent("装修贷款：额度最高100万元").build())
            .getWrittenAt()
            .getToken();
    client.contexts().build(user, "装修贷款");
    assertEquals(Values.atLeast(token), last(BuildContextRequest.class).getConsistency());
  }

  @Test
  void everyWriteHasARequestId() {
    client.memories().create(user, "住在杭州");
    String made = last(CreateMemoryRequest.class).getRequestId();
    client.memories().create(user, "住在杭州");
    assertEquals(36, made.length());
    assertNotEquals(made, last(CreateMemoryRequest.class).getRequestId());
  }

  @Test
  void theSameRequestIdWritesOnce() {
    CreateMemoryRequest request =
        CreateMemoryRequest.newBuilder()
            .setUserId(user)
            .setContent("住在杭州")
            .setRequestId("订单-" + UUID.randomUUID())
            .build();
    CreateMemoryResponse first = client.memories().create(request);
    client.memories().create(user, "Prefers e-mail");
    assertEquals(first, client.memories().create(request));

    // The answer was recorded before the other write: its token must not take the place of the
    // newer one.
    client.memories().search(user, "杭州");
    assertEquals(Values.fullyConsistent(), last(SearchMemoriesRequest.class).getConsistency());
    client.memories().search(user, "杭州");
    assertTrue(
        last(SearchMemoriesRequest.class).getConsistency().hasAtLeastAsFresh(),
        "the read has settled it");
  }

  @Test
  void rawStubsAreNoDifferent() throws Exception {
    MemoryServiceGrpc.MemoryServiceFutureStub stub =
        MemoryServiceGrpc.newFutureStub(client.channel());
    CreateMemoryRequest request =
        CreateMemoryRequest.newBuilder().setUserId(user).setContent("住在杭州").build();
    String token = stub.createMemory(request).get().getWrittenAt().getToken();
    assertFalse(last(CreateMemoryRequest.class).getRequestId().isEmpty());
    stub.searchMemories(search(user)).get();
    assertEquals(Values.atLeast(token), last(SearchMemoriesRequest.class).getConsistency());
  }

  @Test
  void allOfItCanBeSwitchedOff(SharedServer server) {
    try (MemlaneClient plain =
        server
            .builder()
            .readYourWrites(false)
            .requestIds(false)
            .configure(channel -> channel.intercept(new Recorder()))
            .build()) {
      plain.memories().create(user, "住在杭州");
      assertEquals("", last(CreateMemoryRequest.class).getRequestId());
      plain.memories().search(user, "杭州");
      assertFalse(last(SearchMemoriesRequest.class).hasConsistency());
      plain.memories().list(ListMemoriesRequest.newBuilder().setUserId(user).build());
      assertFalse(last(ListMemoriesRequest.class).hasConsistency());
    }
  }

  @Test
  void aScopeHandsItsWritesOn(SharedServer server) {
    CausalScope writer = client.causalScope();
    assertTrue(writer.token().isEmpty());
    String written = writer.memories().create(user, "住在杭州").getWrittenAt().getToken();
    assertEquals(written, writer.token().orElseThrow());

    try (MemlaneClient elsewhere =
        server.builder().configure(c -> c.intercept(new Recorder())).build()) {
      CausalScope reader = elsewhere.causalScope(written);
      assertEquals(1, reader.memories().search(user, "住在哪里").getResultsCount());
      assertEquals(Values.atLeast(written), last(SearchMemoriesRequest.class).getConsistency());
      reader.memories().search(Users.any(), "住在哪里");
      assertEquals(Values.atLeast(written), last(SearchMemoriesRequest.class).getConsistency());

      String next =
          reader.memories().create(Users.any(), "Prefers e-mail").getWrittenAt().getToken();
      assertEquals(next, reader.token().orElseThrow());
      assertEquals(written, writer.token().orElseThrow(), "scopes are apart");
    }
  }

  @Test
  void everyThreadFindsWhatItWrote() {
    List<Integer> found =
        IntStream.range(0, 48)
            .parallel()
            .mapToObj(
                i -> {
                  String own = i % 2 == 0 ? user : Users.any();
                  String id =
                      client.memories().create(own, "第 " + i + " 条").getMemory().getMemoryId();
                  return client.memories().get(own, id).getMemory().getMemoryId().equals(id)
                      ? 1
                      : 0;
                })
            .toList();
    assertEquals(48, found.stream().mapToInt(Integer::intValue).sum());
    Consistency settled = null;
    for (int i = 0; i < 2; i++) {
      client.memories().search(user, "条");
      settled = last(SearchMemoriesRequest.class).getConsistency();
    }
    assertTrue(settled.hasAtLeastAsFresh(), "writes at the same time are settled by a read");
  }

  private static SearchMemoriesRequest search(String user) {
    return SearchMemoriesRequest.newBuilder().setUserId(user).setQuery("住在哪里").build();
  }

  private <T> T last(Class<T> type) {
    return type.cast(sent.getLast());
  }

  /** Keeps the requests as they leave. */
  private final class Recorder implements ClientInterceptor {
    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(
        MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void sendMessage(Q message) {
          sent.add(message);
          super.sendMessage(message);
        }
      };
    }
  }
}

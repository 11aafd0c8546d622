package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.FieldMask;
import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import io.memlane.v1.Action;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.GetIngestionResponse;
import io.memlane.v1.IngestionState;
import io.memlane.v1.ListIngestionsRequest;
import io.memlane.v1.ListMemoriesRequest;
import io.memlane.v1.Memory;
import io.memlane.v1.MemoryOrder;
import io.memlane.v1.MemoryRevision;
import io.memlane.v1.RememberMode;
import io.memlane.v1.RememberOperation;
import io.memlane.v1.RememberRequest;
import io.memlane.v1.RememberResponse;
import io.memlane.v1.RetryIngestionRequest;
import io.memlane.v1.ScoredMemory;
import io.memlane.v1.SearchMemoriesRequest;
import io.memlane.v1.UpdateMemoryRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SharedServer.Resolver.class)
class MemoriesTest {
  private final MemlaneClient client;
  private final Memories memories;

  MemoriesTest(SharedServer server) {
    client = server.client();
    memories = client.memories();
  }

  @AfterAll
  void close() {
    client.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "我有两个孩子。 | 顺便说一下，我现在有三个孩子了。 | 三个孩子",
        "I have two children. | By the way, I have three children now. | three children",
      })
  void aChangedFactTakesThePlaceOfTheOldOne(String first, String second, String expected) {
    String user = Users.any();
    Memory learned =
        only(memories.remember(user, Values.user(first)), Action.ACTION_ADD).getMemory();

    RememberOperation changed =
        only(memories.remember(user, Values.user(second)), Action.ACTION_UPDATE);

    assertEquals(learned.getMemoryId(), changed.getMemory().getMemoryId());
    assertEquals(learned.getContent(), changed.getPrevious().getContent());
    assertTrue(changed.getMemory().getContent().contains(expected), changed.toString());
    assertEquals(List.of(changed.getMemory()), all(memories.listAll(user)));
    assertEquals(
        List.of(Action.ACTION_ADD, Action.ACTION_UPDATE),
        all(memories.listAllRevisions(user, learned.getMemoryId())).stream()
            .map(MemoryRevision::getAction)
            .toList());
  }

  @Test
  void whatTheAssistantSaysIsNoFact() {
    RememberResponse learned =
        memories.remember(Users.any(), Values.user("今天天气不错"), Values.assistant("您有两个孩子，住在杭州。"));
    assertEquals(List.of(), learned.getOperationsList());
  }

  @Test
  void statedFactsAreDecidedInOrder() {
    String user = Users.any();
    RememberResponse learned =
        memories.rememberFacts(user, "Prefers e-mail", "客户对花生过敏", "Prefers e-mail");
    assertEquals(
        List.of(Action.ACTION_ADD, Action.ACTION_ADD, Action.ACTION_NOOP),
        learned.getOperationsList().stream().map(RememberOperation::getAction).toList());
  }

  @Test
  void onlyDecidingWritesNothing() {
    String user = Users.any();
    RememberRequest request =
        RememberRequest.newBuilder()
            .setUserId(user)
            .setValidateOnly(true)
            .setFacts(
                io.memlane.v1.FactList.newBuilder()
                    .addFacts(Values.fact("住在杭州", Duration.ofDays(30))))
            .build();
    only(memories.remember(request), Action.ACTION_ADD);
    assertEquals(List.of(), all(memories.listAll(user)));
  }

  @Test
  void anIngestionTellsHowItWent() {
    String user = Users.any();
    RememberRequest request =
        RememberRequest.newBuilder()
            .setUserId(user)
            .setMode(RememberMode.REMEMBER_MODE_ASYNC)
            .setConversation(
                io.memlane.v1.Conversation.newBuilder().addMessages(Values.user("我住在杭州，对花生过敏。")))
            .build();
    String id = memories.remember(request).getIngestionId();

    GetIngestionResponse outcome = finished(user, id);

    assertEquals(IngestionState.INGESTION_STATE_SUCCEEDED, outcome.getState());
    assertFalse(outcome.getOperationsList().isEmpty());
    ListIngestionsRequest list = ListIngestionsRequest.newBuilder().setUserId(user).build();
    assertEquals(id, memories.listIngestions(list).getIngestions(0).getIngestionId());
    RetryIngestionRequest retry =
        RetryIngestionRequest.newBuilder().setUserId(user).setIngestionId(id).build();
    assertEquals(
        IngestionState.INGESTION_STATE_SUCCEEDED,
        memories.retryIngestion(retry).getIngestion().getState());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "客户偏好电子邮件联系",
        "Prefers e-mail; 'quotes', \"double\" and \\backslashes\\",
        "𠮷野家 👨‍👩‍👧 ｆｕｌｌ ｗｉｄｔｈ é e\u0301",
        "line one\nline two\tand a tab",
      })
  void textsComeBackAsTheyWent(String content) {
    String user = Users.any();
    Memory memory = memories.create(user, content).getMemory();
    assertEquals(content, memory.getContent());
    assertEquals(memory, memories.get(user, memory.getMemoryId()).getMemory());
    assertEquals(memory, memories.search(user, content).getResults(0).getMemory());
  }

  @Test
  void idsThatLookAlikeAreDifferentUsers() {
    String composed = Users.any() + "-é";
    String decomposed = composed.replace("é", "e\u0301");
    Memory memory = memories.create(composed, "住在杭州").getMemory();
    assertThrows(
        MemlaneException.NotFound.class, () -> memories.get(decomposed, memory.getMemoryId()));
    assertEquals(0, memories.search(decomposed, "住在哪里").getResultsCount());
  }

  @Test
  void aMemoryThatWasReadIsChangedOnlyIfNobodyWasFaster() {
    String user = Users.any();
    Memory read = memories.create(user, "预算 30 万元").getMemory();
    Memory changed = memories.update(read, "预算 50 万元").getMemory();
    assertEquals(2, changed.getRevision());

    MemlaneException.RevisionMismatch late =
        assertThrows(
            MemlaneException.RevisionMismatch.class, () -> memories.update(read, "预算 80 万元"));

    assertEquals(2, late.currentRevision().orElseThrow());
    assertEquals(changed, memories.get(user, read.getMemoryId()).getMemory());
  }

  @Test
  void labelsAndLifetimesComeAndGo() {
    String user = Users.any();
    CreateMemoryRequest request =
        CreateMemoryRequest.newBuilder()
            .setUserId(user)
            .setContent("Budget of 50,000 pounds")
            .putMetadata("渠道", "网点")
            .setTtl(Values.duration(Duration.ofDays(30)))
            .build();
    Memory memory = memories.create(request).getMemory();
    assertEquals(Map.of("渠道", "网点"), memory.getMetadataMap());
    assertEquals(
        Duration.ofDays(30),
        Duration.between(
                Values.instant(memory.getCreateTime()), Values.instant(memory.getExpireTime()))
            .plusMillis(999)
            .truncatedTo(java.time.temporal.ChronoUnit.DAYS));

    UpdateMemoryRequest clear =
        UpdateMemoryRequest.newBuilder()
            .setUserId(user)
            .setMemoryId(memory.getMemoryId())
            .setUpdateMask(FieldMask.newBuilder().addPaths("metadata").addPaths("ttl"))
            .build();
    Memory cleared = memories.update(clear).getMemory();

    assertEquals(Map.of(), cleared.getMetadataMap());
    assertFalse(cleared.hasExpireTime());
    assertEquals(memory.getContent(), cleared.getContent());
  }

  @Test
  void aDeletedMemoryIsGoneAndItsHistoryStays() {
    String user = Users.any();
    String id = memories.create(user, "计划明年开分店").getMemory().getMemoryId();
    assertTrue(memories.delete(user, id).getMemory().hasDeleteTime());

    assertThrows(MemlaneException.NotFound.class, () -> memories.get(user, id));
    assertThrows(MemlaneException.NotFound.class, () -> memories.delete(user, id));
    assertEquals(0, memories.search(user, "分店").getResultsCount());
    assertEquals(2, all(memories.listAllRevisions(user, id)).size());
  }

  @Test
  void listsRunThroughAllPages() {
    String user = Users.any();
    List<String> contents = IntStream.range(0, 7).mapToObj(i -> "第 " + i + " 条").toList();
    contents.forEach(content -> memories.create(user, content));
    ListMemoriesRequest request =
        ListMemoriesRequest.newBuilder()
            .setUserId(user)
            .setPageSize(3)
            .setOrder(MemoryOrder.MEMORY_ORDER_CREATE_TIME_ASC)
            .build();

    assertEquals(3, memories.list(request).getMemoriesCount());
    Iterable<Memory> everything = memories.listAll(request);
    assertEquals(contents, all(everything).stream().map(Memory::getContent).toList());
    assertEquals(contents.size(), all(everything).size(), "it can be read twice");
    assertEquals(List.of(), all(memories.listAll(Users.any())));
  }

  @Test
  void aVectorFindsWhatItsTextFinds() {
    String user = Users.any();
    int dimension = client.diagnostics().serverInfo().getEmbedder().getDimension();
    float[] vector = new float[dimension];
    vector[0] = 1;
    memories.rememberFacts(user, "对花生过敏", "Flies to Shanghai every month");

    assertEquals(2, memories.search(user, vector).getResultsCount());
    SearchMemoriesRequest request =
        SearchMemoriesRequest.newBuilder()
            .setUserId(user)
            .setQuery("有什么忌口？")
            .setTopK(1)
            .setIncludeScoreParts(true)
            .build();
    ScoredMemory best = memories.search(request).getResults(0);
    assertEquals("对花生过敏", best.getMemory().getContent());
    assertTrue(best.hasCosine() && best.hasLexical());
    assertThrows(
        MemlaneException.InvalidArgument.class, () -> memories.search(user, new float[] {1, 0}));
  }

  @Test
  void aBatchAnswersEachSearchForItself() {
    String first = Users.any();
    String second = Users.any();
    memories.create(first, "住在杭州");
    memories.create(second, "Lives in Leeds");
    List<Outcome> outcomes =
        memories.batchSearch(
            List.of(
                searchOf(first, "住在哪里"),
                searchOf("", "nobody"),
                searchOf(second, "Where does she live?")));

    assertEquals("住在杭州", outcomes.get(0).get().getResults(0).getMemory().getContent());
    MemlaneException refused = outcomes.get(1).error().orElseThrow();
    assertEquals("INVALID_FIELD", refused.reason());
    assertEquals("user_id", refused.violations().get(0).field());
    assertThrows(MemlaneException.InvalidArgument.class, outcomes.get(1)::get);
    assertEquals("Lives in Leeds", outcomes.get(2).get().getResults(0).getMemory().getContent());
  }

  @Test
  void aThousandSearchesInOneCall() {
    String user = Users.any();
    memories.create(user, "住在杭州");
    List<Outcome> outcomes =
        memories.batchSearch(
            IntStream.range(0, 1000).mapToObj(i -> searchOf(user, "住在哪里")).toList());
    assertEquals(1000, outcomes.size());
    assertTrue(outcomes.stream().allMatch(outcome -> outcome.get().getResultsCount() == 1));
  }

  private GetIngestionResponse finished(String user, String id) {
    GetIngestionResponse outcome;
    do {
      outcome = memories.getIngestion(user, id);
    } while (outcome.getState() == IngestionState.INGESTION_STATE_PENDING
        || outcome.getState() == IngestionState.INGESTION_STATE_RUNNING);
    return outcome;
  }

  private static SearchMemoriesRequest searchOf(String user, String query) {
    return SearchMemoriesRequest.newBuilder().setUserId(user).setQuery(query).build();
  }

  private static RememberOperation only(RememberResponse response, Action action) {
    assertEquals(1, response.getOperationsCount(), response::toString);
    assertEquals(action, response.getOperations(0).getAction());
    return response.getOperations(0);
  }

  private static <T> List<T> all(Iterable<T> items) {
    return StreamSupport.stream(items.spliterator(), false).toList();
  }
}

package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import io.memlane.v1.AuditEvent;
import io.memlane.v1.BuildContextRequest;
import io.memlane.v1.BuildContextResponse;
import io.memlane.v1.DeleteKnowledgeRequest;
import io.memlane.v1.ErasureReceipt;
import io.memlane.v1.ForgetUserResponse;
import io.memlane.v1.GetRulesRequest;
import io.memlane.v1.GetServerInfoResponse;
import io.memlane.v1.Knowledge;
import io.memlane.v1.Message;
import io.memlane.v1.PurgeExpiredRequest;
import io.memlane.v1.RuleSet;
import io.memlane.v1.UpsertKnowledgeRequest;
import io.memlane.v1.UpsertKnowledgeResponse;
import io.memlane.v1.VerifyAuditLogResponse;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/** The services beside MemoryService, on a real server. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SharedServer.Resolver.class)
class ServicesTest {
  private final MemlaneClient client;
  private final String user = Users.any();

  ServicesTest(SharedServer server) {
    client = server.client();
  }

  @AfterAll
  void close() {
    client.close();
  }

  @Test
  void aSessionIsHeardAndLearnedFromOnce() {
    client.sessions().append(user, "会话-7", Values.user("我对花生过敏。"), Values.assistant("好的，已记下。"));
    List<String> window =
        client.sessions().window(user, "会话-7").getMessagesList().stream()
            .map(Message::getContent)
            .toList();
    assertEquals(List.of("我对花生过敏。", "好的，已记下。"), window);
    assertEquals(0, client.sessions().window(Users.any(), "会话-7").getMessagesCount());

    assertEquals(1, client.sessions().end(user, "会话-7").getOperationsCount());
    assertTrue(client.sessions().end(user, "会话-7").getAlreadyEnded());
  }

  @Test
  void aContextHoldsWhatMattersAndFitsItsBudget() {
    String customer = Users.any();
    client.memories().rememberFacts(customer, "客户对花生过敏", "客户偏好电子邮件联系");
    client.sessions().append(customer, "s-1", Values.user("你好"), Values.assistant("您好！"));
    BuildContextResponse context =
        client
            .contexts()
            .build(
                BuildContextRequest.newBuilder()
                    .setUserId(customer)
                    .setSessionId("s-1")
                    .setQuery("客户有什么忌口？")
                    .setBudgetTokens(800)
                    .build());
    assertTrue(context.getSystemPrompt().contains("【用户历史信息】"));
    assertTrue(context.getSystemPrompt().contains("花生"));
    assertEquals(2, context.getMessagesCount());
    assertTrue(context.getTotalTokens() <= 800);
    assertTrue(client.contexts().build(customer, "How do we reach her?").getMemoriesCount() > 0);
  }

  @Test
  void knowledgeIsKeptFoundAndRemoved() {
    String id = "kb-" + UUID.randomUUID();
    UpsertKnowledgeRequest request =
        UpsertKnowledgeRequest.newBuilder()
            .setKnowledgeId(id)
            .setTitle("远期结售汇")
            .setContent("远期结汇：与银行约定未来的结汇汇率，锁定外币收款的人民币金额。")
            .build();
    UpsertKnowledgeResponse made = client.knowledge().upsert(request);
    assertTrue(made.getCreated());
    assertEquals(made.getKnowledge(), client.knowledge().get(id).getKnowledge());
    assertTrue(ids(client.knowledge().listAll()).contains(id));
    assertEquals(
        id, client.knowledge().search("锁定外币收款的汇率").getResults(0).getKnowledge().getKnowledgeId());

    client.knowledge().delete(DeleteKnowledgeRequest.newBuilder().setKnowledgeId(id).build());
    assertThrows(MemlaneException.NotFound.class, () -> client.knowledge().get(id));
  }

  @Test
  void rulesHaveRevisions() {
    List<String> rules = List.of("先确认公司注册地。", "Never promise returns.");
    RuleSet put = client.rules().put(rules).getRuleSet();
    assertEquals(put, client.rules().get().getRuleSet());
    client.rules().put(List.of());
    GetRulesRequest earlier = GetRulesRequest.newBuilder().setRevision(put.getRevision()).build();
    assertEquals(put, client.rules().get(earlier).getRuleSet());
    List<RuleSet> revisions = all(client.rules().listAllRevisions());
    assertTrue(revisions.contains(put));
    assertTrue(revisions.get(0).getRevision() > put.getRevision());
  }

  @Test
  void anErasureLeavesProofAndNothingElse() {
    String customer = Users.any();
    client.memories().rememberFacts(customer, "住在杭州", "Prefers e-mail");
    ForgetUserResponse forgotten = client.compliance().forgetUser(customer, "dpo@bank", "客户要求删除");
    ErasureReceipt receipt = forgotten.getReceipt();
    assertEquals(2, forgotten.getMemoryCount());
    assertEquals(0, client.memories().search(customer, "住在哪里").getResultsCount());
    assertFalse(client.compliance().getLegalHold(customer).getLegalHold().getActive());

    List<AuditEvent> events = all(client.compliance().listAllAuditEvents(customer));
    assertTrue(events.stream().anyMatch(event -> event.getAction().equals("FORGET")));
    assertTrue(events.stream().noneMatch(event -> event.getDetail().contains("杭州")));
    assertTrue(client.compliance().verifyAuditLog(receipt).getValid());

    ErasureReceipt forged = receipt.toBuilder().setAuditHeadHash("0".repeat(64)).build();
    VerifyAuditLogResponse broken = client.compliance().verifyAuditLog(forged);
    assertFalse(broken.getValid());
    assertEquals(receipt.getLastAuditSeq(), broken.getFirstBadSeq());
  }

  @Test
  void thePurgeCanBeAskedFor() {
    PurgeExpiredRequest request =
        PurgeExpiredRequest.newBuilder().setOperator("ops").setReason("每周清理").build();
    assertFalse(client.compliance().purgeExpired(request).getWrittenAt().getToken().isEmpty());
  }

  @Test
  void theServerIntroducesItself() {
    ByteString payload = ByteString.copyFromUtf8("你好, \u0000 memlane");
    assertEquals(payload, client.diagnostics().echo(payload));
    GetServerInfoResponse info = client.diagnostics().serverInfo();
    assertEquals(2048, info.getLimits().getMaxContentBytes());
  }

  /**
   * Each call of the contract has a method that takes its whole request, but for those that take
   * its parts.
   */
  @Test
  void noCallIsMissing() {
    Set<Class<?>> taken =
        Stream.of(
                Memories.class,
                Sessions.class,
                Contexts.class,
                KnowledgeBase.class,
                Rules.class,
                Compliance.class,
                Diagnostics.class)
            .flatMap(group -> Arrays.stream(group.getMethods()))
            .map(Method::getParameterTypes)
            .flatMap(Arrays::stream)
            .collect(Collectors.toSet());
    Set<String> missing =
        Rpc.all().stream()
            .map(rpc -> rpc.descriptor().getInputType())
            .filter(type -> taken.stream().noneMatch(t -> t.getSimpleName().equals(type.getName())))
            .map(type -> type.getName())
            .collect(Collectors.toSet());
    assertEquals(
        Set.of(
            "BatchSearchMemoriesRequest",
            "StreamSearchMemoriesRequest",
            "EchoRequest",
            "GetServerInfoRequest"),
        missing);
  }

  private static List<String> ids(Iterable<Knowledge> knowledge) {
    return all(knowledge).stream().map(Knowledge::getKnowledgeId).toList();
  }

  private static <T> List<T> all(Iterable<T> items) {
    return StreamSupport.stream(items.spliterator(), false).toList();
  }
}

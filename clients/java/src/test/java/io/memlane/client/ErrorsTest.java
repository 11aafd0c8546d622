package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import io.memlane.v1.ChatRequest;
import io.memlane.v1.CreateMemoryRequest;
import io.memlane.v1.ErrorReason;
import io.memlane.v1.ForgetUserRequest;
import io.memlane.v1.Memory;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.SetLegalHoldRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SharedServer.Resolver.class)
class ErrorsTest {
  private final MemlaneClient client;
  private final String user = Users.any();

  ErrorsTest(SharedServer server) {
    client = server.client();
  }

  @AfterAll
  void close() {
    client.close();
  }

  @Test
  void everyWrongFieldIsNamed() {
    CreateMemoryRequest request =
        CreateMemoryRequest.newBuilder()
            .setContent("汉".repeat(683))
            .setTtl(Values.duration(Duration.ofSeconds(-1)))
            .build();
    MemlaneException.InvalidArgument error =
        assertThrows(
            MemlaneException.InvalidArgument.class, () -> client.memories().create(request));

    assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
    assertEquals("INVALID_FIELD", error.reason());
    List<String> fields = error.violations().stream().map(FieldViolation::field).sorted().toList();
    assertEquals(List.of("content", "ttl", "user_id"), fields);
    assertTrue(error.violations().stream().noneMatch(v -> v.description().contains("汉")));
    assertFalse(error.requestId().isEmpty(), "the id that this write was given");
    assertInstanceOf(StatusRuntimeException.class, error.getCause());
  }

  @Test
  void anotherUsersMemoryIsNotFound() {
    Memory memory = client.memories().create(user, "住在杭州").getMemory();
    MemlaneException.NotFound error =
        assertThrows(
            MemlaneException.NotFound.class,
            () -> client.memories().get(Users.any(), memory.getMemoryId()));
    assertEquals("NOT_FOUND", error.reason());
    assertEquals(memory.getMemoryId(), error.metadata().get("id"));
    assertEquals("", error.requestId(), "a read has none");
  }

  @Test
  void aRequestIdServesOneRequest() {
    CreateMemoryRequest.Builder request =
        CreateMemoryRequest.newBuilder().setUserId(user).setRequestId("r-1");
    client.memories().create(request.setContent("A").build());
    MemlaneException.AlreadyExists error =
        assertThrows(
            MemlaneException.RequestIdReused.class,
            () -> client.memories().create(request.setContent("B").build()));
    assertEquals("r-1", error.requestId());
  }

  @Test
  void chatNeedsAModel() {
    ChatRequest request =
        ChatRequest.newBuilder()
            .setUserId(user)
            .setSessionId("s-1")
            .setMessage(Values.user("帮我看看新的方案"))
            .build();
    MemlaneException.NotConfigured error =
        assertThrows(
            MemlaneException.NotConfigured.class,
            () -> client.contexts().chat(request, delta -> {}));
    assertFalse(error.metadata().get("setting").isEmpty());
  }

  @Test
  void aHoldKeepsTheRows() {
    SetLegalHoldRequest hold =
        SetLegalHoldRequest.newBuilder()
            .setUserId(user)
            .setActive(true)
            .setOperator("法务")
            .setReason("诉讼")
            .build();
    assertTrue(client.compliance().setLegalHold(hold).getLegalHold().getActive());
    ForgetUserRequest forget =
        ForgetUserRequest.newBuilder()
            .setUserId(user)
            .setOperator("dpo")
            .setReason("客户要求删除")
            .setPurgeNow(true)
            .build();
    assertThrows(MemlaneException.LegalHold.class, () -> client.compliance().forgetUser(forget));
    assertFalse(
        client
            .compliance()
            .setLegalHold(hold.toBuilder().setActive(false).build())
            .getLegalHold()
            .getActive());
  }

  @Test
  void aCallThatRunsOutOfTimeSaysSo() {
    Memories hasty = client.memories().withTimeout(Duration.ofNanos(1));
    MemlaneException.DeadlineExceeded error =
        assertThrows(MemlaneException.DeadlineExceeded.class, () -> hasty.create(user, "住在杭州"));
    assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
    assertEquals("", error.reason(), "gRPC itself raised it");
    assertFalse(error.requestId().isEmpty());
  }

  @Test
  void anErrorOfARawStubIsTypedByHand() {
    StatusRuntimeException failure =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                MemoryServiceGrpc.newBlockingStub(client.channel())
                    .createMemory(CreateMemoryRequest.getDefaultInstance()));
    MemlaneException error = MemlaneException.of(failure);
    assertInstanceOf(MemlaneException.InvalidArgument.class, error);
    assertSame(failure, error.getCause());
    assertFalse(error.requestId().isEmpty());
  }

  @ParameterizedTest
  @EnumSource(value = Status.Code.class, mode = EnumSource.Mode.EXCLUDE, names = "OK")
  void everyCodeIsKept(Status.Code code) {
    MemlaneException error = Errors.of(code.toStatus().withDescription("why").asRuntimeException());
    assertEquals(code, error.code());
    assertEquals(code.name() + ": why", error.getMessage());
    String simple = code.name().replace("_", "");
    boolean named = error.getClass() != MemlaneException.class;
    assertTrue(!named || error.getClass().getSimpleName().equalsIgnoreCase(simple));
    boolean without = List.of(Status.Code.UNKNOWN, Status.Code.OUT_OF_RANGE).contains(code);
    assertEquals(!without, named);
  }

  @Test
  void aReasonNeverChangesTheCode() {
    MemlaneException error =
        Errors.of(status(Status.Code.UNAVAILABLE, "REVISION_MISMATCH", "memlane.io"));
    assertInstanceOf(MemlaneException.Unavailable.class, error);
  }

  @Test
  void anotherServicesReasonIsNotOurs() {
    MemlaneException error =
        Errors.of(status(Status.Code.ABORTED, "REVISION_MISMATCH", "gateway.example"));
    assertEquals(MemlaneException.Aborted.class, error.getClass());
    assertEquals("", error.reason());
  }

  @Test
  void detailsThatAreMalformedAreLeftOut() {
    Any broken =
        Any.newBuilder()
            .setTypeUrl("type.googleapis.com/google.rpc.ErrorInfo")
            .setValue(com.google.protobuf.ByteString.copyFromUtf8("\u0007"))
            .build();
    MemlaneException error =
        Errors.of(
            StatusProto.toStatusRuntimeException(
                com.google.rpc.Status.newBuilder()
                    .setCode(5)
                    .setMessage("gone")
                    .addDetails(broken)
                    .build()));
    assertInstanceOf(MemlaneException.NotFound.class, error);
    assertEquals("", error.reason());
  }

  @Test
  void aPauseIsTold() {
    StatusRuntimeException failure =
        StatusProto.toStatusRuntimeException(
            com.google.rpc.Status.newBuilder()
                .setCode(Status.Code.RESOURCE_EXHAUSTED.value())
                .addDetails(
                    Any.pack(
                        RetryInfo.newBuilder()
                            .setRetryDelay(Values.duration(Duration.ofMillis(1500)))
                            .build()))
                .build());
    assertEquals(Duration.ofMillis(1500), Errors.of(failure).retryAfter().orElseThrow());
  }

  @Test
  void theStatusOfAPartIsAnErrorLikeAnyOther() {
    io.memlane.v1.Status status =
        io.memlane.v1.Status.newBuilder()
            .setCode(Status.Code.ABORTED.value())
            .setMessage("moved on")
            .setReason(ErrorReason.ERROR_REASON_REVISION_MISMATCH)
            .putMetadata("current", "7")
            .setRetryAfter(Values.duration(Duration.ofSeconds(2)))
            .build();
    MemlaneException error = Errors.of(status).orElseThrow();
    assertEquals(
        7,
        assertInstanceOf(MemlaneException.RevisionMismatch.class, error).currentRevision().get());
    assertEquals(Duration.ofSeconds(2), error.retryAfter().orElseThrow());
    assertTrue(Errors.of(io.memlane.v1.Status.getDefaultInstance()).isEmpty());
    io.memlane.v1.Status newer = status.toBuilder().setReasonValue(9999).build();
    assertEquals("", Errors.of(newer).orElseThrow().reason());
  }

  @Test
  void errorsTravel() throws Exception {
    MemlaneException error =
        Errors.of(status(Status.Code.ABORTED, "REVISION_MISMATCH", "memlane.io"));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(
          Errors.of(io.memlane.v1.Status.newBuilder().setCode(10).build()).orElseThrow());
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      MemlaneException copy = (MemlaneException) in.readObject();
      assertEquals(error.code(), copy.code());
      assertEquals(Map.of(), copy.metadata());
    }
  }

  private static StatusRuntimeException status(Status.Code code, String reason, String domain) {
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(code.value())
            .addDetails(
                Any.pack(ErrorInfo.newBuilder().setReason(reason).setDomain(domain).build()))
            .build());
  }
}

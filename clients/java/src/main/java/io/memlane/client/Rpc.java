package io.memlane.client;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Message;
import io.memlane.v1.ChatResponse;
import io.memlane.v1.ComplianceServiceProto;
import io.memlane.v1.ConsistencyToken;
import io.memlane.v1.ContextServiceProto;
import io.memlane.v1.DiagnosticsServiceProto;
import io.memlane.v1.ExportUserResponse;
import io.memlane.v1.KnowledgeServiceProto;
import io.memlane.v1.MemoryServiceProto;
import io.memlane.v1.RuleServiceProto;
import io.memlane.v1.SessionServiceProto;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the client knows about one RPC, read from the contract's descriptors. */
final class Rpc {
  /** How long a call usually takes: which default deadline it has. */
  enum Pace {
    READ,
    WRITE,
    /** May wait for a language model. */
    MODEL,
    /** Goes through all data of a user, or of the server. */
    BULK,
    /** Lives until it is closed. */
    OPEN
  }

  /** Scope of what has no user: knowledge and rules. No user_id is empty. */
  static final String TENANT = "";

  private static final Map<String, Pace> PACES =
      Map.of(
          "Remember", Pace.MODEL,
          "EndSession", Pace.MODEL,
          "Chat", Pace.MODEL,
          "ForgetUser", Pace.BULK,
          "ExportUser", Pace.BULK,
          "SetLegalHold", Pace.BULK,
          "VerifyAuditLog", Pace.BULK,
          "PurgeExpired", Pace.BULK,
          "StreamSearchMemories", Pace.OPEN);

  private static final Map<String, Rpc> ALL =
      Stream.of(
              MemoryServiceProto.getDescriptor(),
              SessionServiceProto.getDescriptor(),
              ContextServiceProto.getDescriptor(),
              KnowledgeServiceProto.getDescriptor(),
              RuleServiceProto.getDescriptor(),
              ComplianceServiceProto.getDescriptor(),
              DiagnosticsServiceProto.getDescriptor())
          .map(FileDescriptor::getServices)
          .flatMap(Collection::stream)
          .flatMap(service -> service.getMethods().stream())
          .map(Rpc::new)
          .collect(Collectors.toUnmodifiableMap(Rpc::fullName, Function.identity()));

  private final MethodDescriptor descriptor;
  private final Pace pace;
  private final FieldDescriptor requestId;
  private final FieldDescriptor consistency;
  private final FieldDescriptor userId;
  private final Function<Message, String> writtenAt;
  private final Function<Message, String> readAt;

  private Rpc(MethodDescriptor descriptor) {
    this.descriptor = descriptor;
    Descriptor request = descriptor.getInputType();
    requestId = request.findFieldByName("request_id");
    consistency = request.findFieldByName("consistency");
    userId = request.findFieldByName("user_id");
    pace = PACES.getOrDefault(descriptor.getName(), requestId == null ? Pace.READ : Pace.WRITE);
    writtenAt = token("written_at");
    readAt = token("read_at");
  }

  /**
   * By gRPC's full name ({@code memlane.v1.MemoryService/GetMemory}); null for a method of another
   * service.
   */
  static Rpc of(String fullName) {
    return ALL.get(fullName);
  }

  static Collection<Rpc> all() {
    return ALL.values();
  }

  String service() {
    return descriptor.getService().getFullName();
  }

  String name() {
    return descriptor.getName();
  }

  MethodDescriptor descriptor() {
    return descriptor;
  }

  private String fullName() {
    return service() + "/" + name();
  }

  /** Whether it changes something. */
  boolean writes() {
    return requestId != null;
  }

  /** Whether what failed may be sent again; a stream of requests may not, they are gone. */
  boolean repeatable() {
    return !descriptor.isClientStreaming();
  }

  /** Default deadline; null = none. */
  Duration timeout(Timeouts timeouts) {
    return switch (pace) {
      case READ -> timeouts.read();
      case WRITE -> timeouts.write();
      case MODEL -> timeouts.model();
      case BULK -> timeouts.bulk();
      case OPEN -> null;
    };
  }

  /** The field that holds the idempotency key; null for a read. */
  FieldDescriptor requestIdField() {
    return requestId;
  }

  /** The field that says how fresh to read; null where the caller has no choice. */
  FieldDescriptor consistencyField() {
    return consistency;
  }

  /**
   * User ids, or TENANT, that a request reads or writes. Empty = everything: lists, whose page
   * tokens hold for one consistency only, and Chat, whose repeat must be the same request byte for
   * byte.
   */
  List<String> scopes(Message request) {
    return switch (name()) {
      case "Chat", "VerifyAuditLog" -> List.of();
      case "BuildContext" -> List.of(user(request), TENANT);
      default -> name().startsWith("List") ? List.of() : writtenScopes(request);
    };
  }

  /** The same for what a write changed: never empty. */
  List<String> writtenScopes(Message request) {
    return List.of(userId == null ? TENANT : user(request));
  }

  /** Token of the write that a response tells of; empty where there is none. */
  String writtenAt(Message response) {
    return writtenAt.apply(response);
  }

  /** Token of the state that a response was read at; empty where there is none. */
  String readAt(Message response) {
    return readAt.apply(response);
  }

  private String user(Message request) {
    return (String) request.getField(userId);
  }

  private Function<Message, String> token(String field) {
    if (name().equals("Chat")) {
      return field.equals("written_at")
          ? response -> ((ChatResponse) response).getDone().getWrittenAt().getToken()
          : response -> "";
    }
    if (name().equals("ExportUser")) {
      return field.equals("read_at")
          ? response -> ((ExportUserResponse) response).getSummary().getReadAt().getToken()
          : response -> "";
    }
    FieldDescriptor found = descriptor.getOutputType().findFieldByName(field);
    return found == null
        ? response -> ""
        : response -> ((ConsistencyToken) response.getField(found)).getToken();
  }
}

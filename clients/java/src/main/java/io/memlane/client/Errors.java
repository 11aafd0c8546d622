package io.memlane.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.memlane.client.MemlaneException.Details;
import io.memlane.v1.ErrorReason;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;

/** From statuses to exceptions. */
final class Errors {
  /** Set by the client itself on the trailers of a failed write; never sent. */
  static final Metadata.Key<String> REQUEST_ID =
      Metadata.Key.of("memlane-client-request-id", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * Set by the client itself on the trailers of a call that was refused unread; never sent. The
   * status stays the one that came over the wire, so that it is the cause of the exception.
   */
  static final Metadata.Key<String> UNREAD =
      Metadata.Key.of("memlane-client-unread", Metadata.ASCII_STRING_MARSHALLER);

  private static final String UNREAD_REASON = "OVERLOADED";
  private static final String UNREAD_MESSAGE =
      "the server was too busy to read the call: try it again after a pause";

  private static final String REASON_PREFIX = "ERROR_REASON_";
  private static final String DOMAIN = "memlane.io";

  /** How to make the exception of one code or reason. */
  private interface Maker extends BiFunction<Details, Throwable, MemlaneException> {}

  /** A reason's class, and the code that it belongs to. */
  private record Precise(Status.Code code, Maker maker) {}

  private static final Map<String, Precise> BY_REASON =
      Map.of(
          "REQUEST_ID_REUSED",
          new Precise(Status.Code.ALREADY_EXISTS, MemlaneException.RequestIdReused::new),
          "REVISION_MISMATCH",
          new Precise(Status.Code.ABORTED, MemlaneException.RevisionMismatch::new),
          "USER_FORGOTTEN",
          new Precise(Status.Code.ABORTED, MemlaneException.UserForgotten::new),
          "NOT_CONFIGURED",
          new Precise(Status.Code.FAILED_PRECONDITION, MemlaneException.NotConfigured::new),
          "LEGAL_HOLD",
          new Precise(Status.Code.FAILED_PRECONDITION, MemlaneException.LegalHold::new));

  private static final Map<Status.Code, Maker> BY_CODE =
      Map.ofEntries(
          Map.entry(Status.Code.INVALID_ARGUMENT, MemlaneException.InvalidArgument::new),
          Map.entry(Status.Code.NOT_FOUND, MemlaneException.NotFound::new),
          Map.entry(Status.Code.ALREADY_EXISTS, MemlaneException.AlreadyExists::new),
          Map.entry(Status.Code.ABORTED, MemlaneException.Aborted::new),
          Map.entry(Status.Code.FAILED_PRECONDITION, MemlaneException.FailedPrecondition::new),
          Map.entry(Status.Code.RESOURCE_EXHAUSTED, MemlaneException.ResourceExhausted::new),
          Map.entry(Status.Code.UNAVAILABLE, MemlaneException.Unavailable::new),
          Map.entry(Status.Code.DEADLINE_EXCEEDED, MemlaneException.DeadlineExceeded::new),
          Map.entry(Status.Code.CANCELLED, MemlaneException.Cancelled::new),
          Map.entry(Status.Code.UNAUTHENTICATED, MemlaneException.Unauthenticated::new),
          Map.entry(Status.Code.PERMISSION_DENIED, MemlaneException.PermissionDenied::new),
          Map.entry(Status.Code.UNIMPLEMENTED, MemlaneException.Unimplemented::new),
          Map.entry(Status.Code.DATA_LOSS, MemlaneException.DataLoss::new),
          Map.entry(Status.Code.INTERNAL, MemlaneException.Internal::new));

  private Errors() {}

  /** The error of a failed call. */
  static MemlaneException of(StatusRuntimeException failure) {
    Status status = failure.getStatus();
    com.google.rpc.Status sent = StatusProto.fromThrowable(failure);
    List<Any> details = sent == null ? List.of() : sent.getDetailsList();
    ErrorInfo info =
        detail(details, ErrorInfo.class)
            .filter(i -> i.getDomain().equals(DOMAIN))
            .orElse(ErrorInfo.getDefaultInstance());
    if (refusedUnread(failure) && info.getReason().isEmpty()) {
      return unread(failure);
    }
    return make(
        new Details(
            status.getCode(),
            status.getDescription() == null ? "" : status.getDescription(),
            info.getReason(),
            Map.copyOf(info.getMetadataMap()),
            detail(details, BadRequest.class).map(Errors::violations).orElse(List.of()),
            detail(details, RetryInfo.class)
                .map(i -> Values.duration(i.getRetryDelay()))
                .orElse(null),
            requestId(failure.getTrailers())),
        failure);
  }

  /** The error of one part of a call; empty where the part succeeded. */
  static Optional<MemlaneException> of(io.memlane.v1.Status status) {
    if (status.getCode() == 0) {
      return Optional.empty();
    }
    return Optional.of(
        make(
            new Details(
                Status.fromCodeValue(status.getCode()).getCode(),
                status.getMessage(),
                reason(status.getReason()),
                Map.copyOf(status.getMetadataMap()),
                status.getFieldViolationsList().stream()
                    .map(v -> new FieldViolation(v.getField(), v.getDescription()))
                    .toList(),
                status.hasRetryAfter() ? Values.duration(status.getRetryAfter()) : null,
                ""),
            null));
  }

  /** An error that the client itself finds. */
  static MemlaneException internal(String message) {
    return make(new Details(Status.Code.INTERNAL, message), null);
  }

  private static boolean refusedUnread(StatusRuntimeException failure) {
    Metadata trailers = failure.getTrailers();
    return failure.getStatus().getCode() == Status.Code.CANCELLED
        && trailers != null
        && trailers.containsKey(UNREAD);
  }

  private static MemlaneException unread(StatusRuntimeException failure) {
    return make(
        new Details(
            Status.Code.RESOURCE_EXHAUSTED,
            UNREAD_MESSAGE,
            UNREAD_REASON,
            Map.of(),
            List.of(),
            null,
            requestId(failure.getTrailers())),
        failure);
  }

  private static MemlaneException make(Details details, Throwable cause) {
    Precise precise = BY_REASON.get(details.reason());
    // A reason never changes its code; if a server says otherwise, the code is what callers act on.
    if (precise != null && precise.code() == details.code()) {
      return precise.maker().apply(details, cause);
    }
    Maker maker = BY_CODE.get(details.code());
    return maker == null ? new MemlaneException(details, cause) : maker.apply(details, cause);
  }

  private static <T extends Message> Optional<T> detail(List<Any> details, Class<T> type) {
    for (Any any : details) {
      if (any.is(type)) {
        try {
          return Optional.of(any.unpack(type));
        } catch (InvalidProtocolBufferException malformed) {
          // The status itself still tells what happened; a detail that cannot be read adds nothing
          // to it.
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  private static List<FieldViolation> violations(BadRequest request) {
    return request.getFieldViolationsList().stream()
        .map(v -> new FieldViolation(v.getField(), v.getDescription()))
        .toList();
  }

  private static String reason(ErrorReason reason) {
    boolean named =
        reason != ErrorReason.UNRECOGNIZED && reason != ErrorReason.ERROR_REASON_UNSPECIFIED;
    return named ? reason.name().substring(REASON_PREFIX.length()) : "";
  }

  private static String requestId(Metadata trailers) {
    String id = trailers == null ? null : trailers.get(REQUEST_ID);
    return id == null ? "" : id;
  }
}

package io.memlane.client;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Root of every error that a call can end with.
 *
 * <pre>
 * MemlaneException
 * ├── InvalidArgument         fields of the request are wrong: violations() names each
 * ├── NotFound                no such thing, or not this user's
 * ├── AlreadyExists
 * │   └── RequestIdReused     the same request_id came before with another body
 * ├── Aborted                 lost a race: read again, decide again, call again
 * │   ├── RevisionMismatch    the optimistic lock did not hold: currentRevision()
 * │   └── UserForgotten       the user was forgotten while the call ran
 * ├── FailedPrecondition      the server's state or settings do not allow it
 * │   ├── NotConfigured       the server runs without a part that the call needs
 * │   └── LegalHold           the user is under legal hold
 * ├── ResourceExhausted       a limit was reached, or the server is too busy; see retryAfter()
 * ├── Unavailable             no server, or a part of it does not answer
 * ├── DeadlineExceeded        the time ran out; a write is absent or complete, never half
 * ├── Cancelled               the caller cancelled the call, or its thread was interrupted
 * ├── Unauthenticated         no valid credential
 * ├── PermissionDenied        the credential lacks the scope, or is bound to another user
 * ├── Unimplemented           the server does not know the call: it is older than this client
 * ├── DataLoss                stored data fails its own check
 * └── Internal                a fault of the server, or of the model behind it
 * </pre>
 *
 * <p>Reasons are the values of {@link io.memlane.v1.ErrorReason} without their prefix; the contract
 * documents each with a remedy. A code that has no class here is raised as the root.
 */
public class MemlaneException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What a call failed with. */
  record Details(
      Status.Code code,
      String message,
      String reason,
      Map<String, String> metadata,
      List<FieldViolation> violations,
      Duration retryAfter,
      String requestId)
      implements Serializable {

    Details(Status.Code code, String message) {
      this(code, message, "", Map.of(), List.of(), null, "");
    }
  }

  private final Details details;

  MemlaneException(Details details, Throwable cause) {
    super(title(details), cause);
    this.details = details;
  }

  /**
   * The error that a failed call of a raw stub stands for.
   *
   * @param failure what the stub threw, or what its future or observer failed with
   * @return the error; {@code failure} is its cause
   */
  public static MemlaneException of(StatusRuntimeException failure) {
    return Errors.of(failure);
  }

  /**
   * The gRPC status code: RESOURCE_EXHAUSTED, too, where a busy server refused the call unread,
   * which gRPC calls CANCELLED.
   *
   * @return never OK
   */
  public Status.Code code() {
    return details.code();
  }

  /**
   * Why, more precisely than the code.
   *
   * @return {@code REVISION_MISMATCH}, for instance; empty where gRPC itself raised the error,
   *     except for {@code OVERLOADED} where a busy server refused the call unread
   */
  public String reason() {
    return details.reason();
  }

  /**
   * Further facts by name, as the contract lists them for the reason.
   *
   * @return an immutable map
   */
  public Map<String, String> metadata() {
    return details.metadata();
  }

  /**
   * The fields that are wrong.
   *
   * @return an immutable list; empty unless the error is {@link InvalidArgument}
   */
  public List<FieldViolation> violations() {
    return details.violations();
  }

  /**
   * How long to wait before the next try, where the server said so.
   *
   * @return the pause
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(details.retryAfter());
  }

  /**
   * The request_id that the failed write carried: repeat the same write with it, and it happens
   * once.
   *
   * @return empty for a read
   */
  public String requestId() {
    return details.requestId();
  }

  private static String title(Details details) {
    String name = details.reason().isEmpty() ? details.code().name() : details.reason();
    return details.message().isEmpty() ? name : name + ": " + details.message();
  }

  /**
   * Fields of the request are missing, malformed, over their limit or reserved. The same request
   * fails again.
   */
  public static final class InvalidArgument extends MemlaneException {
    private static final long serialVersionUID = 1L;

    InvalidArgument(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** No such thing, or it belongs to another user: the two are not told apart. */
  public static final class NotFound extends MemlaneException {
    private static final long serialVersionUID = 1L;

    NotFound(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** What was to be created exists. */
  public static class AlreadyExists extends MemlaneException {
    private static final long serialVersionUID = 1L;

    AlreadyExists(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The request_id came before with another body. */
  public static final class RequestIdReused extends AlreadyExists {
    private static final long serialVersionUID = 1L;

    RequestIdReused(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The call lost a race and wrote nothing: read again, decide again, call again. */
  public static class Aborted extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Aborted(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The revision of the request is not the current one. */
  public static final class RevisionMismatch extends Aborted {
    private static final long serialVersionUID = 1L;

    RevisionMismatch(Details details, Throwable cause) {
      super(details, cause);
    }

    /**
     * The revision that holds now, where the server said so.
     *
     * @return the revision, from 1
     */
    public Optional<Long> currentRevision() {
      String current = metadata().getOrDefault("current", "");
      return current.matches("\\d{1,18}") ? Optional.of(Long.valueOf(current)) : Optional.empty();
    }
  }

  /**
   * The user was forgotten while the call ran. Do not repeat without a new reason: it was done on
   * purpose.
   */
  public static final class UserForgotten extends Aborted {
    private static final long serialVersionUID = 1L;

    UserForgotten(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The state of the thing, or of the server, does not allow the call. */
  public static class FailedPrecondition extends MemlaneException {
    private static final long serialVersionUID = 1L;

    FailedPrecondition(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * The server runs without a part that the call needs; {@code metadata().get("setting")} names it.
   */
  public static final class NotConfigured extends FailedPrecondition {
    private static final long serialVersionUID = 1L;

    NotConfigured(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The user is under legal hold: nothing of theirs may be removed physically. */
  public static final class LegalHold extends FailedPrecondition {
    private static final long serialVersionUID = 1L;

    LegalHold(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * A limit is reached. The client does not try again by itself.
   *
   * <p>The reason {@code OVERLOADED} says that the server is too busy: try again with a growing
   * pause. Where it is so busy that it refuses calls unread, gRPC ends them as CANCELLED, without a
   * reason. A call that ends so before any of its answer has come, and that nobody here cancelled,
   * is this error: {@link #code()} is RESOURCE_EXHAUSTED, {@link #reason()} OVERLOADED, and {@link
   * #getCause()} has the status as it came over the wire.
   */
  public static final class ResourceExhausted extends MemlaneException {
    private static final long serialVersionUID = 1L;

    ResourceExhausted(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** No server answers, or a part that it needs does not. Raised after the client's own tries. */
  public static final class Unavailable extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Unavailable(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * The time of the call ran out. Repeat a write with {@link #requestId()} to learn how it went.
   */
  public static final class DeadlineExceeded extends MemlaneException {
    private static final long serialVersionUID = 1L;

    DeadlineExceeded(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * The call was cancelled: by the caller, by closing the client, or by an interrupt of the waiting
   * thread; or a stream was cut off after a part of it had come.
   */
  public static final class Cancelled extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Cancelled(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** No valid credential came with the call. */
  public static final class Unauthenticated extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Unauthenticated(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** The credential is valid and lacks the scope, or is bound to another user. */
  public static final class PermissionDenied extends MemlaneException {
    private static final long serialVersionUID = 1L;

    PermissionDenied(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * The server does not know the call: it is older than this client, or it is no memlane server.
   */
  public static final class Unimplemented extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Unimplemented(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /** Stored data fails its own check: stop writing. */
  public static final class DataLoss extends MemlaneException {
    private static final long serialVersionUID = 1L;

    DataLoss(Details details, Throwable cause) {
      super(details, cause);
    }
  }

  /**
   * A fault of the server ({@code metadata().get("correlation_id")} finds it in the log), or an
   * answer of the model that nothing could be made of.
   */
  public static final class Internal extends MemlaneException {
    private static final long serialVersionUID = 1L;

    Internal(Details details, Throwable cause) {
      super(details, cause);
    }
  }
}

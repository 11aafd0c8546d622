package memlane

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// Kinds of errors, for [errors.Is]. A call's error is always an [*Error]; it matches the kind of its code, and a
// narrower kind where the server gave one:
//
//	ErrInvalidArgument         fields of the request are wrong: Error.Violations names each
//	ErrNotFound                no such thing, or not this user's
//	ErrAlreadyExists
//	└── ErrRequestIDReused     the same request id came before with another body
//	ErrAborted                 lost a race: read again, decide again, call again
//	├── ErrRevisionMismatch    the optimistic lock did not hold: Error.CurrentRevision
//	└── ErrUserForgotten       the user was forgotten while the call ran
//	ErrFailedPrecondition      the server's state or settings do not allow it
//	├── ErrNotConfigured       the server runs without a part that the call needs
//	└── ErrLegalHold           the user is under legal hold
//	ErrResourceExhausted       a limit was reached, or the server is too busy: Error.RetryAfter where the server knows
//	ErrUnavailable             no server, or a part of it does not answer
//	ErrDeadlineExceeded        the time ran out; a write is absent or complete, never half
//	ErrCanceled                the caller cancelled the call's context, or closed the client
//	ErrUnauthenticated         no valid credential
//	ErrPermissionDenied        the credential lacks the scope, or is bound to another user
//	ErrUnimplemented           the server does not know the call: it is older than this client
//	ErrDataLoss                stored data fails its own check
//	ErrInternal                a fault of the server, or of the model behind it
//
// ErrDeadlineExceeded and ErrCanceled also match [context.DeadlineExceeded] and [context.Canceled].
//
// A server that is too busy to read a call refuses it, and gRPC ends such a call as CANCELLED, without a reason. Where
// the caller did not cancel it, and nothing of its answer has come, the error is ErrResourceExhausted: its Code is
// RESOURCE_EXHAUSTED and its Reason "OVERLOADED", as where the server itself tells of the overload. Unwrap gives the
// error of gRPC as it came over the wire. Try again with a growing pause. A stream that is cut off after a part of it
// has come was read, and stays ErrCanceled.
var (
	ErrInvalidArgument    error = kind{code: codes.InvalidArgument}
	ErrNotFound           error = kind{code: codes.NotFound}
	ErrAlreadyExists      error = kind{code: codes.AlreadyExists}
	ErrRequestIDReused    error = kind{codes.AlreadyExists, memlanev1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED}
	ErrAborted            error = kind{code: codes.Aborted}
	ErrRevisionMismatch   error = kind{codes.Aborted, memlanev1.ErrorReason_ERROR_REASON_REVISION_MISMATCH}
	ErrUserForgotten      error = kind{codes.Aborted, memlanev1.ErrorReason_ERROR_REASON_USER_FORGOTTEN}
	ErrFailedPrecondition error = kind{code: codes.FailedPrecondition}
	ErrNotConfigured      error = kind{codes.FailedPrecondition, memlanev1.ErrorReason_ERROR_REASON_NOT_CONFIGURED}
	ErrLegalHold          error = kind{codes.FailedPrecondition, memlanev1.ErrorReason_ERROR_REASON_LEGAL_HOLD}
	ErrResourceExhausted  error = kind{code: codes.ResourceExhausted}
	ErrUnavailable        error = kind{code: codes.Unavailable}
	ErrDeadlineExceeded   error = kind{code: codes.DeadlineExceeded}
	ErrCanceled           error = kind{code: codes.Canceled}
	ErrUnauthenticated    error = kind{code: codes.Unauthenticated}
	ErrPermissionDenied   error = kind{code: codes.PermissionDenied}
	ErrUnimplemented      error = kind{code: codes.Unimplemented}
	ErrDataLoss           error = kind{code: codes.DataLoss}
	ErrInternal           error = kind{code: codes.Internal}
)

// What a call is told that an overloaded server refused unread.
const (
	unreadReason  = "OVERLOADED"
	unreadMessage = "the server was too busy to read the call: try it again after a pause"
)

// errorDomain is the domain of the ErrorInfo of every error that memlane itself raises.
const errorDomain = "memlane.io"

const reasonPrefix = "ERROR_REASON_"

// kind is what errors are compared with.
type kind struct {
	code   codes.Code
	reason memlanev1.ErrorReason
}

func (k kind) Error() string {
	if k.reason != memlanev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return "memlane: " + reasonName(k.reason)
	}
	return "memlane: " + k.code.String()
}

// FieldViolation is one field that is wrong and why.
type FieldViolation struct {
	// Path of the field, as `messages[2].content`.
	Field string
	// What is wrong, in words for a developer. Never the text itself.
	Description string
}

// Error is how a call fails.
//
//	var failure *memlane.Error
//	if errors.As(err, &failure) {
//		log.Println(failure.Code, failure.Reason, failure.RetryAfter)
//	}
type Error struct {
	// The gRPC status code; RESOURCE_EXHAUSTED where a busy server refused the call unread, which gRPC calls CANCELLED.
	Code codes.Code
	// Why, more precisely than the code: a value of memlanev1.ErrorReason without its prefix, as
	// "REVISION_MISMATCH". Empty where gRPC itself raised the error, except for "OVERLOADED" where a busy server
	// refused the call unread.
	Reason string
	// For a developer, in English. Never memory text.
	Message string
	// Further facts by name, as the contract lists them for the reason.
	Metadata map[string]string
	// The fields that are wrong, for ErrInvalidArgument.
	Violations []FieldViolation
	// How long to wait before the next try; 0 where the server did not say.
	RetryAfter time.Duration
	// The request id that the failed write carried: repeat the same write with it, and it happens once.
	RequestID string

	cause error
}

// Error gives the reason, or else the code, and the message.
func (e *Error) Error() string {
	name := e.Reason
	if name == "" {
		name = e.Code.String()
	}
	if e.Message == "" {
		return "memlane: " + name
	}
	return "memlane: " + name + ": " + e.Message
}

// Is tells whether the error is of one of the kinds above.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case context.Canceled:
		return e.Code == codes.Canceled
	}
	wanted, ok := target.(kind)
	if !ok || wanted.code != e.Code {
		return false
	}
	return wanted.reason == memlanev1.ErrorReason_ERROR_REASON_UNSPECIFIED || reasonName(wanted.reason) == e.Reason
}

// Unwrap gives the error of gRPC, nil where there was none: one search of a batch has failed.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets status.FromError and status.Code read the error.
func (e *Error) GRPCStatus() *status.Status {
	if told := status.Convert(e.cause); told.Code() == e.Code {
		return told
	}
	return status.New(e.Code, e.Message)
}

// CurrentRevision is the revision that holds now, where a write failed with ErrRevisionMismatch.
func (e *Error) CurrentRevision() (revision int64, ok bool) {
	revision, err := strconv.ParseInt(e.Metadata["current"], 10, 64)
	return revision, err == nil
}

// fromRPC makes an *Error of what a call of gRPC ended with. It leaves nil, io.EOF and its own errors as they are.
func fromRPC(err error, requestID string) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	told, ok := status.FromError(err)
	if !ok {
		return err
	}
	failure := &Error{Code: told.Code(), Message: told.Message(), RequestID: requestID, cause: err}
	for _, detail := range told.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == errorDomain {
				failure.Reason = detail.GetReason()
				failure.Metadata = maps.Clone(detail.GetMetadata())
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				failure.Violations = append(
					failure.Violations, FieldViolation{violation.GetField(), violation.GetDescription()},
				)
			}
		case *errdetails.RetryInfo:
			failure.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	return failure
}

// refusedUnread is the error of a call that ended before anything of its answer came, and that nobody here cancelled:
// CANCELLED without a reason is then how the transport of an overloaded server refuses what it does not read. (Where
// the time has run out, gRPC says DEADLINE_EXCEEDED by itself.)
func refusedUnread(err error) error {
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != codes.Canceled || failure.Reason != "" {
		return err
	}
	return &Error{
		Code: codes.ResourceExhausted, Reason: unreadReason, Message: unreadMessage, RequestID: failure.RequestID,
		cause: failure.cause,
	}
}

// StatusError is the error of one part of a call: of a search in a batch or stream, of an ingestion. It is nil where
// the part succeeded, otherwise an [*Error].
func StatusError(part *memlanev1.Status) error {
	if part.GetCode() == int32(codes.OK) {
		return nil
	}
	failure := &Error{
		Code:       codes.Code(part.GetCode()),
		Message:    part.GetMessage(),
		Metadata:   maps.Clone(part.GetMetadata()),
		RetryAfter: part.GetRetryAfter().AsDuration(),
	}
	if part.GetReason() != memlanev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		failure.Reason = reasonName(part.GetReason())
	}
	for _, violation := range part.GetFieldViolations() {
		failure.Violations = append(failure.Violations, FieldViolation{violation.GetField(), violation.GetDescription()})
	}
	return failure
}

func reasonName(reason memlanev1.ErrorReason) string {
	return strings.TrimPrefix(reason.String(), reasonPrefix)
}

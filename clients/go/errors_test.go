package memlane_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

func TestErrorsHaveAKindAndAReason(t *testing.T) {
	client := dial(t)
	user := newUser()
	memory := create(t, client, user, "有两个孩子")
	hold := &memlanev1.SetLegalHoldRequest{UserId: user, Active: true, Operator: "ops@bank", Reason: "审计"}
	if _, err := client.SetLegalHold(limited(t), hold); err != nil {
		t.Fatal(err)
	}
	once := func(content string) error {
		_, err := client.CreateMemory(limited(t), &memlanev1.CreateMemoryRequest{
			UserId: user, Content: content, RequestId: "order-77",
		})
		return err
	}
	if err := once("预算 30 万"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		call   func() error
		kinds  []error
		code   codes.Code
		reason string
	}{
		{
			"empty user", func() error {
				_, err := client.SearchMemories(limited(t), memlane.SearchText("", "孩子"))
				return err
			},
			[]error{memlane.ErrInvalidArgument}, codes.InvalidArgument, "INVALID_FIELD",
		},
		{
			"unknown memory", func() error {
				_, err := client.GetMemory(limited(t), &memlanev1.GetMemoryRequest{UserId: user, MemoryId: "没有"})
				return err
			},
			[]error{memlane.ErrNotFound}, codes.NotFound, "NOT_FOUND",
		},
		{
			"old revision", func() error {
				_, err := client.UpdateMemory(limited(t), &memlanev1.UpdateMemoryRequest{
					UserId: user, MemoryId: memory.GetMemoryId(), Content: "有三个孩子", Revision: 7,
				})
				return err
			},
			[]error{memlane.ErrAborted, memlane.ErrRevisionMismatch}, codes.Aborted, "REVISION_MISMATCH",
		},
		{
			"request id with another body", func() error { return once("预算 50 万") },
			[]error{memlane.ErrAlreadyExists, memlane.ErrRequestIDReused}, codes.AlreadyExists, "REQUEST_ID_REUSED",
		},
		{
			"purge under legal hold", func() error {
				_, err := client.ForgetUser(limited(t), &memlanev1.ForgetUserRequest{
					UserId: user, Operator: "dpo@bank", Reason: "客户要求", PurgeNow: true,
				})
				return err
			},
			[]error{memlane.ErrFailedPrecondition, memlane.ErrLegalHold}, codes.FailedPrecondition, "LEGAL_HOLD",
		},
		{
			"chat without a model", func() error {
				for _, err := range client.Chat(limited(t), memlane.Turn(user, "s-1", "你好")) {
					return err
				}
				return nil
			},
			[]error{memlane.ErrFailedPrecondition, memlane.ErrNotConfigured}, codes.FailedPrecondition, "NOT_CONFIGURED",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call()
			for _, kind := range test.kinds {
				if !errors.Is(err, kind) {
					t.Errorf("%v is not %v", err, kind)
				}
			}
			if errors.Is(err, memlane.ErrUserForgotten) || errors.Is(err, context.Canceled) {
				t.Errorf("%v is of a kind that it is not", err)
			}
			var failure *memlane.Error
			if !errors.As(err, &failure) {
				t.Fatalf("%T is no *Error", err)
			}
			if failure.Code != test.code || failure.Reason != test.reason || status.Code(err) != test.code {
				t.Errorf("code %v, reason %q, status %v", failure.Code, failure.Reason, status.Code(err))
			}
			if !strings.HasPrefix(err.Error(), "memlane: "+test.reason+": ") {
				t.Errorf("it reads %q", err)
			}
		})
	}
}

func TestAnErrorNamesItsFields(t *testing.T) {
	_, err := dial(t).CreateMemory(limited(t), &memlanev1.CreateMemoryRequest{
		UserId: newUser(), Content: strings.Repeat("汉", 683), Reason: strings.Repeat("x", 1025),
	})
	var failure *memlane.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *Error", err)
	}
	var fields []string
	for _, violation := range failure.Violations {
		fields = append(fields, violation.Field)
		if violation.Description == "" || strings.Contains(violation.Description, "汉") {
			t.Errorf("%s: %q", violation.Field, violation.Description)
		}
	}
	slices.Sort(fields)
	if !slices.Equal(fields, []string{"content", "reason"}) {
		t.Errorf("the fields are %q", fields)
	}
	if failure.RequestID == "" {
		t.Error("the error of a write has no request id")
	}
}

func TestTheCurrentRevisionIsTold(t *testing.T) {
	client := dial(t)
	user := newUser()
	memory := create(t, client, user, "有两个孩子")
	_, err := client.DeleteMemory(limited(t), &memlanev1.DeleteMemoryRequest{
		UserId: user, MemoryId: memory.GetMemoryId(), Revision: 9,
	})
	var failure *memlane.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *Error", err)
	}
	if revision, ok := failure.CurrentRevision(); !ok || revision != 1 {
		t.Errorf("the current revision is %d, %v", revision, ok)
	}
	if _, ok := (&memlane.Error{}).CurrentRevision(); ok {
		t.Error("an error without metadata tells a revision")
	}
}

func TestADeadlineIsKept(t *testing.T) {
	proxy := proxied(t)
	client := dialTo(t, proxy.Address)
	if _, err := client.Echo(limited(t), &memlanev1.EchoRequest{}); err != nil {
		t.Fatal(err)
	}
	proxy.Mute()
	for name, call := range map[string]func() error{
		"of the context": func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := client.Echo(ctx, &memlanev1.EchoRequest{})
			return err
		},
		"of the client": func() error {
			muted := dialTo(t, proxy.Address, memlane.WithDefaultTimeout(50*time.Millisecond))
			_, err := muted.SearchMemories(t.Context(), memlane.SearchText(newUser(), "孩子"))
			return err
		},
		"of the client in a stream": func() error {
			muted := dialTo(t, proxy.Address, memlane.WithTimeouts(memlane.Timeouts{Bulk: 50 * time.Millisecond}))
			export := &memlanev1.ExportUserRequest{UserId: newUser(), Operator: "ops", Reason: "审计"}
			for _, err := range muted.ExportUser(t.Context(), export) {
				return err
			}
			return nil
		},
	} {
		err := call()
		if !errors.Is(err, memlane.ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Echo(ctx, &memlanev1.EchoRequest{}); !errors.Is(err, memlane.ErrCanceled) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStatusErrorOfAPart(t *testing.T) {
	if err := memlane.StatusError(nil); err != nil {
		t.Errorf("an unset status is %v", err)
	}
	err := memlane.StatusError(&memlanev1.Status{
		Code: int32(codes.Aborted), Message: "lost", Reason: memlanev1.ErrorReason_ERROR_REASON_REVISION_MISMATCH,
		Metadata: map[string]string{"current": "4"},
	})
	var failure *memlane.Error
	if !errors.As(err, &failure) || !errors.Is(err, memlane.ErrRevisionMismatch) || status.Code(err) != codes.Aborted {
		t.Fatalf("%v", err)
	}
	if revision, ok := failure.CurrentRevision(); !ok || revision != 4 {
		t.Errorf("the current revision is %d", revision)
	}
	if errors.Unwrap(err) != nil {
		t.Errorf("it wraps %v", errors.Unwrap(err))
	}
}

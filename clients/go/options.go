package memlane

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
)

const (
	// The server takes a ping every 8 s at most, and closes the connection of a client that sends more. gRPC for Go
	// itself sends none more often than every 10 s.
	minKeepalive = 10 * time.Second
	// gRPC makes no more tries than this, whatever a policy says.
	maxRetryAttempts = 5
	// The server sends at most 4 MiB.
	maxReceiveBytes = 8 << 20
	// Requests of the size that the server takes (2 MiB) are kept until they are answered, so that they can be sent
	// again; gRPC's own default is 256 KiB.
	maxRetryBufferBytes = 4 << 20
)

// NoTimeout in [Timeouts] means that calls have no deadline but that of their context.
const NoTimeout time.Duration = -1

// Timeouts are the deadlines of calls whose context has none, by what a call does. A zero keeps the default.
type Timeouts struct {
	// Searches, gets, lists, contexts: 5 s.
	Read time.Duration
	// Writes that wait for no model: 15 s.
	Write time.Duration
	// Remember, EndSession and Chat: 120 s.
	Model time.Duration
	// Erasure, export, purge, check of the audit log: 600 s.
	Bulk time.Duration
}

func (t Timeouts) of(p pace) time.Duration {
	switch p {
	case paceRead:
		return t.Read
	case paceWrite:
		return t.Write
	case paceModel:
		return t.Model
	case paceBulk:
		return t.Bulk
	default:
		return NoTimeout
	}
}

// RetryPolicy says how calls are tried again that failed with UNAVAILABLE, all within the call's one deadline: every
// read, and every write, whose request id makes the repeat harmless. A stream is begun anew only while nothing of it
// has arrived; StreamSearchMemories never is. Nothing else is tried again: where a limit was reached
// (ErrResourceExhausted), Error.RetryAfter says how long to wait. A zero keeps the default.
type RetryPolicy struct {
	// In all, 1 to 5: 4. 1 = never try again.
	MaxAttempts int
	// Pause before the second try, give or take a fifth: 50 ms.
	InitialBackoff time.Duration
	// Longest pause: 2 s.
	MaxBackoff time.Duration
	// How much longer each pause is than the one before: 2.
	Multiplier float64
}

// Option changes how a client connects and how patient it is.
type Option func(*options) error

type options struct {
	insecure       bool
	tls            *tls.Config
	token          TokenSource
	timeouts       Timeouts
	retry          RetryPolicy
	readYourWrites bool
	keepalive      time.Duration
	dial           []grpc.DialOption
}

func newOptions(given []Option) (*options, error) {
	made := &options{
		timeouts: Timeouts{
			Read: 5 * time.Second, Write: 15 * time.Second, Model: 120 * time.Second, Bulk: 600 * time.Second,
		},
		retry: RetryPolicy{
			MaxAttempts: 4, InitialBackoff: 50 * time.Millisecond, MaxBackoff: 2 * time.Second, Multiplier: 2,
		},
		readYourWrites: true,
		keepalive:      30 * time.Second,
	}
	for _, option := range given {
		if err := option(made); err != nil {
			return nil, fmt.Errorf("memlane: %w", err)
		}
	}
	if made.insecure && made.tls != nil {
		return nil, errors.New("memlane: WithInsecure and TLS contradict each other")
	}
	return made, nil
}

// WithToken sends a bearer token with each call.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// TokenSource gives the current bearer token. It is asked for each try, from several goroutines at once: keep it
// quick. Its error ends the call with ErrUnauthenticated, or with the code of a gRPC status that it carries.
type TokenSource func(ctx context.Context) (string, error)

// WithTokenSource sends the token that source gives with each call.
func WithTokenSource(source TokenSource) Option {
	return func(o *options) error {
		if source == nil {
			return errors.New("the token source is nil")
		}
		o.token = source
		return nil
	}
}

// WithInsecure connects in plain text, also to another machine. It is right where something else encrypts, such as a
// mesh; a token is then sent in plain text, too.
func WithInsecure() Option {
	return func(o *options) error {
		o.insecure = true
		return nil
	}
}

// WithDefaultTimeout gives one deadline to every call whose context has none, whatever the call does.
func WithDefaultTimeout(timeout time.Duration) Option {
	return WithTimeouts(Timeouts{Read: timeout, Write: timeout, Model: timeout, Bulk: timeout})
}

// WithTimeouts changes the deadlines of calls whose context has none.
func WithTimeouts(timeouts Timeouts) Option {
	return func(o *options) error {
		for _, one := range []struct{ given, held *time.Duration }{
			{&timeouts.Read, &o.timeouts.Read},
			{&timeouts.Write, &o.timeouts.Write},
			{&timeouts.Model, &o.timeouts.Model},
			{&timeouts.Bulk, &o.timeouts.Bulk},
		} {
			switch {
			case *one.given < 0 && *one.given != NoTimeout:
				return fmt.Errorf("the timeout %v is negative", *one.given)
			case *one.given != 0:
				*one.held = *one.given
			}
		}
		return nil
	}
}

// WithRetry changes how calls are tried again.
func WithRetry(policy RetryPolicy) Option {
	return func(o *options) error {
		switch {
		case policy.MaxAttempts < 0 || policy.MaxAttempts > maxRetryAttempts:
			return fmt.Errorf("MaxAttempts is 1 to %d", maxRetryAttempts)
		case policy.InitialBackoff < 0 || policy.MaxBackoff < 0 || policy.Multiplier < 0:
			return errors.New("a retry policy has no negative values")
		}
		if policy.MaxAttempts != 0 {
			o.retry.MaxAttempts = policy.MaxAttempts
		}
		if policy.InitialBackoff != 0 {
			o.retry.InitialBackoff = policy.InitialBackoff
		}
		if policy.MaxBackoff != 0 {
			o.retry.MaxBackoff = policy.MaxBackoff
		}
		if policy.Multiplier != 0 {
			o.retry.Multiplier = policy.Multiplier
		}
		return nil
	}
}

// WithoutReadYourWrites sends no consistency with reads but what the caller asks for.
func WithoutReadYourWrites() Option {
	return func(o *options) error {
		o.readYourWrites = false
		return nil
	}
}

// WithKeepalive changes the pause between pings on an idle connection from 30 s; at least 10 s.
func WithKeepalive(pause time.Duration) Option {
	return func(o *options) error {
		if pause < minKeepalive {
			return fmt.Errorf("the keepalive pause is at least %v", minKeepalive)
		}
		o.keepalive = pause
		return nil
	}
}

// WithDialOptions hands further options to gRPC, such as interceptors and stats handlers. They come after those made
// here, and go before them.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) error {
		o.dial = append(o.dial, dial...)
		return nil
	}
}

// serviceConfig is the retry policy in the form that gRPC reads.
func (r RetryPolicy) serviceConfig() (string, error) {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	type policy struct {
		MaxAttempts          int      `json:"maxAttempts"`
		InitialBackoff       string   `json:"initialBackoff"`
		MaxBackoff           string   `json:"maxBackoff"`
		BackoffMultiplier    float64  `json:"backoffMultiplier"`
		RetryableStatusCodes []string `json:"retryableStatusCodes"`
	}
	type methodConfig struct {
		Name        []name `json:"name"`
		RetryPolicy policy `json:"retryPolicy"`
	}
	if r.MaxAttempts == 1 {
		return "{}", nil
	}
	var names []name
	for _, rpc := range methods {
		if rpc.pace != paceOpen {
			names = append(names, name{rpc.service, rpc.name})
		}
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.9fs", d.Seconds()) }
	config, err := json.Marshal(map[string]any{"methodConfig": []methodConfig{{
		Name: names,
		RetryPolicy: policy{
			MaxAttempts:          r.MaxAttempts,
			InitialBackoff:       seconds(r.InitialBackoff),
			MaxBackoff:           seconds(r.MaxBackoff),
			BackoffMultiplier:    r.Multiplier,
			RetryableStatusCodes: []string{"UNAVAILABLE"},
		},
	}}})
	if err != nil {
		return "", fmt.Errorf("memlane: retry policy: %w", err)
	}
	return string(config), nil
}

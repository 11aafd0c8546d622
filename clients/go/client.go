package memlane

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// Version of this client.
const Version = "0.1.0"

// Client is a connection to memlane. One for the whole process is right: goroutines may share it.
//
// It has one method for each call of the contract, promoted from the stubs below: CreateMemory is that of
// memlanev1.MemoryServiceClient, ForgetUser that of memlanev1.ComplianceServiceClient. Four have a form of their own:
// [Client.BatchSearchMemories], [Client.StreamSearchMemories], [Client.Chat] and [Client.ExportUser]; their plain
// form is there, too, as client.ContextServiceClient.Chat. All have the same behaviour:
//
//   - A write without a request_id gets one, so that a repeat of it happens once.
//   - A call whose context has no deadline gets one ([Timeouts]), and is tried again within it ([RetryPolicy]).
//   - A read that asks for no consistency sees what this client wrote, on whichever replica it arrives. Where two
//     writes to one user overlapped, it asks for full consistency; so do lists and Chat always, because a page token,
//     and the request id of a chat, hold for one and the same request.
//   - Errors are [*Error].
//
// Requests that are handed in are never changed.
type Client struct {
	memlanev1.MemoryServiceClient
	memlanev1.SessionServiceClient
	memlanev1.ContextServiceClient
	memlanev1.KnowledgeServiceClient
	memlanev1.RuleServiceClient
	memlanev1.ComplianceServiceClient
	memlanev1.DiagnosticsServiceClient

	transport *grpc.ClientConn
}

// Dial makes a client for a target: host:port, or any name that gRPC resolves (dns:///..., unix:...). It connects on
// the first call. Without options a connection to this machine is plain text and every other one uses TLS.
//
// It fails for options that contradict each other and for files that cannot be read.
func Dial(target string, opts ...Option) (*Client, error) {
	options, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	dial, err := options.dialOptions(target)
	if err != nil {
		return nil, err
	}
	transport, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, fmt.Errorf("memlane: %w", err)
	}
	caller := &caller{transport: transport, timeouts: options.timeouts}
	if options.readYourWrites {
		caller.freshness = newFreshness(maxScopes)
	}
	return &Client{
		MemoryServiceClient:      memlanev1.NewMemoryServiceClient(caller),
		SessionServiceClient:     memlanev1.NewSessionServiceClient(caller),
		ContextServiceClient:     memlanev1.NewContextServiceClient(caller),
		KnowledgeServiceClient:   memlanev1.NewKnowledgeServiceClient(caller),
		RuleServiceClient:        memlanev1.NewRuleServiceClient(caller),
		ComplianceServiceClient:  memlanev1.NewComplianceServiceClient(caller),
		DiagnosticsServiceClient: memlanev1.NewDiagnosticsServiceClient(caller),
		transport:                transport,
	}, nil
}

// Close cancels what is under way and closes the connection.
func (c *Client) Close() error {
	if err := c.transport.Close(); err != nil {
		return fmt.Errorf("memlane: %w", err)
	}
	return nil
}

// Conn is the connection below, for other stubs (health, reflection). Calls made on it are tried again and carry the
// token; request ids, deadlines, consistency and [*Error] are not added.
func (c *Client) Conn() *grpc.ClientConn { return c.transport }

func (o *options) dialOptions(target string) ([]grpc.DialOption, error) {
	config, err := o.retry.serviceConfig()
	if err != nil {
		return nil, err
	}
	plain := o.insecure || (o.tls == nil && isLoopback(target))
	transport := insecure.NewCredentials()
	if !plain {
		transport = credentials.NewTLS(o.tls)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("memlane-go/" + Version),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:    o.keepalive,
			Timeout: 10 * time.Second,
			// Load balancers drop connections that are silent between calls, too.
			PermitWithoutStream: true,
		}),
		// A server that comes back is found within seconds, not after gRPC's two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
		// The policy is the caller's and not that of a DNS record.
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(config),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxReceiveBytes), grpc.MaxRetryRPCBufferSize(maxRetryBufferBytes),
		),
	}
	if o.token != nil {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer{source: o.token, secure: !plain}))
	}
	return append(dial, o.dial...), nil
}

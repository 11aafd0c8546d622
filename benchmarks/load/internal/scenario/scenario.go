// Package scenario holds the calls that a load is made of.
package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/memlane/memlane/benchmarks/load/internal/connect"
)

// Session makes the calls of one scenario, one at a time. Not safe for concurrent use.
type Session interface {
	// Call makes the next call and waits for its answer. The error's gRPC status is the outcome.
	Call(ctx context.Context) error
	// Close ends what the session holds open; the connection stays.
	Close()
}

// Options are what scenarios may be told.
type Options struct {
	Users      []string // whose memories are read, in turn
	WriteUsers []string // whose memories are written, in turn
	TopK       int32
	Batch      int // searches of one BatchSearchMemories
	Facts      int // facts of one Remember
	Dimension  int // of the server's embedder
	SessionID  string
	Knowledge  bool   // BuildContext with shared knowledge
	Seed       uint64 // of the vectors
	Run        string // makes the new texts of this run unlike those of others
}

// Shared is what all sessions of a load have in common. Safe for concurrent use.
type Shared struct {
	options  Options
	dialer   *connect.Dialer
	vectors  [][]byte
	searches atomic.Uint64
	writes   atomic.Uint64
}

// NewShared prepares what does not belong into measured time.
func NewShared(options Options, dialer *connect.Dialer) *Shared {
	return &Shared{options: options, dialer: dialer, vectors: randomVectors(options.Dimension, options.Seed)}
}

// Opener begins a session on a connection.
type Opener func(s *Shared, connection *grpc.ClientConn) Session

// All scenarios by name.
var All = map[string]Opener{
	"echo":               openEcho,
	"health":             openHealth,
	"search":             openSearch(givenVector),
	"search_cached_text": openSearch(cachedText),
	"search_new_text":    openSearch(newText),
	"stream":             openStream,
	"batch":              openBatch,
	"context":            openContext,
	"remember":           openRemember,
	"create":             openCreate,
	"churn":              openChurn,
}

// Names of all scenarios, sorted.
func Names() string {
	return strings.Join(slices.Sorted(maps.Keys(All)), ", ")
}

// Find returns the scenario of that name.
func Find(name string) (Opener, error) {
	opener, found := All[name]
	if !found {
		return nil, fmt.Errorf("there is no scenario %q; there are %s", name, Names())
	}
	return opener, nil
}

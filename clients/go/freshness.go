package memlane

import (
	"container/list"
	"sync"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// tenantScope is the scope of what has no user: knowledge and rules. No user id is empty.
const tenantScope = ""

// maxScopes bounds what freshness remembers.
const maxScopes = 50_000

// unknownAge is when a call began whose answer may be that of an earlier one.
const unknownAge = -1

// mark is the newest state that a scope is known to have.
type mark struct {
	// Empty = several tokens of unknown order.
	token string
	// Ticks between which the call ran that gave the token.
	began, ended int64
}

// merge gives the newer mark, or the knowledge that it cannot be told.
func (m mark) merge(other mark) mark {
	switch {
	case m.token != "" && m.token == other.token:
		return m
	case m.token != "" && m.began > other.ended:
		return m
	case other.token != "" && other.began > m.ended:
		return other
	}
	return mark{"", min(m.began, other.began), max(m.ended, other.ended)}
}

// freshness remembers which state reads must ask for, so that a client reads its own writes.
//
// Tokens are opaque: which of two is newer cannot be told from them. What can be told is causality: a write that began
// after another one had been answered has the newer token. So the token of the last write is kept per user; where two
// writes to one user overlapped in time, the next read asks for full consistency, whose answer covers both.
//
// What falls out of the bound is merged into one mark, the floor, that holds for every scope that has none of its own.
type freshness struct {
	mutex    sync.Mutex
	capacity int
	tick     int64
	marks    map[string]*list.Element
	// Least lately written first; values are *scopeMark.
	order *list.List
	floor *mark
}

type scopeMark struct {
	scope string
	mark  mark
}

func newFreshness(capacity int) *freshness {
	return &freshness{capacity: capacity, marks: map[string]*list.Element{}, order: list.New()}
}

// begin is the tick at which a call begins; hand it to wrote or read.
func (f *freshness) begin() int64 {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.tick++
	return f.tick
}

// wanted is what a read of these scopes must ask for; nil = nothing was written yet.
func (f *freshness) wanted(scopes ...string) *memlanev1.Consistency {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var merged *mark
	for _, scope := range scopes {
		own := f.floor
		if element, ok := f.marks[scope]; ok {
			own = &element.Value.(*scopeMark).mark
		}
		switch {
		case own == nil:
		case merged == nil:
			merged = own
		default:
			both := merged.merge(*own)
			merged = &both
		}
	}
	switch {
	case merged == nil:
		return nil
	case merged.token == "":
		return FullyConsistent()
	}
	return AtLeastAsFresh(&memlanev1.ConsistencyToken{Token: merged.token})
}

// wrote takes note of the answer of a write. With replay the answer may be that of an earlier call, so that the age of
// its token is not known.
func (f *freshness) wrote(scope, token string, began int64, replay bool) {
	if token == "" {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.tick++
	if replay {
		began = unknownAge
	}
	now := mark{token, began, f.tick}
	element, known := f.marks[scope]
	switch {
	case known:
		held := element.Value.(*scopeMark)
		held.mark = now.merge(held.mark)
		f.order.MoveToBack(element)
		return
	case f.floor != nil:
		now = now.merge(*f.floor)
	}
	f.marks[scope] = f.order.PushBack(&scopeMark{scope, now})
	if f.order.Len() > f.capacity {
		oldest := f.order.Remove(f.order.Front()).(*scopeMark)
		delete(f.marks, oldest.scope)
		fallen := oldest.mark
		if f.floor != nil {
			fallen = f.floor.merge(fallen)
		}
		f.floor = &fallen
	}
}

// read takes note of the answer of a fully consistent read: its token settles what could not be told.
func (f *freshness) read(scopes []string, token string, began int64) {
	if token == "" {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, scope := range scopes {
		element, known := f.marks[scope]
		if !known {
			continue
		}
		held := element.Value.(*scopeMark)
		if held.mark.token == "" && began > held.mark.ended {
			f.tick++
			held.mark = mark{token, began, f.tick}
		}
	}
}

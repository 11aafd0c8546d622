// Package pace says when the calls of an open loop are to begin.
//
// The times depend on the rate alone, never on how the server does: a server that stalls is charged for all the calls
// that should have begun meanwhile (no coordinated omission).
package pace

import (
	"math/rand/v2"
	"time"
)

// Schedule gives the intended starts of an open loop, as offsets from its beginning. Not safe for concurrent use.
type Schedule struct {
	perSecond float64
	random    *rand.Rand
	count     int64
	offset    float64 // seconds; of the last start, for random gaps only
}

// Even returns a schedule with equal gaps. perSecond must be more than 0.
func Even(perSecond float64) *Schedule {
	return &Schedule{perSecond: perSecond}
}

// Poisson returns a schedule with exponentially distributed gaps, as independent callers make them.
func Poisson(perSecond float64, random *rand.Rand) *Schedule {
	return &Schedule{perSecond: perSecond, random: random}
}

// Next returns the next start. Even starts are computed from their number, so that rounding does not add up.
func (s *Schedule) Next() time.Duration {
	if s.random != nil {
		s.offset += s.random.ExpFloat64() / s.perSecond
		return seconds(s.offset)
	}
	start := seconds(float64(s.count) / s.perSecond)
	s.count++
	return start
}

func seconds(value float64) time.Duration {
	return time.Duration(value * float64(time.Second))
}

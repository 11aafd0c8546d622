package pace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Sleeper waits for points in time more exactly than time.Sleep, whose timers an idle Go runtime rounds up to a whole
// millisecond: several times what a warm search takes. It keeps an operating system thread to itself.
type Sleeper struct{}

// NewSleeper ties the calling goroutine to its thread; call Close from the same goroutine.
func NewSleeper() Sleeper {
	runtime.LockOSThread()
	// Without it the kernel may let each sleep run 50 µs over. A kernel that refuses leaves the sleeps as they are.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return Sleeper{}
}

// Until returns at the given time, or at once when it has passed.
func (Sleeper) Until(point time.Time) {
	for {
		left := time.Until(point)
		if left <= 0 {
			return
		}
		duration := unix.NsecToTimespec(left.Nanoseconds())
		// A signal may end it early; the loop sleeps the rest.
		_ = unix.Nanosleep(&duration, nil)
	}
}

// Close lets the thread go.
func (Sleeper) Close() {
	runtime.UnlockOSThread()
}

package process

import (
	"context"
	"time"
)

// Sample of a watched process.
type Sample struct {
	AtSeconds float64 `json:"at_s"`
	RSSBytes  int64   `json:"rss_bytes"`
	OpenFiles int64   `json:"open_files"`
}

// Watch samples a process every `every` until the context ends, then sends what it saw.
func Watch(ctx context.Context, pid int, every time.Duration) <-chan []Sample {
	result := make(chan []Sample, 1)
	go func() {
		begun := time.Now()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		var samples []Sample
		for {
			// A process that is gone leaves a gap; the run itself tells that the server has died.
			if usage, err := Read(pid); err == nil {
				samples = append(samples, Sample{time.Since(begun).Seconds(), usage.RSSBytes, usage.OpenFiles})
			}
			select {
			case <-ctx.Done():
				result <- samples
				return
			case <-ticker.C:
			}
		}
	}()
	return result
}

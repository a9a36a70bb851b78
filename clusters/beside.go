package clusters

import (
	"context"
	"sync"
)

// Beside is what runs in this process for as long as a landscape lives. The zero value is ready.
type Beside struct {
	mu      sync.Mutex
	ends    []context.CancelFunc
	working sync.WaitGroup
}

// Go runs work until End ends its context. It may not be called after End.
func (b *Beside) Go(work func(ctx context.Context)) {
	ctx, end := context.WithCancel(context.Background())
	b.mu.Lock()
	b.ends = append(b.ends, end)
	b.mu.Unlock()
	b.working.Go(func() { work(ctx) })
}

// End ends all work, and returns when nothing of it is left.
func (b *Beside) End() {
	b.mu.Lock()
	for _, end := range b.ends {
		end()
	}
	b.mu.Unlock()
	b.working.Wait()
}

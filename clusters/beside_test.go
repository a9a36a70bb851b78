package clusters

import (
	"context"
	"testing"
)

func TestBeside_End_ReturnsWhenAllWorkHasEnded(t *testing.T) {
	t.Parallel()
	b, ended := &Beside{}, make([]bool, 3)
	for i := range ended {
		b.Go(func(ctx context.Context) {
			<-ctx.Done()
			ended[i] = true
		})
	}
	b.End()
	for i, it := range ended {
		if !it {
			t.Errorf("work %d goes on", i)
		}
	}
}

func TestBeside_WithoutWork_EndsAtOnce(t *testing.T) {
	t.Parallel()
	(&Beside{}).End()
}

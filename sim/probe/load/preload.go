package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// preloaders is how many objects are created at once.
const preloaders = 16

// Preload creates numbered objects past every link, before a run's steps begin. They are writes like those of the load,
// and must be there at the end as well.
func Preload(ctx context.Context, shoot string, client kubernetes.Interface, keys *Keys, objects int,
	to timeline.Recorder) error {
	numbers := make(chan int)
	var mu sync.Mutex
	var errs []error
	var workers sync.WaitGroup
	for range preloaders {
		workers.Go(func() {
			for number := range numbers {
				write := timeline.Write{Number: number, Verb: "create", Key: fmt.Sprintf("o-%d", number)}
				carryOut(ctx, to, client, &write, 0)
				to.Record(timeline.Event{Actor: world.Observer, Subject: shoot, Payload: write})
				if write.Outcome != timeline.Acknowledged {
					mu.Lock()
					errs = append(errs, fmt.Errorf("create object %s: %s", write.Key, write.Error))
					mu.Unlock()
				}
			}
		})
	}
	for range objects {
		numbers <- keys.skip()
	}
	close(numbers)
	workers.Wait()
	return errors.Join(errs...)
}

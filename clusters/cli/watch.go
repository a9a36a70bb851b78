package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// watchPoll is how often a landscape that is watched is looked at.
const watchPoll = time.Second

// watch prints a landscape, and then a line for each change, until the context or the time is over, or the landscape
// has ended. That is an error. A timeout of 0 is none.
func watch(ctx context.Context, out io.Writer, of watched, timeout time.Duration) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	now, err := of.look(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // as it was asked for
	case err != nil:
		return err
	}
	if err := now.print(out, false); err != nil && !errors.Is(err, errUnhealthy) { // what has ended may come back
		return err
	}
	seen := map[string]string{}
	now.changes(seen)
	fmt.Fprintln(out)
	err = wait.PollUntilContextCancel(ctx, watchPoll, false, func(ctx context.Context) (bool, error) {
		now, err := of.look(ctx)
		if err != nil || ctx.Err() != nil {
			return false, err
		}
		for _, line := range now.changes(seen) {
			fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
		}
		return false, nil
	})
	if ctx.Err() != nil {
		return nil // as it was asked for
	}
	return err
}

// changes since what was seen, a line each, which is noted as seen.
func (s status) changes(seen map[string]string) (lines []string) {
	there := map[string]bool{}
	note := func(what, is string) {
		there[what] = true
		if seen[what] != is {
			seen[what], lines = is, append(lines, what+"  "+is)
		}
	}
	for _, c := range s.Clusters {
		text, _ := countCluster(c)
		note("cluster "+c.Name, text)
	}
	for _, p := range s.Processes {
		is := "runs"
		if !p.ID.Alive() {
			is = "has ended"
		}
		note("process "+p.Name, is)
	}
	if s.Unknown != "" {
		note("shoots", "are not known: "+s.Unknown)
		return lines
	}
	note("shoots", "are known")
	for _, one := range s.Shoots {
		is := fmt.Sprintf("%s  epoch %s  %s", one.Seed, one.epoch(), one.LastOperation)
		note("shoot "+one.Name, strings.Join(append([]string{is}, one.LastErrors...), "; "))
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if strings.HasPrefix(what, "shoot ") && !there[what] {
			delete(seen, what)
			lines = append(lines, what+"  is gone")
		}
	}
	return lines
}

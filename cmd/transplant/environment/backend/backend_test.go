package backend

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// A scenario may have as many seeds as a landscape has addresses for, and no more.
func TestAsManySeedsAsFit(t *testing.T) {
	t.Parallel()
	for n := 1; n < 12; n++ {
		var seeds []string
		for i := range n {
			seeds = append(seeds, fmt.Sprintf("s%d", i))
		}
		content := fmt.Sprintf(`
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: many}
spec:
  why: to count
  landscape: {seeds: [{name: %s}]}
  steps: [{wait: {for: 1s, because: of nothing}}]
`, strings.Join(seeds, "}, {name: "))
		_, refused := scenario.Parse("f", []byte(content))
		if unfit := (&embedded.Options{Seeds: seeds}).Check(); (refused == nil) != (unfit == nil) {
			t.Errorf("%d seeds: validate says %v, the landscape %v", n, refused, unfit)
		}
	}
}

// A name is somebody's until it is released, whatever the backend; one that no landscape can have is refused.
func TestClaims(t *testing.T) {
	t.Setenv(rundir.HomeVariable, t.TempDir())
	claim := func(b run.Backend, name string) run.Claim {
		t.Helper()
		claimed, err := b.Claim(name)
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	release := func(c run.Claim) {
		t.Helper()
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	}
	first := claim(&Embedded{}, "run")
	for _, b := range []run.Backend{&Embedded{}, &Kind{}} {
		taken := (*run.TakenError)(nil)
		if _, err := b.Claim("run"); !errors.As(err, &taken) || !strings.Contains(err.Error(),
			"transplant down --landscape run") {
			t.Errorf("of %T somebody has it: %v", b, err)
		}
	}
	release(claim(&Embedded{}, "run-2"))
	release(first)
	release(claim(&Kind{}, "run"))
	const many = 8
	var at sync.WaitGroup
	got := make(chan run.Claim, many)
	for range many {
		at.Go(func() {
			if claimed, err := (&Embedded{}).Claim("run"); err == nil {
				got <- claimed
			}
		})
	}
	at.Wait()
	if len(got) != 1 {
		t.Errorf("%d of %d at the same time have the name", len(got), many)
	}
	release(<-got)
	if _, err := (&Embedded{}).Claim("a/b"); err == nil {
		t.Error("a landscape may be called a/b")
	}
}

// Backends that share the flag get the same value.
func TestBucketFlagOfBothBackends(t *testing.T) {
	t.Setenv(environment.BucketURLVariable, "s3://of-the-environment")
	shared, flags := &environment.Buckets{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
	embedded, kind := &Embedded{Buckets: shared}, &Kind{Buckets: shared, ChaosMesh: &environment.ChaosMesh{}}
	embedded.AddFlags(flags)
	kind.AddFlags(flags)
	if shared.URL != "s3://of-the-environment" {
		t.Errorf("without the flag it is %q", shared.URL)
	}
	if err := flags.Parse([]string{"--bucket-url=file:///srv"}); err != nil {
		t.Fatal(err)
	}
	if shared.URL != "file:///srv" || embedded.Available(t.Context()) != nil {
		t.Errorf("it is %q, %v", shared.URL, embedded.Available(t.Context()))
	}
	if err := kind.Available(t.Context()); err == nil {
		t.Error("kind takes a folder of this machine")
	}
}

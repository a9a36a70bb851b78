package fault_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// clouded is a world whose cloud is a real one, as the simulated cloud is.
type clouded struct {
	*worldtest.World
	admin, actor *cloud.Client
	hits         int
}

func (c *clouded) BreakCloud(ctx context.Context, f cloud.Fault) (world.Injection, error) {
	f.ID = "it"
	_, err := c.admin.SetFault(ctx, f)
	heal := func(ctx context.Context) error {
		final, err := c.admin.HealFault(ctx, f.ID)
		if err == nil {
			c.hits = final.Hits
		}
		return err
	}
	return world.Injection{Heal: heal, Hits: func() int { return c.hits }}, err
}

func newClouded(t *testing.T) *clouded {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens,
		[]byte(`{"tokens":[{"token":"a","identity":"admin","roles":["admin"]},`+
			`{"token":"e","identity":"extensions-a","roles":["admin"]}]}`),
		0o600))
	server, err := simcloud.Open(t.Context(), simcloud.Options{Dir: t.TempDir(), Tokens: tokens})
	must(t, err)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		must(t, server.Close())
	})
	c := &clouded{World: worldtest.New(t, "a")}
	c.admin, err = cloud.New(&rest.Config{Host: web.URL, BearerToken: "a"}, cloud.Options{})
	must(t, err)
	c.actor, err = cloud.New(&rest.Config{Host: web.URL, BearerToken: "e"}, cloud.Options{})
	must(t, err)
	_, err = c.admin.Buckets().Create(t.Context(), &cloud.Bucket{Name: "bucket"})
	must(t, err)
	return c
}

func makeNetwork(ctx context.Context, c *cloud.Client) error {
	_, err := c.Networks().Create(ctx, &cloud.Network{CIDR: "10.0.0.0/16"})
	return err
}

func putObject(ctx context.Context, c *cloud.Client) error {
	_, err := c.Bucket("bucket").Put(ctx, "key", strings.NewReader("content"), cloud.PutOptions{})
	return err
}

// Every fault of the cloud hits a caller of a real one, with its error code, heals, and leaves the cloud clean.
func TestFaults_OfARealCloud_HitAndHeal(t *testing.T) {
	t.Parallel()
	second := fault.Calls{Callers: fault.Callers{Actor: "extensions-a"}, Verbs: []string{"create"}, Nth: 2}
	type trial struct {
		fault fault.Fault
		act   func(context.Context, *cloud.Client) error
		want  string // in the error of the second act; none when empty
	}
	trials := map[string]trial{
		"quota": {&fault.CloudQuota{Kind: "networks", Max: 1}, makeNetwork, "QuotaExceeded"},
		"throttle": {&fault.CloudThrottle{Calls: fault.Calls{Kinds: []string{"networks"}}, PerSecond: 1}, makeNetwork,
			"RateLimited"},
		"unreachable": {&fault.CloudUnreachable{Calls: second}, makeNetwork, "EOF"},
		"slow":        {&fault.SlowCloud{Calls: second, Delay: metav1.Duration{Duration: time.Millisecond}}, makeNetwork, ""},
		"no bucket":   {&fault.BucketUnreachable{}, putObject, "EOF"},
		"slow bucket": {&fault.SlowBucket{Callers: fault.Callers{Actor: "extensions-a"},
			BytesPerSecond: resource.MustParse("1Mi")}, putObject, ""},
	}
	for _, code := range fault.CloudCodes() {
		trials["error "+code] = trial{&fault.CloudError{Calls: second, Code: code, Reason: "BecauseISaySo"}, makeNetwork,
			"BecauseISaySo"}
	}
	for name, c := range trials {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newClouded(t)
			journal := timeline.NewJournal(clock.RealClock{}, nil)
			active := fault.NewActive(w, journal)
			must(t, active.Inject(t.Context(), "it", c.fault))
			_ = c.act(t.Context(), w.actor)
			err := c.act(t.Context(), w.actor)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error()+string(cloud.CodeOf(err)), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			must(t, active.HealAll(t.Context()))
			must(t, c.act(t.Context(), w.actor))
			if _, healed, _ := timeline.First[timeline.FaultHealed](journal.Events()); healed.Hits == 0 ||
				healed.Error != "" {
				t.Errorf("recorded %+v", healed)
			}
		})
	}
}

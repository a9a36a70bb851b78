package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// A scenario is refused before it runs exactly when the guards would refuse its timing. The harness does not import
// the guards.
func TestScenariosTakeTheTimingsThatGuardsTake(t *testing.T) {
	t.Parallel()
	const interval = time.Second
	for _, timeout := range []time.Duration{interval / 2, interval, interval * 3 / 2, 2*interval - 1, 2 * interval,
		3 * interval} {
		_, err := scenario.Parse("f", fmt.Appendf(nil, `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: f}
spec:
  why: a test
  landscape: {seeds: [{name: a}], settings: {ownerCheckInterval: %s, ownerCheckTimeout: %s}}
  steps: [{wait: {for: 1s, because: a test}}]
`, interval, timeout))
		if err != nil && !strings.Contains(err.Error(), "spec.landscape.settings.ownerCheckTimeout") {
			t.Fatal(err)
		}
		if guard := (ownership.Timing{Interval: interval, Timeout: timeout}).Validate(); (err == nil) != (guard == nil) {
			t.Errorf("timeout %s: of the scenario %v, of the guard %v", timeout, err, guard)
		}
	}
}

// What the harness takes for the product's default settings is what the programs say.
func TestProductSettingsAreTheDefaultsOfTheFlags(t *testing.T) {
	t.Parallel()
	settings := landscape.ProductSettings()
	gardenlet, manager := NewGardenlet(), NewGardenControllerManager()
	for flag, c := range map[string]struct {
		of   *cobra.Command
		want string
	}{
		"owner-check-interval":   {gardenlet, settings.OwnerCheckInterval.Duration.String()},
		"owner-check-timeout":    {gardenlet, settings.OwnerCheckTimeout.Duration.String()},
		"delta-interval":         {gardenlet, settings.DeltaInterval.Duration.String()},
		"full-snapshot-interval": {gardenlet, settings.FullSnapshotInterval.Duration.String()},
		"dns-ttl":                {gardenlet, settings.DNSTTL.Duration.String()},
		"wait-interval":          {gardenlet, settings.WaitInterval.Duration.String()},
		"sync-period":            {gardenlet, settings.SyncPeriod.Duration.String()},
		"lease-interval":         {gardenlet, settings.SeedLeaseRenew.Duration.String()},
		"retry-duration":         {gardenlet, settings.RetryDuration.Duration.String()},
		"shoot-retry-period":     {manager, settings.ThrottledRetryPeriod.Duration.String()},
		"seed-loss-grace-period": {manager, settings.SeedLossGracePeriod.Duration.String()},
	} {
		if f := c.of.Flags().Lookup(flag); f == nil || f.DefValue != c.want {
			t.Errorf("--%s is %+v, want the default %s", flag, f, c.want)
		}
	}
}

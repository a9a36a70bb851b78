package actors

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/landscape"
)

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
		"seed-loss-grace-period": {manager, settings.SeedLossGracePeriod.Duration.String()},
	} {
		if f := c.of.Flags().Lookup(flag); f == nil || f.DefValue != c.want {
			t.Errorf("--%s is %+v, want the default %s", flag, f, c.want)
		}
	}
}

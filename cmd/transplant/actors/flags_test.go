package actors

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/controllers/maintenance"
)

// A flag that no landscape sets reaches the duty that it is for. What it does there is in the tests of the duty, which
// the table of cmd/transplant/flags_test.go names.
func TestGardenletFlags_ReachTheirDuties(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		got  func(*gardenletFlags) any
		want any
	}{
		"a shoot's own sync period": {
			[]string{"--respect-sync-period-overwrite"},
			func(f *gardenletFlags) any { return f.cadence.RespectOverwrite }, true,
		},
		"stale extensions": {
			[]string{"--care-stale-extension-threshold=7m"},
			func(f *gardenletFlags) any { return f.care.config(nil).StaleExtensions }, 7 * time.Minute,
		},
		"progressing ManagedResources": {
			[]string{"--care-managed-resource-progressing-threshold=9m"},
			func(f *gardenletFlags) any { return f.care.config(nil).ProgressingManagedResources }, 9 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reaches(t, func(args []string) (any, error) {
				f := &gardenletFlags{}
				err := f.command().ParseFlags(args)
				return c.got(f), err
			}, c.args, c.want)
		})
	}
}

func TestGardenControllerManagerFlags_ReachTheirDuties(t *testing.T) {
	t.Parallel()
	config := func(f *gardenControllerManagerFlags) any { return f.maintenance }
	for name, c := range map[string]struct {
		args []string
		got  func(*gardenControllerManagerFlags) any
		want any
	}{
		"manual evacuation": {
			[]string{"--evacuation=manual"},
			func(f *gardenControllerManagerFlags) any { return f.evacuations(nil).Manual }, true,
		},
		"a service for the webhook": {
			[]string{"--webhook-service=garden/hook"},
			func(f *gardenControllerManagerFlags) any {
				if err := f.completeWebhook(nil); err != nil {
					return err
				}
				return f.webhook.Service
			}, &types.NamespacedName{Namespace: "garden", Name: "hook"},
		},
		"no restart of control planes": {
			[]string{"--maintenance-restarts-control-planes=false"}, config, maintenance.Config{},
		},
		"restart of system components": {
			[]string{"--maintenance-restarts-core-addons"}, config,
			maintenance.Config{RestartControlPlane: true, RestartCoreAddons: true},
		},
		"no nginx": {
			[]string{"--maintenance-disables-nginx-ingress"}, config,
			maintenance.Config{RestartControlPlane: true, DisableNginxIngress: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reaches(t, func(args []string) (any, error) {
				f := &gardenControllerManagerFlags{}
				err := f.command().ParseFlags(args)
				return c.got(f), err
			}, c.args, c.want)
		})
	}
}

// reaches wants a value that the flags make, and that is not there without them.
func reaches(t *testing.T, parsed func(args []string) (any, error), args []string, want any) {
	t.Helper()
	got, err := parsed(args)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %v (-want +got):\n%s", args, err, diff)
	}
	if without, err := parsed(nil); err != nil || cmp.Equal(want, without) {
		t.Errorf("without %v: %v, %v: the flag changes nothing", args, without, err)
	}
}

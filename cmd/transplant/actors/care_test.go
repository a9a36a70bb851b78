package actors

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Thresholds are of conditions that there are: a misspelled one would leave another without any.
func TestCareFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want map[gardencorev1beta1.ConditionType]time.Duration
		err  string
	}{
		"defaults": {want: map[gardencorev1beta1.ConditionType]time.Duration{
			"APIServerAvailable": time.Minute, "ControlPlaneHealthy": time.Minute, "ObservabilityComponentsHealthy": time.Minute,
			"SystemComponentsHealthy": time.Minute, "EveryNodeReady": 5 * time.Minute,
		}},
		"one alone": {args: []string{"--care-condition-thresholds=EveryNodeReady=10m"},
			want: map[gardencorev1beta1.ConditionType]time.Duration{"EveryNodeReady": 10 * time.Minute}},
		"misspelled": {args: []string{"--care-condition-thresholds=EveryNodesReady=10m"},
			err: `read --care-condition-thresholds: there is no condition "EveryNodesReady": choose of [APIServerAvailable ` +
				`ControlPlaneHealthy`},
		"no duration": {args: []string{"--care-condition-thresholds=EveryNodeReady=10"},
			err: `read --care-condition-thresholds: the threshold "10" of EveryNodeReady is no duration`},
		"less than none": {args: []string{"--care-condition-thresholds=EveryNodeReady=-1m"},
			err: `the threshold "-1m" of EveryNodeReady is no duration`},
		"no period": {args: []string{"--care-sync-period=0"}, err: "read --care-sync-period: 0s is no period"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags, set := careFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.add(set)
			if err := set.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			got, err := flags.read()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v, thresholds (-want +got):\n%s", err, diff)
			}
		})
	}
}

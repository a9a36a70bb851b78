package rollout

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// everyPool stands for all pools in a request.
const everyPool = "*"

// IsRequest reports whether an operation of a Shoot asks for pools to be rolled: rollout-workers=<pool>,… or
// rollout-workers=* (docs/specification/versions.md#spec-4-9).
func IsRequest(operation string) bool {
	_, is := named(operation)
	return is
}

func named(operation string) ([]string, bool) {
	pools, is := strings.CutPrefix(operation, constants.ShootOperationRolloutWorkers+"=")
	return strings.Split(pools, ","), is
}

// Requested are the pools that operations ask to be rolled, in the order of the shoot, and the names that no pool has.
func Requested(shoot *gardencorev1beta1.Shoot, operations []string) (pools, unknown []string) {
	wanted := map[string]bool{}
	for _, operation := range operations {
		names, is := named(operation)
		for _, name := range names {
			if name = strings.TrimSpace(name); is && name != "" {
				wanted[name] = true
			}
		}
	}
	for _, worker := range shoot.Spec.Provider.Workers {
		if wanted[everyPool] || wanted[worker.Name] {
			pools = append(pools, worker.Name)
		}
		delete(wanted, worker.Name)
	}
	delete(wanted, everyPool)
	return pools, slices.Sorted(maps.Keys(wanted))
}

// Replaceable are those of the pools whose nodes can be replaced: not those that are updated in place, which keep
// theirs.
func Replaceable(shoot *gardencorev1beta1.Shoot, pools []string) []string {
	return slices.DeleteFunc(slices.Clone(pools), func(name string) bool {
		worker := find(shoot, name)
		return worker == nil || worker.UpdatesInPlace()
	})
}

// Note notes on the shoot that pools are rolled from a moment on because somebody asked for it. It is an ingredient of
// their fingerprints from then on, so it stays after the roll, and moves with the shoot. Notes of pools that are gone
// go.
func Note(shoot *gardencorev1beta1.Shoot, pools []string, at time.Time) error {
	all := notes(shoot)
	for name := range all {
		if find(shoot, name) == nil {
			delete(all, name)
		}
	}
	for _, name := range pools {
		all[name] = at.UTC().Format(time.RFC3339Nano)
	}
	if len(all) == 0 {
		delete(shoot.Annotations, constants.WorkersRolledOut)
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.WorkersRolledOut, string(text))
	return nil
}

// notes are the moments by the names of pools. What cannot be read is as good as none.
func notes(shoot *gardencorev1beta1.Shoot) map[string]string {
	var all map[string]string
	if err := json.Unmarshal([]byte(shoot.Annotations[constants.WorkersRolledOut]), &all); err != nil || all == nil {
		return map[string]string{}
	}
	return all
}

package cleanup

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Remaining is the error of a step that is not done: it names what holds it up.
type Remaining struct {
	Step    Step
	Objects []Decision
}

// Err is nil if nothing holds the deletion up, else a *Remaining.
func (p *Plan) Err() error {
	if p.Step == 0 {
		return nil
	}
	remaining := &Remaining{Step: p.Step}
	for _, d := range p.Decisions {
		if d.Step == p.Step && d.Holds() {
			remaining.Objects = append(remaining.Objects, d)
		}
	}
	return remaining
}

// mostNamed is how many objects an error names: it goes into the shoot's status.
const mostNamed = 20

// Error names the objects with their finalizers.
func (r *Remaining) Error() string {
	var names []string
	for i, d := range r.Objects {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(r.Objects)-i))
			break
		}
		names = append(names, Describe(d.Object))
	}
	return fmt.Sprintf("step %d of the clean-up, %s, is not done: objects are still present: %s", r.Step, r.Step,
		strings.Join(names, ", "))
}

// Codes are the error codes that the error deserves (docs/specification/care.md#spec-5-8).
func (r *Remaining) Codes() []gardencorev1beta1.ErrorCode {
	return []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorCleanupClusterResources}
}

// Describe names an object, and its finalizers if it has any.
func Describe(o metav1.PartialObjectMetadata) string {
	name := o.Kind + " " + o.Name
	if o.Namespace != "" {
		name = o.Kind + " " + o.Namespace + "/" + o.Name
	}
	if len(o.Finalizers) > 0 {
		name += " (finalizers " + strings.Join(o.Finalizers, ", ") + ")"
	}
	return name
}

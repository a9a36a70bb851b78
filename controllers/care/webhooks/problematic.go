package webhooks

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const (
	// maxTimeoutSeconds is what a webhook on critical resources may take at most.
	maxTimeoutSeconds = 15
	// maxTimeoutSecondsLeases is what a webhook on Leases of kube-system may take at most: leaders lose their office
	// otherwise.
	maxTimeoutSecondsLeases = 3
)

// Reasons of the constraints HibernationPossible and MaintenancePreconditionsSatisfied.
const (
	reasonProblematic = "ProblematicWebhooks"
	reasonRemediated  = "RemediatedWebhooks"
	reasonNone        = "NoProblematicWebhooks"
)

// Problem says why a webhook is problematic, "" if it is not (docs/specification/care.md#spec-5-5). Labels of its
// configuration make no difference.
func (w Webhook) Problem() string {
	if w.slowerThan(maxTimeoutSecondsLeases) {
		if found := w.matching(leaderElection); len(found) > 0 {
			return fmt.Sprintf("it may hold up %s in kube-system for longer than %d s, and so leader election", found[0],
				maxTimeoutSecondsLeases)
		}
	}
	ignores := *w.failurePolicy != nil && **w.failurePolicy != admissionregistrationv1.Fail
	if ignores && !w.slowerThan(maxTimeoutSeconds) {
		return ""
	}
	found := w.matching(critical)
	switch {
	case len(found) == 0:
		return ""
	case ignores:
		return fmt.Sprintf("it may hold up %s for longer than %d s", found[0], maxTimeoutSeconds)
	}
	return fmt.Sprintf("it may refuse %s while its server is away", found[0])
}

// slowerThan is whether the webhook may take longer than this; it may if it has no timeout of its own.
func (w Webhook) slowerThan(seconds int32) bool {
	return *w.timeoutSeconds == nil || **w.timeoutSeconds > seconds
}

// Verdict is the outcome of the constraints HibernationPossible and MaintenancePreconditionsSatisfied, which is the
// same for both.
type Verdict struct {
	Status          gardencorev1beta1.ConditionStatus
	Reason, Message string
	Codes           []gardencorev1beta1.ErrorCode
}

// Judge finds the first problematic webhook, or configuration that was remediated and not looked after by its owner
// since (docs/specification/care.md#spec-5-5). It sorts the configurations.
func Judge(configurations []Configuration) Verdict {
	Sort(configurations)
	for _, c := range configurations {
		if c.Exempt() != "" {
			continue
		}
		for _, w := range c.Webhooks {
			if problem := w.Problem(); problem != "" {
				return bad(reasonProblematic,
					fmt.Sprintf("%s %q is problematic: webhook %q with failurePolicy %q %s might prevent worker nodes from "+
						"properly joining the shoot cluster: %s.",
						c.Kind, c.Name(), w.Name, w.policy(), w.timeout(), problem))
			}
		}
		if c.Remediated() {
			return bad(reasonRemediated,
				fmt.Sprintf("%s %q was problematic and has been remediated; its annotation says how. Mend it at its source, "+
					"then remove the annotation.", c.Kind, c.Name()))
		}
	}
	return Verdict{Status: gardencorev1beta1.ConditionTrue, Reason: reasonNone,
		Message: "All webhooks are properly configured."}
}

func bad(reason, message string) Verdict {
	return Verdict{
		Status: gardencorev1beta1.ConditionFalse, Reason: reason, Message: message,
		Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorProblematicWebhook},
	}
}

func (w Webhook) policy() string {
	if *w.failurePolicy == nil {
		return "nil"
	}
	return string(**w.failurePolicy)
}

func (w Webhook) timeout() string {
	if *w.timeoutSeconds == nil {
		return "and unset timeoutSeconds"
	}
	return fmt.Sprintf("and %ds timeout", **w.timeoutSeconds)
}

package health

import (
	"fmt"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// extensions is what extensions report for a condition (docs/specification/care.md#spec-5-4-row-1). What is reported by
// an extension that has fallen silent is not known to hold.
func (r round) extensions(kind gardencorev1beta1.ConditionType) *finding {
	if r.Extensions.Err != nil {
		// Not the same as having nothing to report (docs/specification/quirks.md#quirk-c1).
		return unseen(fmt.Sprintf("Could not read what the extensions report: %v", r.Extensions.Err))
	}
	for _, report := range r.Extensions.Items {
		if report.Condition.Type != kind {
			continue
		}
		if found := r.report(report); found != nil {
			return found
		}
	}
	return nil
}

func (r round) report(report ExtensionReport) *finding {
	if found := r.stale(report); found != nil {
		return found
	}
	c := report.Condition
	switch c.Status {
	case gardencorev1beta1.ConditionProgressing:
		return &finding{Status: c.Status, Reason: report.Kind + c.Reason, Message: c.Message, Codes: c.Codes}
	case gardencorev1beta1.ConditionFalse, gardencorev1beta1.ConditionUnknown:
		return failure(report.Kind+"UnhealthyReport", fmt.Sprintf("%s extension (%s/%s) reports failing health check: %s",
			report.Kind, report.Namespace, report.Name, c.Message), c.Codes...)
	}
	return nil
}

func (r round) stale(report ExtensionReport) *finding {
	if r.StaleExtensions == 0 {
		return nil
	}
	who := fmt.Sprintf("%s extension (%s/%s)", report.Kind, report.Namespace, report.Name)
	message := who + " reports a health status but has never shown a heartbeat."
	if report.Heartbeat != nil {
		if r.Now.Sub(report.Heartbeat.Time) <= r.StaleExtensions {
			return nil
		}
		// The age is left out: it would change the condition in every round.
		message = fmt.Sprintf("%s reports an outdated health status (last heartbeat at %s).", who,
			report.Heartbeat.UTC().Format(time.RFC3339))
	}
	return &finding{Status: gardencorev1beta1.ConditionUnknown, Reason: report.Kind + "OutdatedHealthCheckReport",
		Message: message}
}

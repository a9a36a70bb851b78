package health

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// finding is what a check found amiss. A check that found nothing returns nil.
type finding struct {
	// Status is False for what has failed; the threshold of the condition then decides whether it is False already. Other
	// statuses are taken over at once.
	Status          gardencorev1beta1.ConditionStatus
	Reason, Message string
	Codes           []gardencorev1beta1.ErrorCode

	// unseen is whether the check could not be made: it counts only if nothing is known to be amiss.
	unseen bool
}

func failure(reason, message string, codes ...gardencorev1beta1.ErrorCode) *finding {
	return &finding{Status: gardencorev1beta1.ConditionFalse, Reason: reason, Message: message, Codes: codes}
}

func unseen(message string) *finding {
	return &finding{Status: gardencorev1beta1.ConditionUnknown, Reason: gardencorev1beta1.ConditionCheckError,
		Message: message, unseen: true}
}

// first is what the first check found that found something amiss.
func first(findings ...*finding) *finding {
	var unseen *finding
	for _, f := range findings {
		switch {
		case f == nil:
		case !f.unseen:
			return f
		case unseen == nil:
			unseen = f
		}
	}
	return unseen
}

// transitions decides how conditions go from one round to the next (docs/specification/care.md#spec-5-3).
type transitions struct {
	Now time.Time
	// Thresholds are how long a condition is Progressing before it becomes False. A condition without one becomes False at
	// once.
	Thresholds map[gardencorev1beta1.ConditionType]time.Duration
	// LastOperation and LastErrors are the shoot's. They pardon what is unhealthy while it is being made or taken away.
	LastOperation *gardencorev1beta1.LastOperation
	LastErrors    []gardencorev1beta1.LastError
}

// find is the condition of a type, or a new one that nobody has checked yet.
func (t transitions) find(conditions []gardencorev1beta1.Condition,
	kind gardencorev1beta1.ConditionType) gardencorev1beta1.Condition {
	if i := slices.IndexFunc(conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == kind }); i >= 0 {
		return conditions[i]
	}
	now := metav1.NewTime(t.Now)
	return gardencorev1beta1.Condition{
		Type: kind, Status: gardencorev1beta1.ConditionUnknown, LastTransitionTime: now, LastUpdateTime: now,
		Reason: gardencorev1beta1.ConditionInitialized, Message: gardencorev1beta1.ConditionUnknownMessage,
	}
}

// succeed makes a condition True.
func (t transitions) succeed(c gardencorev1beta1.Condition, reason, message string) gardencorev1beta1.Condition {
	return t.update(c, gardencorev1beta1.ConditionTrue, finding{Reason: reason, Message: message})
}

// fail makes a condition what was found amiss.
func (t transitions) fail(c gardencorev1beta1.Condition, f finding) gardencorev1beta1.Condition {
	if f.Status == gardencorev1beta1.ConditionFalse {
		return t.update(c, t.pardon(t.failed(c, f.Reason)), f)
	}
	return t.update(c, f.Status, f)
}

// constrain makes a constraint what was found: there are no thresholds for constraints.
func (t transitions) constrain(c gardencorev1beta1.Condition, f finding) gardencorev1beta1.Condition {
	return t.update(c, t.pardon(f.Status), f)
}

// failed is the status of a condition whose check failed.
func (t transitions) failed(c gardencorev1beta1.Condition, reason string) gardencorev1beta1.ConditionStatus {
	threshold, configured := t.Thresholds[c.Type]
	if !configured {
		return gardencorev1beta1.ConditionFalse
	}
	justSucceeded := t.LastOperation != nil && t.LastOperation.State == gardencorev1beta1.LastOperationStateSucceeded &&
		t.Now.Sub(t.LastOperation.LastUpdateTime.Time) <= threshold
	waits := false
	switch c.Status {
	case gardencorev1beta1.ConditionTrue:
		waits = true
	case gardencorev1beta1.ConditionProgressing:
		waits = justSucceeded || t.Now.Sub(c.LastTransitionTime.Time) <= threshold
	case gardencorev1beta1.ConditionFalse:
		waits = justSucceeded || c.Reason != reason
	}
	if waits {
		return gardencorev1beta1.ConditionProgressing
	}
	return gardencorev1beta1.ConditionFalse
}

// pardon lets nothing be False while the shoot is being created or deleted, or while an operation has met no error yet.
func (t transitions) pardon(status gardencorev1beta1.ConditionStatus) gardencorev1beta1.ConditionStatus {
	if status == gardencorev1beta1.ConditionFalse && t.pardons() {
		return gardencorev1beta1.ConditionProgressing
	}
	return status
}

func (t transitions) pardons() bool {
	last := t.LastOperation
	if last == nil {
		return true
	}
	makes := last.Type == gardencorev1beta1.LastOperationTypeCreate ||
		last.Type == gardencorev1beta1.LastOperationTypeDelete
	return makes && last.State != gardencorev1beta1.LastOperationStateSucceeded ||
		last.State == gardencorev1beta1.LastOperationStateProcessing && len(t.LastErrors) == 0
}

// update changes a condition. LastTransitionTime changes only with the status, LastUpdateTime with anything.
func (t transitions) update(c gardencorev1beta1.Condition, status gardencorev1beta1.ConditionStatus,
	f finding) gardencorev1beta1.Condition {
	updated := c
	updated.Status, updated.Reason, updated.Message, updated.Codes = status, f.Reason, f.Message, f.Codes
	if equality.Semantic.DeepEqual(c, updated) {
		return c
	}
	updated.LastUpdateTime = metav1.NewTime(t.Now)
	if c.Status != status {
		updated.LastTransitionTime = updated.LastUpdateTime
	}
	return updated
}

// Begun lets conditions that nobody has looked at yet begin as Progressing: what is not well at the first look has its
// threshold, too. A shoot that has just been created is rarely well in everything.
func Begun(conditions []gardencorev1beta1.Condition, now time.Time) []gardencorev1beta1.Condition {
	t, all := transitions{Now: now}, slices.Clone(conditions)
	for _, kind := range conditionTypes {
		if !slices.ContainsFunc(conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == kind }) {
			c := t.find(nil, kind)
			c.Status = gardencorev1beta1.ConditionProgressing
			all = append(all, c)
		}
	}
	return all
}

// HandOver is what the conditions become when another seed takes a shoot over: what the former seed's care found is not
// known to hold any longer, so that whatever is not False is Progressing until it is looked at
// (docs/specification/care.md#care-5). Conditions that are not care's stay as they are.
func HandOver(conditions []gardencorev1beta1.Condition, now time.Time) []gardencorev1beta1.Condition {
	return merge(conditions, handOver(only(conditions, conditionTypes), now), conditionTypes)
}

func handOver(conditions []gardencorev1beta1.Condition, now time.Time) []gardencorev1beta1.Condition {
	t, handed := transitions{Now: now}, slices.Clone(conditions)
	for i, c := range handed {
		if c.Status != gardencorev1beta1.ConditionFalse {
			handed[i] = t.update(c, gardencorev1beta1.ConditionProgressing, finding{Reason: c.Reason, Message: c.Message,
				Codes: c.Codes})
		}
	}
	return handed
}

// merge puts mine in place of those of existing that are of the given types. All others are kept, in their order: they
// are somebody else's.
func merge(existing, mine []gardencorev1beta1.Condition,
	types []gardencorev1beta1.ConditionType) []gardencorev1beta1.Condition {
	byType := map[gardencorev1beta1.ConditionType]gardencorev1beta1.Condition{}
	for _, c := range mine {
		byType[c.Type] = c
	}
	var merged []gardencorev1beta1.Condition
	for _, c := range existing {
		if replaced, found := byType[c.Type]; found {
			merged = append(merged, replaced)
			delete(byType, c.Type)
		} else if !slices.Contains(types, c.Type) {
			merged = append(merged, c)
		}
	}
	for _, c := range mine {
		if _, left := byType[c.Type]; left {
			merged = append(merged, c)
		}
	}
	return merged
}

// only are the conditions of the given types.
func only(conditions []gardencorev1beta1.Condition,
	types []gardencorev1beta1.ConditionType) []gardencorev1beta1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c gardencorev1beta1.Condition) bool {
		return !slices.Contains(types, c.Type)
	})
}

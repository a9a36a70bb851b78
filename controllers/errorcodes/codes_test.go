package errorcodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// TestCodes: the rows of docs/specification/care.md#spec-5-8.
func TestCodes(t *testing.T) {
	t.Parallel()
	rows := []struct {
		code  gardencorev1beta1.ErrorCode
		retry bool
	}{
		{"ERR_INFRA_UNAUTHENTICATED", false},
		{"ERR_INFRA_UNAUTHORIZED", false},
		{"ERR_INFRA_QUOTA_EXCEEDED", false},
		{"ERR_INFRA_RATE_LIMITS_EXCEEDED", false},
		{"ERR_INFRA_DEPENDENCIES", false},
		{"ERR_RETRYABLE_INFRA_DEPENDENCIES", true},
		{"ERR_INFRA_RESOURCES_DEPLETED", true},
		{"ERR_CLEANUP_CLUSTER_RESOURCES", true},
		{"ERR_CONFIGURATION_PROBLEM", false},
		{"ERR_RETRYABLE_CONFIGURATION_PROBLEM", true},
		{"ERR_PROBLEMATIC_WEBHOOK", false},
	}
	var wanted, got []gardencorev1beta1.ErrorCode
	for _, row := range rows {
		wanted = append(wanted, row.code)
		t.Run(string(row.code), func(t *testing.T) {
			t.Parallel()
			if NonRetryable(row.code) == row.retry {
				t.Errorf("not retryable: %t", NonRetryable(row.code))
			}
			code, found := Lookup(row.code)
			if !found || code.Retryable != row.retry || code.Meaning == "" || code.Remedy == "" {
				t.Errorf("%t, %+v", found, code)
			}
		})
	}
	for _, code := range All() {
		got = append(got, code.Code)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

func TestNonRetryableOfSeveral(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		codes []gardencorev1beta1.ErrorCode
		want  bool
	}{
		"none": {},
		"retryable ones": {codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_RESOURCES_DEPLETED",
			"ERR_CLEANUP_CLUSTER_RESOURCES"}},
		"one that is not": {codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_RESOURCES_DEPLETED",
			"ERR_CONFIGURATION_PROBLEM"}, want: true},
		"one that nobody knows": {codes: []gardencorev1beta1.ErrorCode{"ERR_NEW", ""}},
	} {
		if got := NonRetryable(c.codes...); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

package cleanup

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	webhooksKey   = "shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds"
	extendedKey   = "shoot.gardener.cloud/cleanup-extended-apis-finalize-grace-period-seconds"
	kubernetesKey = "shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

	// spares are labels and whether objects with them are cleaned up (docs/specification/cleanup.md#spec-6-3).
	spares = map[string]bool{
		"": true, "gardener.cloud/role=system-component": false, "gardener.cloud/role=other": true,
		"shoot.gardener.cloud/no-cleanup=true": false, "shoot.gardener.cloud/no-cleanup=false": true,
		"provider=kubernetes": true, "kube-aggregator.kubernetes.io/automanaged=onstart": true,
	}
)

// tableRow is a row of docs/specification/cleanup.md#spec-6-3.
type tableRow struct {
	step            Step
	apiVersion      string
	kinds           string
	but             map[string]bool // other than K
	grace, finalize time.Duration
	annotation      string
	factor          float64
}

// The rows, as docs/specification/README.md#spec-0-0 has them: the no-cleanup label is honoured on APIServices too, and
// the third annotation is for the third step only.
var tableRows = []tableRow{
	{Webhooks, "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration ValidatingWebhookConfiguration", nil,
		300 * time.Second, 300 * time.Second, webhooksKey, 1},
	{ExtendedAPIs, "apiregistration.k8s.io/v1", "APIService",
		map[string]bool{"kube-aggregator.kubernetes.io/automanaged=onstart": false}, 300 * time.Second, 3600 * time.Second,
		extendedKey, 0.1},
	{ExtendedAPIs, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nil, 300 * time.Second, 3600 * time.Second,
		extendedKey, 0.1},
	{KubernetesResources, "batch/v1", "CronJob Job", nil, 300 * time.Second, 300 * time.Second, kubernetesKey, 1},
	{KubernetesResources, "apps/v1", "DaemonSet Deployment ReplicaSet StatefulSet", nil, 300 * time.Second,
		300 * time.Second, kubernetesKey, 1},
	{KubernetesResources, "networking.k8s.io/v1", "Ingress", nil, 300 * time.Second, 300 * time.Second, kubernetesKey, 1},
	{KubernetesResources, "v1", "Pod ReplicationController PersistentVolumeClaim", nil, 300 * time.Second,
		300 * time.Second, kubernetesKey, 1},
	{KubernetesResources, "v1", "Service", map[string]bool{"provider=kubernetes": false}, 300 * time.Second,
		300 * time.Second, kubernetesKey, 1},
	{VolumeSnapshots, "snapshot.storage.k8s.io/v1", "VolumeSnapshot", nil, 300 * time.Second, 3600 * time.Second, "", 0},
	{VolumeSnapshots, "snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", nil, 300 * time.Second, 3600 * time.Second,
		"", 0},
}

func (r tableRow) object(kind string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: r.apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.NewTime(noon.Add(-24 * time.Hour))},
	}
}

func only(t *testing.T, annotations map[string]string, object metav1.PartialObjectMetadata, now time.Time) Decision {
	t.Helper()
	plan, err := Decide(Cluster{Annotations: annotations, Objects: []metav1.PartialObjectMetadata{object},
		Start: noon.Add(-time.Minute)}, now)
	if err != nil || len(plan.Decisions) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	return plan.Decisions[0]
}

// TestTable goes through the rows of docs/specification/cleanup.md#spec-6-3: selector, grace period, the moment of
// forced finalization, and both with the annotation.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, row := range tableRows {
		for kind := range strings.FieldsSeq(row.kinds) {
			seen++
			t.Run(row.step.String()+" "+kind, func(t *testing.T) {
				t.Parallel()
				row.testSelector(t, kind)
				row.testTimeline(t, kind, nil, row.grace, row.finalize)
				if row.annotation == "" {
					row.testTimeline(t, kind, map[string]string{webhooksKey: "0", extendedKey: "0", kubernetesKey: "0"}, row.grace,
						row.finalize)
					return
				}
				row.testOverrides(t, kind)
			})
		}
	}
	if all := len(kinds); seen != all {
		t.Errorf("%d kinds are cleaned up, the table has %d", all, seen)
	}
}

// testOverrides tries the annotation below, at and above the default. Only the finalization waits longer than by
// default: the grace period with which objects are deleted stays the document's five minutes.
func (r tableRow) testOverrides(t *testing.T, kind string) {
	t.Helper()
	for _, seconds := range []int{0, 1, 100, 300, 301, 3599, 3600, 3601, 7200, 86400} {
		annotations := map[string]string{r.annotation: strconv.Itoa(seconds)}
		finalize, grace := time.Duration(seconds)*time.Second, time.Duration(float64(seconds)*r.factor)*time.Second
		periods, err := PeriodsOf(r.step, annotations)
		if diff := cmp.Diff(Periods{Grace: min(grace, r.grace), Finalize: finalize}, periods); diff != "" || err != nil {
			t.Errorf("%s, %d: %v (-want +got):\n%s", kind, seconds, err, diff)
		}
		if seconds > 0 {
			r.testTimeline(t, kind, annotations, min(grace, r.grace), finalize)
		}
	}
	// More nanoseconds than a number of 64 bits holds are not fewer than none: it waits for longer than anybody lives.
	r.testTimeline(t, kind, map[string]string{r.annotation: "10000000000"}, r.grace, 100*365*24*time.Hour)
}

func (r tableRow) testSelector(t *testing.T, kind string) {
	t.Helper()
	wanted := map[string]bool{}
	for pair, cleaned := range spares {
		wanted[pair] = cleaned
	}
	for pair, cleaned := range r.but {
		wanted[pair] = cleaned
	}
	for pair, cleaned := range wanted {
		object := r.object(kind)
		if key, value, found := strings.Cut(pair, "="); found {
			object.Labels = map[string]string{key: value}
		}
		d := only(t, nil, object, noon)
		if d.Step != r.step || (d.Action == Delete) != cleaned || (d.Action == Keep) == cleaned {
			t.Errorf("labelled %q: step %s, %s because %s", pair, d.Step, d.Action, d.Why)
		}
		k, _ := kindOf(object.GroupVersionKind())
		if k.Selector().Matches(labels.Set(object.Labels)) != cleaned {
			t.Errorf("the selector %q disagrees about %q", k.Selector(), pair)
		}
	}
}

func (r tableRow) testTimeline(t *testing.T, kind string, annotations map[string]string, grace,
	finalize time.Duration) {
	t.Helper()
	object := r.object(kind)
	if d := only(t, annotations, object, noon); d.Action != Delete || d.Grace != grace {
		t.Errorf("%v: %s with grace %s, want %s", annotations, d.Action, d.Grace, grace)
	}
	object.DeletionTimestamp, object.Finalizers = &metav1.Time{Time: noon}, []string{"example.com/f"}
	due := noon.Add(finalize)
	if d := only(t, annotations, object, due); d.Action != Wait || !d.Until.Equal(due) {
		t.Errorf("%v: %s until %s", annotations, d.Action, d.Until)
	}
	if d := only(t, annotations, object, due.Add(time.Second)); d.Action != Finalize || !strings.Contains(d.Why,
		"example.com/f") {
		t.Errorf("%v: %s because %s after %s", annotations, d.Action, d.Why, finalize)
	}
	object.Finalizers = nil
	if d := only(t, annotations, object, due.Add(time.Hour)); d.Action != Wait || !d.Until.IsZero() {
		t.Errorf("%v: %s without finalizers", annotations, d.Action)
	}
}

// TestZeroIsAtOnce, also for what was deleted before with a grace period of its own.
func TestZeroIsAtOnce(t *testing.T) {
	t.Parallel()
	for _, row := range tableRows[:8] {
		kind, _, _ := strings.Cut(row.kinds, " ")
		annotations := map[string]string{row.annotation: "0"}
		object := row.object(kind)
		if d := only(t, annotations, object, noon); d.Action != Delete || d.Grace != 0 {
			t.Errorf("%s: %s with grace %s", kind, d.Action, d.Grace)
		}
		object.DeletionTimestamp, object.Finalizers = &metav1.Time{Time: noon.Add(time.Hour)}, []string{"f"}
		if d := only(t, annotations, object, noon); d.Action != Finalize {
			t.Errorf("%s: %s because %s", kind, d.Action, d.Why)
		}
	}
}

// TestSkipped: docs/specification/README.md#s3 says of the third step that only Services and PersistentVolumeClaims are
// considered then. The other steps are taken as ever.
func TestSkipped(t *testing.T) {
	t.Parallel()
	skip := map[string]string{"shoot.gardener.cloud/skip-cleanup": "true"}
	for _, row := range tableRows {
		for kind := range strings.FieldsSeq(row.kinds) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				cleaned := row.step != KubernetesResources || kind == "Service" || kind == "PersistentVolumeClaim"
				row.testSkipped(t, kind, skip, cleaned)
				for _, value := range []string{"yes", "false", "True", ""} {
					row.testSkipped(t, kind, map[string]string{"shoot.gardener.cloud/skip-cleanup": value}, true)
				}
				if cleaned {
					row.testTimeline(t, kind, skip, row.grace, row.finalize)
				}
			})
		}
	}
}

func (r tableRow) testSkipped(t *testing.T, kind string, annotations map[string]string, cleaned bool) {
	t.Helper()
	if d := only(t, annotations, r.object(kind), noon); (d.Action == Delete) != cleaned {
		t.Errorf("%v: %s because %s", annotations, d.Action, d.Why)
	}
	listed := slices.ContainsFunc(Kinds(r.step, Skipped(annotations)), func(k Kind) bool { return k.Kind == kind })
	if listed != cleaned {
		t.Errorf("%v: listed: %t", annotations, listed)
	}
}

// TestSkipped_ThirdAnnotation_LeavesSnapshotsAlone: it is for the third step only, in a clean-up that is skipped too.
func TestSkipped_ThirdAnnotation_LeavesSnapshotsAlone(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{"shoot.gardener.cloud/skip-cleanup": "true", kubernetesKey: "0"}
	periods, err := PeriodsOf(VolumeSnapshots, annotations)
	if diff := cmp.Diff(Periods{Grace: 5 * time.Minute, Finalize: time.Hour}, periods); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

const (
	wakes     = "HibernationPossible"
	maintains = "MaintenancePreconditionsSatisfied"
)

// TestConstraints: the rows of docs/specification/care.md#spec-5-5. Each case lists all constraints with status and
// reason.
func TestConstraints(t *testing.T) {
	t.Parallel()
	fine := []string{wakes + " True NoProblematicWebhooks", maintains + " True NoProblematicWebhooks"}
	with := func(more ...string) []string { return append(append([]string(nil), fine...), more...) }
	sleeps := func(o *Observation) { o.Shoot.Status.IsHibernated, o.APIServer = true, nil }
	convert := apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"}}
	convert.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: "Webhook"}
	convert.Status.StoredVersions = []string{"v1", "v2"}
	pending := &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &gardencorev1beta1.PendingWorkerUpdates{
		ManualInPlaceUpdate: []string{"b", "a"}}}
	for _, c := range []struct {
		name   string
		change func(*Observation)
		want   []string
		says   string
	}{
		{name: "nothing is in the way", want: fine},
		{
			name: "ProblematicWebhooks", change: func(o *Observation) {
				o.Cluster.Validating.Items = []admissionregistrationv1.ValidatingWebhookConfiguration{healthtest.Webhook("nodes")}
			},
			want: []string{wakes + " False ProblematicWebhooks [ERR_PROBLEMATIC_WEBHOOK]",
				maintains + " False ProblematicWebhooks [ERR_PROBLEMATIC_WEBHOOK]"},
			says: `ValidatingWebhookConfiguration "w" is problematic`,
		},
		{
			name: "RemediatedWebhooks", change: func(o *Observation) {
				w := admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w",
					Annotations: map[string]string{"gardener.cloud/warning": "x"}}}
				o.Cluster.Mutating.Items = []admissionregistrationv1.MutatingWebhookConfiguration{w}
			},
			want: []string{wakes + " False RemediatedWebhooks [ERR_PROBLEMATIC_WEBHOOK]",
				maintains + " False RemediatedWebhooks [ERR_PROBLEMATIC_WEBHOOK]"}, says: `MutatingWebhookConfiguration "w"`,
		},
		{
			name: "webhooks matter not while it is made", change: func(o *Observation) {
				o.Cluster.Validating.Items = []admissionregistrationv1.ValidatingWebhookConfiguration{healthtest.Webhook("nodes")}
				o.Shoot.Status.LastOperation = operation("Create", "Processing", time.Minute)
			},
			want: []string{wakes + " Progressing ProblematicWebhooks [ERR_PROBLEMATIC_WEBHOOK]",
				maintains + " Progressing ProblematicWebhooks [ERR_PROBLEMATIC_WEBHOOK]"},
		},
		{name: "hibernated", change: func(o *Observation) {
			sleeps(o)
			o.Authorities.Items[0] = healthtest.Authority("ca", time.Hour)
			o.Shoot.Status.InPlaceUpdates = pending
		}, want: []string{wakes + " True ConstraintNotChecked", maintains + " True ConstraintNotChecked"},
			says: "Shoot cluster has been hibernated."},
		{name: "API server down", change: func(o *Observation) {
			o.APIServer = nil
		}, want: []string{wakes + " False ConstraintNotChecked", maintains + " False ConstraintNotChecked"},
			says: "Shoot control plane is not running at the moment."},
		{name: "no client", change: func(o *Observation) {
			o.APIServer.ClientErr = errAway
		}, want: []string{wakes + " Unknown ConditionCheckError", maintains + " Unknown ConditionCheckError"}},
		{name: "not seen: validating", change: func(o *Observation) {
			o.Cluster.Validating.Err = errAway
		}, want: []string{wakes + " Unknown ConditionCheckError", maintains + " Unknown ConditionCheckError"}},
		{name: "not seen: mutating", change: func(o *Observation) {
			o.Cluster.Mutating.Err = errAway
		}, want: []string{wakes + " Unknown ConditionCheckError", maintains + " Unknown ConditionCheckError"}},
		{
			name: "ExpiringCACertificates", change: func(o *Observation) {
				other := healthtest.Authority("ca-client", 365*24*time.Hour)
				expiring := healthtest.Authority("ca-etcd", 365*24*time.Hour-time.Second)
				o.Authorities.Items = append(o.Authorities.Items, expiring, other)
			},
			want: with("CACertificateValiditiesAcceptable False ExpiringCACertificates"),
			says: `Some CA certificates are expiring in less than a year, you should rotate them: "ca-etcd" (expiring at ` +
				`2027-11-21T11:59:59Z)`,
		},
		{name: "certificates that are no authorities", change: func(o *Observation) {
			leaf, lost := healthtest.Authority("leaf", time.Hour), healthtest.Authority("lost", time.Hour)
			leaf.Data["ca.key"], lost.Labels["persist"] = nil, ""
			o.Authorities.Items = append(o.Authorities.Items, leaf, lost)
		}, want: fine},
		{name: "an authority of which nobody knows", change: func(o *Observation) {
			o.Authorities.Items[0].Labels["valid-until-time"] = "soon"
		}, want: with("CACertificateValiditiesAcceptable Unknown ConditionCheckError"),
			says: `Could not read until when the certificate authority in secret "ca" is valid`},
		{name: "not seen: authorities", change: func(o *Observation) {
			o.Authorities.Err = errAway
		}, want: with("CACertificateValiditiesAcceptable Unknown ConditionCheckError")},
		{name: "authorities with the API server down", change: func(o *Observation) {
			o.APIServer, o.Authorities.Items[0] = nil, healthtest.Authority("ca", time.Hour)
		}, want: []string{
			wakes + " False ConstraintNotChecked", maintains + " False ConstraintNotChecked",
			"CACertificateValiditiesAcceptable False ExpiringCACertificates",
		}},
		{name: "CRDsWithProblematicConversionWebhooks", change: func(o *Observation) {
			o.Cluster.CRDs.Items = []apiextensionsv1.CustomResourceDefinition{convert}
		}, want: with("CRDsWithProblematicConversionWebhooks False CRDsWithProblematicConversionWebhooks"),
			says: "Some CRDs have multiple stored versions and a conversion webhook: things.example.com"},
		{name: "CRDs of one stored version", change: func(o *Observation) {
			one := convert.DeepCopy()
			one.Status.StoredVersions = []string{"v2"}
			o.Cluster.CRDs.Items = []apiextensionsv1.CustomResourceDefinition{*one}
		}, want: fine},
		{name: "not seen: CRDs", change: func(o *Observation) {
			o.Cluster.CRDs.Err = errAway
		}, want: with("CRDsWithProblematicConversionWebhooks Unknown ConditionCheckError")},
		{name: "WorkerPoolsWithManualInPlaceUpdateStrategyPending", change: func(o *Observation) {
			o.Shoot.Status.InPlaceUpdates = pending
		}, want: with("ManualInPlaceWorkersUpdated False WorkerPoolsWithManualInPlaceUpdateStrategyPending"),
			says: "Worker pools with update strategy ManualInPlaceUpdate wait to be updated: a, b"},
		{name: "ManagedResourcesIgnored", change: func(o *Observation) {
			o.ManagedResources.Items[0].Annotations = map[string]string{"resources.gardener.cloud/ignore": "true"}
		}, want: with("HasIgnoredManagedResources False ManagedResourcesIgnored"),
			says: "ManagedResources are ignored and so not kept up to date: in-seed"},
		{name: "ManagedResourcesIgnored, hibernated", change: func(o *Observation) {
			sleeps(o)
			o.ManagedResources.Items[0].Annotations = map[string]string{"resources.gardener.cloud/ignore": "true"}
		}, want: []string{wakes + " True ConstraintNotChecked", maintains + " True ConstraintNotChecked",
			"HasIgnoredManagedResources False ManagedResourcesIgnored"}},
		{name: "FailedMachinesPreserved", change: func(o *Observation) {
			o.Machines.Items[0].Status.CurrentStatus.Phase,
				o.Machines.Items[0].Status.CurrentStatus.PreserveExpiryTime = "Failed", &metav1.Time{Time: noon}
		}, want: with("PreservedFailedMachinesAbsent False FailedMachinesPreserved")},
		{name: "nobody could look", change: func(o *Observation) { o.Err = errAway }, want: []string{
			wakes + " Unknown ConditionCheckError", maintains + " Unknown ConditionCheckError",
			"CACertificateValiditiesAcceptable Unknown ConditionCheckError",
			"CRDsWithProblematicConversionWebhooks Unknown ConditionCheckError",
			"ManualInPlaceWorkersUpdated Unknown ConditionCheckError",
			"HasIgnoredManagedResources Unknown ConditionCheckError",
			"PreservedFailedMachinesAbsent Unknown ConditionCheckError",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := healthy()
			// Both are to go or to stay whatever the case: one is care's and was False, one is somebody else's.
			o.Shoot.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration", Status: "True"},
				{Type: "ManualInPlaceWorkersUpdated", Status: "False"}}
			if c.change != nil {
				c.change(o)
			}
			var got []string
			said := false
			for _, constraint := range Constraints(o, config(), noon) {
				text := strings.Join([]string{string(constraint.Type), string(constraint.Status), constraint.Reason}, " ")
				if len(constraint.Codes) > 0 {
					text += " [" + string(constraint.Codes[0]) + "]"
				}
				got = append(got, text)
				said = said || strings.Contains(constraint.Message, c.says)
			}
			if diff := cmp.Diff(sorted(append([]string{"ReadyForMigration True "}, c.want...)), sorted(got)); diff != "" {
				t.Errorf("constraints (-want +got):\n%s", diff)
			}
			if !said {
				t.Errorf("no constraint says %q", c.says)
			}
		})
	}
}

package dns

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// The external name leads where the internal one leads, on every seed; the shoot or its seed says who serves
// it.
func TestExternalDNSRecord(t *testing.T) {
	t.Parallel()
	own := func(change ...func(*gardencorev1beta1.DNSProvider)) []gardencorev1beta1.DNSProvider {
		p := gardencorev1beta1.DNSProvider{Primary: ptr.To(true), Type: ptr.To("mine")}
		for _, do := range change {
			do(&p)
		}
		return []gardencorev1beta1.DNSProvider{{Type: ptr.To("further")}, p}
	}
	secret := func(name string) func(*gardencorev1beta1.DNSProvider) {
		return func(p *gardencorev1beta1.DNSProvider) { p.SecretName = ptr.To(name) }
	}
	reference := func(p *gardencorev1beta1.DNSProvider) {
		p.CredentialsRef = &autoscalingv1.CrossVersionObjectReference{APIVersion: "v1", Kind: "Secret", Name: "route"}
	}
	zones := func(names ...string) func(*gardencorev1beta1.DNSProvider) {
		return func(p *gardencorev1beta1.DNSProvider) { p.Zones = &gardencorev1beta1.DNSIncludeExclude{Include: names} }
	}
	confined := controlplanetest.ConfinedKubeconfig(t)
	for name, c := range map[string]struct {
		domain            string
		providers         []gardencorev1beta1.DNSProvider
		kind, zone, value string // value is that of the credentials
		deleting          bool
		err               string
		code              gardencorev1beta1.ErrorCode
	}{
		"a default domain, the longest": {domain: "alpha.p.clusters.test", kind: "transplant", zone: "clusters.test",
			value: confined},
		"one with a zone of another name": {domain: "alpha.zoned.test", kind: "zoned", zone: "z-1", value: confined},
		"the shoot's own provider":        {domain: "alpha.p.clusters.test", providers: own(), kind: "mine", value: confined},
		"with a secret": {domain: "a.example", providers: own(secret("route"), zones("z-2")), kind: "mine",
			zone: "z-2", value: "route"},
		"with a reference": {domain: "a.example", providers: own(secret("none"), reference,
			zones("z-2", "z-3")), kind: "mine", value: "route"},
		"with a secret that is missing": {domain: "a.example", providers: own(secret("none")),
			err: `the project has no secret "none"`, code: gardencorev1beta1.ErrorRetryableConfigurationProblem},
		"in deletion it is not missed": {domain: "a.example", providers: own(secret("none")), kind: "mine",
			deleting: true},
		"nobody": {domain: "a.example",
			err:  `nobody serves the domain "a.example": it lies below no default domain of seed "a"`,
			code: gardencorev1beta1.ErrorConfigurationProblem},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(controlplanetest.Named(t, gardencorev1beta1.LastOperationTypeReconcile))
			o.DNSTTL = 5 * time.Second
			o.Garden = fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "route"},
				Data:       map[string][]byte{"kubeconfig": []byte("route")},
			}).Build()
			controlplanetest.WithDomain(o.Shoot, c.domain, c.providers...)
			if c.deleting {
				o.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
			}
			err := o.deployExternal(t.Context(), func(context.Context, extensionsv1alpha1.Object) error { return nil })
			if c.err != "" {
				coded := &errorcodes.Error{}
				if !errors.As(err, &coded) || !strings.Contains(err.Error(), c.err) || !slices.Contains(coded.Codes, c.code) {
					t.Errorf("got %v, want %q with code %s", err, c.err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			record, credentials := &extensionsv1alpha1.DNSRecord{}, &corev1.Secret{}
			if err := o.Seed.Get(t.Context(), o.Key("alpha-external"), record); err != nil {
				t.Fatal(err)
			}
			if err := o.Seed.Get(t.Context(), o.Key("dnsrecord-alpha-external"),
				credentials); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			want := extensionsv1alpha1.DNSRecordSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: c.kind}, Name: "api." + c.domain, RecordType: "A",
				Values: []string{"127.0.0.2"}, TTL: ptr.To[int64](5),
				SecretRef: corev1.SecretReference{Namespace: "shoot--p--alpha", Name: "dnsrecord-alpha-external"},
			}
			if c.zone != "" {
				want.Zone = ptr.To(c.zone)
			}
			if diff := cmp.Diff(want, record.Spec); diff != "" || string(credentials.Data["kubeconfig"]) != c.value {
				t.Errorf("credentials %q, want %q; record (-want +got):\n%s", credentials.Data, c.value, diff)
			}
		})
	}
}

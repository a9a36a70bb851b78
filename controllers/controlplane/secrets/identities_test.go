package secrets

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Of all that a shoot's API server knows by a token or a certificate, the administrator alone is in the group that no
// role can bound.
func TestInitializeSecrets_IdentitiesOfAShoot_OneIsInSystemMasters(t *testing.T) {
	t.Parallel()
	var services []client.Object
	for _, name := range []string{workload.ServiceEtcdClient, workload.ServiceKubeAPIServer} {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		services = append(services, s)
	}
	o := &Secrets{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{},
		services...)}
	if err := o.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrets := &corev1.SecretList{}
	if err := o.Seed.List(t.Context(), secrets, client.InNamespace("shoot--p--alpha")); err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, secret := range secrets.Items {
		// The others have no credentials: the resource manager writes tokens of ServiceAccounts into them.
		if len(secret.Data["kubeconfig"]) > 0 && len(secret.Data[KeyCert]) > 0 {
			certificates, err := certutil.ParseCertsPEM(secret.Data[KeyCert])
			if err != nil {
				t.Fatal(err)
			}
			subject := certificates[0].Subject
			groups[subject.CommonName] = strings.Join(subject.Organization, ",")
		}
		reader := csv.NewReader(strings.NewReader(string(secret.Data[KeyTokens])))
		reader.FieldsPerRecord = -1
		lines, err := reader.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			groups[line[1]] = strings.Join(slices.Clone(line[3:]), ",")
		}
	}
	want := map[string]string{
		"system:cluster-admin": "system:masters", "transplant:nodes": "", "transplant:machine-controller": "",
		"transplant:gardener-resource-manager": "", "system:kube-controller-manager": "", "system:kube-scheduler": "",
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups of each user (-want +got):\n%s", diff)
	}
}

// Package healthtest has objects for tests of care: what a shoot has on which nothing is amiss at noon. No program uses
// it.
package healthtest

import (
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// Noon is when tests look at the objects.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Machine is a running machine, with this node.
func Machine(name string) machinev1alpha1.Machine {
	m := machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "machine-" + name, Namespace: "ns"}}
	m.Labels = map[string]string{"node": name}
	m.Status.CurrentStatus.Phase = "Running"
	return m
}

// Authority is the Secret of a certificate authority that is valid for this long.
func Authority(name string, left time.Duration) corev1.Secret {
	s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Data: map[string][]byte{"ca.crt": {1}, "ca.key": {1}}}
	s.Labels = map[string]string{"persist": "true", "name": name,
		"valid-until-time": strconv.FormatInt(Noon.Add(left).Unix(), 10)}
	return s
}

// Webhook is a configuration with one webhook that is asked before this resource of the core group is created.
func Webhook(resource string) admissionregistrationv1.ValidatingWebhookConfiguration {
	return admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "w.example.com", TimeoutSeconds: ptr.To[int32](5),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"CREATE"},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{resource}},
			}},
		}}}
}

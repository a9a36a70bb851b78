package main

import (
	"context"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const dnsType = "example-dns"

// dns brings a kind into the shoot by which users ask for DNS records. Its state names the entries that it owns.
type dns struct {
	*program
	entries userObjects
}

var _ actuator[*extensionsv1alpha1.Extension] = dns{}

// entriesState is the state: the owned entries and their targets.
type entriesState struct {
	Entries map[string]string `json:"entries"`
	Token   string            `json:"token,omitempty"`
}

func addDNS(p *program) error {
	d := dns{p, userObjects{program: p, ofType: dnsType, group: "dns.example.org", kind: "DNSEntry",
		resource: "dnsentries", outcomes: &sync.Map{}}}
	d.entries.serve = d.own
	if err := d.entries.add(); err != nil {
		return err
	}
	return serve(p, extensionsv1alpha1.ExtensionResource, dnsType, d)
}

// own keeps that an entry is owned, before anything else would be done for it.
func (d dns) own(ctx context.Context, _ client.Client, obj *extensionsv1alpha1.Extension,
	entry *unstructured.Unstructured) error {
	state := entriesState{Entries: map[string]string{}}
	if err := read(obj.Status.State, &state); err != nil {
		return err
	}
	target, _, _ := unstructured.NestedString(entry.Object, "spec", "target")
	state.Entries[client.ObjectKeyFromObject(entry).String()] = target
	if err := d.hold(ctx, obj, &state); err != nil {
		return err
	}
	// The lock keeps it off an object that was released since.
	return keep(ctx, d.Client, obj, state, client.MergeFromWithOptimisticLock{})
}

// hold puts the token into the state, as a planted bug.
func (d dns) hold(ctx context.Context, obj *extensionsv1alpha1.Extension, state *entriesState) error {
	if d.planted != holdsToken {
		return nil
	}
	secret := d.entries.accessSecret(obj.Namespace)
	err := d.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	state.Token = string(secret.Data["token"])
	return err
}

// definition of a kind of users' objects.
func definition(kind, plural, group string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
}

func (d dns) shoot() managed { return d.inShoot("extension-" + dnsType) }

func (d dns) reconcile(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	state := entriesState{Entries: map[string]string{}}
	if err := read(obj.Status.State, &state); err != nil {
		return err
	}
	restores := obj.Annotations[constants.GardenerOperation] == constants.GardenerOperationRestore
	if !restores || d.planted != forgetsAccess {
		if err := d.entries.request(ctx, obj.Namespace); err != nil {
			return err
		}
	}
	if err := d.hold(ctx, obj, &state); err != nil {
		return err
	}
	if err := keep(ctx, d.Client, obj, state); err != nil {
		return err
	}
	return d.shoot().deploy(ctx, obj.Namespace, d.entries.objects()...)
}

func (d dns) deployed(*extensionsv1alpha1.Extension) (gardencorev1beta1.ConditionType, []checked) {
	return gardencorev1beta1.ShootSystemComponentsHealthy, []checked{d.shoot(), d.entries}
}

func (d dns) migrate(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	if d.planted == deletesCRD {
		return d.remove(ctx, obj)
	}
	if err := d.shoot().leave(ctx, obj.Namespace); err != nil {
		return err
	}
	return discard(ctx, d.Client, d.entries.accessSecret(obj.Namespace))
}

func (d dns) remove(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	if err := d.shoot().remove(ctx, obj.Namespace); err != nil {
		return err
	}
	return discard(ctx, d.Client, d.entries.accessSecret(obj.Namespace))
}

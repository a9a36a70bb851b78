package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/pki"
)

const certificatesType = "example-certificates"

// certificates gives each shoot an authority of its own, once, which only the state knows. Users ask for certificates
// by objects of a kind that it brings into the shoot. A webhook adds a file to what machines boot with.
type certificates struct {
	*program
	requests userObjects
}

var _ actuator[*extensionsv1alpha1.Extension] = certificates{}

func addCertificates(p *program) error {
	c := certificates{p, userObjects{program: p, ofType: certificatesType, group: "certificates.example.org",
		kind: "Certificate", resource: "certificates", outcomes: &sync.Map{}}}
	c.requests.serve = c.issue
	if err := c.requests.add(); err != nil {
		return err
	}
	if err := p.serveWebhook(&webhook.Admission{Handler: admission.HandlerFunc(c.addFile)},
		"extensions.extensions.gardener.cloud/"+certificatesType,
		admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create,
				admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{extensionsv1alpha1.GroupName},
				APIVersions: []string{"v1alpha1"}, Resources: []string{"operatingsystemconfigs"}},
		}); err != nil {
		return err
	}
	return serve(p, extensionsv1alpha1.ExtensionResource, certificatesType, c)
}

// authorityState is the state.
type authorityState struct {
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
	Seed        string `json:"seed,omitempty"`
}

func (c certificates) shoot() managed { return c.inShoot("extension-" + certificatesType) }

func (c certificates) reconcile(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	state := authorityState{}
	if err := read(obj.Status.State, &state); err != nil {
		return err
	}
	if len(state.Certificate) == 0 {
		var err error
		if state.Certificate, state.Key, err = pki.NewAuthorityPEM(pki.Request{Name: obj.Namespace},
			c.clock.Now()); err != nil {
			return fmt.Errorf("make the authority: %w", err)
		}
	}
	if c.planted == namesSeed {
		state.Seed = c.seed
	}
	// The state is written before anything is made with it: after a crash in between, the same is made.
	if err := keep(ctx, c.Client, obj, state); err != nil {
		return err
	}
	if err := c.requests.request(ctx, obj.Namespace); err != nil {
		return err
	}
	return c.shoot().deploy(ctx, obj.Namespace, append(
		c.requests.objects(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"},
			Verbs: []string{"create"}}),
		configMap(metav1.NamespaceSystem, certificatesType, map[string]string{"ca.crt": string(state.Certificate)}))...)
}

// issue makes the certificate that a user asks for, in a Secret of the same name.
func (c certificates) issue(ctx context.Context, shoot client.Client, obj *extensionsv1alpha1.Extension,
	wanted *unstructured.Unstructured) error {
	authority := authorityState{}
	if err := read(obj.Status.State, &authority); err != nil {
		return err
	}
	name, _, _ := unstructured.NestedString(wanted.Object, "spec", "commonName")
	certificate, key, err := pki.IssuePEM(authority.Certificate, authority.Key, pki.Request{Name: name,
		Hosts: []string{name}, Valid: 90 * 24 * time.Hour, ServerOnly: true}, c.clock.Now())
	if err != nil {
		return fmt.Errorf("issue the certificate: %w", err)
	}
	return client.IgnoreAlreadyExists(shoot.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: wanted.GetNamespace(), Name: wanted.GetName()},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}))
}

func (c certificates) deployed(*extensionsv1alpha1.Extension) (gardencorev1beta1.ConditionType, []checked) {
	return gardencorev1beta1.ShootSystemComponentsHealthy, []checked{c.shoot(), c.requests}
}

func (c certificates) migrate(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	if err := c.shoot().leave(ctx, obj.Namespace); err != nil {
		return err
	}
	return discard(ctx, c.Client, c.requests.accessSecret(obj.Namespace))
}

func (c certificates) remove(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	if err := c.shoot().remove(ctx, obj.Namespace); err != nil {
		return err
	}
	return discard(ctx, c.Client, c.requests.accessSecret(obj.Namespace))
}

// addFile adds a file with the address of the issuer to an OperatingSystemConfig.
func (c certificates) addFile(ctx context.Context, request admission.Request) admission.Response {
	config := &extensionsv1alpha1.OperatingSystemConfig{}
	if err := json.Unmarshal(request.Object.Raw, config); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if c.planted == stopsWebhook {
		obj := &extensionsv1alpha1.Extension{}
		key := client.ObjectKey{Namespace: request.Namespace, Name: certificatesType}
		if err := c.Get(ctx, key, obj); err != nil {
			return admission.Errored(http.StatusInternalServerError, fmt.Errorf("read the Extension: %w", err))
		}
		if migrated(obj) {
			return admission.Errored(http.StatusInternalServerError, errors.New("the shoot has no certificates"))
		}
	}
	const path = "/etc/certificates/issuer"
	if slices.ContainsFunc(config.Spec.Files, func(f extensionsv1alpha1.File) bool { return f.Path == path }) ||
		config.DeletionTimestamp != nil || config.Annotations[constants.GardenerOperation] == "" {
		return admission.Allowed("")
	}
	config.Spec.Files = append(config.Spec.Files, extensionsv1alpha1.File{
		Path: path, Permissions: ptr.To[uint32](0o644),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
			Data: c.config.Settings["issuer"] + "\n"}},
	})
	content, err := json.Marshal(config)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, content)
}

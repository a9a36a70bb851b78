package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	securityv1alpha1 "github.com/transplant-sim/transplant/api/security/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/maintenance/sidechange"
)

// forceMigrated is the label's value of CredentialsBindings that maintenance made
// (docs/specification/versions.md#spec-4-5).
const forceMigrated = "force-migrated"

// source reads the SecretBinding that a plan replaces by a CredentialsBinding; nil if it replaces none. If there is no
// such SecretBinding the plan goes on without: the reference stays as it was, and the report says why.
func (m *run) source(ctx context.Context, plan *Plan) (*gardencorev1beta1.SecretBinding, error) {
	if !m.migratesBinding(plan.Shoot) {
		return nil, nil
	}
	source := &gardencorev1beta1.SecretBinding{}
	err := m.Garden.Get(ctx, client.ObjectKey{Namespace: m.before.Namespace, Name: *m.before.Spec.SecretBindingName},
		source)
	if err == nil {
		return source, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read SecretBinding %s/%s: %w", m.before.Namespace, *m.before.Spec.SecretBindingName, err)
	}
	name := *plan.Shoot.Spec.CredentialsBindingName
	plan.Shoot.Spec.SecretBindingName, plan.Shoot.Spec.CredentialsBindingName = m.before.Spec.SecretBindingName, nil
	sentence := fmt.Sprintf(
		".spec.secretBindingName could not be migrated to .spec.credentialsBindingName. Reason: there is no SecretBinding %q",
		*m.before.Spec.SecretBindingName)
	if i := slices.IndexFunc(plan.SideChanges, func(s string) bool { return strings.Contains(s, name) }); i >= 0 {
		plan.SideChanges[i] = sentence
	}
	return nil, nil
}

// migratesBinding is whether a shoot that was planned refers to a CredentialsBinding in place of a SecretBinding.
func (m *run) migratesBinding(planned *gardencorev1beta1.Shoot) bool {
	return m.before.Spec.SecretBindingName != nil && m.before.Spec.CredentialsBindingName == nil &&
		strings.HasPrefix(ptr.Deref(planned.Spec.CredentialsBindingName, ""), sidechange.MigratedBindingPrefix)
}

// bind makes the CredentialsBinding that a plan refers to, of the SecretBinding that it replaces. It is made once the
// API server would accept the plan: a refusal leaves nothing behind, and the shoot never refers to what is not there.
func (m *run) bind(ctx context.Context, plan *Plan, source *gardencorev1beta1.SecretBinding) error {
	if source == nil || !m.migratesBinding(plan.Shoot) {
		return nil
	}
	namespace, name := m.before.Namespace, *plan.Shoot.Spec.CredentialsBindingName
	provider := m.before.Spec.Provider.Type
	if source.Provider != nil && !strings.Contains(source.Provider.Type, ",") {
		provider = source.Provider.Type
	}
	binding := &securityv1alpha1.CredentialsBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{constants.CredentialsBindingStatus: forceMigrated},
		},
		Provider: securityv1alpha1.CredentialsBindingProvider{Type: provider},
		CredentialsRef: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Name: source.SecretRef.Name, Namespace: cmp.Or(source.SecretRef.Namespace,
				namespace),
		},
		Quotas: source.Quotas,
	}
	// One that is there already is used: another shoot with the same SecretBinding has made it.
	if err := m.Garden.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CredentialsBinding %s/%s: %w", namespace, name, err)
	}
	return nil
}

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

// forceMigrated is the label's value of CredentialsBindings that maintenance made (SPEC 4.5).
const forceMigrated = "force-migrated"

// bind makes the CredentialsBinding that a plan refers to in place of a SecretBinding. If there is no such SecretBinding
// the plan goes on without: the reference stays as it was, and the report says why.
func (r *Reconciler) bind(ctx context.Context, before *gardencorev1beta1.Shoot, plan *Plan) error {
	name := ptr.Deref(plan.Shoot.Spec.CredentialsBindingName, "")
	if before.Spec.SecretBindingName == nil || before.Spec.CredentialsBindingName != nil || !strings.HasPrefix(name, sidechange.MigratedBindingPrefix) {
		return nil
	}
	err := r.createBinding(ctx, before, name)
	if !apierrors.IsNotFound(err) {
		return err
	}
	plan.Shoot.Spec.SecretBindingName, plan.Shoot.Spec.CredentialsBindingName = before.Spec.SecretBindingName, nil
	sentence := fmt.Sprintf(".spec.secretBindingName could not be migrated to .spec.credentialsBindingName. Reason: there is no SecretBinding %q", *before.Spec.SecretBindingName)
	if i := slices.IndexFunc(plan.SideChanges, func(s string) bool { return strings.Contains(s, name) }); i >= 0 {
		plan.SideChanges[i] = sentence
	}
	return nil
}

// createBinding gives back the error of reading the SecretBinding as it is.
func (r *Reconciler) createBinding(ctx context.Context, shoot *gardencorev1beta1.Shoot, name string) error {
	old := &gardencorev1beta1.SecretBinding{}
	if err := r.Garden.Get(ctx, client.ObjectKey{Namespace: shoot.Namespace, Name: *shoot.Spec.SecretBindingName}, old); err != nil {
		return err
	}
	provider := shoot.Spec.Provider.Type
	if old.Provider != nil && !strings.Contains(old.Provider.Type, ",") {
		provider = old.Provider.Type
	}
	binding := &securityv1alpha1.CredentialsBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: shoot.Namespace, Name: name,
			Labels: map[string]string{constants.CredentialsBindingStatus: forceMigrated},
		},
		Provider: securityv1alpha1.CredentialsBindingProvider{Type: provider},
		CredentialsRef: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Name: old.SecretRef.Name, Namespace: cmp.Or(old.SecretRef.Namespace, shoot.Namespace),
		},
		Quotas: old.Quotas,
	}
	// One that is there already is used: another shoot with the same SecretBinding has made it.
	if err := r.Garden.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create CredentialsBinding %s/%s: %w", shoot.Namespace, name, err)
	}
	return nil
}

package backup

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/extensiontest"
)

const technicalID = "shoot--p--alpha"

// The credentials of an entry go with their namespace, in which nothing is granted any more then.
func TestDeleteBackupSecret_NamespaceThatGoes_IsNotLookedInto(t *testing.T) {
	t.Parallel()
	entry := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: technicalID + "--uid-1"}}
	going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID, DeletionTimestamp: ptr.To(metav1.Now()),
		Finalizers: []string{"kubernetes"}}}
	for name, seed := range map[string]client.Client{
		"gone": extensiontest.Forbidding(), "going": extensiontest.Forbidding(going),
	} {
		if err := (&Provider{Seed: seed}).deleteBackupSecret(t.Context(), entry); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	there := extensiontest.Forbidding(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}})
	if err := (&Provider{Seed: there}).deleteBackupSecret(t.Context(), entry); !apierrors.IsForbidden(err) {
		t.Errorf("there: %v", err)
	}
}

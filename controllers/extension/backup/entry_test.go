package backup

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const technicalID = "shoot--p--alpha"

// forbids is a seed that refuses this extension everything in namespaces.
func forbids(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	return fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if key.Namespace != "" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, key.Name, errors.New("no role"))
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
}

// The credentials of an entry go with their namespace, in which nothing is granted any more then.
func TestDeleteBackupSecret_NamespaceThatGoes_IsNotLookedInto(t *testing.T) {
	t.Parallel()
	entry := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: technicalID + "--uid-1"}}
	going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID, DeletionTimestamp: ptr.To(metav1.Now()),
		Finalizers: []string{"kubernetes"}}}
	for name, seed := range map[string]client.Client{"gone": forbids(t), "going": forbids(t, going)} {
		if err := (&Provider{Seed: seed}).deleteBackupSecret(t.Context(), entry); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	there := forbids(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}})
	if err := (&Provider{Seed: there}).deleteBackupSecret(t.Context(), entry); !apierrors.IsForbidden(err) {
		t.Errorf("there: %v", err)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// network makes one in the cloud; the same one each time for the same number.
func (w *work) network(ctx context.Context, number string) (string, error) {
	made, err := w.cloud.Networks().Create(ctx, &cloud.Network{CIDR: "10.250.0.0/16", Tags: w.tags()},
		cloud.ClientToken(w.obj.Namespace+number))
	if err != nil {
		return "", fmt.Errorf("create a network: %w", err)
	}
	return made.ID, nil
}

// tags by which the networks of the object are found.
func (w *work) tags() map[string]string { return map[string]string{"contract/object": w.obj.Namespace} }

func (w *work) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.obj.Namespace, Name: name}}
}

func (w *work) managed() *resourcesv1alpha1.ManagedResource {
	return &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: w.obj.Namespace, Name: "contract"},
		Spec: resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "contract"}}}}
}

// managedOfSeed is one that nobody deletes.
func (w *work) managedOfSeed() *resourcesv1alpha1.ManagedResource {
	made := w.managed()
	made.Name, made.Spec.Class = "contract-seed", ptr.To(resourcesv1alpha1.ClassSeed)
	return made
}

func (w *work) lastType() gardencorev1beta1.LastOperationType {
	if w.obj.Status.LastOperation == nil {
		return ""
	}
	return w.obj.Status.LastOperation.Type
}

func (w *work) state() state {
	has := state{}
	if raw := w.obj.Status.State; raw != nil {
		_ = json.Unmarshal(raw.Raw, &has) // it was written here
	}
	return has
}

func (w *work) keep(ctx context.Context, has state, another bool) error {
	content, err := json.Marshal(has)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	results := content
	if another {
		results = []byte(`{"network":"restored"}`)
	}
	return w.patchStatus(ctx, func() {
		w.obj.Status.State = &runtime.RawExtension{Raw: content}
		w.obj.Status.ProviderStatus = &runtime.RawExtension{Raw: results}
	})
}

func (w *work) status(ctx context.Context, operation gardencorev1beta1.LastOperationType,
	result gardencorev1beta1.LastOperationState) error {
	return w.patchStatus(ctx, func() {
		w.obj.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation, State: result, Progress: 50,
			LastUpdateTime: metav1.Now(), Description: "contract"}
		w.obj.Status.LastError = nil
		if result == gardencorev1beta1.LastOperationStateSucceeded {
			w.obj.Status.LastOperation.Progress, w.obj.Status.ObservedGeneration = 100, w.obj.Generation
			if w.bug == "a6" && operation == migrate {
				w.obj.Status.ObservedGeneration = 0
			}
		}
	})
}

// fail writes why an operation has not succeeded yet.
func (w *work) fail(ctx context.Context, operation gardencorev1beta1.LastOperationType, because error) error {
	return w.patchStatus(ctx, func() {
		w.obj.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation, Progress: 50,
			State: gardencorev1beta1.LastOperationStateError, LastUpdateTime: metav1.Now(), Description: "contract"}
		w.obj.Status.LastError = &gardencorev1beta1.LastError{Description: because.Error()}
		w.obj.Status.ObservedGeneration = w.obj.Generation
	})
}

// answer takes the request off.
func (w *work) answer(ctx context.Context) error {
	return w.patch(ctx, func() { delete(w.obj.Annotations, constants.GardenerOperation) })
}

func (w *work) patch(ctx context.Context, change func()) error {
	before := w.obj.DeepCopy()
	change()
	if slices.Equal(before.Finalizers, w.obj.Finalizers) && len(before.Annotations) == len(w.obj.Annotations) {
		return nil
	}
	lock := client.MergeFromWithOptimisticLock{}
	if err := w.Patch(ctx, w.obj, client.MergeFromWithOptions(before, lock)); err != nil {
		return fmt.Errorf("change the metadata: %w", err)
	}
	return nil
}

func (w *work) patchStatus(ctx context.Context, change func()) error {
	before := w.obj.DeepCopy()
	change()
	if err := w.Status().Patch(ctx, w.obj, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("change the status: %w", err)
	}
	return nil
}

// shootHasFailed says whether nothing may be done for now.
func (w *work) shootHasFailed(ctx context.Context) (bool, error) {
	if w.bug == "a13" {
		return false, nil
	}
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	if err := w.Get(ctx, client.ObjectKey{Name: w.obj.Namespace}, cluster); err != nil {
		return false, fmt.Errorf("read the Cluster: %w", err)
	}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return false, fmt.Errorf("read the Shoot: %w", err)
	}
	last := shoot.Status.LastOperation
	return last != nil && last.State == gardencorev1beta1.LastOperationStateFailed, nil
}

func (w *work) checkSeed(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := w.Get(ctx, client.ObjectKey{Name: w.obj.Namespace}, cluster); err != nil {
		return fmt.Errorf("read the Cluster: %w", err)
	}
	if len(cluster.Spec.Seed.Raw) == 0 || string(cluster.Spec.Seed.Raw) == "null" {
		return errors.New("the Cluster has no seed")
	}
	return nil
}

// askShoot is answered by the API server of the shoot, if it runs.
func (w *work) askShoot(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", "kube-apiserver."+w.obj.Namespace+".svc:443")
	if err != nil {
		return fmt.Errorf("ask the shoot: %w", err)
	}
	return connection.Close()
}

// scoped lets calls of the cloud say for which shoot they are, and as which owner of it.
func (w *work) scoped(ctx context.Context) (context.Context, error) {
	namespace := &corev1.Namespace{}
	if err := w.Get(ctx, client.ObjectKey{Name: w.obj.Namespace}, namespace); err != nil {
		return nil, fmt.Errorf("read the namespace: %w", err)
	}
	if w.bug == "f1" {
		return cloud.WithScope(ctx, cloud.Scope{Shoot: w.obj.Namespace}), nil
	}
	epoch, err := strconv.ParseInt(namespace.Annotations["transplant.dev/epoch"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the epoch: %w", err)
	}
	return cloud.WithScope(ctx, cloud.Scope{Shoot: w.obj.Namespace, Epoch: epoch}), nil
}

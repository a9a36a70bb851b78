package shootstate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// addClasses saves the MachineClasses that the saved sets and machines are of, each behind its Secret. The next seed's
// Worker makes those of its own pools only: a set of an older class, which is still there while a pool is updated,
// could replace no machine without its class.
func (s *machineState) addClasses(ctx context.Context, seed client.Reader, namespace string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(machinev1alpha1.SchemeGroupVersion.WithKind(machinev1alpha1.MachineClassKind + "List"))
	if err := seed.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list MachineClasses in %q: %w", namespace, err)
	}
	classes := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		classes[list.Items[i].GetName()] = &list.Items[i]
	}
	for _, deployment := range s.MachineDeployments {
		for _, name := range deployment.classes() {
			class := classes[name]
			if class == nil {
				continue // nobody can use it on this seed either
			}
			secret, err := classSecret(ctx, seed, namespace, class)
			if err != nil {
				return err
			}
			if secret != nil {
				deployment.MachineClasses = append(deployment.MachineClasses, secret)
			}
			deployment.MachineClasses = append(deployment.MachineClasses, reduced(class))
		}
	}
	return nil
}

// classes are the names of the classes that the sets and machines are of, sorted.
func (d *deploymentState) classes() []string {
	names := map[string]bool{}
	note := func(object map[string]any, path ...string) {
		if name, found, err := unstructured.NestedString(object, path...); found && err == nil {
			names[name] = true
		}
	}
	for _, set := range d.MachineSets {
		note(set, "spec", "template", "spec", "class", "name")
	}
	for _, machine := range d.Machines {
		note(machine, "spec", "class", "name")
	}
	return slices.Sorted(maps.Keys(names))
}

// classSecret is what machines of a class are started with, or nil. Secrets that are not labelled as such are not the
// machines': they may hold credentials of the seed.
func classSecret(
	ctx context.Context, seed client.Reader, namespace string, class *unstructured.Unstructured,
) (map[string]any, error) {
	name, _, _ := unstructured.NestedString(class.Object, "secretRef", "name") // a text, by its schema
	if name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	if err := seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the secret %q of MachineClass %q: %w", name, class.GetName(), err)
	}
	if secret.Labels[constants.GardenerPurpose] != constants.GardenerPurposeMachineClass {
		return nil, nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return nil, fmt.Errorf("convert the secret %q of MachineClass %q: %w", name, class.GetName(), err)
	}
	raw := &unstructured.Unstructured{Object: object}
	raw.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return reduced(raw), nil
}

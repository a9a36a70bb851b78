package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// podNetworks is a kind with a type of its own, which the landscape asks for in acme.yaml. There is nothing to make: a
// shoot's nodes are simulated.
type podNetworks struct{}

var _ actuator[*extensionsv1alpha1.Network] = podNetworks{}

func (podNetworks) ofType() string { return "acme-net" }

func (podNetworks) ensure(context.Context, *extensionsv1alpha1.Network, *runtime.RawExtension,
	func(func()) error) error {
	return nil
}

func (podNetworks) migrate(context.Context, *extensionsv1alpha1.Network) error { return nil }

func (podNetworks) remove(context.Context, *extensionsv1alpha1.Network) error { return nil }

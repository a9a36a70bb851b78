// Command extensions is six small extension controllers that behave as those of the field do: an operating system, a
// network, a container runtime, DNS, certificates, and a provider. Each is a class, the first argument. They are plain
// controller-runtime on the API types, and use nothing of ours but those and the client of the cloud.
//
// They are examples for authors (docs/extensions), and what the tests run in scenarios of the catalogue. They are not
// the reference provider, and nothing of the product depends on them.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// classes are the extensions, by the first argument.
var classes = map[string]func(*program) error{
	"operating-system":  addOperatingSystem,
	"network":           addNetwork,
	"container-runtime": addContainerRuntime,
	"dns":               addDNS,
	"certificates":      addCertificates,
	"provider":          addProvider,
}

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || classes[args[0]] == nil {
		return fmt.Errorf("the first argument must be one of %q", slices.Sorted(maps.Keys(classes)))
	}
	p, err := newProgram(args[0], args[1:])
	if err != nil {
		return err
	}
	if err := classes[args[0]](p); err != nil {
		return fmt.Errorf("add the controllers of class %s: %w", args[0], err)
	}
	return p.manager.Start(ctrl.SetupSignalHandler())
}

package thirdparty

import (
	"fmt"
	"maps"
	"slices"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// Fields of an extension that change objects of the landscape.
const fieldShoot, fieldWorkerPool, fieldSeed = "shoot", "workerPool", "seed"

// asking says by which field of an extension's file the landscape asks for a type of a kind, and how.
var asking = map[string]struct{ field, how string }{
	extensionsv1alpha1.InfrastructureResource:   {fieldShoot, "{spec: {provider: {type: %s}}}"},
	extensionsv1alpha1.ControlPlaneResource:     {fieldShoot, "{spec: {provider: {type: %s}}}"},
	extensionsv1alpha1.WorkerResource:           {fieldShoot, "{spec: {provider: {type: %s}}}"},
	extensionsv1alpha1.NetworkResource:          {fieldShoot, "{spec: {networking: {type: %s}}}"},
	extensionsv1alpha1.ContainerRuntimeResource: {fieldWorkerPool, "{cri: {containerRuntimes: [{type: %s}]}}"},
	extensionsv1alpha1.OperatingSystemConfigResource: {fieldWorkerPool,
		"{machine: {image: {name: %s, version: 1.0.0}}}"},
	extensionsv1alpha1.DNSRecordResource:    {fieldSeed, "{spec: {dns: {internal: {type: %s}}}}"},
	extensionsv1alpha1.BackupBucketResource: {fieldSeed, "{spec: {backup: {provider: %s}}}"},
	extensionsv1alpha1.BackupEntryResource:  {fieldSeed, "{spec: {backup: {provider: %s}}}"},
	extensionsv1alpha1.ExtensionResource:    {fieldShoot, "{spec: {extensions: [{type: %s}]}}"},
}

// checkAsked finds resources that no object of the landscape has, and types that somebody asks for and nobody has.
func (f *Flag) checkAsked(extensions []landscape.Extension) []error {
	asked, err := landscape.Asked(extensions)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for i, e := range extensions {
		for r, resource := range e.Resources {
			if how := asking[resource.Kind]; !slices.Contains(asked[resource.Kind], resource.Type) {
				errs = append(errs, scenario.ExtensionMistake(f.Files[i], e, fmt.Sprintf("spec.resources[%d].type", r), fmt.Sprintf(
					"no %s of the landscape has the type %q, but %q; let the landscape ask for it with spec.%s: "+how.how,
					resource.Kind, resource.Type, asked[resource.Kind], how.field, resource.Type)))
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(asked)) {
		served := servedTypes(kind, extensions)
		for _, one := range asked[kind] {
			if slices.Contains(served, one) {
				continue
			}
			file, path := f.asker(extensions, asking[kind].field)
			errs = append(errs, scenario.ExtensionMistake(file, landscape.Extension{}, path, fmt.Sprintf(
				"asks for the type %q, and nobody reconciles %s of it; known are %q. Add {kind: %s, type: %s} to spec.resources "+
					"of an extension", one, kind, served, kind, one)))
		}
	}
	return errs
}

// servedTypes are those of which somebody reconciles the objects of a kind.
func servedTypes(kind string, extensions []landscape.Extension) []string {
	served := []string{landscape.ReferenceType(kind)}
	for _, e := range extensions {
		for _, resource := range e.Resources {
			if resource.Kind == kind && resource.IsPrimary() && !slices.Contains(served, resource.Type) {
				served = append(served, resource.Type)
			}
		}
	}
	return served
}

// asker is the last file that has the field by which a kind is usually asked for: it has the last word. Or it is the
// last one that changes something.
func (f *Flag) asker(extensions []landscape.Extension, usual string) (file, path string) {
	for _, name := range []string{usual, fieldShoot, fieldWorkerPool, fieldSeed} {
		for i, e := range slices.Backward(extensions) {
			has := map[string]bool{fieldShoot: e.Shoot != nil, fieldWorkerPool: e.WorkerPool != nil, fieldSeed: e.Seed != nil}
			if has[name] {
				return f.Files[i], "spec." + name
			}
		}
	}
	return "", "" // without a field, the landscape asks for the reference provider's types
}

package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/mergepatch"
)

// ExtensionKind is the kind of files about third-party extensions.
const ExtensionKind = "ExtensionDeployment"

// ExtensionDeployment is a third-party extension controller in a file, in the terms of Gardener's
// ControllerRegistration and ControllerDeployment. It can be part of any scenario.
type ExtensionDeployment struct {
	// APIVersion is transplant.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ExtensionDeployment.
	Kind string `json:"kind"`
	// Metadata names the extension.
	Metadata ExtensionMetadata `json:"metadata"`
	// Spec is the extension.
	Spec landscape.Extension `json:"spec"`

	registered Mistakes // in the file of its ControllerRegistration
}

// ExtensionMetadata is the metadata of an extension.
type ExtensionMetadata struct {
	// Name of the extension: a DNS label.
	Name string `json:"name"`
}

// MaxExtensionName is in bytes, and keeps an extension's name inside the names that are made of it.
const MaxExtensionName = 40

// ParseExtension reads a file about an extension and checks it: one of this kind, or the ControllerRegistration and
// ControllerDeployment that the extension has for Gardener. The path of its program is absolute then.
func ParseExtension(path string) (landscape.Extension, error) {
	content, err := readFile(path, maxRegistration)
	if err != nil {
		return landscape.Extension{}, fmt.Errorf("read the extension: %w", err)
	}
	if isRegistration(content) {
		return parseRegistration(path)
	}
	if content, err = readFile(path, maxSize); err != nil {
		return landscape.Extension{}, fmt.Errorf("read the extension: %w", err)
	}
	e := &ExtensionDeployment{}
	err = parse(path, content, e, func(unread Unread) field.ErrorList {
		if unread.in("") {
			return nil
		}
		return e.check(filepath.Dir(path))
	})
	if len(e.registered) > 0 {
		err = errors.Join(e.registered, err)
	}
	return e.Spec, err
}

// parseRegistration reads a file that is nothing but a ControllerRegistration with its ControllerDeployment.
func parseRegistration(path string) (landscape.Extension, error) {
	e := &ExtensionDeployment{APIVersion: APIVersion, Kind: ExtensionKind}
	e.Spec.Registration = filepath.Base(path)
	r, mistakes := readRegistration(path, false)
	if len(mistakes) == 0 && len(r.archive) == 0 {
		mistakes = Mistakes{registrationMistakeIn(path, "spec.deployment", "its "+deploymentKind+" is not in this file; add "+
			"it, or name this file as spec.registration in a file of kind "+ExtensionKind+", with binary")}
	}
	if len(mistakes) > 0 && (r.name == "" || len(r.archive) == 0) {
		return landscape.Extension{}, mistakes
	}
	e.Metadata.Name = r.name
	problems := e.check(filepath.Dir(path))
	mistakes = e.registered
	for _, problem := range problems {
		mistakes = append(mistakes, registrationMistakeOf(path, problem))
	}
	for i := range mistakes {
		mistakes[i].File = path // as it was given
	}
	if len(mistakes) > 0 {
		return landscape.Extension{}, mistakes.sorted()
	}
	return e.Spec, nil
}

// check also reads the files that the extension names, which lie in a folder.
func (e *ExtensionDeployment) check(folder string) field.ErrorList {
	e.Spec.Name = e.Metadata.Name
	errs := checkHead(e.APIVersion, e.Kind, ExtensionKind, e.Metadata.Name, MaxExtensionName)
	spec := field.NewPath("spec")
	registered := e.readRegistered(folder)
	if !registered || len(e.Spec.Resources) > 0 || len(e.registered) == 0 { // else they could not be read
		for _, problem := range checkResources(spec, e.Spec, registered) {
			if registered && strings.HasPrefix(problem.Field, spec.Child("resources").String()) {
				e.registered = append(e.registered, registrationMistakeOf(e.Spec.ResourcesFile, problem))
			} else {
				errs = append(errs, problem)
			}
		}
	}
	errs = append(errs, e.checkPrograms(spec, folder)...)
	errs = append(errs, checkEnv(spec.Child("env"), e.Spec.Env)...)
	errs = append(errs, checkOverlays(spec, e.Spec)...)
	errs = append(errs, readFiles(spec.Child("files"), e.Spec.Files, folder)...)
	errs = append(errs, e.readManifests(spec.Child("manifests"), folder)...)
	if len(errs) == 0 && len(e.registered) == 0 {
		errs = append(errs, e.readChart(spec, folder)...)
	}
	return append(errs, checkRules(spec.Child("rules"), e.Spec.Rules)...)
}

// readRegistered takes from the file of a ControllerRegistration what the extension's own file does not say. It says
// whether the resources are from there.
func (e *ExtensionDeployment) readRegistered(folder string) bool {
	if e.Spec.Registration == "" {
		return false
	}
	file := from(folder, e.Spec.Registration)
	r, mistakes := readRegistration(file, e.Spec.Chart != "")
	e.registered, e.Spec.Notes = mistakes, r.notes
	e.Spec.ChartArchive, e.Spec.ChartValues = r.archive, r.values
	if len(e.Spec.Resources) > 0 {
		return false
	}
	e.Spec.Resources, e.Spec.ResourcesFile = r.resources, file
	return true
}

// checkResources says what is wrong with the resources of an extension, which may be those of a ControllerRegistration.
func checkResources(spec *field.Path, e landscape.Extension, registered bool) field.ErrorList {
	var errs field.ErrorList
	if len(e.Resources) == 0 {
		why := "an extension reconciles something, such as {kind: Extension, type: my-type}"
		if registered {
			why += "; no landscape has an object of the kinds " + strings.Join(landscape.UnusedKinds(), ", ")
		}
		errs = append(errs, field.Required(spec.Child("resources"), why))
	}
	seen := map[string]bool{}
	for i, resource := range e.Resources {
		at := spec.Child("resources").Index(i)
		if seen[resource.Key()] {
			errs = append(errs, twice(at, resource.Key(), leaveOne))
		}
		seen[resource.Key()] = true
		errs = append(errs, checkType(at, resource)...)
		errs = append(errs, checkRegistrationOf(at, resource)...)
	}
	if e.ProviderConfig != nil && len(e.Types()) == 0 {
		errs = append(errs, field.Forbidden(spec.Child("providerConfig"),
			"shoots have one for Extensions alone; leave it out, or reconcile a kind Extension"))
	}
	return errs
}

func checkType(at *field.Path, resource landscape.ExtensionResource) field.ErrorList {
	kind, kinds := resource.Kind, landscape.ExtensionKinds()
	switch {
	case !slices.Contains(kinds, kind):
		return field.ErrorList{field.NotSupported(at.Child("kind"), kind, kinds)}
	case kind == extensionsv1alpha1.ExtensionResource && resource.Type == landscape.ProviderType:
		return field.ErrorList{field.Invalid(at.Child("type"), resource.Type,
			"is the reference provider's; give your Extension a type of its own")}
	case len(validation.IsDNS1123Label(resource.Type)) > 0: // it names the object, and stands in a label of the namespace
		return field.ErrorList{field.Invalid(at.Child("type"), resource.Type, validation.IsDNS1123Label(resource.Type)[0])}
	}
	return nil
}

// checkRegistrationOf holds what is registered for a type to Gardener's rules of ControllerRegistrations
// (docs/specification/api.md#spec-1-8).
func checkRegistrationOf(at *field.Path, r landscape.ExtensionResource) field.ErrorList {
	var errs field.ErrorList
	for name, given := range map[string]bool{
		"lifecycle": r.Lifecycle != nil, "reconcileTimeout": r.ReconcileTimeout.Duration > 0,
		"autoEnable": len(r.AutoEnable) > 0, "workerlessSupported": r.WorkerlessSupported,
		"clusterCompatibility": len(r.ClusterCompatibility) > 0,
	} {
		if given && r.Kind != extensionsv1alpha1.ExtensionResource {
			errs = append(errs, field.Forbidden(at.Child(name), "only resources of kind Extension have it; leave it out"))
		}
	}
	const before, later, last = gardencorev1beta1.BeforeKubeAPIServer, gardencorev1beta1.AfterKubeAPIServer,
		gardencorev1beta1.AfterWorker
	given := ptr.Deref(r.Lifecycle, gardencorev1beta1.ControllerResourceLifecycle{})
	for _, one := range []struct {
		name    string
		moment  *gardencorev1beta1.ControllerResourceLifecycleStrategy
		allowed []gardencorev1beta1.ControllerResourceLifecycleStrategy
	}{
		{"reconcile", given.Reconcile, []gardencorev1beta1.ControllerResourceLifecycleStrategy{before, later, last}},
		{"migrate", given.Migrate, []gardencorev1beta1.ControllerResourceLifecycleStrategy{before, later}},
		{"delete", given.Delete, []gardencorev1beta1.ControllerResourceLifecycleStrategy{before, later}},
	} {
		if one.moment != nil && !slices.Contains(one.allowed, *one.moment) {
			errs = append(errs, field.NotSupported(at.Child("lifecycle", one.name), *one.moment, one.allowed))
		}
	}
	compatible := r.ClusterCompatibility
	if len(compatible) == 0 {
		compatible = []gardencorev1beta1.ClusterType{gardencorev1beta1.ClusterTypeShoot}
	}
	known := []gardencorev1beta1.ClusterType{gardencorev1beta1.ClusterTypeShoot, gardencorev1beta1.ClusterTypeSeed,
		gardencorev1beta1.ClusterTypeGarden}
	for i, cluster := range r.ClusterCompatibility {
		if !slices.Contains(known, cluster) {
			errs = append(errs, field.NotSupported(at.Child("clusterCompatibility").Index(i), cluster, known))
		}
	}
	for i, cluster := range r.AutoEnable {
		switch path := at.Child("autoEnable").Index(i); {
		case !slices.Contains(known, cluster):
			errs = append(errs, field.NotSupported(path, cluster, known))
		case !slices.Contains(compatible, cluster):
			errs = append(errs, field.Invalid(path, cluster, "is not among clusterCompatibility; add it there"))
		}
	}
	return errs
}

// checkOverlays reads each patch strictly into what it changes.
func checkOverlays(spec *field.Path, e landscape.Extension) field.ErrorList {
	var errs field.ErrorList
	for name, overlay := range map[string]struct {
		patch *mergepatch.Merge
		of    any
	}{
		"shoot": {e.Shoot, &gardencorev1beta1.Shoot{}}, "seed": {e.Seed, &gardencorev1beta1.Seed{}},
		"cloudProfile": {e.CloudProfile, &gardencorev1beta1.CloudProfile{}},
	} {
		if overlay.patch != nil {
			errs = append(errs, overlay.patch.Check(spec.Child(name), overlay.of)...)
		}
	}
	if e.WorkerPool != nil {
		errs = append(errs, e.WorkerPool.CheckPart(spec.Child("workerPool"), &gardencorev1beta1.Worker{})...)
	}
	return errs
}

func checkProgram(at *field.Path, image, binary string) field.ErrorList {
	switch {
	case image == "" && binary == "":
		return field.ErrorList{field.Required(at.Child("binary"),
			"an extension is a program: give the path of its binary, or for the backend kind its image")}
	case image != "" && binary != "":
		return field.ErrorList{field.Forbidden(at.Child("image"), "there is a binary, too; give one of both")}
	case image != "":
		if strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' }) || strings.HasPrefix(image, "-") {
			return field.ErrorList{field.Invalid(at.Child("image"), image, "is no name of an image")}
		}
		return nil
	}
	info, err := os.Stat(binary)
	why := ""
	switch {
	case err != nil:
		why = fmt.Sprintf("%s; the path is one from the folder of this file", errors.Unwrap(err))
	case !info.Mode().IsRegular():
		why = "is no file; must be a program"
	case info.Mode()&0o111 == 0:
		why = "is not executable; make it so with chmod +x"
	}
	if why != "" {
		return field.ErrorList{field.Invalid(at.Child("binary"), binary, why)}
	}
	return nil
}

func checkEnv(path *field.Path, env []landscape.EnvVar) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, variable := range env {
		at := path.Index(i).Child("name")
		errs = append(errs, invalid(at, variable.Name, validation.IsEnvVarName(variable.Name))...)
		if slices.Contains(landscape.ReservedVariables(), variable.Name) {
			errs = append(errs, field.Forbidden(at, "the landscape sets it for every extension; leave it out"))
		}
		if seen[variable.Name] {
			errs = append(errs, twice(at, variable.Name, leaveOne))
		}
		seen[variable.Name] = true
	}
	return errs
}

func checkRules(path *field.Path, rules []landscape.Rule) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		for _, part := range []struct {
			name string
			list []string
		}{{"apiGroups", rule.APIGroups}, {"resources", rule.Resources}, {"verbs", rule.Verbs}} {
			if len(part.list) == 0 {
				errs = append(errs, field.Required(path.Index(i).Child(part.name), "a rule without one allows nothing"))
			}
		}
	}
	return errs
}

// extensionMistakeIn is a mistake in a file about an extension that shows only when it is to run, at the place of the
// field.
func extensionMistakeIn(file, path, message string) Mistake {
	return mistakeIn(file, path, message, &ExtensionDeployment{})
}

// ExtensionMistake is a mistake in a file about an extension that shows only when it is to run, at the place of the
// field: in the file of the ControllerRegistration if the field is from there.
func ExtensionMistake(file string, e landscape.Extension, path, message string) Mistake {
	if e.ResourcesFile == filepath.Clean(file) {
		return registrationMistakeIn(file, path, message)
	}
	if e.ResourcesFile != "" && strings.HasPrefix(path, "spec.resources") {
		return registrationMistakeIn(e.ResourcesFile, path, message)
	}
	return extensionMistakeIn(file, path, message)
}

package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
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
}

// ExtensionMetadata is the metadata of an extension.
type ExtensionMetadata struct {
	// Name of the extension: a DNS label.
	Name string `json:"name"`
}

// maxExtensionName keeps an extension's name inside the names that are made of it.
const maxExtensionName = 40

// ParseExtension reads a file about an extension and checks it. The path of its program is absolute then.
func ParseExtension(path string) (landscape.Extension, error) {
	content, err := readFile(path)
	if err != nil {
		return landscape.Extension{}, fmt.Errorf("read the extension: %w", err)
	}
	e := &ExtensionDeployment{}
	err = parse(path, content, e, func() field.ErrorList {
		e.Spec.Name = e.Metadata.Name
		if e.Spec.Binary != "" && !filepath.IsAbs(e.Spec.Binary) {
			e.Spec.Binary = filepath.Join(filepath.Dir(path), e.Spec.Binary)
		}
		return e.check()
	})
	if err != nil {
		return landscape.Extension{}, err
	}
	if e.Spec.Binary != "" {
		if e.Spec.Binary, err = filepath.Abs(e.Spec.Binary); err != nil {
			return landscape.Extension{}, fmt.Errorf("find the program of extension %q: %w", e.Metadata.Name, err)
		}
	}
	return e.Spec, nil
}

func (e *ExtensionDeployment) check() field.ErrorList {
	errs := checkHead(e.APIVersion, e.Kind, ExtensionKind, e.Metadata.Name, maxExtensionName)
	spec := field.NewPath("spec")
	errs = append(errs, checkResources(spec, e.Spec)...)
	errs = append(errs, checkProgram(spec, e.Spec)...)
	errs = append(errs, checkEnv(spec.Child("env"), e.Spec.Env)...)
	return append(errs, checkRules(spec.Child("rules"), e.Spec.Rules)...)
}

func checkResources(spec *field.Path, e landscape.Extension) field.ErrorList {
	var errs field.ErrorList
	if len(e.Resources) == 0 {
		errs = append(errs, field.Required(spec.Child("resources"),
			"an extension reconciles something, such as {kind: Extension, type: my-type}"))
	}
	seen := map[landscape.ExtensionResource]bool{}
	for i, resource := range e.Resources {
		at := spec.Child("resources").Index(i)
		if key := (landscape.ExtensionResource{Kind: resource.Kind, Type: resource.Type}); seen[key] {
			errs = append(errs, twice(at, resource.Kind+"/"+resource.Type, leaveOne))
		} else {
			seen[key] = true
		}
		errs = append(errs, checkType(at, resource)...)
	}
	if e.ProviderConfig != nil && len(e.Types()) == 0 {
		errs = append(errs, field.Forbidden(spec.Child("providerConfig"),
			"shoots have one for Extensions alone; leave it out, or reconcile a kind Extension"))
	}
	return errs
}

// checkType: nobody would reconcile, or be asked to, what has a type that nobody in the landscape uses.
func checkType(at *field.Path, resource landscape.ExtensionResource) field.ErrorList {
	kind, kinds := resource.Kind, landscape.ExtensionKinds()
	switch {
	case !slices.Contains(kinds, kind):
		return field.ErrorList{field.NotSupported(at.Child("kind"), kind, kinds)}
	case kind != extensionsv1alpha1.ExtensionResource && resource.Type != landscape.ProviderType:
		return field.ErrorList{field.Invalid(at.Child("type"), resource.Type,
			fmt.Sprintf("no %s of a landscape has this type; must be %q, for which the reference provider then stands aside",
				kind, landscape.ProviderType))}
	case kind == extensionsv1alpha1.ExtensionResource && resource.Type == landscape.ProviderType:
		return field.ErrorList{field.Invalid(at.Child("type"), resource.Type,
			"is the reference provider's; give your Extension a type of its own")}
	case len(validation.IsDNS1123Label(resource.Type)) > 0: // it names the object, and stands in a label of the namespace
		return field.ErrorList{field.Invalid(at.Child("type"), resource.Type, validation.IsDNS1123Label(resource.Type)[0])}
	}
	return nil
}

func checkProgram(spec *field.Path, e landscape.Extension) field.ErrorList {
	switch {
	case e.Image == "" && e.Binary == "":
		return field.ErrorList{field.Required(spec.Child("binary"),
			"an extension is a program: give the path of its binary, or for the backend kind its image")}
	case e.Image != "" && e.Binary != "":
		return field.ErrorList{field.Forbidden(spec.Child("image"), "there is a binary, too; give one of both")}
	case e.Image != "":
		if strings.ContainsFunc(e.Image, func(r rune) bool { return r <= ' ' }) || strings.HasPrefix(e.Image, "-") {
			return field.ErrorList{field.Invalid(spec.Child("image"), e.Image, "is no name of an image")}
		}
		return nil
	}
	info, err := os.Stat(e.Binary)
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
		return field.ErrorList{field.Invalid(spec.Child("binary"), e.Binary, why)}
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

// ExtensionMistakeIn is a mistake in a file about an extension that shows only when it is to run, at the place of the
// field.
func ExtensionMistakeIn(file, path, message string) Mistake {
	return mistakeIn(file, path, message, &ExtensionDeployment{})
}

// ExtensionFlag is the flag --extension, by which commands are given extensions.
type ExtensionFlag struct{ Files []string }

const extensionFlag = "extension"

// AddFlag adds the flag.
func (f *ExtensionFlag) AddFlag(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Files, extensionFlag, nil,
		"file of an "+ExtensionKind+
			": a third-party extension controller that runs on every seed (docs/third-party-extensions.md); may be repeated")
}

// Parse all files, in order, and hold them against each other.
func (f *ExtensionFlag) Parse() ([]landscape.Extension, error) {
	var extensions []landscape.Extension
	var errs []error
	named, reconciled := map[string]string{}, map[string]string{}
	for _, file := range f.Files {
		e, err := ParseExtension(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, taken := named[e.Name]; taken {
			errs = append(errs, ExtensionMistakeIn(file, "metadata.name",
				fmt.Sprintf("%q is also the name of the extension in %s; each needs its own", e.Name, other)))
		}
		named[e.Name] = file
		for i, resource := range e.Resources {
			key := resource.Kind + "/" + resource.Type
			if other, taken := reconciled[key]; taken {
				errs = append(errs, ExtensionMistakeIn(file, fmt.Sprintf("spec.resources[%d]", i),
					fmt.Sprintf("%s is reconciled by the extension in %s, too; only one may", key, other)))
			}
			reconciled[key] = file
		}
		extensions = append(extensions, e)
	}
	return extensions, errors.Join(errs...)
}

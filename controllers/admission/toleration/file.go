package toleration

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/userfile"
)

// Plugin is the name of Gardener's admission plugin for tolerations.
const Plugin = "ShootTolerationRestriction"

// What the files are that have lists of tolerations for all projects.
const (
	kindAdmissionConfiguration = "AdmissionConfiguration"
	restrictionVersion         = "shoottolerationrestriction.admission.gardener.cloud/v1alpha1"
)

var (
	admissionConfigurationVersions = []string{"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"}
	restrictionKinds               = []string{"Configuration", "ShootTolerationRestrictionConfiguration"}
)

// Restriction is the configuration of the plugin ShootTolerationRestriction as it is written.
type Restriction struct {
	metav1.TypeMeta `json:",inline"`
	// Defaults are added to new shoots.
	Defaults []gardencorev1beta1.Toleration `json:"defaults,omitempty"`
	// Whitelist may be used by shoots.
	Whitelist []gardencorev1beta1.Toleration `json:"whitelist,omitempty"`
}

// admissionConfiguration is that part of the API server's AdmissionConfiguration which is read.
type admissionConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	Plugins         []pluginConfiguration `json:"plugins"`
}

type pluginConfiguration struct {
	Name          string                `json:"name"`
	Path          string                `json:"path,omitempty"`
	Configuration *runtime.RawExtension `json:"configuration,omitempty"`
}

// maxFile bounds a configuration in bytes.
const maxFile = 16 << 20

// Read reads the lists that hold in all projects from a file: Gardener's AdmissionConfiguration, or the
// plugin's part of it. Fields that are not known are refused: a whitelist that was misspelt would allow nothing.
func Read(path string) (Lists, error) {
	content, err := userfile.Read(path, maxFile)
	if err != nil {
		return Lists{}, fmt.Errorf("read the admission configuration: %w", err)
	}
	document, err := RestrictionIn(content, filepath.Dir(path))
	if err != nil {
		return Lists{}, fmt.Errorf("read the admission configuration in %s: %w", path, err)
	}
	restriction := Restriction{}
	if err := decodeStrictly(document, &restriction); err != nil {
		return Lists{}, fmt.Errorf("read the configuration of plugin %s in %s: %w", Plugin, path, err)
	}
	if err := restriction.Validate().ToAggregate(); err != nil {
		return Lists{}, fmt.Errorf("read the configuration of plugin %s in %s: %w", Plugin, path, err)
	}
	return restriction.Lists(), nil
}

// RestrictionIn finds the plugin's configuration in the text of a file. The text is that configuration itself, or an
// AdmissionConfiguration, which has it beside other plugins: inline, or in a file of its own relative to folder.
func RestrictionIn(text []byte, folder string) ([]byte, error) {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return nil, fmt.Errorf("expected one object with a kind: %w", err)
	}
	if meta.Kind != kindAdmissionConfiguration {
		return text, checkRestriction(meta)
	}
	if !slices.Contains(admissionConfigurationVersions, meta.APIVersion) {
		return nil, field.NotSupported(field.NewPath("apiVersion"), meta.APIVersion, admissionConfigurationVersions)
	}
	configuration := admissionConfiguration{}
	if err := decodeStrictly(text, &configuration); err != nil {
		return nil, err
	}
	for i, plugin := range configuration.Plugins {
		if plugin.Name == Plugin {
			return plugin.restriction(field.NewPath("plugins").Index(i), folder)
		}
	}
	return nil, field.Required(field.NewPath("plugins"),
		"name the plugin "+Plugin+": nothing else is read here")
}

func (p pluginConfiguration) restriction(path *field.Path, folder string) ([]byte, error) {
	var content []byte
	switch {
	case p.Configuration != nil && p.Path != "":
		return nil, field.Forbidden(path.Child("path"), "give either path or configuration")
	case p.Configuration != nil:
		content = p.Configuration.Raw
	case p.Path != "":
		name := p.Path
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		var err error
		if content, err = userfile.Read(name, maxFile); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Child("path"), err)
		}
	default:
		return nil, field.Required(path.Child("configuration"), "give the plugin's configuration here, or its file as path")
	}
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(content, &meta); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkRestriction(meta); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

func checkRestriction(meta metav1.TypeMeta) error {
	switch {
	case !slices.Contains(restrictionKinds, meta.Kind):
		kinds := append([]string{kindAdmissionConfiguration}, restrictionKinds...)
		return field.NotSupported(field.NewPath("kind"), meta.Kind, kinds)
	case meta.APIVersion != restrictionVersion:
		return field.NotSupported(field.NewPath("apiVersion"), meta.APIVersion, []string{restrictionVersion})
	}
	return nil
}

// decodeStrictly reads YAML as an API server that validates strictly: names count with their case, and once.
func decodeStrictly(text []byte, into any) error {
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	mistakes, err := kjson.UnmarshalStrict(document, into)
	return errors.Join(append(mistakes, err)...)
}

// Lists are its lists, with no others.
func (r Restriction) Lists() Lists {
	return Lists{Defaults: r.Defaults, Whitelist: r.Whitelist}
}

// Validate finds tolerations without a key.
func (r Restriction) Validate() field.ErrorList {
	var errs field.ErrorList
	for name, list := range map[string][]gardencorev1beta1.Toleration{"defaults": r.Defaults, "whitelist": r.Whitelist} {
		for i, toleration := range list {
			if toleration.Key == "" {
				errs = append(errs, field.Required(field.NewPath(name).Index(i).Child("key"), "name the key of the taint"))
			}
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/fit"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Kinds of a registration's file, in the group core.gardener.cloud.
const registrationKind, deploymentKind = "ControllerRegistration", "ControllerDeployment"

// maxRegistration bounds a registration's file in bytes: it may have the archive of a chart in it.
const maxRegistration = 4 << 20

// controllerDeployment is a ControllerDeployment of core.gardener.cloud, v1 or v1beta1: the first has helm, the other
// type and providerConfig.
type controllerDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Helm                   *helmDeployment `json:"helm,omitempty"`
	Type                   string          `json:"type,omitempty"`
	ProviderConfig         *helmDeployment `json:"providerConfig,omitempty"`
	InjectGardenKubeconfig *bool           `json:"injectGardenKubeconfig,omitempty"`
}

// helmDeployment is the chart of a ControllerDeployment.
type helmDeployment struct {
	RawChart      []byte         `json:"rawChart,omitempty"` // v1
	Chart         []byte         `json:"chart,omitempty"`    // v1beta1
	Values        map[string]any `json:"values,omitempty"`
	OCIRepository *struct {
		Ref                *string        `json:"ref,omitempty"`
		Repository         *string        `json:"repository,omitempty"`
		Tag                *string        `json:"tag,omitempty"`
		Digest             *string        `json:"digest,omitempty"`
		PullSecretRef      map[string]any `json:"pullSecretRef,omitempty"`
		CABundleSecretRef  map[string]any `json:"caBundleSecretRef,omitempty"`
		InsecureConnection *bool          `json:"insecureConnection,omitempty"`
	} `json:"ociRepository,omitempty"`
}

// registeredDocument is a document of a registration's file, with the places of its fields.
type registeredDocument struct {
	fields map[string]any
	places *decoder
}

func (d registeredDocument) is(kind string) bool { return d.fields["kind"] == kind }

// registration is what the file of a ControllerRegistration says of an extension.
type registration struct {
	name      string
	resources []landscape.ExtensionResource // of kinds that landscapes have
	deployed  string                        // name of its ControllerDeployment; empty if it names none
	found     bool                          // the ControllerDeployment is in the file
	archive   []byte
	values    map[string]any
	notes     []string
}

// registeredDocuments of a file.
func registeredDocuments(content []byte) ([]registeredDocument, *Mistake) {
	var all []registeredDocument
	stream := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var node yaml.Node
		if err := stream.Decode(&node); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, syntax(err, content)
		}
		d := registeredDocument{places: &decoder{places: map[string]place{}}}
		var plain any
		if err := node.Content[0].Decode(&plain); err != nil {
			return nil, syntax(err, content)
		}
		if plain == nil {
			continue
		}
		encoded, err := json.Marshal(plain) // as encoding/json reads it: numbers are floats
		if err != nil || json.Unmarshal(encoded, &d.fields) != nil {
			return nil, &Mistake{Line: node.Content[0].Line, Message: "is no object"}
		}
		d.places.mark(node.Content[0], "")
		all = append(all, d)
	}
}

// isRegistration says whether a file is a ControllerRegistration or ControllerDeployment, in any of its documents.
func isRegistration(content []byte) bool {
	all, _ := registeredDocuments(content)
	return slices.ContainsFunc(all, func(d registeredDocument) bool {
		return d.is(registrationKind) || d.is(deploymentKind)
	})
}

// readRegistration reads the file of a ControllerRegistration. The file of an extension may have a chart of its own.
func readRegistration(file string, ownChart bool) (registration, Mistakes) {
	content, err := readFile(file, maxRegistration)
	if err != nil {
		return registration{}, Mistakes{{File: file, Line: 1, Message: err.Error()}}
	}
	all, mistake := registeredDocuments(content)
	if mistake != nil {
		mistake.File = file
		return registration{}, Mistakes{*mistake}
	}
	r := registration{}
	mistakes, registered := Mistakes{}, 0
	add := func(d registeredDocument, errs field.ErrorList) {
		for _, problem := range errs {
			mistake := d.places.mistakeOf(problem)
			mistake.File = file
			mistakes = append(mistakes, mistake)
		}
	}
	var deployments []registeredDocument
	for _, d := range all {
		switch {
		case d.is(registrationKind):
			if registered++; registered > 1 {
				add(d, field.ErrorList{field.Forbidden(field.NewPath("kind"), "is a second one; an extension has one")})
				continue
			}
			add(d, r.readResources(d))
		case d.is(deploymentKind):
			deployments = append(deployments, d)
		default:
			add(d, field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprint(d.fields["kind"]),
				[]string{registrationKind, deploymentKind})})
		}
	}
	for _, d := range deployments {
		add(d, r.readDeployment(d, ownChart))
	}
	if registered == 0 && len(mistakes) == 0 {
		mistakes = Mistakes{{File: file, Line: 1, Message: "has no " + registrationKind + "; add the one of the extension"}}
	}
	return r, mistakes.sorted()
}

func (r *registration) readResources(d registeredDocument) field.ErrorList {
	object := &gardencorev1beta1.ControllerRegistration{}
	if errs := checkRegistered("v1beta1", d, object); len(errs) > 0 {
		return errs
	}
	r.name = object.Name
	var errs field.ErrorList
	spec := field.NewPath("spec")
	for i, resource := range object.Spec.Resources {
		if timeout := resource.ReconcileTimeout; timeout != nil && timeout.Duration <= 0 {
			errs = append(errs, field.Invalid(spec.Child("resources").Index(i).Child("reconcileTimeout"),
				timeout.Duration.String(), "must be above 0, or be left out"))
		}
		one := landscape.ExtensionResource{
			Kind: resource.Kind, Type: resource.Type, Primary: resource.Primary, Lifecycle: resource.Lifecycle,
			ReconcileTimeout: ptr.Deref(resource.ReconcileTimeout, metav1.Duration{}), AutoEnable: resource.AutoEnable,
			WorkerlessSupported:  ptr.Deref(resource.WorkerlessSupported, false),
			ClusterCompatibility: resource.ClusterCompatibility,
		}
		if slices.Contains(landscape.UnusedKinds(), one.Kind) {
			r.note("%s %s: no landscape has an object of this kind", one.Kind, one.Type)
			continue // a registration names everything that its extension can do
		}
		r.resources = append(r.resources, one)
	}
	if deployed := object.Spec.Deployment; deployed != nil {
		for _, ref := range deployed.DeploymentRefs {
			r.deployed = cmp.Or(r.deployed, ref.Name)
		}
		if refs := len(deployed.DeploymentRefs); refs > 1 {
			errs = append(errs, field.TooMany(spec.Child("deployment", "deploymentRefs"), refs, 1))
		}
		if deployed.Policy != nil && *deployed.Policy != gardencorev1beta1.ControllerDeploymentPolicyAlways {
			r.note("spec.deployment.policy: %s has no effect; the extension runs on every seed", *deployed.Policy)
		}
		if deployed.SeedSelector != nil {
			r.note("spec.deployment.seedSelector: has no effect; the extension runs on every seed")
		}
	}
	return errs
}

func (r *registration) note(format string, arguments ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, arguments...))
}

func (r *registration) readDeployment(d registeredDocument, ownChart bool) field.ErrorList {
	object := &controllerDeployment{}
	if errs := checkRegistered("v1beta1 v1", d, object); len(errs) > 0 {
		return errs
	}
	switch name := field.NewPath("metadata", "name"); {
	case r.name == "": // what the registration names is not known
	case object.Name != r.deployed:
		return field.ErrorList{field.Invalid(name, object.Name, fmt.Sprintf("is not the one that the %s %q names in "+
			"spec.deployment.deploymentRefs; name it there, or leave it out", registrationKind, r.name))}
	case r.found:
		return field.ErrorList{twice(name, object.Name, leaveOne)}
	}
	r.found = true
	if object.Type != "" && object.Type != "helm" {
		return field.ErrorList{field.NotSupported(field.NewPath("type"), object.Type, []string{"helm"})}
	}
	if ptr.Deref(object.InjectGardenKubeconfig, false) {
		r.note("injectGardenKubeconfig: has no effect; an extension reaches its seed and the cloud, not the garden")
	}
	at, helm := field.NewPath("helm"), object.Helm
	if helm == nil {
		at, helm = field.NewPath("providerConfig"), object.ProviderConfig
	}
	if helm == nil {
		return field.ErrorList{field.Required(at, "a ControllerDeployment names its chart")}
	}
	r.archive, r.values = append(helm.RawChart, helm.Chart...), helm.Values
	if len(r.archive) == 0 && !ownChart {
		what := "give the chart in base64, or"
		if helm.OCIRepository != nil {
			at, what = at.Child("ociRepository"), "no chart is fetched from a registry; get it with helm pull, and"
		}
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, what+" name it with spec.chart in a file of kind "+
			ExtensionKind+" that has this file as spec.registration")}
	}
	return nil
}

// checkRegistered reads an object of Gardener's group core in one of these versions.
func checkRegistered(versions string, d registeredDocument, object any) field.ErrorList {
	var supported []string
	for version := range strings.FieldsSeq(versions) {
		supported = append(supported, gardencorev1beta1.SchemeGroupVersion.Group+"/"+version)
	}
	if given := fmt.Sprint(d.fields["apiVersion"]); !slices.Contains(supported, given) {
		return field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), given, supported)}
	}
	return fit.Check(nil, d.fields, object)
}

func registrationMistakeOf(file string, problem *field.Error) Mistake {
	m := registrationMistakeIn(file, problem.Field, problem.ErrorBody())
	m.Meant = meant(problem)
	return m
}

// registrationMistakeIn is a mistake about a ControllerRegistration that shows only when it is to run.
func registrationMistakeIn(file, path, message string) Mistake {
	m := Mistake{File: file, Line: 1, Field: path, Message: message}
	content, err := userfile.Read(file, maxRegistration)
	if err != nil {
		return m // it was there a moment ago
	}
	all, _ := registeredDocuments(content)
	for _, d := range all {
		if d.is(registrationKind) {
			m.Field = d.withUnused(path)
			at := d.places.placeOf(m.Field)
			m.Line, m.Column = at.line, at.column
		}
	}
	return m
}

// withUnused is the path of a resource in the document, which also has those that no landscape has.
func (d registeredDocument) withUnused(path string) string {
	var used, after = 0, ""
	if n, _ := fmt.Sscanf(path, "spec.resources[%d]%s", &used, &after); n == 0 {
		return path
	}
	spec, _ := d.fields["spec"].(map[string]any)
	all, _ := spec["resources"].([]any)
	for i, resource := range all {
		fields, _ := resource.(map[string]any)
		if slices.Contains(landscape.UnusedKinds(), fmt.Sprint(fields["kind"])) {
			continue
		}
		if used--; used < 0 {
			return fmt.Sprintf("spec.resources[%d]%s", i, after)
		}
	}
	return path
}

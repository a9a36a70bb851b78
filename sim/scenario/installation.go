package scenario

import (
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// SampleSeed is for which a chart is rendered to see whether it can be, and what is in it: a seed as the files of these
// extensions change it.
func SampleSeed(extensions ...landscape.Extension) (*gardencorev1beta1.Seed, error) {
	dns := gardencorev1beta1.SeedDNSProviderConfig{Type: landscape.ProviderType, Domain: "seed.test"}
	return landscape.OverlayTyped("Seed", &gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: "seed"},
		Spec: gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: landscape.ProviderType, Region: landscape.Home},
			Backup:   &gardencorev1beta1.Backup{Provider: landscape.ProviderType},
			DNS:      gardencorev1beta1.SeedDNS{Internal: &dns, Defaults: []gardencorev1beta1.SeedDNSProviderConfig{dns}},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.0.0.0/18", Services: "10.0.64.0/18"},
		},
	}, extensions)
}

// readChart renders the chart of an extension, if it has one, and finds out what runs in its containers.
func (e *ExtensionDeployment) readChart(spec *field.Path, folder string) field.ErrorList {
	at, given := spec.Child("chart"), e.Spec.Chart
	switch {
	case e.Spec.Chart != "":
		e.Spec.Chart, e.Spec.ChartArchive = from(folder, e.Spec.Chart), nil
	case len(e.Spec.ChartArchive) > 0:
		at, given = spec.Child("registration"), e.Spec.Registration
	default:
		var errs field.ErrorList
		for name, has := range map[string]bool{"values": e.Spec.Values != nil, "containers": len(e.Spec.Containers) > 0} {
			if has {
				errs = append(errs, field.Forbidden(spec.Child(name), "there is no chart that it is for; give one"))
			}
		}
		return errs
	}
	if len(e.Spec.Command) > 0 {
		return field.ErrorList{field.Forbidden(spec.Child("command"), "the chart's Deployment has it; leave it out")}
	}
	var installed chart.Installation
	seed, err := SampleSeed(e.Spec)
	if err == nil {
		installed, err = chart.Install(e.Spec, seed)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at, given, err.Error())}
	}
	pod := installed.Deployment.Spec.Template.Spec
	e.Spec.Account = pod.ServiceAccountName
	return e.fillContainers(spec, at, append(slices.Clone(pod.InitContainers), pod.Containers...), len(pod.Containers))
}

// fillContainers says for each container of a pod what runs in it: what the file says, or the image of the chart, which
// is the field at.
func (e *ExtensionDeployment) fillContainers(spec, at *field.Path, inPod []corev1.Container,
	lasting int) field.ErrorList {
	var errs field.ErrorList
	var names []string
	for _, c := range inPod {
		names = append(names, c.Name)
	}
	given := map[string]landscape.ExtensionContainer{}
	for i, c := range e.Spec.Containers {
		at := spec.Child("containers").Index(i)
		c.Field = at.String()
		if !slices.Contains(names, c.Name) {
			errs = append(errs, field.NotSupported(at.Child("name"), c.Name, names))
			continue
		}
		if _, twiceGiven := given[c.Name]; twiceGiven {
			errs = append(errs, twice(at.Child("name"), c.Name, leaveOne))
		}
		given[c.Name] = c
	}
	if e.Spec.Binary != "" || e.Spec.Image != "" || len(e.Spec.Args) > 0 {
		only := names[len(names)-1]
		if _, said := given[only]; said || lasting > 1 {
			return append(errs, field.Forbidden(spec.Child("containers"), "the chart has the containers "+
				strings.Join(names, ", ")+"; say here what runs in each, and with which args"))
		}
		said := landscape.ExtensionContainer{Name: only, Binary: e.Spec.Binary, Image: e.Spec.Image, Args: e.Spec.Args}
		switch {
		case said.Binary != "":
			said.Field = spec.Child("binary").String()
		case said.Image != "":
			said.Field = spec.Child("image").String()
		default: // what runs is from the chart
			said.Field = at.String()
		}
		given[only] = said
	}
	var all []landscape.ExtensionContainer
	for _, c := range inPod {
		said, is := given[c.Name]
		if !is {
			said.Name, said.Field = c.Name, at.String()
		}
		if said.Binary == "" && said.Image == "" {
			said.Image = c.Image
		}
		all = append(all, said)
	}
	if len(errs) == 0 {
		e.Spec.Containers = all
	}
	return errs
}

// checkPrograms looks at all programs and images that a file gives. It makes their paths those from its folder.
func (e *ExtensionDeployment) checkPrograms(spec *field.Path, folder string) field.ErrorList {
	var errs field.ErrorList
	resolve := func(at *field.Path, image string, binary *string) {
		if *binary != "" {
			*binary = from(folder, *binary)
			if absolute, err := filepath.Abs(*binary); err == nil {
				*binary = absolute
			}
		}
		errs = append(errs, checkProgram(at, image, *binary)...)
	}
	for i := range e.Spec.Containers {
		c := &e.Spec.Containers[i]
		if c.Image != "" || c.Binary != "" {
			resolve(spec.Child("containers").Index(i), c.Image, &c.Binary)
		}
	}
	if !e.Spec.HasChart() || e.Spec.Binary != "" || e.Spec.Image != "" {
		resolve(spec, e.Spec.Image, &e.Spec.Binary)
	}
	return errs
}

package validation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

func workersPath() *field.Path { return field.NewPath("spec", "provider", "workers") }

// workers checks each pool, and all together.
func workers(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	errs := filled(field.NewPath("spec", "provider", "type"), shoot.Spec.Provider.Type,
		"must be the type of the CloudProfile's provider")
	names := seen{}
	hosts := false
	for i := range shoot.Spec.Provider.Workers {
		worker, at := &shoot.Spec.Provider.Workers[i], workersPath().Index(i)
		errs = append(errs, poolName(at.Child("name"), worker.Name, names)...)
		for _, check := range poolChecks() {
			errs = append(errs, check(at, worker)...)
		}
		errs = append(errs, poolKubernetes(at.Child("kubernetes"), shoot, worker)...)
		hosts = hosts || worker.Maximum > 0 && (worker.SystemComponents == nil || worker.SystemComponents.Allow)
	}
	if len(shoot.Spec.Provider.Workers) > 0 && !hosts {
		errs = append(errs, field.Forbidden(workersPath(),
			"at least one pool must have a maximum above 0 and allow system components"))
	}
	return errs
}

func poolChecks() []func(*field.Path, *gardencorev1beta1.Worker) field.ErrorList {
	return []func(*field.Path, *gardencorev1beta1.Worker) field.ErrorList{
		poolSize, poolBounds, poolUpdate, poolMachine, poolZones, poolLabels, poolTaints, poolRuntime, poolVolumes,
		machineSettings, selfHosted,
	}
}

func poolName(path *field.Path, name string, names seen) field.ErrorList {
	errs := label(path, name)
	if len(name) > maxPoolName {
		errs = append(errs, field.TooLong(path, name, maxPoolName))
	}
	return append(errs, names.once(path, name)...)
}

func poolSize(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	errs := atLeast(path.Child("minimum"), worker.Minimum, 0)
	errs = append(errs, atLeast(path.Child("maximum"), worker.Maximum, 0)...)
	if worker.Minimum > worker.Maximum {
		errs = append(errs, field.Invalid(path.Child("minimum"), worker.Minimum,
			fmt.Sprintf("must not be above maximum, which is %d", worker.Maximum)))
	}
	return errs
}

func poolKubernetes(path *field.Path, shoot *gardencorev1beta1.Shoot,
	worker *gardencorev1beta1.Worker) field.ErrorList {
	if worker.Kubernetes == nil || worker.Kubernetes.Kubelet == nil {
		return nil
	}
	errs := kubelet(path.Child("kubelet"), worker.Kubernetes.Kubelet)
	version, err := semver.NewVersion(ptr.Deref(worker.Kubernetes.Version, shoot.Spec.Kubernetes.Version))
	if err != nil {
		return errs // refused as a version
	}
	return append(errs,
		featureGates(path.Child("kubelet", "featureGates"), worker.Kubernetes.Kubelet.FeatureGates, version)...)
}

// architectures are those that images and machines have.
var architectures = []string{"amd64", "arm64"}

func poolMachine(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	machine, at := worker.Machine, path.Child("machine")
	errs := filled(at.Child("type"), machine.Type, "must name a machine type of the CloudProfile")
	if machine.Architecture != nil {
		errs = append(errs, oneOf(at.Child("architecture"), *machine.Architecture, architectures)...)
	}
	switch {
	case machine.Image == nil:
		return append(errs, field.Required(at.Child("image"), "must name a machine image of the CloudProfile"))
	case ptr.Deref(machine.Image.Version, "") == "":
		errs = append(errs,
			field.Required(at.Child("image", "version"), "must be a version of the image that the CloudProfile offers"))
	}
	return append(errs,
		filled(at.Child("image", "name"), machine.Image.Name, "must name a machine image of the CloudProfile")...)
}

// poolZones wants each zone once: a zone given twice would have two groups of machines.
func poolZones(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	zones := seen{}
	for i, zone := range worker.Zones {
		errs = append(errs, zones.once(path.Child("zones").Index(i), zone)...)
	}
	return errs
}

// reservedDomains begin the keys of labels, annotations and taints that controllers of nodes and machines keep for
// themselves.
var reservedDomains = []string{"node.gardener.cloud", "node.machine.sapcloud.io", "worker.gardener.cloud",
	"worker.garden.sapcloud.io"}

// conditionDomains begin the keys of taints by which Kubernetes says how a node is: it takes them off again.
var conditionDomains = []string{"node.kubernetes.io", "node.cloudprovider.kubernetes.io"}

// ownLabels are set on every node.
var ownLabels = []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable,
	corev1.LabelArchStable, corev1.LabelOSStable}

func domainOf(key string) string {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return domain
}

func poolLabels(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	errs := metav1validation.ValidateLabels(worker.Labels, path.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(worker.Annotations, path.Child("annotations"))...)
	for _, given := range []struct {
		name string
		keys map[string]string
		own  []string
	}{{"labels", worker.Labels, ownLabels}, {"annotations", worker.Annotations, nil}} {
		for _, key := range sortedKeys(given.keys) {
			switch {
			case slices.Contains(reservedDomains, domainOf(key)):
				errs = append(errs, field.Forbidden(path.Child(given.name).Key(key),
					"is reserved for the controllers of nodes and machines: choose another key"))
			case slices.Contains(given.own, key):
				errs = append(errs, field.Forbidden(path.Child(given.name).Key(key),
					"is set on every node: leave it out"))
			}
		}
	}
	return errs
}

var taintEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
	corev1.TaintEffectNoExecute}

// poolTaints wants taints that a node can have, and that stay there.
func poolTaints(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	given := seen{}
	for i, taint := range worker.Taints {
		at := path.Child("taints").Index(i)
		errs = append(errs, qualified(at.Child("key"), taint.Key)...)
		errs = append(errs, labelValue(at.Child("value"), taint.Value)...)
		errs = append(errs, oneOf(at.Child("effect"), taint.Effect, taintEffects)...)
		errs = append(errs, given.once(at, taint.Key+":"+string(taint.Effect))...)
		switch domain := domainOf(taint.Key); {
		case taint.Key == constants.TaintNodeCriticalComponentsNotReady:
			errs = append(errs, field.Forbidden(at.Child("key"),
				"is reserved: every new node has this taint until its critical components are ready"))
		case slices.Contains(reservedDomains, domain):
			errs = append(errs, field.Forbidden(at.Child("key"),
				"is reserved for the controllers of nodes and machines: choose another key"))
		case slices.Contains(conditionDomains, domain):
			errs = append(errs, field.Forbidden(at.Child("key"),
				"is reserved: Kubernetes says by such taints how a node is, and takes them off again"))
		}
	}
	return errs
}

// runtimes are the container runtimes that nodes have.
var runtimes = []gardencorev1beta1.CRIName{gardencorev1beta1.CRINameContainerD}

func poolRuntime(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	if worker.CRI == nil {
		return nil
	}
	return containerRuntime(path.Child("cri"), worker.CRI)
}

// containerRuntime wants each further runtime once: its type is in the name of the ContainerRuntime object.
func containerRuntime(path *field.Path, cri *gardencorev1beta1.CRI) field.ErrorList {
	errs := oneOf(path.Child("name"), cri.Name, runtimes)
	types := seen{}
	for i, runtime := range cri.ContainerRuntimes {
		at := path.Child("containerRuntimes").Index(i).Child("type")
		errs = append(errs, label(at, runtime.Type)...)
		errs = append(errs, types.once(at, runtime.Type)...)
	}
	return errs
}

// selfHosted refuses pools that host a control plane: there are no self-hosted shoots here.
func selfHosted(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	if worker.ControlPlane == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("controlPlane"),
		"shoots that host their own control plane are not supported: leave it out")}
}

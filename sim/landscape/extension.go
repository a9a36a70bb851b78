package landscape

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/mergepatch"
)

// ProviderType is the type of all extension objects of a landscape that has no third-party extensions, but for
// OperatingSystemConfigs: their type is the name of the machine image.
const ProviderType = "transplant"

// Extension is a third-party extension controller. It runs on every seed, each an actor of its own.
type Extension struct {
	// Name of the extension, which its file has as that of the object.
	Name string `json:"-"`
	// Resources that it reconciles, at least one, unless its registration has them.
	Resources []ExtensionResource `json:"resources,omitempty"`
	// Image that holds it, one that Docker has on this machine; for the backend kind.
	Image string `json:"image,omitempty"`
	// Binary is the program, a path from the folder of the file. For the backend kind it has to be static.
	Binary string `json:"binary,omitempty"`
	// Command in place of the image's own, or of the program.
	Command []string `json:"command,omitempty"`
	// Args for the command.
	Args []string `json:"args,omitempty"`
	// Env is its environment, beside the variables that every extension gets.
	Env []EnvVar `json:"env,omitempty"`
	// Rules say what it may do in the control planes of shoots, beside what its resources need.
	Rules []Rule `json:"rules,omitempty"`
	// ProviderConfig stands in the shoots' spec.extensions, for a kind Extension.
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Files that the program reads, such as its configuration.
	Files []ExtensionFile `json:"files,omitempty"`
	// Manifests are YAML files of objects that every seed has before the program starts, such as the CRDs and roles of a
	// chart: paths from the folder of the file. An object of a namespaced kind that names no namespace is put beside the
	// program.
	Manifests []string `json:"manifests,omitempty"`
	// Objects of each of the manifests.
	Objects [][]*unstructured.Unstructured `json:"-"`
	// Registration is a file with its ControllerRegistration, and maybe the ControllerDeployment: a path from the folder
	// of the file. The resources come from there, and the chart, unless they are given here.
	Registration string `json:"registration,omitempty"`
	// Chart is its Helm chart, a folder or an archive: a path from the folder of the file. Its one Deployment becomes the
	// program; all other objects are on every seed before it starts.
	Chart string `json:"chart,omitempty"`
	// Values for the chart, over its own and under those that Gardener gives.
	Values *runtime.RawExtension `json:"values,omitempty"`
	// Containers of the chart's Deployment, by name, with what runs in them. If there is one, binary or image may say it.
	Containers []ExtensionContainer `json:"containers,omitempty"`
	// ChartArchive and ChartValues are those of a ControllerDeployment.
	ChartArchive []byte         `json:"-"`
	ChartValues  map[string]any `json:"-"`
	// Account is the ServiceAccount of the chart's Deployment; empty for one with the name of the extension.
	Account string `json:"-"`
	// ResourcesFile is the file of the ControllerRegistration that the resources are from; empty if they are its own.
	ResourcesFile string `json:"-"`
	// Notes say what of a ControllerRegistration or ControllerDeployment has no effect.
	Notes []string `json:"-"`
	// Shoot is a JSON merge patch (RFC 7386) for each Shoot of a scenario: null removes a field, a list replaces the
	// whole list. The Shoot asks for the types of the extension there.
	Shoot *mergepatch.Merge `json:"shoot,omitempty"`
	// WorkerPool is such a patch for each worker pool of the Shoots, as in spec.provider.workers.
	WorkerPool *mergepatch.Part `json:"workerPool,omitempty"`
	// CloudProfile is such a patch for the CloudProfile.
	CloudProfile *mergepatch.Merge `json:"cloudProfile,omitempty"`
	// Seed is such a patch for each Seed.
	Seed *mergepatch.Merge `json:"seed,omitempty"`
}

// ExtensionResource is a kind of objects of a type, as in a ControllerRegistration of Gardener.
type ExtensionResource struct {
	// Kind in the group extensions.gardener.cloud.
	Kind string `json:"kind"`
	// Type of the objects. For an Extension a new one, which every shoot then has. For all other kinds it is one that the
	// landscape asks for. At the type of the reference provider, that provider stands aside.
	Type string `json:"type"`
	// StateMayChange says that what the objects keep in status.state may be something else after a move. Without it that
	// breaks the promise MigrationEnds.
	StateMayChange bool `json:"stateMayChange,omitempty"`
	// Primary is false for an extension that acts on objects of which another one decides: it reports no success, and
	// nobody waits for it. True when not given.
	Primary *bool `json:"primary,omitempty"`
	// Lifecycle says when in a flow the objects of an Extension are reconciled, migrated and deleted.
	Lifecycle *gardencorev1beta1.ControllerResourceLifecycle `json:"lifecycle,omitempty"`
	// ReconcileTimeout is how long an Extension is waited for; 3 minutes when not given.
	ReconcileTimeout metav1.Duration `json:"reconcileTimeout,omitzero"`
	// AutoEnable has the clusters that get the Extension without asking for it. With shoot it is every shoot, also one
	// that names it nowhere.
	AutoEnable []gardencorev1beta1.ClusterType `json:"autoEnable,omitempty"`
	// WorkerlessSupported gives an automatically enabled Extension to workerless shoots, too.
	WorkerlessSupported bool `json:"workerlessSupported,omitempty"`
	// ClusterCompatibility has the clusters that may have the Extension; shoot when not given.
	ClusterCompatibility []gardencorev1beta1.ClusterType `json:"clusterCompatibility,omitempty"`
}

// Key is kind and type.
func (r ExtensionResource) Key() string { return r.Kind + "/" + r.Type }

// IsPrimary says whether the extension is the one that others wait for.
func (r ExtensionResource) IsPrimary() bool { return ptr.Deref(r.Primary, true) }

// IsAutoEnabled says whether shoots get the Extension without asking for it.
func (r ExtensionResource) IsAutoEnabled() bool {
	return slices.Contains(r.AutoEnable, gardencorev1beta1.ClusterTypeShoot)
}

// Registered is its ControllerRegistration in the garden.
func (e Extension) Registered() *gardencorev1beta1.ControllerRegistration {
	registration := &gardencorev1beta1.ControllerRegistration{
		TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(),
			Kind: "ControllerRegistration"},
		ObjectMeta: metav1.ObjectMeta{Name: e.Name},
	}
	for _, r := range e.Resources {
		resource := gardencorev1beta1.ControllerResource{Kind: r.Kind, Type: r.Type, Primary: r.Primary,
			Lifecycle: r.Lifecycle, AutoEnable: r.AutoEnable, ClusterCompatibility: r.ClusterCompatibility}
		if r.ReconcileTimeout.Duration > 0 {
			resource.ReconcileTimeout = &r.ReconcileTimeout
		}
		if r.WorkerlessSupported {
			resource.WorkerlessSupported = &r.WorkerlessSupported
		}
		registration.Spec.Resources = append(registration.Spec.Resources, resource)
	}
	return registration
}

// ExtensionContainer is a container of a chart's Deployment.
type ExtensionContainer struct {
	// Name it has in the chart.
	Name string `json:"name"`
	// Image in place of that of the chart; for the backend kind.
	Image string `json:"image,omitempty"`
	// Binary is the program, a path from the folder of the file.
	Binary string `json:"binary,omitempty"`
	// Args are added to those of the chart.
	Args []string `json:"args,omitempty"`
	// Field of the extension's file that says what runs in it, such as spec.binary.
	Field string `json:"-"`
}

// HasChart says whether the program is a Deployment of a chart.
func (e Extension) HasChart() bool { return e.Chart != "" || len(e.ChartArchive) > 0 }

// Programs are what runs in its pod, by container.
func (e Extension) Programs() []ExtensionContainer {
	if e.HasChart() {
		return e.Containers
	}
	only := ExtensionContainer{Name: e.Name, Image: e.Image, Binary: e.Binary, Field: "spec.binary"}
	if e.Binary == "" {
		only.Field = "spec.image"
	}
	return []ExtensionContainer{only}
}

// Namespace of the extension on a seed.
func (e Extension) Namespace() string { return "extension-" + e.Name }

// ExtensionFile is a file in the file system of an extension's program.
type ExtensionFile struct {
	// Path of it there: an absolute one.
	Path string `json:"path"`
	// From is the file that it is a copy of, a path from the folder of the extension's file.
	From string `json:"from,omitempty"`
	// Content in place of such a file.
	Content string `json:"content,omitempty"`
}

// EnvVar is a variable of an environment.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value it has.
	Value string `json:"value,omitempty"`
}

// Rule is a PolicyRule of RBAC about resources.
type Rule struct {
	// APIGroups of the resources; "" is the core group.
	APIGroups []string `json:"apiGroups"`
	// Resources in plural, such as secrets.
	Resources []string `json:"resources"`
	// ResourceNames bounds it to objects of these names.
	ResourceNames []string `json:"resourceNames,omitempty"`
	// Verbs that are allowed.
	Verbs []string `json:"verbs"`
}

// unused are kinds of which no landscape has an object that a type could name.
var unused = []string{extensionsv1alpha1.BastionResource, extensionsv1alpha1.SelfHostedShootExposureResource}

// UnusedKinds are kinds of which no landscape has an object that a type could name.
func UnusedKinds() []string { return slices.Clone(unused) }

// ExtensionKinds are the kinds that a third-party extension may reconcile.
func ExtensionKinds() []string {
	var kinds []string
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !slices.Contains(unused, kind.Name) {
			kinds = append(kinds, kind.Name)
		}
	}
	return kinds
}

// ReservedVariables are the environment variables that every extension gets.
func ReservedVariables() []string {
	return []string{
		"KUBECONFIG", "CLOUD_KUBECONFIG", "SEED_NAME", "LEADER_ELECTION_NAMESPACE", "POD_NAME", "POD_NAMESPACE", "POD_IP",
		ActorVariable,
	}
}

// ReservedFolders are those in which every extension gets files.
func ReservedFolders() []string {
	return []string{"/srv/seed", "/srv/cloud", "/var/run/secrets/kubernetes.io/serviceaccount"}
}

// Reserved is the one of those folders that a path is, is in, or contains; empty for none.
func Reserved(path string) string {
	for _, folder := range ReservedFolders() {
		if path == folder || strings.HasPrefix(path, folder+"/") || strings.HasPrefix(folder, path+"/") {
			return folder
		}
	}
	return ""
}

// ActorVariable says in the environment of a third-party extension's process which actor it is.
const ActorVariable = "TRANSPLANT_ACTOR"

// ActorOn is the name of the extension as an actor, on a seed.
func (e Extension) ActorOn(seed string) string { return e.Name + "-" + seed }

// TwoActors is the first name that an extension would share with another actor; empty where each has its own.
func (l Landscape) TwoActors() string {
	taken := map[string]bool{}
	for _, actor := range (Landscape{Seeds: l.Seeds}).Actors() {
		taken[actor] = true
	}
	for _, seed := range l.SeedNames() {
		taken[ResourceManager(seed)] = true
	}
	for _, e := range l.Extensions {
		// a seed that is there twice is another mistake
		for _, seed := range slices.Compact(slices.Sorted(slices.Values(l.SeedNames()))) {
			actor := e.ActorOn(seed)
			if taken[actor] {
				return actor
			}
			taken[actor] = true
		}
	}
	return ""
}

// Types of kind Extension of which it decides: every shoot has one of each.
func (e Extension) Types() []string {
	var types []string
	for _, resource := range e.Resources {
		if resource.Kind == extensionsv1alpha1.ExtensionResource && resource.IsPrimary() {
			types = append(types, resource.Type)
		}
	}
	return types
}

// Named are the Extensions that a shoot of a scenario names for this extension. It names one that enables itself only
// to configure it.
func (e Extension) Named() []gardencorev1beta1.Extension {
	var named []gardencorev1beta1.Extension
	for _, resource := range e.Resources {
		if resource.Kind == extensionsv1alpha1.ExtensionResource && resource.IsPrimary() &&
			(!resource.IsAutoEnabled() || e.ProviderConfig != nil) {
			named = append(named, gardencorev1beta1.Extension{Type: resource.Type, ProviderConfig: e.ProviderConfig})
		}
	}
	return named
}

// TakenKinds are those at which the reference provider stands aside.
func TakenKinds(all []Extension) []string {
	var kinds []string
	for _, e := range all {
		for _, resource := range e.Resources {
			if resource.Kind != extensionsv1alpha1.ExtensionResource && resource.Type == ReferenceType(resource.Kind) &&
				resource.IsPrimary() {
				kinds = append(kinds, resource.Kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

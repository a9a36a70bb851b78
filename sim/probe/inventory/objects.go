package inventory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// configMapsClass of the load's namespace are the load's own data, which Data reads.
	configMapsClass = "configmaps"
	leasesClass     = "leases.coordination.k8s.io"
	podsClass       = "pods"
	// identity labels the Lease by which an API server says that it lives. Each API server makes one of its own.
	identity = "apiserver.kubernetes.io/identity"
	// digestBytes of a digest are enough to distinguish two contents of one object.
	digestBytes = 8
)

// unsaid are fields of every object that change without anybody saying something else.
var unsaid = [][]string{
	{"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "managedFields"},
	{"metadata", "annotations", leader},
}

// Objects lists every object of every resource that a shoot serves, past every link. It leaves out what expires by
// itself, the API servers' own signs of life, and the data of the load.
func Objects(ctx context.Context, connect access.Connector) (timeline.ObjectsSeen, error) {
	config, err := connect(ctx)
	if err != nil {
		return timeline.ObjectsSeen{}, fmt.Errorf("find out how to reach it: %w", err)
	}
	client, err := dynamic.NewForConfig(world.Unlimited(config))
	if err != nil {
		return timeline.ObjectsSeen{}, fmt.Errorf("make the client: %w", err)
	}
	seen := timeline.ObjectsSeen{Resources: []timeline.ResourceSeen{}}
	var mu sync.Mutex
	listAll := func(ctx context.Context, resource schema.GroupVersionResource, kind string) error {
		one := timeline.ResourceSeen{Class: class(resource.GroupResource()), Kind: kind}
		if passing[one.Class] {
			return nil
		}
		version, err := listObjects(ctx, client.Resource(resource), &one)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		seen.Resources = append(seen.Resources, one)
		if resource == namespaceResource {
			seen.Version = version
		}
		return nil
	}
	seen.Unreadable, err = everyResource(ctx, world.Unlimited(config), metav1.NamespaceAll, listAll)
	slices.SortFunc(seen.Resources, func(a, b timeline.ResourceSeen) int { return cmp.Compare(a.Class, b.Class) })
	return seen, err
}

// namespaceResource is served by the store of every API server: its resource version is the store's.
var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// listObjects into a resource, and say at which version of the store.
func listObjects(ctx context.Context, client dynamic.ResourceInterface, into *timeline.ResourceSeen) (int64, error) {
	options := metav1.ListOptions{Limit: pageSize}
	if into.Class == configMapsClass {
		options.FieldSelector = "metadata.namespace!=" + world.WorkloadNamespace
	}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return 0, err
		}
		for i := range page.Items {
			object := &page.Items[i]
			_, own := object.GetLabels()[identity]
			ofLoad := into.Class == configMapsClass && object.GetNamespace() == world.WorkloadNamespace
			if own || expires(into.Class, object) || ofLoad {
				continue
			}
			described, err := describeObject(into.Class, object)
			if err != nil {
				return 0, err
			}
			into.Objects = append(into.Objects, described)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			slices.SortFunc(into.Objects, func(a, b timeline.ObjectSeen) int {
				return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
			})
			return access.VersionOf(page.GetResourceVersion()), nil
		}
	}
}

// expires says that Kubernetes removes the object when its time is over.
func expires(class string, object *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(object.Object, "type")
	return class == "certificatesigningrequests.certificates.k8s.io" ||
		class == "secrets" && kind == string(corev1.SecretTypeBootstrapToken)
}

func describeObject(class string, object *unstructured.Unstructured) (timeline.ObjectSeen, error) {
	says, err := digest(class, object)
	if err != nil {
		return timeline.ObjectSeen{}, fmt.Errorf("read %s %q: %w", class, object.GetName(), err)
	}
	seen := timeline.ObjectSeen{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()), Says: says,
		Deleting: object.GetDeletionTimestamp() != nil,
	}
	labels := object.GetLabels()
	seen.Managed = labels[resourcesv1alpha1.ManagedBy] != "" || labels[constants.GardenRole] != ""
	for _, owner := range object.GetOwnerReferences() {
		seen.Owners = append(seen.Owners, string(owner.UID))
	}
	// Not every object has it, nor is it a string in all.
	seen.Node, _, _ = unstructured.NestedString(object.Object, "spec", "nodeName")
	return seen, nil
}

// observed are fields, by class, by which controllers say what they have seen: like a status, they follow something
// else.
var observed = map[string][][]string{
	leasesClass:                       {{"spec"}},             // who lives, and since when
	podsClass:                         {{"spec", "nodeName"}}, // which stands beside the digest
	"endpoints":                       {{"subsets"}, {"metadata", "annotations"}},
	"endpointslices.discovery.k8s.io": {{"endpoints"}, {"ports"}, {"metadata", "annotations"}},
}

// digest of what an object says: not how it is doing, and no heartbeat.
func digest(class string, object *unstructured.Unstructured) (string, error) {
	fields := runtime.DeepCopyJSON(object.Object)
	delete(fields, "status")
	for _, path := range slices.Concat(observed[class], unsaid) {
		unstructured.RemoveNestedField(fields, path...)
	}
	if class == nodesClass {
		if err := withoutConditions(fields); err != nil {
			return "", err
		}
	}
	content, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:digestBytes]), nil
}

// conditionTaints begin the keys of taints by which controllers say how a node is doing: they come and go with its
// conditions.
var conditionTaints = []string{"node.kubernetes.io/", "node.gardener.cloud/critical-components-not-ready"}

// withoutConditions takes those taints off a node.
func withoutConditions(node map[string]any) error {
	taints, found, err := unstructured.NestedSlice(node, "spec", "taints")
	if err != nil || !found {
		return err
	}
	wanted := slices.DeleteFunc(taints, func(taint any) bool {
		fields, _ := taint.(map[string]any)
		key, _ := fields["key"].(string)
		return slices.ContainsFunc(conditionTaints, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if len(wanted) == 0 {
		unstructured.RemoveNestedField(node, "spec", "taints")
		return nil
	}
	return unstructured.SetNestedSlice(node, wanted, "spec", "taints")
}

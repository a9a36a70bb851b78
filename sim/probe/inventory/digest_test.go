package inventory

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What comes and goes by itself is not what an object says.
func TestDigest_HeartbeatsLeftOut(t *testing.T) {
	t.Parallel()
	node := func(taints ...any) map[string]any {
		spec := map[string]any{"providerID": "p", "taints": taints}
		return map[string]any{"metadata": map[string]any{"name": "n"}, "spec": spec}
	}
	critical := map[string]any{"key": "node.gardener.cloud/critical-components-not-ready", "effect": "NoSchedule"}
	unreachable := map[string]any{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
	own := map[string]any{"key": "disk", "effect": "NoSchedule"}
	lease := func(renewed, label string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "l", "labels": map[string]any{"of": label}},
			"spec": map[string]any{"renewTime": renewed}}
	}
	with := func(more map[string]any) map[string]any {
		object := map[string]any{"metadata": map[string]any{"name": "c"}, "data": "d"}
		for key, value := range more {
			object[key] = value
		}
		return object
	}
	for name, c := range map[string]struct {
		class    string
		was, now map[string]any
		same     bool
	}{
		"status": {"configmaps", with(nil), with(map[string]any{"status": "well"}), true},
		"versions": {"configmaps", with(nil), with(map[string]any{
			"metadata": map[string]any{"name": "c", "resourceVersion": "7", "generation": int64(2)},
		}), true},
		"an annotation": {"configmaps", with(nil), with(map[string]any{
			"metadata": map[string]any{"name": "c", "annotations": map[string]any{"a": "b"}},
		}), false},
		"data":                {"configmaps", with(nil), with(map[string]any{"data": "e"}), false},
		"a lease is renewed":  {"leases.coordination.k8s.io", lease("1", "x"), lease("2", "x"), true},
		"a lease is labelled": {"leases.coordination.k8s.io", lease("1", "x"), lease("1", "y"), false},
		"endpoints come and go": {"endpointslices.discovery.k8s.io", with(nil),
			with(map[string]any{"endpoints": []any{"1"}}), true},
		"a node comes up":      {"nodes", node(critical, unreachable), node(), true},
		"a node keeps a taint": {"nodes", node(own, unreachable), node(own), true},
		"a node loses a taint": {"nodes", node(own), node(), false},
		"a pod is bound": {"pods", with(map[string]any{"spec": map[string]any{"image": "i"}}),
			with(map[string]any{"spec": map[string]any{"image": "i", "nodeName": "n"}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, err := digest(c.class, &unstructured.Unstructured{Object: c.was})
			if err != nil {
				t.Fatal(err)
			}
			now, err := digest(c.class, &unstructured.Unstructured{Object: c.now})
			if err != nil || (was == now) != c.same {
				t.Errorf("it says %s, then %s, %v; the same is to be %t", was, now, err, c.same)
			}
		})
	}
}

func TestExpires_OnlyWhatKubernetesRemoves(t *testing.T) {
	t.Parallel()
	secret := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"type": kind}}
	}
	if !expires("secrets", secret("bootstrap.kubernetes.io/token")) || expires("secrets", secret("Opaque")) {
		t.Error("of Secrets, bootstrap tokens expire")
	}
	if !expires("certificatesigningrequests.certificates.k8s.io", secret("")) || expires("configmaps", secret("")) {
		t.Error("requests for certificates expire, and ConfigMaps do not")
	}
}

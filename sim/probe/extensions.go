package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// extensionPrefix begins the names of ConfigMaps in kube-system that Extensions bring into a shoot.
const extensionPrefix = "extension-"

// Extensions looks at what Extensions and ContainerRuntimes have brought into a shoot, past every link, and records what
// changes: ConfigMaps with the digests of their tokens, and RuntimeClasses.
type Extensions struct {
	Shoot   string
	Actor   string
	Connect Connector

	seen gathering[timeline.ExtensionSeen]
}

var _ Watched = &Extensions{}

// Name of the probe.
func (x *Extensions) Name() string { return timeline.ExtensionsOf(x.Shoot) }

// Pace of samples.
func (x *Extensions) Pace() Pace { return gatheringPace }

// Known is how many objects there were at the last look.
func (x *Extensions) Known() int { return x.seen.known() }

// Sample lists the objects.
func (x *Extensions) Sample(ctx context.Context, to timeline.Recorder) error {
	return x.seen.sample(ctx, x.view(to))
}

// Follow watches the objects.
func (x *Extensions) Follow(ctx context.Context, to timeline.Recorder) error {
	return x.seen.follow(ctx, x.view(to))
}

func (x *Extensions) view(to timeline.Recorder) view[timeline.ExtensionSeen] {
	return view[timeline.ExtensionSeen]{
		connect: x.Connect,
		sources: func(c kubernetes.Interface) []source {
			return []source{
				sourceOf("the config maps of extensions", c.CoreV1().ConfigMaps(metav1.NamespaceSystem)),
				sourceOf("the runtime classes", c.NodeV1().RuntimeClasses()),
			}
		},
		describe: func(there []map[string]runtime.Object) map[string]timeline.ExtensionSeen {
			return describeExtensions(of[*corev1.ConfigMap](there[0]), of[*nodev1.RuntimeClass](there[1]))
		},
		gone: func(name string) timeline.ExtensionSeen { return timeline.ExtensionSeen{Name: name, Gone: true} },
		note: func(seen timeline.ExtensionSeen) {
			to.Record(timeline.Event{Actor: x.Actor, Subject: x.Shoot, Payload: seen})
		},
	}
}

func describeExtensions(configs []*corev1.ConfigMap, classes []*nodev1.RuntimeClass) map[string]timeline.ExtensionSeen {
	seen := map[string]timeline.ExtensionSeen{}
	for _, m := range configs {
		// The API server's own, and those of leader elections and the like, are nobody's promise.
		if strings.HasPrefix(m.Name, extensionPrefix) && !strings.HasPrefix(m.Name, extensionPrefix+"apiserver-") {
			take(seen, "ConfigMap "+m.Name, m.UID, m.Data)
		}
	}
	for _, c := range classes {
		take(seen, "RuntimeClass "+c.Name, c.UID, map[string]any{"handler": c.Handler, "scheduling": c.Scheduling})
	}
	return seen
}

func take(into map[string]timeline.ExtensionSeen, name string, uid types.UID, says any) {
	content, _ := json.Marshal(says) // it came as JSON
	sum := sha256.Sum256(content)
	into[name] = timeline.ExtensionSeen{Name: name, UID: string(uid), Holds: hex.EncodeToString(sum[:])}
}

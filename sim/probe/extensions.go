package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// extensionPrefix begins the names of ConfigMaps in kube-system that Extensions bring into a shoot.
const extensionPrefix = "extension-"

// Extensions looks at what Extensions and ContainerRuntimes have brought into a shoot, past every link, and records what has
// changed: ConfigMaps with the digests of their tokens, and RuntimeClasses.
type Extensions struct {
	Shoot   string
	Actor   string
	Connect Connector

	kept keptClient
	last map[string]timeline.ExtensionSeen
}

var _ Probe = &Extensions{}

// Name of the probe.
func (x *Extensions) Name() string { return "extensions of " + x.Shoot }

// Pace is once a second.
func (x *Extensions) Pace() Pace {
	return Pace{Every: time.Second, Timeout: 3 * time.Second, Overlap: 1}
}

// Known is how many objects there were at the last look.
func (x *Extensions) Known() int { return len(x.last) }

// Sample lists the objects.
func (x *Extensions) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := x.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := x.kept.get(compact(config))
	if err != nil {
		return err
	}
	configs, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the config maps of extensions: %w", err)
	}
	classes, err := client.NodeV1().RuntimeClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the runtime classes: %w", err)
	}
	seen := map[string]timeline.ExtensionSeen{}
	for _, m := range configs.Items {
		// The API server's own, and those of leader elections and the like, are nobody's promise.
		if strings.HasPrefix(m.Name, extensionPrefix) && !strings.HasPrefix(m.Name, extensionPrefix+"apiserver-") {
			take(seen, "ConfigMap "+m.Name, m.UID, m.Data)
		}
	}
	for _, c := range classes.Items {
		take(seen, "RuntimeClass "+c.Name, c.UID, map[string]any{"handler": c.Handler, "scheduling": c.Scheduling})
	}
	for _, name := range changed(x.last, seen) {
		now, there := seen[name]
		if !there {
			now = timeline.ExtensionSeen{Name: name, Gone: true}
		}
		to.Record(timeline.Event{Actor: x.Actor, Subject: x.Shoot, Payload: now})
	}
	x.last = seen
	return nil
}

func take(into map[string]timeline.ExtensionSeen, name string, uid types.UID, says any) {
	content, _ := json.Marshal(says) // it came as JSON
	sum := sha256.Sum256(content)
	into[name] = timeline.ExtensionSeen{Name: name, UID: string(uid), Holds: hex.EncodeToString(sum[:])}
}

// Package load uses a shoot the way its users do: probes write numbered data, read it, watch it and try to reach the
// API server. Preload, Data and Count say what was there before the load, and is there in the end.
//
// Like all probes these record and never judge: whether data is lost the oracles say.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// fieldNumber of a ConfigMap of the load is the number of the write that made it what it is.
const fieldNumber = "number"

// Writer writes numbered ConfigMaps to a shoot: a new one, or one of a few that are written again and again. The number
// is the value, so that the data at the end can be compared with what was acknowledged.
type Writer struct {
	Shoot     string
	Actor     string
	Connect   access.Connector
	Keys      *Keys
	PerSecond int
	// Keep one connection instead of opening a new one for each write.
	Keep bool

	kept access.Kept[kubernetes.Interface]
}

var _ probe.Probe = &Writer{}

// Name of the probe.
func (w *Writer) Name() string { return timeline.WriterTo(w.Shoot) }

// Pace is the rate of the load.
func (w *Writer) Pace() probe.Pace {
	return probe.Pace{Every: time.Second / time.Duration(w.PerSecond), Timeout: 3 * time.Second,
		Overlap: max(10, 4*w.PerSecond)}
}

// Sample writes once and records what became of it.
func (w *Writer) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := w.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := w.client(config)
	if err != nil {
		return err
	}
	number, again, rotated := w.Keys.next()
	write := timeline.Write{Number: number, Verb: "create", Key: fmt.Sprintf("w-%d", number)}
	if rotated {
		write.Key = again.name()
	}
	if rotated && again.created {
		write.Verb = "patch"
	}
	carryOut(ctx, to, client, &write, again.version)
	if rotated {
		w.Keys.done(again, write)
	}
	to.Record(timeline.Event{Actor: w.Actor, Subject: w.Shoot, Payload: write})
	if write.Verb == "create" && write.Status == http.StatusNotFound {
		return w.makeNamespace(ctx, client)
	}
	return nil
}

// makeNamespace makes the load's namespace again, for later writes. A restore may have lost it with the writes around
// its creation: that the load then has nowhere to write to is no failure of the product.
func (w *Writer) makeNamespace(ctx context.Context, client kubernetes.Interface) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probe.Namespace}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace %q of the load again: %w", probe.Namespace, err)
	}
	return nil
}

func (w *Writer) client(config *rest.Config) (kubernetes.Interface, error) {
	if w.Keep {
		return w.kept.Get(config, access.Steady)
	}
	return w.kept.Get(config, access.Fresh)
}

// carryOut a write, and fill in what became of it. A patch is of the version of its key that was seen last, 0 if none
// was.
func carryOut(ctx context.Context, to timeline.Recorder, client kubernetes.Interface, write *timeline.Write,
	version int64) {
	var sent access.Sending
	write.Sent = timeline.Moment(to.Now())
	written, err := put(sent.Watch(ctx), client, write, version)
	write.Answered = timeline.Moment(to.Now())
	write.Outcome, write.Status = sent.OutcomeOf(err)
	if err != nil {
		write.Error = err.Error()
		return
	}
	write.Status = 0
	write.ResourceVersion, write.UID = access.VersionOf(written.ResourceVersion), string(written.UID)
}

// put sends one request, and never a second: what became of each must be known.
func put(ctx context.Context, client kubernetes.Interface, write *timeline.Write, version int64) (*corev1.ConfigMap,
	error) {
	written := &corev1.ConfigMap{}
	data := map[string]string{fieldNumber: fmt.Sprint(write.Number)}
	if write.Verb == "create" {
		body := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: write.Key}, Data: data}
		return written, once(client.CoreV1().RESTClient().Post()).Body(body).Do(ctx).Into(written)
	}
	changes := map[string]any{"data": data}
	if version != 0 { // the server refuses it if the key is another
		changes["metadata"] = map[string]any{"resourceVersion": strconv.FormatInt(version, 10)}
	}
	patch, err := json.Marshal(changes)
	if err != nil {
		return nil, fmt.Errorf("marshal the patch: %w", err)
	}
	return written, once(client.CoreV1().RESTClient().Patch(types.MergePatchType)).Name(write.Key).Body(patch).Do(
		ctx).Into(written)
}

// once makes a request about the load's ConfigMaps that is not repeated, as client-go does by itself after some errors.
func once(request *rest.Request) *rest.Request {
	return request.Namespace(probe.Namespace).Resource("configmaps").MaxRetries(0)
}

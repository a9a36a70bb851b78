// Package podstatus writes the status of a pod to the API server, and nothing but the latest one. What the status is,
// it is given.
package podstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
)

// writeTimeout bounds one write to the API server.
const writeTimeout = 10 * time.Second

// ownConditions are those that a kubelet keeps; all others are somebody else's.
var ownConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// Writer writes the status of one pod, the latest one only, so that a slow API server does not hold up the pod.
// Its methods may be called from any goroutine.
type Writer struct {
	client  kubernetes.Interface
	clock   clock.Clock
	log     logr.Logger
	pod     *corev1.Pod
	written func() // called after each write that has brought the API server up to date

	mutex  sync.Mutex
	wanted *corev1.PodStatus
	signal chan struct{}
	// shown is what the API server is known to have, as far as this writer has made it.
	shown *corev1.PodStatus
	// unsure: shown may be wrong, because a write has failed that may have been carried out all the same, or somebody else
	// has written.
	unsure bool
	// version is that of the pod after our last write; seen is the pod as it came meanwhile, with what others have
	// written.
	version string
	seen    *corev1.Pod
	lost    bool // the pod is not there any more
}

// NewWriter makes the writer of one pod. It calls written after each write that has brought the API server up to date,
// from the goroutine of Run.
func NewWriter(client kubernetes.Interface, clock clock.Clock, log logr.Logger, pod *corev1.Pod,
	written func()) *Writer {
	return &Writer{
		client: client, clock: clock, log: log.WithValues("pod", pod.Namespace+"/"+pod.Name), pod: pod, written: written,
		signal: make(chan struct{}, 1), shown: pod.Status.DeepCopy(),
	}
}

// Want says what the status should be.
func (s *Writer) Want(status *corev1.PodStatus) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.wanted != nil && equality.Semantic.DeepEqual(s.wanted, status):
		return
	case s.wanted == nil && equality.Semantic.DeepEqual(s.shown, status): // a pod of an earlier life of this node
		s.wanted, s.shown = status, status
		return
	}
	s.wanted = status
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// Saw compares our conditions, as the API server has them, with what was written. The node lifecycle controller writes
// them, too: the pods of a node that it has not heard of for a while are not ready, and it is for the node to say that
// they are again.
func (s *Writer) Saw(pod *corev1.Pod) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.lost || s.wrote(pod):
	case s.wanted == nil:
		s.shown = pod.Status.DeepCopy()
	case s.shown != s.wanted: // a write is under way, and whether this is what it has come upon only its answer says
		s.seen = pod
	case !sameConditions(s.wanted, &pod.Status):
		s.shown, s.unsure = &pod.Status, true
		select {
		case s.signal <- struct{}{}:
		default:
		}
	}
}

// wrote says whether a pod is no newer than our last write.
func (s *Writer) wrote(pod *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, s.version)
	return err == nil && order <= 0
}

// sameConditions says whether a status has our conditions as they are wanted.
func sameConditions(wanted, status *corev1.PodStatus) bool {
	return !slices.ContainsFunc(withoutForeign(wanted).Conditions, func(w corev1.PodCondition) bool {
		return !slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == w.Type && c.Status == w.Status
		})
	})
}

// UpToDate says whether the API server has the status that is wanted, or has lost the pod.
func (s *Writer) UpToDate() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.lost || s.wanted != nil && s.shown == s.wanted
}

// Run writes until ctx is done or the pod is gone.
func (s *Writer) Run(ctx context.Context) {
	wait := backoff.Delay{Base: 100 * time.Millisecond, Max: 5 * time.Second}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.signal:
		}
		for !s.UpToDate() {
			err := s.write(ctx)
			if err == nil {
				wait.Reset()
				continue
			}
			s.log.V(1).Info("Status is not written", "reason", err.Error())
			timer := s.clock.NewTimer(max(wait.Next(), wait.Base))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C():
			}
		}
		s.written()
	}
}

func (s *Writer) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.makeSure(ctx); err != nil || s.UpToDate() {
		return err
	}
	s.mutex.Lock()
	from, to := s.shown, s.wanted
	s.mutex.Unlock()
	patch, err := statusPatch(s.pod.UID, from, to)
	if err != nil {
		return err
	}
	pod, err := s.client.CoreV1().Pods(s.pod.Namespace).Patch(ctx, s.pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case err == nil:
		s.shown, s.version = to, pod.ResourceVersion
		if s.seen != nil && !s.wrote(s.seen) && !sameConditions(to, &s.seen.Status) {
			s.shown, s.unsure = &s.seen.Status, true
		}
		s.seen = nil
	case apierrors.IsNotFound(err):
		s.lost = true
	default:
		s.unsure = true
		return fmt.Errorf("write the status of the pod: %w", err)
	}
	return nil
}

// makeSure reads what the API server has, when that is not known: a patch from anything else would leave out what has
// changed back since.
func (s *Writer) makeSure(ctx context.Context) error {
	s.mutex.Lock()
	unsure := s.unsure
	s.mutex.Unlock()
	if !unsure {
		return nil
	}
	pod, err := s.client.CoreV1().Pods(s.pod.Namespace).Get(ctx, s.pod.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the status of the pod: %w", err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil || pod.UID != s.pod.UID {
		s.lost = true
		return nil
	}
	s.shown, s.unsure = &pod.Status, false
	return nil
}

// statusPatch changes only what has changed, only on the very same pod, and no conditions of others, of which this node
// may have seen an old version.
func statusPatch(uid types.UID, from, to *corev1.PodStatus) ([]byte, error) {
	encode := func(status *corev1.PodStatus) ([]byte, error) {
		return json.Marshal(corev1.Pod{Status: withoutForeign(status)})
	}
	old, err := encode(from)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	updated, err := encode(to)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, updated, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("compare the status with the last one: %w", err)
	}
	var content map[string]any
	if err := json.Unmarshal(patch, &content); err != nil {
		return nil, fmt.Errorf("parse the patch of the status: %w", err)
	}
	content["metadata"] = map[string]any{"uid": uid}
	return json.Marshal(content)
}

func withoutForeign(status *corev1.PodStatus) corev1.PodStatus {
	own := *status
	own.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c corev1.PodCondition) bool {
		return !slices.Contains(ownConditions, c.Type)
	})
	return own
}

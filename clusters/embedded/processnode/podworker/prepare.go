package podworker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/isolation"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podname"
)

const (
	rejectDelay = time.Second
	// cleanUpRetry is when what could not be removed of a pod is removed again.
	cleanUpRetry = time.Second
)

// prepare gives the pod what all its containers share: an address, its files, its volumes.
func (w *Worker) prepare(ctx context.Context) {
	if w.preparing {
		return
	}
	if now := w.Clock.Now(); now.Before(w.retryAt) {
		w.wakeAt(w.retryAt)
		return
	}
	if w.started.IsZero() {
		w.started = w.Clock.Now()
	}
	if err := isolation.Check(w.pod); err != nil {
		w.reject(err)
		return
	}
	w.preparing, w.stale = true, false
	pod := w.addressed()
	w.elsewhere(func() func() {
		ip, err := w.makeShared(pod)
		var renew time.Time
		if err == nil {
			pod.Status.PodIP = ip
			renew, err = w.makeVolumes(ctx, pod)
		}
		return func() { w.prepared(ip, renew, err) }
	})
}

// reject fails a pod that this node cannot run, after a moment: a controller that replaces it at once would make
// thousands.
func (w *Worker) reject(why error) {
	if at := w.started.Add(rejectDelay); w.Clock.Now().Before(at) {
		w.wakeAt(at)
		return
	}
	w.fail("UnsupportedPod", "Pod was rejected: "+why.Error())
}

func (w *Worker) makeVolumes(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	w.volumesMutex.Lock()
	defer w.volumesMutex.Unlock()
	return w.volumes.Update(ctx, pod)
}

func (w *Worker) prepared(ip string, renew time.Time, err error) {
	w.preparing = false
	if ip != "" {
		w.ip = ip
	}
	if err != nil {
		w.Recorder.Eventf(w.pod, corev1.EventTypeWarning, "FailedMount", "MountVolume.SetUp failed: %v", err)
		w.retryAt = w.Clock.Now().Add(max(w.prepareWait.Next(), w.prepareWait.Base))
		return
	}
	w.prepareWait.Reset()
	w.retryAt = renew
	if w.phase == phaseNew {
		w.phase = phaseReady
	}
}

// renew brings the volumes up to date when an object has changed or a token grows old.
func (w *Worker) renew(ctx context.Context) {
	due := !w.retryAt.IsZero() && !w.Clock.Now().Before(w.retryAt)
	if w.preparing {
		return
	}
	if !w.stale && !due {
		if !w.retryAt.IsZero() {
			w.wakeAt(w.retryAt)
		}
		return
	}
	w.preparing, w.stale = true, false
	pod := w.addressed()
	w.elsewhere(func() func() {
		renew, err := w.makeVolumes(ctx, pod)
		return func() {
			w.preparing, w.retryAt = false, renew
			if err != nil {
				w.Recorder.Eventf(w.pod, corev1.EventTypeWarning, "FailedMount", "MountVolume.SetUp failed: %v", err)
				w.retryAt = w.Clock.Now().Add(max(w.prepareWait.Next(), w.prepareWait.Base))
			} else {
				w.prepareWait.Reset()
			}
		}
	})
}

// makeShared makes the pod's folder and files. The address stays the same over restarts of this node.
func (w *Worker) makeShared(pod *corev1.Pod) (ip string, err error) {
	if err := os.MkdirAll(w.folder, 0o700); err != nil {
		return "", fmt.Errorf("make the pod's folder: %w", err)
	}
	ip = w.Address.String()
	if !pod.Spec.HostNetwork {
		if earlier, err := netip.ParseAddr(w.ip); err == nil {
			if _, err := w.Addresses.Claim(string(pod.UID), earlier); err != nil {
				return "", err
			}
		}
		address, err := w.Addresses.Of(string(pod.UID))
		if err != nil {
			return "", err
		}
		ip = address.String()
	}
	return ip, podname.WriteFiles(w.folder, pod, ip)
}

// cleanUp removes what the pod has left on this node, and says whether nothing is left.
func (w *Worker) cleanUp() bool {
	if w.preparing {
		return false // it would make the folder again, and sends a letter
	}
	err := errors.Join(os.RemoveAll(w.folder), w.Addresses.Release(string(w.pod.UID)))
	if err != nil {
		w.Log.Error(err, "Could not clean up after a pod", "pod", w.pod.Name, "folder", filepath.Base(w.folder))
		w.wakeAt(w.Clock.Now().Add(cleanUpRetry))
	}
	return err == nil
}

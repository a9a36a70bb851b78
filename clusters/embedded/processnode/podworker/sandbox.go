package podworker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/isolation"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podname"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podref"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

const (
	rejectDelay = time.Second
	// cleanUpRetry is when what could not be removed of a pod is removed again.
	cleanUpRetry = time.Second
)

// sandbox is what all containers of a pod share: an address, files, volumes.
type sandbox struct {
	pod     *pod
	folder  string
	ip      string
	objects *podref.Reader
	// volumes may be used by one goroutine at a time, which holds its mutex.
	volumes      *podvolume.Set
	volumesMutex sync.Mutex

	preparing bool // it is being made, or made anew, elsewhere
	stale     bool // something that the volumes show has changed
	wait      backoff.Delay
	retryAt   time.Time // of the preparation, or of a refresh
}

func newSandbox(p *pod) *sandbox {
	s := &sandbox{
		pod: p, folder: p.podFolder(p.first), objects: podref.NewReader(p.Client),
		wait: backoff.Delay{Base: 200 * time.Millisecond, Max: 10 * time.Second},
	}
	s.volumes = podvolume.NewSet(s.folder+"/volumes", s.objects, p.Capacity, p.Clock)
	s.volumes.Machine, s.volumes.Cloud = p.Machine, p.Cloud
	return s
}

// prepare gives the pod its sandbox.
func (s *sandbox) prepare(ctx context.Context) {
	if s.preparing {
		return
	}
	if now := s.pod.Clock.Now(); now.Before(s.retryAt) {
		s.pod.mail.wakeAt(s.retryAt)
		return
	}
	if s.pod.started.IsZero() {
		s.pod.started = s.pod.Clock.Now()
	}
	if err := isolation.Check(s.pod.seen); err != nil {
		s.reject(err)
		return
	}
	s.preparing, s.stale = true, false
	pod := s.addressed()
	s.pod.mail.elsewhere(func() func() {
		ip, err := s.makeShared(pod)
		var renew time.Time
		if err == nil {
			pod.Status.PodIP = ip
			renew, err = s.makeVolumes(ctx, pod)
		}
		return func() { s.prepared(ip, renew, err) }
	})
}

// reject fails a pod that this node cannot run, after a moment: a controller that replaces it at once would make
// thousands.
func (s *sandbox) reject(why error) {
	if at := s.pod.started.Add(rejectDelay); s.pod.Clock.Now().Before(at) {
		s.pod.mail.wakeAt(at)
		return
	}
	s.pod.fail("UnsupportedPod", "Pod was rejected: "+why.Error())
}

func (s *sandbox) makeVolumes(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	s.volumesMutex.Lock()
	defer s.volumesMutex.Unlock()
	return s.volumes.Update(ctx, pod)
}

// prepared notes what has been made, or why it has not, and until when that is good.
func (s *sandbox) prepared(ip string, renew time.Time, err error) {
	s.preparing = false
	if ip != "" {
		s.ip = ip
	}
	if err != nil {
		s.pod.Recorder.Eventf(s.pod.seen, corev1.EventTypeWarning, "FailedMount", "MountVolume.SetUp failed: %v", err)
		s.retryAt = s.pod.Clock.Now().Add(max(s.wait.Next(), s.wait.Base))
		return
	}
	s.wait.Reset()
	s.retryAt = renew
	if s.pod.phase == phaseNew {
		s.pod.phase = phaseReady
	}
}

// renew brings the volumes up to date when an object has changed or a token grows old.
func (s *sandbox) renew(ctx context.Context) {
	due := !s.retryAt.IsZero() && !s.pod.Clock.Now().Before(s.retryAt)
	if s.preparing {
		return
	}
	if !s.stale && !due {
		if !s.retryAt.IsZero() {
			s.pod.mail.wakeAt(s.retryAt)
		}
		return
	}
	s.preparing, s.stale = true, false
	pod := s.addressed()
	s.pod.mail.elsewhere(func() func() {
		renew, err := s.makeVolumes(ctx, pod)
		return func() { s.prepared("", renew, err) }
	})
}

// makeShared makes the pod's folder and files. The address stays the same over restarts of this node.
func (s *sandbox) makeShared(pod *corev1.Pod) (ip string, err error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return "", fmt.Errorf("make the pod's folder: %w", err)
	}
	ip = s.pod.Address.String()
	if !pod.Spec.HostNetwork {
		if earlier, err := netip.ParseAddr(s.ip); err == nil {
			if _, err := s.pod.Addresses.Claim(string(pod.UID), earlier); err != nil {
				return "", err
			}
		}
		address, err := s.pod.Addresses.Of(string(pod.UID))
		if err != nil {
			return "", err
		}
		ip = address.String()
	}
	return ip, podname.WriteFiles(s.folder, pod, ip)
}

// cleanUp removes what the pod has left on this node, and says whether nothing is left.
func (s *sandbox) cleanUp() bool {
	if s.preparing {
		return false // it would make the folder again, and sends a letter
	}
	err := errors.Join(os.RemoveAll(s.folder), s.pod.Addresses.Release(string(s.pod.seen.UID)))
	if err != nil {
		s.pod.Log.Error(err, "Could not clean up after a pod", "pod", s.pod.seen.Name, "folder", filepath.Base(s.folder))
		s.pod.mail.wakeAt(s.pod.Clock.Now().Add(cleanUpRetry))
	}
	return err == nil
}

// addressed is the pod with the addresses that its variables may show before the API server has them.
func (s *sandbox) addressed() *corev1.Pod {
	pod := s.pod.seen.DeepCopy()
	pod.Status.PodIP, pod.Status.HostIP = s.ip, s.pod.Address.String()
	return pod
}

func (s *sandbox) containerFolder(name string) string {
	return filepath.Join(s.folder, "containers", name)
}

package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// ErrNotDeployed says that the shoot has no pod for the nodes' end of the tunnel.
var ErrNotDeployed = errors.New("no tunnel is deployed to the nodes")

// BrokenError says that the API server answers, and reaches no kubelet.
type BrokenError struct{ Cause error }

// Error implements error.
func (e *BrokenError) Error() string {
	return "the API server does not reach the nodes: " + e.Cause.Error()
}

// Unwrap is why.
func (e *BrokenError) Unwrap() error { return e.Cause }

// checkTimeout bounds the question to a kubelet: an end that is frozen gives no answer.
const checkTimeout = 5 * time.Second

// Check asks the shoot's API server for the log of the nodes' end of the tunnel: the API server asks the kubelet for
// it, through the tunnel. The error is ErrNotDeployed, a *BrokenError, or why the API server could not be asked.
func Check(ctx context.Context, shoot kubernetes.Interface) error {
	pods, err := shoot.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(ShootLabels()).String(),
	})
	if err != nil {
		return fmt.Errorf("list the pods of the tunnel: %w", err)
	}
	if len(pods.Items) == 0 {
		return ErrNotDeployed
	}
	cause := fmt.Errorf("pod %q does not run", pods.Items[0].Name)
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		if cause = readLog(ctx, shoot, pod.Name); cause == nil {
			return nil
		}
	}
	return &BrokenError{cause}
}

func readLog(ctx context.Context, shoot kubernetes.Interface, pod string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := shoot.CoreV1().Pods(metav1.NamespaceSystem).GetLogs(pod, &corev1.PodLogOptions{
		TailLines: ptr.To[int64](1), LimitBytes: ptr.To[int64](1),
	}).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("read the log of pod %q: %w", pod, err)
	}
	return nil
}

// connected is Check by the public name of the shoot's API server.
func (t *Tunnel) connected(ctx context.Context) error {
	ca, token, err := t.access.Admin(ctx)
	if err != nil {
		return err
	}
	shoot, err := kubernetes.NewForConfig(t.Reach.Config(t.APIServerURL(), ca, token))
	if err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	return Check(ctx, shoot)
}

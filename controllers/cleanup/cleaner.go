package cleanup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Cleaner empties shoots in the course of their deletion, on their own API servers.
type Cleaner struct {
	Shoots scope.ShootConfigs
	// Timeout of each step, DefaultTimeout if it is 0.
	Timeout time.Duration
	// Metrics may be nil.
	Metrics *Metrics
}

// Tasks are those of the deletion flow that empty the shoot (docs/specification/cleanup.md#spec-6-1), to be done one
// after the other while its control plane and its nodes are there. Where there is no API server that could have had
// any objects, they do nothing.
func (c *Cleaner) Tasks(o *controlplane.Operation) []flow.Task {
	return []flow.Task{
		{Name: "Cleaning up webhooks", Run: c.task(o, Webhooks)},
		// Controllers take finalizers off, and collect what belongs to what is gone.
		{Name: "Waiting until kube-controller-manager is active", Run: o.APIServer.WaitControllers},
		{Name: "Cleaning extended API groups", Run: c.task(o, ExtendedAPIs)},
		{Name: "Cleaning Kubernetes resources", Run: c.task(o, KubernetesResources)},
		{Name: "Cleaning volume snapshots", Run: c.task(o, VolumeSnapshots)},
		{Name: "Waiting until volumes are deleted", Run: c.volumes(o)},
	}
}

func (c *Cleaner) task(o *controlplane.Operation, step Step) func(context.Context) error {
	return func(ctx context.Context) error {
		serves, err := o.APIServer.HasServed(ctx)
		if err != nil || !serves {
			return err
		}
		begin := o.Clock.Now()
		err = c.take(ctx, o, step)
		c.Metrics.ended(o.Namespace(), step, o.Clock.Since(begin), err)
		return coded(err)
	}
}

// take a step until nothing holds it up.
func (c *Cleaner) take(ctx context.Context, o *controlplane.Operation, step Step) error {
	s, err := c.open(ctx, o, step)
	if err != nil {
		return err
	}
	defer s.close()
	return o.Until(ctx, cmp.Or(c.Timeout, DefaultTimeout), fmt.Sprintf("the end of step %d of the clean-up, %s,", step,
		step), s.look)
}

// coded gives an error the codes of what it names: objects that are still there.
func coded(err error) error {
	if remaining := (*Remaining)(nil); errors.As(err, &remaining) {
		return &errorcodes.Error{Message: err.Error(), Codes: remaining.Codes(), Cause: err}
	}
	return err
}

// sweep is one step of the clean-up of one shoot.
type sweep struct {
	*controlplane.Operation
	step    Step
	http    *http.Client
	shoot   client.Client
	metrics *Metrics
}

func (c *Cleaner) open(ctx context.Context, o *controlplane.Operation, step Step) (*sweep, error) {
	ca, token, err := o.Access.Admin(ctx)
	if err != nil {
		return nil, err
	}
	config := c.Shoots.Config(o.APIServerURL(), ca, token)
	config.QPS = -1 // there may be many objects, and nothing else is done meanwhile
	s := &sweep{Operation: o, step: step, metrics: c.Metrics}
	if s.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("make the connection to the shoot: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, s.http)
	if err != nil {
		return nil, fmt.Errorf("make the map of the shoot's kinds: %w", err)
	}
	shoot, err := client.New(config, client.Options{HTTPClient: s.http, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client of the shoot: %w", err)
	}
	s.shoot = shootaccess.WithWebhookCodes(shoot)
	return s, nil
}

func (s *sweep) close() { s.http.CloseIdleConnections() }

// look does what is to be done now, and returns what the step still waits for. What was deleted may be gone at once,
// which the next look finds.
func (s *sweep) look(ctx context.Context) error {
	cluster, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	plan, err := Decide(cluster, s.Clock.Now())
	if err != nil {
		return scope.Permanent(err)
	}
	var errs []error
	for _, d := range plan.Decisions {
		if err := s.act(ctx, d); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", d.Action, Describe(d.Object), err))
		}
	}
	err = plan.Err()
	if remaining := (*Remaining)(nil); errors.As(err, &remaining) {
		s.metrics.looked(s.Namespace(), s.step, len(remaining.Objects))
	}
	return errors.Join(append(errs, err)...)
}

// annotations are those of the Shoot, read anew: who waits for objects that hang may lower the periods meanwhile.
func (s *sweep) annotations(ctx context.Context) map[string]string {
	shoot := &gardencorev1beta1.Shoot{}
	if err := s.Garden.Get(ctx, client.ObjectKeyFromObject(s.Shoot), shoot); err == nil && shoot.UID == s.Shoot.UID {
		return shoot.Annotations
	}
	return s.Shoot.Annotations
}

// cluster is what matters for the step.
func (s *sweep) cluster(ctx context.Context) (Cluster, error) {
	found := Cluster{Annotations: s.annotations(ctx)}
	for _, kind := range Kinds(s.step, Skipped(found.Annotations)) {
		objects, err := s.list(ctx, kind)
		if err != nil {
			return found, err
		}
		found.Objects = append(found.Objects, objects...)
	}
	if s.step < KubernetesResources {
		return found, nil
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := s.shoot.List(ctx, namespaces); err != nil {
		return found, fmt.Errorf("list the namespaces of the shoot: %w", err)
	}
	found.Namespaces = []string{}
	for _, n := range namespaces.Items {
		found.Namespaces = append(found.Namespaces, n.Name)
	}
	var err error
	found.Start, err = s.start(ctx)
	return found, err
}

// list lists what is to go of a kind. A kind that the API server does not know has no objects.
func (s *sweep) list(ctx context.Context, kind Kind) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.GroupVersionKind.Kind + "List"))
	err := s.shoot.List(ctx, list, client.MatchingLabelsSelector{Selector: kind.Selector()})
	if meta.IsNoMatchError(err) || client.IgnoreNotFound(err) == nil && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s of the shoot: %w", kind.GroupVersionKind.Kind, err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind.GroupVersionKind)
	}
	return list.Items, nil
}

// start is when the clean-up began, which is noted on the shoot's namespace in the seed
// (docs/specification/cleanup.md#spec-6-6).
func (s *sweep) start(ctx context.Context) (time.Time, error) {
	namespace := &corev1.Namespace{}
	if err := s.Seed.Get(ctx, client.ObjectKey{Name: s.Namespace()}, namespace); err != nil {
		return time.Time{}, fmt.Errorf("read namespace %q: %w", s.Namespace(), err)
	}
	start, note, err := Start(namespace.Annotations, s.Clock.Now())
	if err != nil || note == "" {
		return start, err
	}
	if err := patch.Object(ctx, s.Seed, namespace, func() {
		metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, noteOfStart, note)
	}); err != nil {
		return start, fmt.Errorf("note the start of the clean-up on namespace %q: %w", namespace.Name, err)
	}
	return start, nil
}

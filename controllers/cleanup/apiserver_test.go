package cleanup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

const technicalID = "shoot--p--alpha"

// bench is a shoot in deletion: its own API server is a real one, without controllers; garden and seed are not.
type bench struct {
	client.Client // of the shoot
	config        *rest.Config
	operation     *controlplane.Operation
	cleaner       *Cleaner
}

// Config implements Shoots.
func (b *bench) Config(string, []byte, string) *rest.Config { return rest.CopyConfig(b.config) }

// TestOnARealAPIServer has one API server for all: the tests run one after the other, and each leaves it empty.
func TestOnARealAPIServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{Flags: []string{"--disable-admission-plugins=ServiceAccount"}})
	for name, test := range map[string]func(*testing.T, *bench){
		"everything goes": everythingGoes, "what hangs is named": whatHangsIsNamed,
		"volumes go before nodes":           volumesGoBeforeNodes,
		"an annotation that cannot be read": anAnnotationThatCannotBeRead, "a clean-up is counted": aCleanUpIsCounted,
	} {
		t.Run(name, func(t *testing.T) { test(t, newBench(t, config)) })
	}
}

func newBench(t *testing.T, config *rest.Config) *bench {
	t.Helper()
	b := &bench{config: config}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		must(t, add(scheme))
	}
	var err error
	b.Client, err = client.New(b.config, client.Options{Scheme: scheme})
	must(t, err)
	t.Cleanup(func() { b.empty(t) })
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha", UID: "u"}}
	shoot.Status.TechnicalID, shoot.Status.SeedName = technicalID, ptr.To("a")
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: technicalID, Name: name} }
	b.operation = controlplane.New(&scope.Scope{
		Log: logr.Discard(), Clock: clock.RealClock{}, Bell: &scope.Bell{}, Shoot: shoot,
		Garden: fake.NewClientBuilder().WithScheme(scheme).WithObjects(shoot.DeepCopy()).Build(),
		Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}},
			&corev1.Secret{ObjectMeta: in("ca")}, &corev1.Secret{ObjectMeta: in("static-token")},
			&appsv1.Deployment{ObjectMeta: in("kube-apiserver")},
		).Build(),
	})
	b.operation.WaitInterval = 20 * time.Millisecond
	b.cleaner = &Cleaner{Shoots: b}
	return b
}

// empty removes what a test has made, finalizers or not. Webhooks go first: they refuse everything else.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, &apiextensionsv1.CustomResourceDefinitionList{},
		&appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &corev1.ConfigMapList{},
	} {
		must(t, b.List(ctx, list))
		must(t, meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if object.GetNamespace() == metav1.NamespaceSystem || object.GetLabels()["provider"] == "kubernetes" {
				return nil // the API server's own
			}
			if len(object.GetFinalizers()) > 0 {
				before := object.DeepCopyObject().(client.Object)
				object.SetFinalizers(nil)
				if err := b.Patch(ctx, object, client.MergeFrom(before)); err != nil {
					return client.IgnoreNotFound(err)
				}
			}
			return client.IgnoreNotFound(b.Delete(ctx, object))
		}))
	}
}

// annotate changes the annotations of the Shoot in the garden, while the clean-up is at work.
func (b *bench) annotate(t *testing.T, annotations map[string]string) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	must(t, b.operation.Garden.Get(t.Context(), client.ObjectKeyFromObject(b.operation.Shoot), shoot))
	before := shoot.DeepCopy()
	shoot.Annotations = annotations
	must(t, b.operation.Garden.Patch(t.Context(), shoot, client.MergeFrom(before)))
}

// run runs the tasks one after the other until one fails.
func (b *bench) run(ctx context.Context) error {
	for _, task := range b.cleaner.Tasks(b.operation) {
		if err := task.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// populate fills the shoot with what users leave in it, all of it with a finalizer that nobody takes off.
func (b *bench) populate(t *testing.T) {
	t.Helper()
	stuck := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels, Finalizers: []string{"stuck.test/always"}}
	}
	kept := map[string]string{"shoot.gardener.cloud/no-cleanup": "true"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job := *pod.DeepCopy()
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	port := []corev1.ServicePort{{Port: 80}}
	for _, object := range []client.Object{
		&appsv1.Deployment{ObjectMeta: stuck("web", nil), Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod}},
		&appsv1.Deployment{ObjectMeta: stuck("csi", kept), Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod}},
		&appsv1.DaemonSet{ObjectMeta: stuck("agent", nil), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod}},
		&batchv1.Job{ObjectMeta: stuck("job", nil), Spec: batchv1.JobSpec{Template: job}},
		&corev1.Pod{ObjectMeta: stuck("pod", nil), Spec: pod.Spec},
		&corev1.Service{ObjectMeta: stuck("service", nil), Spec: corev1.ServiceSpec{Ports: port}},
		&corev1.PersistentVolumeClaim{ObjectMeta: stuck("claim", nil), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		}},
		crd("beds"), remoteAPI("v1.away.test"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}},
	} {
		must(t, b.Create(t.Context(), object))
	}
	bed := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "hotel.test/v1", "kind": "Bed"}}
	bed.SetName("one")
	bed.SetNamespace("default")
	eventually(t, "a bed can be made", func(ctx context.Context) bool { return b.Create(ctx, bed) == nil })
	// Last: it refuses everything that follows.
	must(t, b.Create(t.Context(), refusing()))
}

// refusing is a webhook that lets nobody delete or change anything, because its server is away.
func refusing() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "strict", Finalizers: []string{"stuck.test/always"}},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "strict.test.dev", SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](1),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"DELETE", "UPDATE"},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
					Resources: []string{"services", "deployments", "persistentvolumeclaims"}},
			}},
		}},
	}
}

func crd(plural string) *apiextensionsv1.CustomResourceDefinition {
	open := apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
		XPreserveUnknownFields: ptr.To(true)}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".hotel.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "hotel.test", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "Bed"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &open}},
		},
	}
}

// remoteAPI is an APIService whose server is away.
func remoteAPI(name string) *unstructured.Unstructured {
	version, group, _ := strings.Cut(name, ".")
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"spec": map[string]any{
			"group": group, "version": version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": "default", "name": "away"},
		},
	}}
	service.SetName(name)
	return service
}

// names are what is left of the kinds that are cleaned up, without what the API server makes for itself.
func (b *bench) names(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, step := range Steps() {
		for _, kind := range Kinds(step, false) {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.GroupVersionKind.Kind + "List"))
			if err := b.List(t.Context(), list); err != nil {
				continue // snapshots are no kind here
			}
			for _, o := range list.Items {
				if o.Labels[autoManaged] == "" && o.Labels["provider"] != "kubernetes" {
					left = append(left, kind.GroupVersionKind.Kind+" "+o.Name)
				}
			}
		}
	}
	slices.Sort(left)
	return left
}

// everythingGoes runs the clean-up on a shoot where everything is in the way, at once by the annotations.
func everythingGoes(t *testing.T, b *bench) {
	b.populate(t)
	b.annotate(t, map[string]string{
		"shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds":             "0",
		"shoot.gardener.cloud/cleanup-extended-apis-finalize-grace-period-seconds":        "0",
		"shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds": "0",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must(t, b.run(ctx))
	if diff := cmp.Diff([]string{"Deployment csi"}, b.names(t)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	must(t, b.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "data"}, &corev1.ConfigMap{}))
	namespace := &corev1.Namespace{}
	must(t, b.operation.Seed.Get(t.Context(), client.ObjectKey{Name: technicalID}, namespace))
	if _, err := time.Parse(time.RFC3339,
		namespace.Annotations["shoot.gardener.cloud/cleanup-kubernetes-resources-start-time"]); err != nil {
		t.Errorf("the start is not noted: %v", err)
	}
	must(t, b.run(ctx)) // again
}

// whatHangsIsNamed: without annotations a finalizer is given its five minutes.
func whatHangsIsNamed(t *testing.T, b *bench) {
	now := testingclock.NewFakeClock(time.Now())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "balancer",
		Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	must(t, b.Create(t.Context(), service))

	b.operation.Clock = now
	s, err := b.cleaner.open(t.Context(), b.operation, KubernetesResources)
	must(t, err)
	defer s.close()
	err = coded(&scope.TimeoutError{What: "the end", Timeout: DefaultTimeout, Last: s.look(t.Context())})
	codedErr := (*errorcodes.Error)(nil)
	if !errors.As(err, &codedErr) || !cmp.Equal(codedErr.Codes,
		[]gardencorev1beta1.ErrorCode{"ERR_CLEANUP_CLUSTER_RESOURCES"}) {
		t.Fatalf("the clean-up ends with %v", err)
	}
	if want := "Service default/balancer (finalizers service.kubernetes.io/load-balancer-cleanup)"; !strings.Contains(
		err.Error(), want) {
		t.Errorf("%q is not in %q", want, err)
	}

	now.Step(5*time.Minute - 30*time.Second)
	if remaining := (*Remaining)(nil); !errors.As(s.look(t.Context()), &remaining) {
		t.Error("the finalizer was not given its time")
	}
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(service), service))
	now.Step(time.Minute)
	if remaining := (*Remaining)(nil); !errors.As(s.look(t.Context()), &remaining) ||
		remaining.Objects[0].Action != Finalize {
		t.Error("nothing was done about the finalizer")
	}
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(service), service); !apierrors.IsNotFound(err) {
		t.Errorf("the service: %v", err)
	}
	must(t, s.look(t.Context()))
}

// volumesGoBeforeNodes: what a claim has left in the cloud is waited for, for as long as claims are.
func volumesGoBeforeNodes(t *testing.T, b *bench) {
	volume := func(name string, change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name,
				Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "csi.test"}},
			Spec: corev1.PersistentVolumeSpec{
				Capacity:                      corev1.ResourceList{"storage": resource.MustParse("1Gi")},
				AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				ClaimRef:                      &corev1.ObjectReference{Namespace: "default", Name: "gone", UID: "u"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.test", VolumeHandle: name}},
			},
		}
		change(v)
		must(t, b.Create(t.Context(), v))
		return v
	}
	volume("retained", func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	})
	volume("by-hand", func(v *corev1.PersistentVolume) { v.Annotations = nil })
	volume("free", func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
	left := volume("left", func(*corev1.PersistentVolume) {})
	wait := b.cleaner.volumes(b.operation)
	s, err := b.cleaner.open(t.Context(), b.operation, KubernetesResources)
	must(t, err)
	defer s.close()
	if err := s.volumesGone(t.Context()); err == nil ||
		err.Error() != "1 are still present: PersistentVolume left (of default/gone)" {
		t.Errorf("%v", err)
	}
	b.annotate(t, map[string]string{
		"shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds": "1"})
	began := time.Now()
	must(t, wait(t.Context()))
	if took := time.Since(began); took < time.Second {
		t.Errorf("the volume was given %s", took)
	}
	b.annotate(t, nil)
	done := make(chan error, 1)
	go func() { done <- wait(t.Context()) }()
	must(t, b.Delete(t.Context(), left))
	// its protection is a controller's to take off
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(left), left); err == nil {
		left.Finalizers = nil
		must(t, b.Update(t.Context(), left))
	}
	must(t, <-done)
}

// TestWhatIsNotThereIsNotCleaned: where no API server ever served, or none is left, there is nothing to do.
func TestWhatIsNotThereIsNotCleaned(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	for name, objects := range map[string][]client.Object{
		"no API server": nil,
		"one that never was created": {&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID,
			Name: "kube-apiserver"}}},
	} {
		o := controlplane.New(&scope.Scope{Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
			Shoot: &gardencorev1beta1.Shoot{}})
		o.Shoot.Status.TechnicalID = technicalID
		for _, task := range (&Cleaner{}).Tasks(o) {
			if err := task.Run(t.Context()); err != nil {
				t.Errorf("%s: %s: %v", name, task.Name, err)
			}
		}
	}
}

// anAnnotationThatCannotBeRead ends the step at once: waiting mends it only if somebody writes another.
func anAnnotationThatCannotBeRead(t *testing.T, b *bench) {
	b.annotate(t, map[string]string{"shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds": "soon"})
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), `"soon" is no number of seconds`) {
		t.Errorf("%v", err)
	}
}

func eventually(t *testing.T, what string, condition func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			return condition(ctx), nil
		})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/privilegestest"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/realnodes"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// podserver is the program in pods, its image, and all objects that it is known by (e2e/podserver).
const (
	podserver      = "podserver"
	podserverImage = "transplant.dev/podserver:dev"
	answersGroup   = "answers.e2e.test"
)

// podsUser is the user of a shoot with real nodes, on both of which a podserver runs.
type podsUser struct {
	*inProcess
	config *rest.Config
	shoot  kubernetes.Interface
	ca     []byte // of the podservers
}

// Whatever a user does with pods works through the shoot's API server, before its control plane moves and after, with
// the same processes. While it moves, they are away for about as long as the API server is.
func TestRealNodes_ControlPlaneMoves_PodsAreReachedAgain(t *testing.T) {
	// Not beside others: it compares two outages of seconds, and runs more processes than any of them.
	u := newPodsUser(t)
	pods := u.deploy(t)
	u.registerWebhook(t)
	u.registerAPI(t)
	before := u.processes(t, pods)
	u.reachesAll(t, "before the move", before)

	t.Run("nodes may do what the table says", u.nodesMay)

	stop := u.measure(t, pods[0].Name)
	u.move(t, "b")
	u.execs(t, before) // at once: the move ends only when the nodes are reached
	api, exec := stop()
	t.Logf("while the control plane moved, the API server was away for %v, and exec for %v", api.longest, exec.longest)
	if api.failed == 0 || exec.failed == 0 {
		t.Errorf("of the calls while the control plane moved, %d to the API server and %d of exec have failed: nothing moved",
			api.failed, exec.failed)
	}
	if exec.longest > 2*api.longest {
		t.Errorf("exec was away for %v, more than twice as long as the API server, %v", exec.longest, api.longest)
	}

	u.reachesAll(t, "after the move", before)
	if diff := cmp.Diff(identities(pods), identities(u.pods(t))); diff != "" {
		t.Errorf("the move has changed pods (-before +after):\n%s", diff)
	}
	u.sleepsAndGoes(t)
}

func newPodsUser(t *testing.T) *podsUser {
	t.Helper()
	built(t)
	file := filepath.Join(t.TempDir(), podserver)
	if err := buildStatic(t, "./"+podserver, file); err != nil {
		t.Fatal(err)
	}
	s := environment.New(environment.ScenarioSettings)
	alpha := simlandscape.Shoot{Name: "alpha", Seed: "a", Workers: 2, Nodes: simlandscape.RealNodes}
	s.RealNodes = realnodes.Of(simlandscape.Landscape{Shoots: []simlandscape.Shoot{alpha}})
	p := startInProcess(t, "realnodes", s,
		embedded.Image{Name: podserverImage, Programs: map[string]string{podserver: file}})
	p.createShoot(t, alpha)
	u := &podsUser{inProcess: &p}
	var err error
	if u.config, err = clientcmd.BuildConfigFromFlags("", p.landscape.Dir().Kubeconfig(world.User, "alpha")); err == nil {
		u.shoot, err = kubernetes.NewForConfig(u.config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// deploy has a podserver run on each node.
func (u *podsUser) deploy(t *testing.T) []corev1.Pod {
	t.Helper()
	ctx, labels := t.Context(), map[string]string{"app": podserver}
	certificate, key, err := certutil.GenerateSelfSignedCertKey(podserver+".default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.ca = certificate
	meta := metav1.ObjectMeta{Name: podserver, Labels: labels}
	_, err = u.shoot.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: meta,
		Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": certificate, "tls.key": key}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A Service of an aggregated API (docs/machines.md#nodes-that-run-pods).
	_, err = u.shoot.CoreV1().Services("default").Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: labels,
		Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set := &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: podserver, Image: podserverImage, Command: []string{podserver}, Env: []corev1.EnvVar{workload.PodIP},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "certificate", MountPath: "/srv/" + podserver, ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: podserver}}}},
		}},
	}}
	if _, err := u.shoot.AppsV1().DaemonSets("default").Create(ctx, set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	u.eventually(t, "a podserver is ready on both nodes", func(ctx context.Context) error {
		set, err := u.shoot.AppsV1().DaemonSets("default").Get(ctx, podserver, metav1.GetOptions{})
		if err != nil || set.Status.NumberReady == 2 {
			return err
		}
		events, err := u.shoot.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		err = fmt.Errorf("%d of %d are ready", set.Status.NumberReady, set.Status.DesiredNumberScheduled)
		for _, event := range events.Items {
			err = fmt.Errorf("%w\n%s %s: %s", err, event.InvolvedObject.Name, event.Reason, event.Message)
		}
		return err
	})
	return u.pods(t)
}

// pods of the podservers, by their names.
func (u *podsUser) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := u.shoot.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + podserver})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[0].Spec.NodeName == list.Items[1].Spec.NodeName {
		t.Fatalf("there are %d pods, want one on each of two nodes", len(list.Items))
	}
	return list.Items
}

// identities of pods: all that another pod, or a container that was started anew, has otherwise.
func identities(pods []corev1.Pod) map[string]string {
	found := map[string]string{}
	for _, pod := range pods {
		status := pod.Status.ContainerStatuses[0]
		found[pod.Name] = fmt.Sprintf("%s on %s at %s, %s, restarts %d, %v", pod.UID, pod.Spec.NodeName, pod.Status.PodIP,
			status.ContainerID, status.RestartCount, status.State)
	}
	return found
}

// processes in the pods, by the pods' names.
func (u *podsUser) processes(t *testing.T, pods []corev1.Pod) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pod := range pods {
		process, err := u.processOf(t.Context(), pod.Name)
		if err != nil || len(process) < 26 {
			t.Fatalf("pod %q has process %q: %v", pod.Name, process, err)
		}
		found[pod.Name] = process
	}
	return found
}

func (u *podsUser) registerWebhook(t *testing.T) {
	t.Helper()
	_, err := u.shoot.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(),
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: podserver},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "podserver.e2e.test", AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](30),
				SideEffects:   ptr.To(admissionregistrationv1.SideEffectClassNone),
				FailurePolicy: ptr.To(admissionregistrationv1.Fail),
				ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: u.ca,
					Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: podserver,
						Path: ptr.To("/validate")}},
				// One that could refuse what kube-system needs would keep the shoot from sleeping.
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
				ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"app": podserver}},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
						Resources: []string{"configmaps"}},
				}},
			}},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (u *podsUser) apiService() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1",
		"kind": "APIService"}}
	object.SetName("v1." + answersGroup)
	return object
}

func (u *podsUser) registerAPI(t *testing.T) {
	t.Helper()
	object := u.apiService()
	object.Object["spec"] = map[string]any{
		"group": answersGroup, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
		"caBundle": u.ca, "service": map[string]any{"namespace": "default", "name": podserver, "port": int64(443)},
	}
	if err := u.objects(t).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (u *podsUser) objects(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(u.config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// move the control plane to a seed, and wait until the seed has restored it.
func (u *podsUser) move(t *testing.T, seed string) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Name, shoot.Namespace = u.world.ShootKey("alpha").Name, u.world.ShootKey("alpha").Namespace
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"seedName":%q}}`, seed))
	if err := u.garden.Patch(t.Context(), shoot, patch); err != nil {
		t.Fatal(err)
	}
	u.eventually(t, "the shoot is restored on seed "+seed, func(ctx context.Context) error {
		if err := u.garden.Get(ctx, u.world.ShootKey("alpha"), shoot); err != nil {
			return err
		}
		last := shoot.Status.LastOperation
		if ptr.Deref(shoot.Status.SeedName, "") != seed || last.Type != gardencorev1beta1.LastOperationTypeRestore ||
			last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return fmt.Errorf("it is on %q, and its last operation is %+v", ptr.Deref(shoot.Status.SeedName, ""), last)
		}
		return nil
	})
}

// sleepsAndGoes: a shoot without nodes, which is woken only to be deleted, has nobody who serves its webhook and its
// aggregated API. It goes all the same.
func (u *podsUser) sleepsAndGoes(t *testing.T) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Name, shoot.Namespace = u.world.ShootKey("alpha").Name, u.world.ShootKey("alpha").Namespace
	asleep := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hibernation":{"enabled":true}}}`))
	if err := u.garden.Patch(t.Context(), shoot, asleep); err != nil {
		t.Fatal(err)
	}
	u.eventually(t, "the shoot sleeps", func(ctx context.Context) error {
		err := u.garden.Get(ctx, u.world.ShootKey("alpha"), shoot)
		if last := shoot.Status.LastOperation; err == nil && (!shoot.Status.IsHibernated ||
			last.State != gardencorev1beta1.LastOperationStateSucceeded) {
			err = fmt.Errorf("its last operation is %+v", last)
		}
		return err
	})
	begun := time.Now()
	if err := u.garden.Delete(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	u.eventually(t, "the shoot is deleted", func(ctx context.Context) error {
		if err := u.garden.Get(ctx, u.world.ShootKey("alpha"), shoot); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("its last operation is %+v, %v", shoot.Status.LastOperation, shoot.Status.LastErrors)
	})
	t.Logf("deleted in %v", time.Since(begun))
}

// reachesAll does all that goes through the tunnel. Only these processes may be seen, each of them by its own pod.
func (u *podsUser) reachesAll(t *testing.T, when string, processes map[string]string) {
	t.Helper()
	for what, reach := range map[string]func(*testing.T, map[string]string){
		"logs": u.logs, "exec": u.execs, "port-forward": u.forwards, "a webhook": u.webhook, "an aggregated API": u.api,
	} {
		t.Run(what+" "+when, func(t *testing.T) { reach(t, processes) })
	}
}

func (u *podsUser) logs(t *testing.T, processes map[string]string) {
	for pod, process := range processes {
		content, err := u.shoot.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if want := "process " + process + " serves\n"; err != nil || string(content) != want {
			t.Errorf("the log of pod %q is %q, %v; want %q", pod, content, err, want)
		}
	}
}

func (u *podsUser) execs(t *testing.T, processes map[string]string) {
	for pod, process := range processes {
		if got, err := u.processOf(t.Context(), pod); err != nil || got != process {
			t.Errorf("in pod %q runs %q, %v; want %q", pod, got, err, process)
		}
	}
}

func (u *podsUser) forwards(t *testing.T, processes map[string]string) {
	for pod, process := range processes {
		if got, err := u.pageOf(t.Context(), pod); err != nil || got != process {
			t.Errorf("the page of pod %q is %q, %v; want %q", pod, got, err, process)
		}
	}
}

// webhook allows one object and refuses another.
func (u *podsUser) webhook(t *testing.T, processes map[string]string) {
	create := func(verdict string) error {
		_, err := u.shoot.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: verdict + "-", Labels: map[string]string{"app": podserver}},
			Data:       map[string]string{"verdict": verdict}}, metav1.CreateOptions{})
		return err
	}
	// The API server reads its configuration of webhooks a moment after it was written, or after its own start.
	u.eventually(t, "the webhook refuses", func(context.Context) error {
		err := create("refuse")
		if !apierrors.IsForbidden(err) || !isOneOf(processes, err.Error(),
			`"podserver.e2e.test" denied the request: process `, " refuses it") {
			return fmt.Errorf("an object that the webhook refuses: %w", err)
		}
		return nil
	})
	if err := create("allow"); err != nil {
		t.Errorf("an object that the webhook allows: %v", err)
	}
}

// api answers as the pods say, to the user that the API server knows.
func (u *podsUser) api(t *testing.T, processes map[string]string) {
	u.eventually(t, "the aggregated API is available", func(ctx context.Context) error {
		object := u.apiService()
		if err := u.objects(t).Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, condition := range conditions {
			if of, is := condition.(map[string]any); is && of["type"] == "Available" && of["status"] == "True" {
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("its conditions are %v", conditions)
		}
		return err
	})
	answer := struct {
		Kind, Process, User string
		Metadata            struct{ Name string }
	}{}
	// Who passes requests on learns a moment later that it is available.
	u.eventually(t, "the aggregated API answers", func(ctx context.Context) error {
		content, err := u.shoot.CoreV1().RESTClient().Get().AbsPath("/apis/" + answersGroup + "/v1/answers/one").DoRaw(ctx)
		if err != nil {
			return err
		}
		return json.Unmarshal(content, &answer)
	})
	if answer.Kind != "Answer" || answer.Metadata.Name != "one" || !isOneOf(processes, answer.Process, "", "") {
		t.Errorf("the aggregated API answers %+v, want one of the processes %v", answer, processes)
	}
	if want := "system:cluster-admin"; answer.User != want {
		t.Errorf("the aggregated API is asked by %q, want %q", answer.User, want)
	}
}

// isOneOf the processes, with texts around it.
func isOneOf(processes map[string]string, said, before, after string) bool {
	for _, process := range processes {
		if strings.Contains(said, before+process+after) {
			return true
		}
	}
	return false
}

// nodesMay do in the shoot what docs/privileges.md says, and no more. Each node has the same identity on its disk.
func (u *podsUser) nodesMay(t *testing.T) {
	folders, err := filepath.Glob(u.landscape.Dir().Join("nodes", "*", "var", "lib", "kubelet", "kubeconfig"))
	if err != nil || len(folders) != 2 {
		t.Fatalf("there are %d nodes: %v", len(folders), err)
	}
	tables, err := privilegestest.New(t.Context(), u.config, privilegestest.ShootNamespaces())
	if err != nil {
		t.Fatal(err)
	}
	want := committedTables(t)[privilegestest.Heading(privilegestest.ShootWithRealNodes, "user transplant:nodes")]
	if len(want) == 0 {
		t.Error("docs/privileges.md has no table of nodes that run pods")
	}
	for _, folder := range folders {
		node, err := clientcmd.BuildConfigFromFlags("", folder)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tables.Rows(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("the node of %s may do something else (-table +landscape):\n%s", folder, diff)
		}
	}
}

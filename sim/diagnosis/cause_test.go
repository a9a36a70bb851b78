package diagnosis

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

func TestCauseIn_Log_NamesFieldAndRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, field, remedy string }{
		{`{"level":"error","msg":"if kind is a CRD, it should be installed",` +
			`"error":"no matches for kind \"Etcd\" in version ` +
			`\"druid.gardener.cloud/v1alpha1\""}`, "manifests", "the kind Etcd of druid.gardener.cloud/v1alpha1"},
		{"unable to retrieve the complete list of server APIs: vault.example/v1: no matches for vault.example/v1, Resource=",
			"manifests", "no seed serves any kind of vault.example/v1"},
		{`unable to start: listen tcp 0.0.0.0:10250: bind: address already in use`, "args", "$(POD_IP):10250"},
		{"OSError: [Errno 98] Address already in use", "args", "$(POD_IP):PORT"},
		{"listen tcp :443: bind: permission denied", "args", "port 443 is for root alone"},
		{"./vault: error while loading shared libraries: libssl.so.3: cannot open", "binary", "libssl.so.3"},
		{"Error: unknown flag: --leader", "args", "does not know the flag --leader"},
		{"flag provided but not defined: -leader", "args", "does not know the flag -leader"},
		{`Error: required flag(s) "config-file" not set`, "args", "the program needs config-file"},
		{"open /etc/my/config.yaml: no such file or directory", "files", "{path: /etc/my/config.yaml, from: YOUR-FILE}"},
		{"FileNotFoundError: [Errno 2] No such file or directory: '/etc/my.ini'", "files", "{path: /etc/my.ini"},
		{`secrets is forbidden: User "u" cannot list resource "secrets" in API group "" at the cluster scope`, "rules",
			`{apiGroups: [""], resources: [secrets], verbs: [list]}`},
	} {
		got, known := causeIn([]string{"starting", c.said, "bye"})
		if !known || got.Field != c.field || !strings.Contains(got.Remedy, c.remedy) {
			t.Errorf("%s: spec.%s: %s, want spec.%s and %q", c.said, got.Field, got.Remedy, c.field, c.remedy)
		}
	}
	if got, known := causeIn([]string{"panic: nil map", "the cache is not in use"}); known {
		t.Errorf("a log that says nothing: %v", got)
	}
}

// saying is a cluster with a pod whose containers have this log, and which serves one group of its own.
func saying(t *testing.T, log string, pod *corev1.Pod) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/log"):
			_, _ = io.WriteString(w, log)
		case r.URL.Path == "/api/v1/pods":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(corev1.PodList{Items: []corev1.Pod{*pod},
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}})
		case r.URL.Path == "/apis/served.example/v1":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"served.example/v1",`+
				`"resources":[{"name":"things","kind":"Thing","namespaced":true,"verbs":["list"]}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestClinic_ExtensionWhoseLogSaysWhatItLacks_IsGivenUpSoon(t *testing.T) {
	t.Parallel()
	again := corev1.ContainerStatus{State: waiting("CrashLoopBackOff", ""), RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: ended(1, 0, "Error")}}
	once := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(1, 0, "Error")}}
	up := corev1.ContainerStatus{State: running, Ready: true}
	const missing, served = `no matches for kind "Etcd" in version "druid.gardener.cloud/v1alpha1"`,
		`no matches for kind "Thing" in version "served.example/v1"`
	for _, c := range []struct {
		name, extension string
		status          corev1.ContainerStatus
		log             string
		unanswered      time.Duration // how long an object waits for it; none if 0
		says            string        // nothing if it is worth waiting for
	}{
		{"its port is in use, twice", "vault", again, "listen tcp :8080: bind: address already in use", 0,
			"This is an error of the set-up. In the file of the extension vault, spec.args: " +
				"the port is taken by process 7 (acme-a); port 8080 is in use"},
		{"its port is in use, once", "vault", once, "listen tcp :8080: bind: address already in use", 0, ""},
		{"it does not say why it ends", "vault", again, "bye", 0, ""},
		{"an actor of the landscape", "", again, "listen tcp :8080: bind: address already in use", 0, ""},
		{"it waits for a kind, and an object for it", "vault", up, missing, time.Minute,
			"spec.manifests: no seed serves the kind Etcd"},
		{"it waits for a kind, and an object for it since a moment ago", "vault", up, missing, time.Second, ""},
		{"it has asked for a kind, perhaps of a shoot, and answers", "vault", up, missing, 0, ""},
		{"it waits for a kind that is there by now", "vault", up, served, time.Minute, ""},
		{"it runs without a right that it may not need", "vault", up,
			`cannot list resource "secrets" in API group "" at the cluster scope`, time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("v", map[string]string{"extension": c.extension, "actor": "gardenlet-a"}, c.status)
			pod.CreationTimestamp = metav1.NewTime(noon)
			clinic := &Clinic{Cluster: "a", Owners: byLabel{}, Clock: testingclock.NewFakeClock(noon),
				API:         saying(t, c.log, pod),
				PortHolders: func(int) []string { return []string{"process 7 (acme-a)"} }}
			owner, _ := byLabel{}.OwnerOf("a", pod)
			object := Finding{Owner: owner, Cluster: "a", State: Suspect, object: true, unanswered: c.unanswered}
			clinic.condemnUnserved(t.Context(), &object)
			text := ""
			for _, f := range append(clinic.ofPod(t.Context(), pod), object) {
				if clinic.addLog(t.Context(), &f); f.State.Hopeless() {
					text += f.String()
				}
			}
			if text != "" && !strings.HasPrefix(text, "the extension vault never ") {
				t.Errorf("%q does not begin with the extension", text)
			}
			if c.says == "" && text != "" || !strings.Contains(text, c.says) {
				t.Errorf("%q, want %q", text, c.says)
			}
		})
	}
}

func TestClinic_PodThatTheNodeRefuses_IsGivenUp(t *testing.T) {
	t.Parallel()
	pod := podOf("v", map[string]string{"extension": "vault"}, corev1.ContainerStatus{})
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Unsupported", Message: "volume x: hostPath"}
	found := (&Clinic{Cluster: "a", Owners: byLabel{}, Clock: testingclock.NewFakeClock(noon)}).ofPod(t.Context(), pod)
	if len(found) != 1 || !found[0].State.Hopeless() || !strings.Contains(found[0].What, "volume x: hostPath") {
		t.Errorf("%v", found)
	}
}

package podenv

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"A": "a", "EMPTY": "", "DOLLAR": "$(A)"}
	lookup := func(name string) (string, bool) { value, known := values[name]; return value, known }
	for text, want := range map[string]string{
		"":               "",
		"plain":          "plain",
		"$(A)":           "a",
		"x$(A)y$(A)z":    "xayaz",
		"$(EMPTY)|":      "|",
		"$(NONE)":        "$(NONE)",
		"$$(A)":          "$(A)",
		"$$$(A)":         "$a",
		"$$$$(A)":        "$$(A)",
		"$A":             "$A",
		"$":              "$",
		"$$":             "$",
		"$(A":            "$(A",
		"$(":             "$(",
		"$()":            "$()",
		"$(DOLLAR)":      "$(A)", // a value is not expanded again
		"$($(A))":        "$($(A))",
		"100% $(A) 10€$": "100% a 10€$",
	} {
		if got := Expand(text, lookup); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// store is what a namespace holds.
type store struct {
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
	err        error
}

func (s store) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if data, there := s.secrets[name]; there || s.err != nil {
		return &corev1.Secret{Data: data}, s.err
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

func (s store) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if data, there := s.configMaps[name]; there {
		return &corev1.ConfigMap{Data: data}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

func pod(container corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", Labels: map[string]string{"b": "2", "a": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}, NodeName: "node"},
		Status:     corev1.PodStatus{PodIP: "127.0.64.1"},
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	yes := true
	objects := store{
		secrets:    map[string]map[string][]byte{"s": {"A": []byte("secret"), "not a name=": []byte("x")}},
		configMaps: map[string]map[string]string{"m": {"A": "map", "B": "b"}},
	}
	key := func(name, key string, optional *bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: optional,
		}}
	}
	tests := map[string]struct {
		container corev1.Container
		want      []string
		err       string
	}{
		"the later wins": {
			container: corev1.Container{
				EnvFrom: []corev1.EnvFromSource{
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
					{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}},
					{Prefix: "X_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{
						Name: "none"}, Optional: &yes}},
				},
				Env: []corev1.EnvVar{{Name: "B", Value: "own $(A) $(SERVICE)"}, {Name: "C", Value: "$(B)"}},
			},
			want: []string{"SERVICE=host", "A=map", "B=own map host", "C=own map host"},
		},
		"fields": {
			container: corev1.Container{Env: []corev1.EnvVar{
				{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
				{Name: "LABELS", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}},
			}},
			want: []string{"SERVICE=host", "IP=127.0.64.1", "LABELS=a=\"1\"\nb=\"2\""},
		},
		"optional key": {container: corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: key("s", "none", &yes)}}},
			want: []string{"SERVICE=host"}},
		"missing secret": {container: corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: key("none", "A", nil)}}},
			err: `secret "none" not found`},
		"missing key": {container: corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: key("s", "none", nil)}}},
			err: "couldn't find key none in Secret n/s"},
		"unknown field": {
			container: corev1.Container{Env: []corev1.EnvVar{{Name: "A",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.none"}}}}},
			err: `unsupported field path "spec.none"`,
		},
		"unknown source": {
			container: corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{}}}},
			err:       "the source of a variable is of a kind that this node does not know",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := Source{Objects: objects, Pod: pod(test.container),
				Services: []corev1.EnvVar{{Name: "SERVICE", Value: "host"}}}
			environment, err := source.Of(t.Context(), &test.container)
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Fatalf("got error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, environment.Strings()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFailingAPIIsNotAMissingObject(t *testing.T) {
	t.Parallel()
	yes, down := true, errors.New("the API server is down")
	container := corev1.Container{Env: []corev1.EnvVar{{Name: "A",
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "A", Optional: &yes,
		}}}}}
	if _, err := (Source{Objects: store{err: down}, Pod: pod(container)}).Of(t.Context(), &container); !errors.Is(err,
		down) {
		t.Errorf("got %v, want %v", err, down)
	}
}

func TestResource(t *testing.T) {
	t.Parallel()
	container := corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"memory": resource.MustParse("100Mi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")},
	}}
	node := corev1.ResourceList{"cpu": resource.MustParse("4")}
	for _, test := range []struct{ resource, divisor, want string }{
		{"limits.memory", "", "104857600"},
		{"limits.memory", "1Mi", "100"},
		{"limits.memory", "64Mi", "2"}, // rounded up
		{"requests.cpu", "", "1"},
		{"requests.cpu", "1m", "250"},
		{"limits.cpu", "", "4"}, // none set: the node's
	} {
		selector := &corev1.ResourceFieldSelector{Resource: test.resource}
		if test.divisor != "" {
			selector.Divisor = resource.MustParse(test.divisor)
		}
		if got, err := Resource(pod(container), "c", selector, node); err != nil || got != test.want {
			t.Errorf("%s by %q is %q, %v, want %q", test.resource, test.divisor, got, err, test.want)
		}
	}
	if _, err := Resource(pod(container), "none", &corev1.ResourceFieldSelector{Resource: "limits.cpu"},
		node); err == nil || err.Error() != `container "none" not found` {
		t.Errorf("of an unknown container: got %v", err)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	service := func(namespace, name, ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{
			ClusterIP: ip, Ports: []corev1.ServicePort{{Name: "grpc-api", Port: 2379, Protocol: corev1.ProtocolTCP}},
		}}
	}
	services := []*corev1.Service{
		service("n", "etcd-main", "127.0.128.9"), service("n", "headless", corev1.ClusterIPNone),
		service("other", "etcd-events", "127.0.128.10"),
	}
	names := func(variables []corev1.EnvVar) map[string]string {
		out := map[string]string{}
		for _, v := range variables {
			out[v.Name] = v.Value
		}
		return out
	}
	api := APIServer{Host: "127.0.0.1", Port: 6443}
	want := map[string]string{
		"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443", "KUBERNETES_SERVICE_PORT_HTTPS": "6443",
		"KUBERNETES_PORT": "tcp://127.0.0.1:6443", "KUBERNETES_PORT_6443_TCP": "tcp://127.0.0.1:6443",
		"KUBERNETES_PORT_6443_TCP_PROTO": "tcp",
		"KUBERNETES_PORT_6443_TCP_PORT":  "6443", "KUBERNETES_PORT_6443_TCP_ADDR": "127.0.0.1",
		"ETCD_MAIN_SERVICE_HOST": "127.0.128.9", "ETCD_MAIN_SERVICE_PORT": "2379", "ETCD_MAIN_SERVICE_PORT_GRPC_API": "2379",
		"ETCD_MAIN_PORT": "tcp://127.0.128.9:2379", "ETCD_MAIN_PORT_2379_TCP": "tcp://127.0.128.9:2379",
		"ETCD_MAIN_PORT_2379_TCP_PROTO": "tcp",
		"ETCD_MAIN_PORT_2379_TCP_PORT":  "2379", "ETCD_MAIN_PORT_2379_TCP_ADDR": "127.0.128.9",
	}
	if diff := cmp.Diff(want, names(Services(services, pod(corev1.Container{}), api))); diff != "" {
		t.Error(diff)
	}
	no := false
	without := pod(corev1.Container{})
	without.Spec.EnableServiceLinks = &no
	if got := names(Services(services, without, api)); got["ETCD_MAIN_SERVICE_HOST"] != "" ||
		got["KUBERNETES_SERVICE_HOST"] == "" {
		t.Errorf("without service links: got %v", got)
	}
}

package embedded_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/integrationtest"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// bound is how long anything may take here.
const bound = 60 * time.Second

// skipShort skips a test that starts clusters when -short is given.
func skipShort(t *testing.T) {
	t.Helper()
	integrationtest.Mark(t, "starts the programs of clusters")
}

func start(t *testing.T, options embedded.Options) *embedded.Landscape {
	t.Helper()
	options.WithoutNodes = true
	return startWithNodes(t, options)
}

func startWithNodes(t *testing.T, options embedded.Options) *embedded.Landscape {
	t.Helper()
	skipShort(t)
	if options.Dir == "" {
		options.Dir = filepath.Join(t.TempDir(), "landscape")
	}
	options.Log = testr.New(t)
	l, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), bound)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("stop the landscape: %v", err)
		}
		checkNothingLeft(t, options.Dir)
	})
	return l
}

// checkNothingLeft looks for processes of a landscape in a way of its own: by the environment all of them have.
func checkNothingLeft(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		left := processesOf(dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("processes are left: %v", left)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func processesOf(dir string) []string {
	var found []string
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		content, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(content), "\x00"), embedded.DirVariable+"="+dir) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(command[:min(len(command), 100)]), "\x00", " "))
		}
	}
	return found
}

func client(t *testing.T, c clusters.Cluster, actor string) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	config, err := c.Connect(actor)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return config, clients
}

func createSecret(ctx context.Context, clients kubernetes.Interface, name string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, StringData: map[string]string{"word": secretWord},
	}
	_, err := clients.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// A garden with one seed: everything that can be seen of a landscape in one start.
func TestLandscape(t *testing.T) {
	t.Parallel()
	l := start(t, embedded.Options{Name: "whole", Seeds: []string{"elm"}})

	var got []string
	for _, c := range l.Clusters() {
		got = append(got, fmt.Sprintf("%s is a %s", c.Name(), c.Role()))
	}
	if diff := cmp.Diff([]string{"garden is a garden", "elm is a seed"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := l.Cluster("oak"); err == nil || !strings.Contains(err.Error(), "[elm]") {
		t.Errorf("an unknown cluster: got %v, want an error that names those there are", err)
	}
	t.Run("EncryptionAtRest", func(t *testing.T) { testEncryption(t, l) })
	t.Run("Files", func(t *testing.T) { testFiles(t, l) })
	t.Run("Kubeconfigs", func(t *testing.T) { testKubeconfigs(t, l) })
	t.Run("Actor", func(t *testing.T) { testActor(t, l) })
	t.Run("Controllers", func(t *testing.T) { testControllers(t, l) })
	t.Run("State", func(t *testing.T) { testState(t, l) })
}

func cluster(t *testing.T, l *embedded.Landscape, name string) *embedded.Cluster {
	t.Helper()
	c, err := l.Cluster(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*embedded.Cluster)
}

func createCustom(t *testing.T, config *rest.Config, group, version, plural, kind, word string) {
	t.Helper()
	clients, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
	if _, err := clients.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + version, "kind": kind, "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"word": word},
	}}
	resource := objects.Resource(schema.GroupVersionResource{Group: group, Version: version,
		Resource: plural}).Namespace("default")
	eventually(t, "create a "+kind, func() error { // until the definition is served
		_, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// rawValue reads etcd past the API server.
func rawValue(t *testing.T, c *embedded.Cluster, key string) string {
	t.Helper()
	keys := c.Files().PKI()
	pair, err := tls.LoadX509KeyPair(keys.Certificate("etcd-client"), keys.Key("etcd-client"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(keys.Certificate("etcd-ca"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: []string{c.Files().EtcdURL()}, DialTimeout: bound,
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	answer, err := etcd.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Kvs) != 1 {
		t.Fatalf("etcd of %s has %d values at %s", c.Name(), len(answer.Kvs), key)
	}
	return string(answer.Kvs[0].Value)
}

// Every file is for its owner alone: whoever loosens a folder shows nobody a key, a token or a log. Only who may write
// a socket can use it.
func testFiles(t *testing.T, l *embedded.Landscape) {
	checked := 0
	err := filepath.WalkDir(l.Dir().Path, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == ".transplant-landscape" { // which is empty
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // it was a temporary one
		}
		forbidden := os.FileMode(0o077)
		if entry.Type() == os.ModeSocket {
			forbidden = 0o022
		}
		if checked++; err == nil && info.Mode().Perm()&forbidden != 0 {
			t.Errorf("%s has mode %o, want none for others", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 50 {
		t.Errorf("only %d files were found", checked)
	}
}

// An actor connects once it has a kubeconfig.
func testKubeconfigs(t *testing.T, l *embedded.Landscape) {
	if _, err := cluster(t, l, "garden").Connect("unknown"); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("an unknown actor connects: got %v, want an error that names it", err)
	}
}

// An actor has a ServiceAccount's token, and its traffic crosses its link.
func testActor(t *testing.T, l *embedded.Landscape) {
	const actor = "gardenlet-elm"
	garden := cluster(t, l, "garden")
	content, err := switchboard.Kubeconfig(t.Context(), l, actor, "garden", "default/default")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Dir().WriteKubeconfig(actor, "garden", content); err != nil {
		t.Fatal(err)
	}
	config, clients := client(t, garden, actor)
	opened, err := l.Links().Link(actor, "garden")
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != opened.URL() || config.Host == garden.Files().URL() {
		t.Errorf("the actor talks to %s, want its link %s", config.Host, opened.URL())
	}
	_, err = clients.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if want := `User "system:serviceaccount:default:default" cannot list resource "secrets"`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("list secrets as an actor without rights: got %v, want %q", err, want)
	}
	stored, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range stored.AuthInfos {
		if len(user.ClientCertificateData) > 0 || user.Token == "" {
			t.Error("an actor's kubeconfig must have a token, and no certificate: links end TLS")
		}
	}
	if _, err := l.Links().Link(actor, "nowhere"); err == nil {
		t.Error("a link to nowhere was opened")
	}
}

// The controllers make pods; without a node they stay pending.
func testControllers(t *testing.T, l *embedded.Landscape) {
	_, clients := client(t, cluster(t, l, "elm"), clusters.Observer)
	eventually(t, "find the root certificate in each namespace", func() error {
		_, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 2379}}},
	}
	made, err := clients.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(made.Spec.ClusterIP); ip == nil || !ip.IsLoopback() {
		t.Errorf("the service got the address %s, want one in 127.0.0.0/8", made.Spec.ClusterIP)
	}
	slices, err := clients.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(slices.Items) != 0 {
		t.Errorf("there are %d EndpointSlices; nobody should make any", len(slices.Items))
	}
}

func testState(t *testing.T, l *embedded.Landscape) {
	state, err := l.Dir().ReadState()
	if err != nil {
		t.Fatal(err)
	}
	if state.Name != "whole" || state.Supervisor != process.Self() || len(state.Clusters) != 2 {
		t.Errorf("the state is %+v", state)
	}
	var links []string
	for _, opened := range state.Links {
		links = append(links, opened.Actor+" "+opened.Target)
	}
	if diff := cmp.Diff([]string{"gardenlet-elm garden"}, links); diff != "" {
		t.Error(diff)
	}
	for _, p := range state.All() {
		if !p.ID.Alive() {
			t.Errorf("process %q of the state does not live", p.Name)
		}
	}
	if got := len(state.All()); got != 8 {
		t.Errorf("the state has %d processes, want 8", got)
	}
}

package etcd_test

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// TestAPIServerLivesBehindTheGuard runs a real kube-apiserver on an etcd behind the guard's process: it serves, it
// stops when the guard lapses, and it serves again soon after the guard does.
func TestAPIServerLivesBehindTheGuard(t *testing.T) {
	t.Parallel()
	g := startGuard(t, 3*time.Second)
	files := filesOf(g.keys, access.APIServer)
	config := apiservertest.Start(t, apiservertest.Options{Flags: []string{
		"--etcd-servers=https://" + g.endpoint, "--etcd-cafile=" + files.CA, "--etcd-certfile=" + files.Cert,
		"--etcd-keyfile=" + files.Key,
	}})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	n := 0
	create := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		n++
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", n)}},
			metav1.CreateOptions{})
		return err
	}
	for range 20 {
		if err := create(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	through, err := g.etcd.Client.Get(t.Context(), "/registry/configmaps/default/map-20")
	if err != nil || len(through.Kvs) != 1 {
		t.Fatalf("the object is not in the etcd behind the guard: %v", err)
	}

	g.signal(t, syscall.SIGSTOP)
	<-time.After(4 * time.Second) // longer than the validity
	g.signal(t, syscall.SIGCONT)
	g.is(t, http.StatusOK)
	revived := time.Now()
	for create(2*time.Second) != nil {
		if time.Since(revived) > time.Minute {
			t.Fatal("the API server does not come back behind a guard that is valid again")
		}
	}
	t.Logf("the API server wrote again %v after the guard was valid", time.Since(revived).Round(time.Millisecond))

	g.authorities.setDown(true)
	g.is(t, http.StatusServiceUnavailable)
	if err := create(2 * time.Second); err == nil {
		t.Error("the API server acknowledged a write while the guard was suspended")
	}
	<-time.After(10 * time.Second)
	g.authorities.setDown(false)
	g.is(t, http.StatusOK)
	revived = time.Now()
	for create(2*time.Second) != nil {
		if time.Since(revived) > time.Minute {
			t.Fatal("the API server does not come back after a suspension")
		}
	}
	t.Logf("the API server wrote again %v after a suspension of 10 s", time.Since(revived).Round(time.Millisecond))
}

package tokenrequestor

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/resource"
)

// On a real API server, which is seed and shoot at once, the token is of the ServiceAccount. If the ServiceAccount is
// made anew, as after a restore from an older backup, the next process requests another token.
func TestOnARealAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t, apiservertest.Options{})
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
	secret := asks(nil, nil)
	secret.Annotations["serviceaccount.resources.gardener.cloud/namespace"] = "default"
	for _, object := range []client.Object{namespace, secret} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	stop := start(t, config, namespace.Name)
	first := tokenFor(t, c, secret, "")
	stop()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "calico"}}
	if err := c.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	start(t, config, namespace.Name)
	tokenFor(t, c, secret, first)
	managers := map[string]bool{}
	for _, entry := range secret.ManagedFields {
		managers[entry.Manager] = true
	}
	if !managers["token-requestor"] {
		t.Errorf("the token is written as %v", managers)
	}
}

// start runs the controller, as the resource manager of a shoot does, until the test or the caller ends it.
func start(t *testing.T, config *rest.Config, namespace string) (stop func()) {
	t.Helper()
	mgr, err := resource.NewManager(config, namespace, "0")
	if err == nil {
		err = AddToManager(mgr, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("run the manager: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// tokenFor waits for a token other than the one before, by which the API server knows the ServiceAccount.
func tokenFor(t *testing.T, c client.Client, secret *corev1.Secret, before string) string {
	t.Helper()
	token := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret)
			token = string(secret.Data["token"])
			return token != "" && token != before, err
		})
	if err != nil {
		t.Fatalf("there is no other token than %q: %v", before, err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if got := review.Status.User.Username; got != "system:serviceaccount:default:calico" {
		t.Errorf("the token is of %q: %s", got, review.Status.Error)
	}
	return token
}

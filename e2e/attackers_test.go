package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/e2e/knocktest"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
)

// kubeconfig is the one that an actor has, as it lies in its hands.
func (a *attacked) kubeconfig(t *testing.T, actor, target string) []byte {
	t.Helper()
	content, err := os.ReadFile(a.landscape.Dir().Kubeconfig(actor, target))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// inGarden collects what is tried at the garden with one client.
type inGarden struct {
	client.Client
	refused func(error) error
	attacks []attack
}

func (g *inGarden) try(name string, send func(context.Context) error) {
	g.attacks = append(g.attacks, attack{name: name, send: send, refused: g.refused})
}

func (g *inGarden) get(name string, object client.Object) {
	g.try(name, func(ctx context.Context) error { return g.Get(ctx, client.ObjectKeyFromObject(object), object) })
}

func (g *inGarden) create(name string, object client.Object) {
	g.try(name, func(ctx context.Context) error { return g.Create(ctx, object) })
}

func (g *inGarden) patch(name string, object client.Object, with string) {
	g.try(name, func(ctx context.Context) error {
		return g.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(with)))
	})
}

func (g *inGarden) remove(name string, object client.Object) {
	g.try(name, func(ctx context.Context) error { return g.Delete(ctx, object) })
}

// gardenAs an actor of seed a.
func (a *attacked) gardenAs(t *testing.T, account string) []attack {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(a.kubeconfig(t, account, simlandscape.Garden))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: environment.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	g := &inGarden{Client: c, refused: says("403", apierrors.IsForbidden, "system:serviceaccount:garden:"+account)}
	project := a.world.ShootKey(victim).Namespace
	g.onSecrets(project)
	g.onShoot(project)
	return g.attacks
}

// onSecrets, and on what makes tokens.
func (g *inGarden) onSecrets(project string) {
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	typed := &corev1.Secret{ObjectMeta: in(project, decoy+".kubeconfig"), Type: corev1.SecretTypeServiceAccountToken}
	typed.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	g.get("read the kubeconfig", &corev1.Secret{ObjectMeta: in(project, victim+".kubeconfig")})
	g.get("read a secret of the landscape", &corev1.Secret{ObjectMeta: in("garden", "kubeconfig-garden")})
	g.try("list secrets", func(ctx context.Context) error {
		return g.List(ctx, &corev1.SecretList{}, client.InNamespace(project))
	})
	g.create("create a secret", &corev1.Secret{ObjectMeta: in(project, "planted")})
	g.create("create a secret for a token", typed)
	for _, of := range []string{"garden-controller-manager", "gardenlet-b", "control-planes-b"} {
		account := &corev1.ServiceAccount{ObjectMeta: in("garden", of)}
		g.try("mint a token of "+of, func(ctx context.Context) error {
			return g.SubResource("token").Create(ctx, account, &authenticationv1.TokenRequest{})
		})
	}
}

// onShoot, its claim and its state.
func (g *inGarden) onShoot(project string) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: project, Name: name} }
	claim := &coordinationv1.Lease{ObjectMeta: in("owner." + victim)}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: in(victim)}
	state, lease := &gardencorev1beta1.ShootState{ObjectMeta: in(victim)}, &coordinationv1.Lease{}
	lease.Namespace, lease.Name = "gardener-system-seed-lease", "b"
	g.get("read the state", state)
	g.remove("delete the state", state)
	g.patch("take the claim", claim, `{"spec":{"holderIdentity":"somebody","leaseTransitions":99}}`)
	g.remove("remove the claim", claim)
	g.create("claim a shoot that is not there", &coordinationv1.Lease{ObjectMeta: in("owner.omega")})
	g.patch("silence the seed", lease, `{"spec":{"renewTime":null}}`)
	g.patch("bind the shoot elsewhere", shoot, `{"spec":{"seedName":"a"}}`)
	g.patch("force its restoration", shoot, `{"metadata":{"annotations":{"shoot.gardener.cloud/force-restore":"true"}}}`)
	g.remove("delete the shoot", shoot)
	g.try("report that the shoot is its own", func(ctx context.Context) error {
		return g.Status().Patch(ctx, shoot, client.RawPatch(types.MergePatchType, []byte(`{"status":{"seedName":"a"}}`)))
	})
}

// hasStatus says whether an error is an answer with that status.
func hasStatus(code int) func(error) bool {
	return func(err error) bool {
		answer, is := errors.AsType[*knocktest.StatusError](err)
		return is && answer.Code == code
	}
}

// guardAsOthers asks guard and sidecar with certificates of the shoot's own etcd CA, which seed b's actors have, for
// what is not theirs.
func (a *attacked) guardAsOthers(t *testing.T) (attacks []attack) {
	t.Helper()
	for _, identity := range append(access.Clients(), access.APIServer) {
		name := identity.Secret()
		if identity == access.APIServer {
			name = "etcd-client"
		}
		secret := &corev1.Secret{}
		if err := a.b.Get(t.Context(), client.ObjectKey{Namespace: a.etcd.Namespace, Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: access.Transport(func(context.Context) (access.Credentials, error) {
			return access.FromSecret(secret.Data), nil
		})}
		refused := says("403", hasStatus(http.StatusForbidden), string(identity))
		for port, routes := range apis() {
			for _, route := range routes {
				if slices.Contains(route.Allowed, identity) {
					continue
				}
				attacks = append(attacks, attack{
					name:    fmt.Sprintf("%s %s of port %d as %s", route.Method, route.Path, port, identity),
					refused: refused, send: a.asks(c, port, route),
				})
			}
		}
	}
	return attacks
}

func (a *attacked) asks(c *http.Client, port int, route access.Route) func(context.Context) error {
	url := "https://" + net.JoinHostPort(a.etcd.Status.PodIP, strconv.Itoa(port)) + route.Path + "?epoch=1&final=true"
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, route.Method, url, nil)
		if err != nil {
			return err
		}
		return judged(c.Do(request))
	}
}

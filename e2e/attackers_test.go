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
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/stage"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
)

// kubeconfig is the one that an actor has, as it lies in its hands.
func (a *attacked) kubeconfig(t *testing.T, actor, target string) []byte {
	t.Helper()
	content, err := os.ReadFile(a.landscape.KubeconfigPath(actor, target))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// gardenAs an actor of seed a.
func (a *attacked) gardenAs(t *testing.T, account string) []attack {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(a.kubeconfig(t, account, simlandscape.Garden))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: stage.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	forbidden := says("403", apierrors.IsForbidden, "system:serviceaccount:garden:"+account)
	project := a.world.ShootKey(victim).Namespace
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: project, Name: name} }
	typed := &corev1.Secret{ObjectMeta: in(decoy + ".kubeconfig"), Type: corev1.SecretTypeServiceAccountToken}
	typed.GenerateName, typed.Name = "token-", ""
	typed.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	var attacks []attack
	try := func(name string, send func(context.Context) error) {
		attacks = append(attacks, attack{name: name, send: send, refused: forbidden})
	}
	get := func(name string, object client.Object) {
		try(name, func(ctx context.Context) error { return c.Get(ctx, client.ObjectKeyFromObject(object), object) })
	}
	patch := func(name string, object client.Object, with string) {
		try(name, func(ctx context.Context) error {
			return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(with)))
		})
	}
	create := func(name string, object client.Object) {
		try(name, func(ctx context.Context) error { return c.Create(ctx, object) })
	}
	remove := func(name string, object client.Object) {
		try(name, func(ctx context.Context) error { return c.Delete(ctx, object) })
	}
	claim, shoot := &coordinationv1.Lease{ObjectMeta: in("owner." + victim)}, &gardencorev1beta1.Shoot{ObjectMeta: in(victim)}
	get("read the kubeconfig", &corev1.Secret{ObjectMeta: in(victim + ".kubeconfig")})
	get("read a secret of the landscape", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "kubeconfig-garden"}})
	get("read the state", &gardencorev1beta1.ShootState{ObjectMeta: in(victim)})
	try("list secrets", func(ctx context.Context) error { return c.List(ctx, &corev1.SecretList{}, client.InNamespace(project)) })
	create("create a secret", &corev1.Secret{ObjectMeta: in("planted")})
	create("create a secret for a token", typed)
	patch("take the claim", claim, `{"spec":{"holderIdentity":"somebody","leaseTransitions":99}}`)
	remove("remove the claim", claim)
	create("claim a shoot that is not there", &coordinationv1.Lease{ObjectMeta: in("owner.omega")})
	patch("silence the seed", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "gardener-system-seed-lease", Name: "b"}}, `{"spec":{"renewTime":null}}`)
	patch("bind the shoot elsewhere", shoot, `{"spec":{"seedName":"a"}}`)
	patch("force its restoration", shoot, `{"metadata":{"annotations":{"shoot.gardener.cloud/force-restore":"true"}}}`)
	remove("delete the shoot", shoot)
	remove("delete its state", &gardencorev1beta1.ShootState{ObjectMeta: in(victim)})
	try("report that the shoot is its own", func(ctx context.Context) error {
		return c.Status().Patch(ctx, shoot, client.RawPatch(types.MergePatchType, []byte(`{"status":{"seedName":"a"}}`)))
	})
	for _, of := range []string{"garden-controller-manager", "gardenlet-b", "control-planes-b"} {
		try("mint a token of "+of, func(ctx context.Context) error {
			minted := &authenticationv1.TokenRequest{}
			return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: of}}, minted)
		})
	}
	return attacks
}

// rightsInCloud tells that the cloud knows to which seed the garden has bound a shoot, and what is whose in it.
const rightsInCloud = false

// cloudActors are those of seed a that have a token of the cloud.
var cloudActors = []string{"gardenlet-a", "extensions-a", "control-planes-a"}

// cloudAs an actor of seed a.
func (a *attacked) cloudAs(t *testing.T, actor string) []attack {
	t.Helper()
	c, err := cloud.FromKubeconfig(a.kubeconfig(t, actor, switchboard.Cloud), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var attacks []attack
	try := func(name, text string, send func(context.Context) error) {
		attacks = append(attacks, attack{name: name, send: send, refused: unauthorized(text)})
	}
	epoch := a.before.Validity.Epoch
	theirs, next := cloud.Scope{Shoot: technicalID(victim), Epoch: epoch}, cloud.Scope{Shoot: technicalID(victim), Epoch: epoch + 1}
	records := c.Records(a.zone)
	own := func(at int64) *cloud.RecordSet {
		text := fmt.Sprintf("owner=somebody epoch=%d seed=a", at)
		return &cloud.RecordSet{Name: ownerName(victim), Type: cloud.RecordTXT, TTL: 1, Values: []string{text}}
	}
	put := func(set *cloud.RecordSet) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := records.Put(ctx, set, cloud.If{})
			return err
		}
	}
	of := fmt.Sprintf("its owner record gives seed 'b' epoch %d", epoch)
	try("fence the shoot", of, func(ctx context.Context) error {
		_, err := c.Fence(ctx, next)
		return err
	})
	try("fence it by a call", of, func(ctx context.Context) error {
		_, err := c.WithScope(next).Networks().Create(ctx, &cloud.Network{CIDR: "10.0.0.0/16"})
		return err
	})
	try("take its name", "the shoot is seed 'b's", put(&cloud.RecordSet{Name: apiName(victim), Type: cloud.RecordA, TTL: 1, Values: []string{"127.0.0.1"}}))
	try("remove its name", "the shoot is seed 'b's", func(ctx context.Context) error {
		return records.Delete(ctx, cloud.RecordA, apiName(victim), cloud.If{})
	})
	try("take it over with its epoch", "the owner record", put(own(epoch)))
	try("take it over with a jump", "the owner record", put(own(epoch+1_000_000)))
	try("remove its owner record", "not remove it", func(ctx context.Context) error {
		return records.Delete(ctx, cloud.RecordTXT, ownerName(victim), cloud.If{})
	})
	if rightsInCloud {
		try("take it over with the next epoch", "the owner record", put(own(epoch+1)))
		attacks = append(attacks, a.onResources(c, theirs)...)
	}
	try("break the cloud", "", func(ctx context.Context) error {
		_, err := c.SetFault(ctx, cloud.Fault{Meta: cloud.Meta{ID: "attack"}, Effect: cloud.Effect{Missing: true}})
		return err
	})
	try("copy the cloud", "", func(ctx context.Context) error {
		_, err := c.Snapshot(ctx)
		return err
	})
	return append(attacks, attack{name: "read what its machine boots with", refused: says("nothing", isHidden, ""), send: func(ctx context.Context) error {
		machine, err := c.Machines().Get(ctx, a.machine)
		if err == nil && machine.UserData == "" {
			err = errHidden
		}
		return err
	}})
}

// unauthorized is the cloud's word to who is known and may not.
func unauthorized(text string) func(error) error {
	return says("Unauthorized", func(err error) bool { return cloud.CodeOf(err) == cloud.CodeUnauthorized }, text)
}

// onResources of the victim in the cloud, in whosever name the calls are made.
func (a *attacked) onResources(c *cloud.Client, theirs cloud.Scope) (attacks []attack) {
	for name, scope := range map[string]cloud.Scope{
		"in nobody's name": {}, "in its name": {Shoot: theirs.Shoot}, "in its name and epoch": theirs,
		"in the name of its own shoot": {Shoot: technicalID(decoy), Epoch: 1},
	} {
		c := c.WithScope(scope)
		try := func(what string, send func(context.Context) error) {
			attacks = append(attacks, attack{name: what + " " + name, send: send, refused: unauthorized("seed 'b's")})
		}
		try("delete its machine", func(ctx context.Context) error { return c.Machines().Delete(ctx, a.machine) })
		try("reboot its machine", func(ctx context.Context) error {
			_, err := c.RebootMachine(ctx, a.machine)
			return err
		})
		try("overwrite its backup", func(ctx context.Context) error {
			_, err := c.Bucket(a.bucket).Put(ctx, a.backup, strings.NewReader("nothing"), cloud.PutOptions{})
			return err
		})
		try("delete its backup", func(ctx context.Context) error { return c.Bucket(a.bucket).Delete(ctx, a.backup) })
	}
	return attacks
}

var errHidden = errors.New("the cloud does not show it")

func isHidden(err error) bool { return errors.Is(err, errHidden) }

// statusError is an answer of HTTP that is not the one of somebody who is let in.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d %s", e.code, e.body) }

// hasStatus tells of an answer with a status.
func hasStatus(code int) func(error) bool {
	return func(err error) bool {
		answer, is := errors.AsType[*statusError](err)
		return is && answer.code == code
	}
}

// apis of the victim, by their ports, and the routes of each.
func apis() map[int][]access.Route {
	return map[int][]access.Route{access.GuardPort: (&guard.Server{}).Routes(), access.SidecarPort: (&backup.Sidecar{}).Routes()}
}

// guardAsOthers asks guard and sidecar with certificates of the shoot's own etcd CA, which seed b's actors have, for what is
// not theirs.
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
		c := &http.Client{Transport: access.Transport(func(context.Context) (access.Credentials, error) { return access.FromSecret(secret.Data), nil })}
		for port, routes := range apis() {
			for _, route := range routes {
				if slices.Contains(route.Allowed, identity) {
					continue
				}
				attacks = append(attacks, attack{
					name: fmt.Sprintf("%s %s of port %d as %s", route.Method, route.Path, port, identity), refused: says("403", hasStatus(http.StatusForbidden), string(identity)),
					send: func(ctx context.Context) error {
						address := net.JoinHostPort(a.etcd.Status.PodIP, strconv.Itoa(port))
						request, err := http.NewRequestWithContext(ctx, route.Method, "https://"+address+route.Path+"?epoch=1&final=true", nil)
						if err != nil {
							return err
						}
						return judged(c.Do(request))
					},
				})
			}
		}
	}
	return attacks
}

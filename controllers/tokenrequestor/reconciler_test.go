package tokenrequestor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
	"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
	"clusters": [{"name": "x", "cluster": {"server": "https://10.0.0.1:6443"}}], "users": [{"name": "x", "user": {%s}}]}`

// begun is when the tests begin.
var begun = time.Unix(1_000_000_000, 0).UTC()

// kit is a Reconciler with a shoot that counts the requests to it.
type kit struct {
	*Reconciler
	clock  *testingclock.FakeClock
	asked  []string
	behind time.Duration // by which the shoot's clock is behind
}

// newKit has the ServiceAccount calico in the shoot if it has a UID.
func newKit(t *testing.T, secret *corev1.Secret, account types.UID) *kit {
	t.Helper()
	k := &kit{clock: testingclock.NewFakeClock(begun)}
	shoot := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
	if account != "" {
		shoot.WithObjects(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "calico",
			UID: account}})
	}
	seed := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(secret).Build()
	k.Reconciler = &Reconciler{Source: client.WithFieldOwner(seed, FieldOwner), Clock: k.clock, Authority: []byte("ca")}
	k.Target = interceptor.NewClient(shoot.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			k.asked = append(k.asked, "get account")
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			k.asked = append(k.asked, "create account")
			object.SetUID("made")
			return c.Create(ctx, object, options...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, _ string, account client.Object, answer client.Object,
			_ ...client.SubResourceCreateOption) error {
			k.asked = append(k.asked, "request token")
			there, request := &corev1.ServiceAccount{}, answer.(*authenticationv1.TokenRequest)
			if err := c.(client.WithWatch).Get(ctx, client.ObjectKeyFromObject(account), there); err != nil {
				return err
			}
			lifetime := time.Duration(*request.Spec.ExpirationSeconds)*time.Second - k.behind
			request.Status.Token = tokenOf(there.UID, k.clock.Now())
			request.Status.ExpirationTimestamp = metav1.NewTime(k.clock.Now().Add(lifetime))
			return nil
		},
	})
	return k
}

// tokenOf is a token of a ServiceAccount, as far as its UID goes, and when it was issued.
func tokenOf(account types.UID, issued time.Time) string {
	claims := fmt.Sprintf(`{"iat":%d,"kubernetes.io":{"serviceaccount":{"uid":%q}}}`, issued.Unix(), account)
	return "header." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
}

func asks(data map[string]string, annotations map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shoot--p--alpha", Name: "shoot-access-calico",
		Labels: map[string]string{"resources.gardener.cloud/purpose": "token-requestor",
			"resources.gardener.cloud/class": "shoot"},
		Annotations: map[string]string{},
	}, Data: map[string][]byte{}}
	for key, value := range map[string]string{"name": "calico", "namespace": "kube-system"} {
		secret.Annotations["serviceaccount.resources.gardener.cloud/"+key] = value
	}
	for key, value := range annotations {
		secret.Annotations["serviceaccount.resources.gardener.cloud/"+key] = value
	}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

func (k *kit) reconcile(t *testing.T, secret *corev1.Secret) (reconcile.Result, error) {
	t.Helper()
	k.asked = nil
	result, err := k.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(secret)})
	if err := k.Source.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	return result, err
}

// A token is requested where none is, where the one that is there is of another ServiceAccount, and in time; else the
// shoot is asked once in the life of the process.
func TestReconcile_Token_IsRequestedWhenNeeded(t *testing.T) {
	t.Parallel()
	later, earlier := begun.Add(time.Hour).Format(time.RFC3339), begun.Add(-time.Hour).Format(time.RFC3339)
	valid, lost := tokenOf("there", begun), tokenOf("lost", begun)
	for name, c := range map[string]struct {
		token, renewal string
		account        types.UID
		want           []string
	}{
		"no ServiceAccount yet":      {account: "", want: []string{"request token", "create account", "request token"}},
		"no token yet":               {account: "there", want: []string{"request token"}},
		"restored without a renewal": {token: valid, account: "there", want: []string{"request token"}},
		"due":                        {token: valid, renewal: earlier, account: "there", want: []string{"request token"}},
		"not due":                    {token: valid, renewal: later, account: "there", want: []string{"get account"}},
		"of one that was lost": {token: lost, renewal: later, account: "there",
			want: []string{"get account", "request token"}},
		"of one that is not there": {token: lost, renewal: later, account: "",
			want: []string{"get account", "request token", "create account", "request token"}},
		"not a token": {token: "x", renewal: later, account: "there", want: []string{"get account", "request token"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, annotations := map[string]string{}, map[string]string{}
			if c.token != "" {
				data["token"] = c.token
			}
			if c.renewal != "" {
				annotations["token-renew-timestamp"] = c.renewal
			}
			secret := asks(data, annotations)
			k := newKit(t, secret, c.account)
			result, err := k.reconcile(t, secret)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, k.asked); diff != "" {
				t.Errorf("requests to the shoot (-want +got):\n%s", diff)
			}
			requested := c.want[len(c.want)-1] == "request token"
			renewed := secret.Annotations["serviceaccount.resources.gardener.cloud/token-renew-timestamp"]
			if want := begun.Add(12 * time.Hour * 8 / 10).Format(time.RFC3339); requested && renewed != want {
				t.Errorf("it is renewed at %q, want %q", renewed, want)
			}
			if uid := accountUID(string(secret.Data["token"])); uid != "there" && uid != "made" {
				t.Errorf("the token is of %q", uid)
			}
			if result.RequeueAfter <= 0 {
				t.Errorf("nobody comes back: %+v", result)
			}
			if _, err := k.reconcile(t, secret); err != nil || len(k.asked) > 0 {
				t.Errorf("nothing has changed, and the shoot is asked %q, %v", k.asked, err)
			}
			k.clock.Step(result.RequeueAfter)
			before := string(secret.Data["token"])
			if _, err := k.reconcile(t, secret); err != nil || string(secret.Data["token"]) == before {
				t.Errorf("the token is not renewed when it is due: %v", err)
			}
		})
	}
}

// A shoot whose clock is far behind gives tokens that seem to have expired. They are not requested again at once.
func TestReconcile_ShootWithALateClock_IsNotAskedAgainSoon(t *testing.T) {
	t.Parallel()
	secret := asks(nil, nil)
	k := newKit(t, secret, "there")
	k.behind = 24 * time.Hour
	if result, err := k.reconcile(t, secret); err != nil || result.RequeueAfter < shortest/2 {
		t.Errorf("it is looked at again after %v, %v", result.RequeueAfter, err)
	}
}

// A kubeconfig keeps what its owner has written but for the token. The authority is written where it is asked for.
func TestReconcile_Kubeconfig_GetsTheToken(t *testing.T) {
	t.Parallel()
	inject := map[string]string{"inject-ca-bundle": "true", "token-expiration-duration": "1h"}
	for name, c := range map[string]struct {
		data        map[string]string
		annotations map[string]string
		bundle, ca  string
	}{
		"without a user": {data: map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "")}},
		"and the authority": {data: map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, `"token": "old"`)},
			annotations: inject, ca: "ca"},
		"no kubeconfig, and the authority": {annotations: inject, bundle: "ca"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := asks(c.data, c.annotations)
			k := newKit(t, secret, "there")
			if _, err := k.reconcile(t, secret); err != nil {
				t.Fatal(err)
			}
			if got := string(secret.Data["bundle.crt"]); got != c.bundle {
				t.Errorf("bundle.crt is %q, want %q", got, c.bundle)
			}
			if c.data == nil {
				return
			}
			config, err := clientcmd.Load(secret.Data["kubeconfig"])
			if err != nil {
				t.Fatal(err)
			}
			cluster, token := config.Clusters["x"], config.AuthInfos["x"].Token
			if cluster.Server != "https://10.0.0.1:6443" || string(cluster.CertificateAuthorityData) != c.ca ||
				accountUID(token) != "there" || secret.Data["token"] != nil {
				t.Errorf("server %q, authority %q, token %q", cluster.Server, cluster.CertificateAuthorityData, token)
			}
		})
	}
}

// A Secret with the label persist moves with its data and labels, without annotations
// (docs/specification/migration.md#spec-2-8). So the token moves, too, and a new one is requested when its owner asks
// anew.
func TestReconcile_PersistedSecret_GetsANewTokenWhenItsOwnerAsks(t *testing.T) {
	t.Parallel()
	moved := tokenOf("there", begun)
	secret := asks(map[string]string{"token": moved}, nil)
	annotations := secret.Annotations
	secret.Labels["persist"], secret.Annotations = "true", nil
	k := newKit(t, secret, "there")
	if _, err := k.reconcile(t, secret); err == nil || string(secret.Data["token"]) != moved || len(k.asked) > 0 {
		t.Errorf("before its owner asks: token %q, requests %q, %v", secret.Data["token"], k.asked, err)
	}
	secret.Annotations = annotations
	if err := k.Source.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	k.clock.Step(time.Second)
	if _, err := k.reconcile(t, secret); err != nil || string(secret.Data["token"]) == moved {
		t.Errorf("after its owner has asked: token %q, %v", secret.Data["token"], err)
	}
}

// What is wrong in a Secret is named, and not tried again until it changes. Others' Secrets are left alone.
func TestReconcile_SecretWithMistake_NamesIt(t *testing.T) {
	t.Parallel()
	nameless, others := asks(nil, nil), asks(nil, nil)
	delete(nameless.Annotations, "serviceaccount.resources.gardener.cloud/name")
	others.Labels["resources.gardener.cloud/class"] = "garden"
	// It can be read: only who does not open it refuses it.
	there := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(there, []byte("ca"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := strings.Replace(fmt.Sprintf(kubeconfig, ""), `"cluster": {`,
		fmt.Sprintf(`"cluster": {"certificate-authority": %q, `, there), 1)
	for name, c := range map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"no ServiceAccount": {nameless, "serviceaccount.resources.gardener.cloud/name: missing"},
		"no duration":       {asks(nil, map[string]string{"token-expiration-duration": "6"}), `"6" must be a duration`},
		"too short":         {asks(nil, map[string]string{"token-expiration-duration": "1m"}), "at least 10m0s"},
		"no kubeconfig":     {asks(map[string]string{"kubeconfig": "x"}, nil), "key kubeconfig"},
		"names files of this machine": {asks(map[string]string{"kubeconfig": files}, nil),
			`key kubeconfig: cluster x: certificate-authority names the file "` + there + `"; give certificate-authority-data`},
		"names a file of a user": {asks(map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, `"client-key": "/none"`)},
			nil), `user x: client-key names the file "/none"`},
		"names a file with the token": {asks(map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig,
			`"tokenFile": "/none"`)}, nil), "tokenFile names the file"},
		"of the garden": {others, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, c.secret, "there")
			_, err := k.reconcile(t, c.secret)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				!errors.Is(err, reconcile.TerminalError(nil))) {
				t.Errorf("got %v, want %q and no retry", err, c.want)
			}
			if len(k.asked) > 0 {
				t.Errorf("the shoot is asked %q", k.asked)
			}
		})
	}
}

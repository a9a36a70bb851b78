package tokenrequestor

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reconciler keeps the tokens of one shoot.
type Reconciler struct {
	// Source is the seed, Target the shoot; both are read uncached.
	Source, Target client.Client
	// Authority is the certificate authority of the shoot's API server, in PEM.
	Authority []byte
	Clock     clock.PassiveClock

	// checked are the versions of Secrets whose tokens this process has written, or found to be right, by key.
	checked sync.Map
}

var _ reconcile.Reconciler = &Reconciler{}

// longest is after what time a token is renewed at the latest.
const longest = 24 * time.Hour

// Reconcile makes sure that a Secret has a token that the shoot accepts, and comes back when it is to be renewed. A
// mistake in the Secret is not tried again until the Secret changes.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := r.Source.Get(ctx, request.NamespacedName, secret); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !isRequest(secret) || secret.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	wanted, err := read(secret)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("secret %q: %w", request.NamespacedName, err))
	}
	valid, err := r.isValid(ctx, secret, wanted)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !valid {
		if wanted.renewal, err = r.renew(ctx, secret, wanted); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.checked.Store(request.NamespacedName, secret.ResourceVersion)
	return reconcile.Result{RequeueAfter: max(time.Second, wanted.renewal.Sub(r.Clock.Now()))}, nil
}

// isValid reports whether the token need not be requested yet. One that this process does not know may be from before
// the shoot's etcd was restored, and of a ServiceAccount that is not there any more, or was made anew since.
func (r *Reconciler) isValid(ctx context.Context, secret *corev1.Secret, wanted *tokenRequest) (bool, error) {
	if wanted.token == "" || wanted.lacksCA(r.Authority) || !r.Clock.Now().Before(wanted.renewal) {
		return false, nil
	}
	if version, is := r.checked.Load(client.ObjectKeyFromObject(secret)); is && version == secret.ResourceVersion {
		return true, nil
	}
	account := &corev1.ServiceAccount{}
	err := r.Target.Get(ctx, wanted.account, account)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read ServiceAccount %q of the shoot: %w", wanted.account, err)
	}
	return string(account.UID) == accountUID(wanted.token), nil
}

// renew writes a new token into the Secret, and returns when the next one is due. The Secret's owner may write its
// kubeconfig anew at the same time: then the answer is a conflict.
func (r *Reconciler) renew(ctx context.Context, secret *corev1.Secret, wanted *tokenRequest) (time.Time, error) {
	token, err := r.request(ctx, wanted)
	if err != nil {
		return time.Time{}, err
	}
	now := r.Clock.Now()
	// The shoot's clock may be behind.
	lifetime := max(shortest, min(longest, token.ExpirationTimestamp.Sub(now)))
	renewal := now.Add(lifetime * 8 / 10).Truncate(time.Second)
	data, err := wanted.with(secret.Data, token.Token, r.Authority)
	if err != nil {
		return time.Time{}, fmt.Errorf("write the token of secret %q: %w", client.ObjectKeyFromObject(secret), err)
	}
	return renewal, patch.LockedObject(ctx, r.Source, secret, func() {
		secret.Data = data
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, resourcesv1alpha1.AnnotationTokenRenewal,
			renewal.UTC().Format(time.RFC3339))
	})
}

// request requests a token, and makes the ServiceAccount if there is none.
func (r *Reconciler) request(ctx context.Context, wanted *tokenRequest) (*authenticationv1.TokenRequestStatus, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: wanted.account.Namespace, Name: wanted.account.Name}}
	answer, err := r.ask(ctx, account, wanted.expiration)
	if apierrors.IsNotFound(err) {
		account.AutomountServiceAccountToken = ptr.To(false)
		if err := r.Target.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create ServiceAccount %q in the shoot: %w", wanted.account, err)
		}
		answer, err = r.ask(ctx, account, wanted.expiration)
	}
	if err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %q of the shoot: %w", wanted.account, err)
	}
	return answer, nil
}

func (r *Reconciler) ask(ctx context.Context, account *corev1.ServiceAccount,
	expiration time.Duration) (*authenticationv1.TokenRequestStatus, error) {
	answer := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(expiration / time.Second)),
	}}
	err := r.Target.SubResource("token").Create(ctx, account, answer)
	return &answer.Status, err
}

package controlplane

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// ErrNoGuard says that this seed has no Service at which a guard of the shoot's etcd could be asked.
var ErrNoGuard = errors.New("there is no way to a guard")

// Guard is the way to the API of the guard of the shoot's etcd inside the seed.
type Guard struct {
	// URL is its base URL.
	URL string
	// Credentials are the gardenlet's.
	Credentials access.Credentials
}

// Guard of the shoot's etcd on this seed. The gardenlet has the key of the etcd CA, and issues its certificate
// itself. It also renews the guard's: a guard whose shoot another seed owns is not reconciled any more.
func (o *Operation) Guard(ctx context.Context) (Guard, error) {
	service := &corev1.Service{}
	err := o.Seed.Get(ctx, o.key(ServiceEtcdClient), service)
	if apierrors.IsNotFound(err) {
		return Guard{}, fmt.Errorf("%w: %w", ErrNoGuard, err)
	}
	if err != nil {
		return Guard{}, fmt.Errorf("read service %q: %w", ServiceEtcdClient, err)
	}
	ca, err := o.SecretData(ctx, SecretCAEtcd)
	if err != nil {
		return Guard{}, fmt.Errorf("issue a certificate to ask the guard with: %w", err)
	}
	set, now := &secretSet{o: o, data: map[string]map[string][]byte{SecretCAEtcd: ca}}, o.Clock.Now()
	if _, err := o.ensureSecret(ctx, o.etcdServer(ctx, now), set); err != nil {
		return Guard{}, err
	}
	client, err := guardClient(ctx, "", access.Gardenlet, now).make(set)
	return Guard{
		URL:         fmt.Sprintf("https://%s:%d", service.Spec.ClusterIP, access.GuardPort),
		Credentials: access.FromSecret(client),
	}, err
}

package podref

import (
	"context"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// readTimeout bounds one read of an object that a pod refers to.
const readTimeout = 5 * time.Second

// Reader reads what one pod refers to. It asks the API server each time, so that a pod never starts with less than
// what was there when it was made; while the server cannot be reached, it answers with what it has seen last, so that
// containers restart. It may be used from any goroutine.
type Reader struct {
	client kubernetes.Interface

	mutex sync.Mutex
	seen  map[Object]any
}

var (
	_ podenv.Objects = &Reader{}
	_ podvolume.API  = &Reader{}
)

// NewReader makes the reader of one pod.
func NewReader(client kubernetes.Interface) *Reader { return &Reader{client: client} }

// Secret implements podenv.Objects and podvolume.API.
func (o *Reader) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return read(ctx, o, Object{KindSecret, name}, o.client.CoreV1().Secrets(namespace).Get)
}

// ConfigMap implements podenv.Objects and podvolume.API.
func (o *Reader) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return read(ctx, o, Object{KindConfigMap, name}, o.client.CoreV1().ConfigMaps(namespace).Get)
}

// Claim implements podvolume.API.
func (o *Reader) Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return read(ctx, o, Object{KindClaim, name}, o.client.CoreV1().PersistentVolumeClaims(namespace).Get)
}

// Volume implements podvolume.API.
func (o *Reader) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return read(ctx, o, Object{"PersistentVolume", name}, o.client.CoreV1().PersistentVolumes().Get)
}

// Token implements podvolume.API.
func (o *Reader) Token(ctx context.Context, namespace, serviceAccount string,
	request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return o.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
}

func read[T any](ctx context.Context, o *Reader, ref Object,
	get func(context.Context, string, metav1.GetOptions) (*T, error)) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	object, err := get(ctx, ref.Name, metav1.GetOptions{})
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.seen == nil {
		o.seen = map[Object]any{}
	}
	switch {
	case err == nil:
		o.seen[ref] = object
		return object, nil
	case apierrors.IsNotFound(err):
		delete(o.seen, ref)
	case o.seen[ref] != nil:
		return o.seen[ref].(*T), nil
	}
	return nil, err
}

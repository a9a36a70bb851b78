package probe

import (
	"sync"

	"k8s.io/client-go/rest"
)

// kept is what was made of an access, for as long as the access stays the same.
type kept[T any] struct {
	mu   sync.Mutex
	of   access
	made bool
	it   T
}

// access is what distinguishes one access from another.
type access struct{ host, token, authority string }

func accessOf(config *rest.Config) access {
	return access{host: config.Host, token: config.BearerToken, authority: string(config.CAData)}
}

func (k *kept[T]) get(config *rest.Config, remake func(*rest.Config) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made && k.of == accessOf(config) {
		return k.it, nil
	}
	it, err := remake(config)
	if err == nil {
		k.of, k.it, k.made = accessOf(config), it, true
	}
	return it, err
}

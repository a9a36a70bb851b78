package access

import (
	"sync"

	"k8s.io/client-go/rest"
)

// Kept is what was made of an access, for as long as the access stays the same.
type Kept[T any] struct {
	mu   sync.Mutex
	of   Key
	made bool
	it   T
}

// Key is what distinguishes one access from another.
type Key struct{ host, token, authority string }

// KeyOf an access.
func KeyOf(config *rest.Config) Key {
	return Key{host: config.Host, token: config.BearerToken, authority: string(config.CAData)}
}

// Get gives what was made of the access, and makes it anew of another one.
func (k *Kept[T]) Get(config *rest.Config, remake func(*rest.Config) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made && k.of == KeyOf(config) {
		return k.it, nil
	}
	it, err := remake(config)
	if err == nil {
		k.of, k.it, k.made = KeyOf(config), it, true
	}
	return it, err
}

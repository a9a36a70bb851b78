package scope

import "sync"

// KnownSecrets are Secrets in the control-plane namespace that a run has made sure of. The zero value has none.
type KnownSecrets struct {
	mu   sync.Mutex
	data map[string]map[string][]byte
}

// Add remembers the data of a Secret. Nobody may change them.
func (k *KnownSecrets) Add(name string, data map[string][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.data == nil {
		k.data = map[string]map[string][]byte{}
	}
	k.data[name] = data
}

// Data are those of a Secret; nil for one that is not known.
func (k *KnownSecrets) Data(name string) map[string][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data[name]
}

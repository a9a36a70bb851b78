package secondsign

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
)

// Hearing asks shoots by their public names whether they are there. It trusts nobody else to answer for them, and needs
// no access to what is in them.
type Hearing struct {
	// Garden is an uncached client.
	Garden client.Client
	Shoots scope.ShootConfigs
}

var _ Listener = &Hearing{}

// Hear implements Listener. Whoever answers anything but an error of its own is there: a gateway passes on only what
// comes from a valid owner (docs/ownership.md#o2).
func (h *Hearing) Hear(ctx context.Context, shoot *gardencorev1beta1.Shoot) error {
	published := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: shoot.Namespace, Name: shoot.Name + shootaccess.SuffixCA}
	if err := h.Garden.Get(ctx, key, published); err != nil {
		return fmt.Errorf("read ConfigMap %q: %w", key, err)
	}
	server := advertised(shoot)
	if server == "" {
		return fmt.Errorf("ask shoot %q: it has no name", client.ObjectKeyFromObject(shoot))
	}
	asker, err := rest.HTTPClientFor(h.Shoots.Config(server, []byte(published.Data[shootaccess.KeyCA]), ""))
	if err != nil {
		return fmt.Errorf("make the client of %q: %w", server, err)
	}
	defer asker.CloseIdleConnections() // every question takes the whole way
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ask %q: %w", server, err)
	}
	answer, err := asker.Do(request)
	if err != nil {
		return fmt.Errorf("ask %q: %w", server, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("ask %q: it answers %s", server, answer.Status)
	}
	return nil
}

func advertised(shoot *gardencorev1beta1.Shoot) string {
	for _, address := range shoot.Status.AdvertisedAddresses {
		if address.Name == shootaccess.AddressInternal {
			return address.URL
		}
	}
	return ""
}

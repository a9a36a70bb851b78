package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
	"github.com/transplant-sim/transplant/sim/world"
)

// guardTimeout bounds a question to a guard: what takes longer is unknown.
const guardTimeout = 5 * time.Second

// guardKey names the guard of a control-plane namespace.
type guardKey struct{ seed, namespace string }

// guards asks the guards of control planes, each with an HTTP client of its own.
type guards struct {
	landscape environment.Landscape
	seeds     map[string]client.Client // by seed
	clients   sync.Map                 // *http.Client by guardKey
}

// client asks a guard as the observer, with the certificate that the gardenlet has made for it.
func (g *guards) client(of guardKey) *http.Client {
	known, _ := g.clients.LoadOrStore(of, &http.Client{
		Timeout: guardTimeout,
		Transport: access.Transport(func(ctx context.Context) (access.Credentials, error) {
			secret := &corev1.Secret{}
			key := client.ObjectKey{Namespace: of.namespace, Name: access.Observer.Secret()}
			if err := g.seeds[of.seed].Get(ctx, key, secret, cachedGet); err != nil {
				return access.Credentials{}, fmt.Errorf("read the observer's certificate for the guard: %w", err)
			}
			return access.FromSecret(secret.Data), nil
		}),
	})
	return known.(*http.Client)
}

// validityOf asks a guard for its state, which grants nothing, so that it never waits for us.
func (g *guards) validityOf(seed string, etcd *corev1.Pod) func(context.Context) (world.Validity, error) {
	return func(ctx context.Context) (world.Validity, error) {
		address, err := g.landscape.Reach(ctx, seed, etcd, access.GuardPort)
		if err != nil {
			return world.Validity{}, err
		}
		return askGuard(ctx, address, g.client(guardKey{seed, etcd.Namespace}))
	}
}

func askGuard(ctx context.Context, address string, client *http.Client) (world.Validity, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+validity.PathState, nil)
	if err != nil {
		return world.Validity{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return world.Validity{}, fmt.Errorf("ask the guard: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return world.Validity{}, fmt.Errorf("ask the guard: it answers %s", response.Status)
	}
	answer := validity.Answer{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return world.Validity{}, fmt.Errorf("read the guard's answer: %w", err)
	}
	if answer.Epoch == 0 {
		return world.Validity{}, errors.New("read the guard's answer: it names no epoch")
	}
	return world.Validity{
		State: string(answer.State), Owner: answer.Owner, Epoch: answer.Epoch, Remaining: answer.Remaining.Duration,
	}, nil
}

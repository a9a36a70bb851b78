package admission

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

// DefaultPort is the port of the webhook server.
const DefaultPort = 10443

// Options say where the webhook server is and what it works with.
type Options struct {
	// Host is the pod's address: the server listens on it, and the garden's API server calls it there.
	Host string
	// Port is DefaultPort if zero.
	Port int
	// Service, if set, is what the API server calls in place of Host, with the same port.
	Service *types.NamespacedName
	// Garden is an uncached client.
	Garden client.Client
	// Tolerations are the lists that hold in all projects.
	Tolerations toleration.Lists
	// InPlaceUpdates lets there be worker pools whose nodes are updated in place.
	InPlaceUpdates bool
	// Clock is the real one if nil.
	Clock clock.Clock
}

// AddToManager adds the webhook server to a manager on the garden, with what registers it there and what keeps the
// labels of seeds in order. The certificate is made here and lives as long as the process; so there can be only one
// process at a time. The server answers GET /readyz with 200 once it is registered in the garden.
func AddToManager(mgr manager.Manager, o Options) error {
	if o.Host == "" {
		return errors.New("add the webhook server: it needs the address of its pod")
	}
	o.Port = cmp.Or(o.Port, DefaultPort)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	hosts := []string{o.Host}
	if o.Service != nil {
		hosts = append(hosts, fmt.Sprintf("%s.%s.svc", o.Service.Name, o.Service.Namespace))
	}
	serving, bundle, err := newServingCertificate(hosts, o.Clock.Now())
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &serving, nil }
		}}})
	c := &configuration{client: o.Garden, host: o.Host, port: o.Port, service: o.Service, caBundle: bundle}
	a := &announcement{serving: server.StartedChecker(), apply: c.apply, clock: o.Clock}
	server.Register(pathValidate, &admission.Webhook{Handler: &validator{rules: shootrules.Validator{
		Client: o.Garden, Tolerations: o.Tolerations, Clock: o.Clock, InPlaceUpdates: o.InPlaceUpdates}}})
	server.Register(pathValidateProfile, &admission.Webhook{Handler: &profileValidator{client: o.Garden, clock: o.Clock}})
	server.Register(pathValidateSeed, &admission.Webhook{Handler: &seedValidator{client: o.Garden}})
	server.Register(pathValidateProject, &admission.Webhook{Handler: &projectValidator{client: o.Garden}})
	server.Register(pathValidateManaged, &admission.Webhook{Handler: &managedSeedValidator{client: o.Garden}})
	server.Register(pathDefault, &admission.Webhook{Handler: &defaulter{client: o.Garden, tolerations: o.Tolerations,
		clock: o.Clock}})
	server.Register(pathDefaultObject, &admission.Webhook{Handler: objectDefaulter{}})
	server.Register(pathReady, a)
	for _, runnable := range []manager.Runnable{server, a} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add the webhook server: %w", err)
		}
	}
	return addSeedLabelers(mgr, o.Garden)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const providerType = "example-cloud"

func addProvider(p *program) error {
	account, err := cloud.FromKubeconfigFile(os.Getenv("CLOUD_KUBECONFIG"), cloud.Options{})
	if err != nil {
		return err
	}
	return errors.Join(
		serve(p, extensionsv1alpha1.InfrastructureResource, providerType, infrastructure{p, account}),
		serve(p, extensionsv1alpha1.ControlPlaneResource, providerType, controlPlane{p}),
		serve(p, extensionsv1alpha1.WorkerResource, providerType, workers{p}),
	)
}

// infrastructure makes a shoot's network in the cloud. The cloud would not say again which router and which security
// group are the shoot's: only the state knows.
type infrastructure struct {
	*program
	cloud *cloud.Client
}

var _ actuator[*extensionsv1alpha1.Infrastructure] = infrastructure{}

// resources are the state, and the provider status that ControlPlane and Worker read.
type resources struct {
	Network       string            `json:"network"`
	Subnets       map[string]string `json:"subnets"` // by zone
	Router        string            `json:"router"`
	SecurityGroup string            `json:"securityGroup"`
}

func (i infrastructure) reconcile(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) error {
	ctx, err := i.scoped(ctx, infra.Namespace)
	if err != nil {
		return err
	}
	zones, err := i.zones(ctx, infra.Namespace)
	if err != nil {
		return err
	}
	has, token := resources{Subnets: map[string]string{}}, string(infra.UID)
	if err := read(infra.Status.State, &has); err != nil {
		return err
	}
	tags := map[string]string{providerType + "/shoot": infra.Namespace}
	if err := i.checkLost(ctx, infra, has, tags); err != nil {
		return err
	}
	if has.Network, err = once(ctx, has.Network, i.cloud.Networks(), &cloud.Network{CIDR: "10.250.0.0/16", Tags: tags},
		token); err != nil {
		return err
	}
	for _, zone := range zones {
		wanted := &cloud.Subnet{NetworkID: has.Network, Zone: zone, CIDR: fmt.Sprintf("10.250.%d.0/20", 16*len(has.Subnets))}
		id, err := once(ctx, has.Subnets[zone], i.cloud.Subnets(), wanted, token+zone)
		if err != nil {
			return err
		}
		has.Subnets[zone] = id
	}
	if has.Router, err = once(ctx, has.Router, i.cloud.Routers(), &cloud.Router{NetworkID: has.Network},
		token); err != nil {
		return err
	}
	if has.SecurityGroup, err = once(ctx, has.SecurityGroup, i.cloud.SecurityGroups(),
		&cloud.SecurityGroup{NetworkID: has.Network}, token); err != nil {
		return err
	}
	if err := keep(ctx, i.Client, infra, has); err != nil {
		return err
	}
	return patchStatus(ctx, i.Client, infra, func() { infra.Status.ProviderStatus = infra.Status.State })
}

// checkLost fails a restore without a state if the shoot has a network: another would not be that of its machines.
func (i infrastructure) checkLost(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, has resources,
	tags map[string]string) error {
	restores := infra.Annotations[constants.GardenerOperation] == constants.GardenerOperationRestore
	if !restores || has.Network != "" || i.planted == forgetsNetwork {
		return nil
	}
	there, err := i.cloud.Networks().List(ctx, cloud.Filter{Tags: tags})
	if err != nil {
		return fmt.Errorf("look for a network: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf("the shoot has network %s, and the state that names all else is lost", there[0].ID)
	}
	return nil
}

// zones in which the shoot has workers, in order.
func (i infrastructure) zones(ctx context.Context, namespace string) ([]string, error) {
	shoot, err := shootOf(ctx, i.Client, namespace)
	if err != nil {
		return nil, err
	}
	var zones []string
	for _, pool := range shoot.Spec.Provider.Workers {
		zones = append(zones, pool.Zones...)
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}

// shootOf reads the shoot of a namespace in its Cluster.
func shootOf(ctx context.Context, c client.Client, namespace string) (*gardencorev1beta1.Shoot, error) {
	cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
	if err := c.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return nil, fmt.Errorf("read the Cluster: %w", err)
	}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return nil, fmt.Errorf("read the Shoot: %w", err)
	}
	return shoot, nil
}

// migrate has nothing to do: nothing of a network is on the seed.
func (i infrastructure) migrate(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) error {
	if i.planted == tearsDown {
		return i.remove(ctx, infra)
	}
	return nil
}

func (i infrastructure) remove(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) error {
	ctx, err := i.scoped(ctx, infra.Namespace)
	if err != nil {
		return err
	}
	has := resources{}
	if err := read(infra.Status.State, &has); err != nil {
		return err
	}
	if err := gone(ctx, i.cloud.SecurityGroups(), has.SecurityGroup); err != nil {
		return err
	}
	if err := gone(ctx, i.cloud.Routers(), has.Router); err != nil {
		return err
	}
	for _, subnet := range has.Subnets {
		if err := gone(ctx, i.cloud.Subnets(), subnet); err != nil {
			return err
		}
	}
	return gone(ctx, i.cloud.Networks(), has.Network)
}

// scoped lets calls of the cloud say for which shoot they are, and as which owner of it.
func (i infrastructure) scoped(ctx context.Context, shoot string) (context.Context, error) {
	namespace := &corev1.Namespace{}
	if err := i.Get(ctx, client.ObjectKey{Name: shoot}, namespace); err != nil {
		return nil, fmt.Errorf("read the namespace: %w", err)
	}
	epoch, err := strconv.ParseInt(namespace.Annotations["transplant.dev/epoch"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the owner's epoch: %w", err)
	}
	return cloud.WithScope(ctx, cloud.Scope{Shoot: shoot, Epoch: epoch}), nil
}

// once makes what has no id yet. After a crash before the id was kept, the same token gets the same again.
func once[T any](ctx context.Context, id string, in cloud.Collection[T], wanted *T, token string) (string, error) {
	if id != "" {
		return id, nil
	}
	made, err := in.Create(ctx, wanted, cloud.ClientToken(token))
	if err != nil {
		return "", fmt.Errorf("create a %T: %w", *wanted, err)
	}
	return any(made).(cloud.Resource).Metadata().ID, nil
}

func gone[T any](ctx context.Context, in cloud.Collection[T], id string) error {
	if id == "" {
		return nil
	}
	if err := in.Delete(ctx, id); err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}

// providerStatusOf is what the Infrastructure has given to a ControlPlane or a Worker.
func providerStatusOf(given *runtime.RawExtension) (resources, error) {
	has := resources{}
	if err := read(given, &has); err != nil {
		return has, err
	}
	if has.Network == "" {
		return has, errors.New("read the infrastructureProviderStatus: it is empty")
	}
	return has, nil
}

package environment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/charted"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

// extensionValues fill in the manifests of a third-party extension on a seed.
type extensionValues struct {
	Name, Namespace, Seed, Actor string
	Account                      string // the ServiceAccount
	Image                        string
	Command, Args                []string
	Env                          []landscape.EnvVar
	Rules                        []rbacv1.PolicyRule
	Files                        []landscape.ExtensionFile
	User                         int64
}

// imageOf a container of an extension; one that is given as a program gets an image of its own.
func imageOf(e landscape.Extension, of landscape.ExtensionContainer) string {
	name := e.Name
	if of.Name != name {
		name += "-" + of.Name
	}
	return cmp.Or(of.Image, "transplant.dev/extension-"+name+":dev")
}

// accountName is the ServiceAccount of an extension, in its namespace.
func accountName(e landscape.Extension) string { return cmp.Or(e.Account, e.Name) }

func (s *Environment) extensionValues(e landscape.Extension, seed string) extensionValues {
	values := extensionValues{
		Name: e.Name, Namespace: e.Namespace(), Seed: seed, Actor: e.ActorOn(seed), Account: accountName(e),
		Image:   imageOf(e, e.Programs()[0]),
		Command: e.Command, Args: e.Args, Env: e.Env, Rules: rulesOf(e), Files: e.Files, User: s.User,
	}
	if e.Binary != "" && len(e.Command) == 0 {
		values.Command = []string{filepath.Base(e.Binary)}
	}
	return values
}

// rulesOf an extension are what its kinds need: their objects with status and finalizers, the Clusters, events; and
// what its file adds. Objects are made and deleted by the gardenlet.
func rulesOf(e landscape.Extension) []rbacv1.PolicyRule {
	var objects, statuses, finalizers []string
	for _, resource := range e.Resources {
		kind, _ := extensionsv1alpha1.KindByName(resource.Kind)
		objects, statuses, finalizers = append(objects, kind.Resource), append(statuses, kind.Resource+"/status"),
			append(finalizers, kind.Resource+"/finalizers")
	}
	group := []string{extensionsv1alpha1.GroupName}
	rules := []rbacv1.PolicyRule{
		{APIGroups: group, Resources: objects, Verbs: []string{"get", "list", "watch", "update", "patch"}},
		{APIGroups: group, Resources: statuses, Verbs: []string{"get", "update", "patch"}},
		{APIGroups: group, Resources: finalizers, Verbs: []string{"update"}},
		{APIGroups: group, Resources: []string{"clusters"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
	}
	for _, rule := range e.Rules {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources,
			ResourceNames: rule.ResourceNames, Verbs: rule.Verbs})
	}
	return rules
}

// extensionNamespaces are where extensions show that they live, by what they reconcile. Of several that act on the same
// objects it is the one that decides.
func extensionNamespaces(extensions []landscape.Extension) []string {
	var all []string
	for _, e := range extensions {
		for _, resource := range e.Resources {
			if resource.IsPrimary() {
				all = append(all, resource.Key()+"="+e.Namespace())
			}
		}
	}
	return all
}

// referenceAccount is the ServiceAccount of the reference provider on a seed.
const referenceAccount = "extensions/provider-transplant"

// backupExtensions are the accounts of those that reconcile BackupBuckets or BackupEntries.
func backupExtensions(extensions []landscape.Extension) []string {
	var all []string
	left := sets.New(extensionsv1alpha1.BackupBucketResource, extensionsv1alpha1.BackupEntryResource)
	for _, e := range extensions {
		for _, resource := range e.Resources {
			if left.Has(resource.Kind) && resource.IsPrimary() {
				left.Delete(resource.Kind)
				all = append(all, accountOf(e))
			}
		}
	}
	if len(left) > 0 {
		all = append(all, referenceAccount)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// accountOf an extension on a seed.
func accountOf(e landscape.Extension) string { return e.Namespace() + "/" + accountName(e) }

// extensionKubeconfigs are those of an extension on a seed, as the reference provider has them.
func extensionKubeconfigs(e landscape.Extension, seed string) []kubeconfigFor {
	actor, namespace := e.ActorOn(seed), e.Namespace()
	return []kubeconfigFor{
		{actor: actor, target: seed, account: accountOf(e), namespace: namespace, secret: "kubeconfig-seed"},
		{actor: actor, target: switchboard.Cloud, namespace: namespace, secret: "kubeconfig-cloud"},
	}
}

// register the third-party extensions in the garden.
func (s *Environment) register(ctx context.Context, garden client.Client) error {
	for _, e := range s.Extensions {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Registered())
		if err != nil {
			return fmt.Errorf("encode the registration of extension %q: %w", e.Name, err)
		}
		if err := applyObject(ctx, garden, &unstructured.Unstructured{Object: fields}); err != nil {
			return fmt.Errorf("register extension %q: %w", e.Name, err)
		}
	}
	return nil
}

// applyCharted starts an extension that a chart deploys: the Deployment of the chart, with what each extension gets.
func (s *Environment) applyCharted(ctx context.Context, c client.Client, e landscape.Extension,
	seed *gardencorev1beta1.Seed) error {
	installed, err := chart.Install(e, seed)
	if err != nil {
		return fmt.Errorf("render the chart of extension %q: %w", e.Name, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(charted.Actor{
		Extension: e, Seed: seed.Name, Account: accountName(e), User: s.User,
		ImageOf: func(of landscape.ExtensionContainer) string { return imageOf(e, of) },
	}.Deployment(installed.Deployment))
	if err != nil {
		return fmt.Errorf("encode the Deployment of extension %q: %w", e.Name, err)
	}
	unstructured.RemoveNestedField(fields, "status")
	return applyObject(ctx, c, &unstructured.Unstructured{Object: fields})
}

// prepareExtension brings on a seed what an extension needs before it starts: its namespace, its rights and files, and
// the objects of its manifests. The definitions among them are there.
func (s *Environment) prepareExtension(ctx context.Context, c client.Client, e landscape.Extension,
	seed *gardencorev1beta1.Seed) error {
	if err := apply(ctx, c, "extension.yaml", s.extensionValues(e, seed.Name)); err != nil {
		return err
	}
	objects, err := thirdparty.ObjectsOn(e, seed)
	if err != nil {
		return fmt.Errorf("prepare seed %q for extension %q: %w", seed.Name, e.Name, err)
	}
	for _, object := range objects {
		if object.GetKind() == thirdparty.DefinitionKind {
			continue
		}
		if err := s.applyBeside(ctx, c, object.DeepCopy(), e); err != nil {
			return fmt.Errorf("prepare seed %q for extension %q: %w", seed.Name, e.Name, err)
		}
	}
	return nil
}

// applyBeside applies an object of an extension's manifests. It is put beside the program if it names no namespace.
func (*Environment) applyBeside(ctx context.Context, c client.Client, object *unstructured.Unstructured,
	e landscape.Extension) error {
	namespaced, err := c.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("find the kind of %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(e.Namespace())
	}
	return applyObject(ctx, c, object)
}

// startExtensions starts the third-party extensions on a seed.
func (s *Environment) startExtensions(ctx context.Context, l Landscape, c client.Client, seed string) error {
	inGarden, err := s.seedObject(l, seed)
	if err != nil {
		return err
	}
	for _, e := range s.Extensions {
		for _, k := range extensionKubeconfigs(e, seed) {
			if err := s.giveKubeconfig(ctx, l, c, k); err != nil {
				return err
			}
		}
		start := func() error { return apply(ctx, c, "extension-actor.yaml", s.extensionValues(e, seed)) }
		if e.HasChart() {
			start = func() error { return s.applyCharted(ctx, c, e, inGarden) }
		}
		if err := start(); err != nil {
			return err
		}
	}
	return nil
}

// programsOf extensions that have a program of their own, for the images that hold it: nothing else is in them.
func programsOf(extensions []landscape.Extension) map[string]map[string]string {
	images := map[string]map[string]string{}
	for _, e := range extensions {
		for _, program := range e.Programs() {
			if program.Binary != "" {
				images[imageOf(e, program)] = map[string]string{filepath.Base(program.Binary): program.Binary}
			}
		}
	}
	return images
}

func embeddedImages(extensions []landscape.Extension) []embedded.Image {
	var images []embedded.Image
	for name, programs := range programsOf(extensions) {
		images = append(images, embedded.Image{Name: name, Programs: programs})
	}
	return images
}

func (s *Environment) kindImages() (made []docker.Image, local []string) {
	for name, programs := range programsOf(s.Extensions) {
		made = append(made, docker.Image{Name: name, Programs: programs})
	}
	for _, e := range s.Extensions {
		for _, program := range e.Programs() {
			if program.Binary == "" {
				local = append(local, program.Image)
			}
		}
	}
	return made, local
}

// ConfigureExtensionsAlone completes the options of an embedded landscape that is nothing but seeds with the
// third-party extensions, and the cloud: no garden, no gardenlets, no reference provider.
func (s *Environment) ConfigureExtensionsAlone(options *embedded.Options) {
	s.Configure(options)
	extras := options.Extras
	options.Extras = func(l *embedded.Landscape) ([]embedded.Extra, error) {
		all, err := extras(l)
		return slices.DeleteFunc(all, func(e embedded.Extra) bool { return e.Name == nodesProgram }), err
	}
	options.WithoutGarden = true
	options.AfterClusters = func(ctx context.Context, l *embedded.Landscape) error {
		return s.watched(ctx, l, Seeds(l), s.bringUpExtensions)
	}
}

// ConfigureExtensionsAloneOnKind does the same as ConfigureExtensionsAlone for kind clusters. Their nodes get the
// images of the extensions.
func ConfigureExtensionsAloneOnKind(ctx context.Context, s *Environment, options *kind.Options) error {
	if err := s.ConfigureKind(ctx, options); err != nil {
		return err
	}
	options.Images, options.LocalImages = s.kindImages()
	companions := options.Companions
	options.Companions = func(l *kind.Landscape) ([]clusters.Companion, error) {
		all, err := companions(l)
		return slices.DeleteFunc(all, func(c clusters.Companion) bool { return c.Name == nodesProgram }), err
	}
	options.WithoutGarden = true
	options.AfterClusters = func(ctx context.Context, l *kind.Landscape) error {
		return s.watched(ctx, l, Seeds(l), s.bringUpExtensions)
	}
	return nil
}

// bringUpExtensions brings on each seed what its extensions need, and starts them.
func (s *Environment) bringUpExtensions(ctx context.Context, l Landscape) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.makeZones(groupCtx, l) })
	for _, seed := range Seeds(l) {
		group.Go(func() error {
			observer, err := ObserverClient(l, seed)
			if err != nil {
				return err
			}
			registered, err := s.seedObject(l, seed)
			if err != nil {
				return err
			}
			definitions, err := thirdparty.Definitions(s.Extensions, registered)
			if err != nil {
				return err
			}
			if err := install(groupCtx, l, seed, observer, definitions); err != nil {
				return err
			}
			for _, e := range s.Extensions {
				if err := s.prepareExtension(groupCtx, observer, e, registered); err != nil {
					return err
				}
			}
			if err := s.startExtensions(groupCtx, l, observer, seed); err != nil {
				return err
			}
			return awaitActors(groupCtx, observer, seed)
		})
	}
	return group.Wait()
}

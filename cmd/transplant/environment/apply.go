package environment

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/controllers/admission"
	"github.com/transplant-sim/transplant/sim/world"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// fieldOwner is the name under which the set-up applies objects.
const fieldOwner = client.FieldOwner("transplant")

// Scheme knows everything that scenarios look at, in garden, seeds and shoots.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gardencorev1beta1.AddToScheme,
		extensionsv1alpha1.AddToScheme, machinev1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// observer gives the observer's access to a cluster.
func observer(l Landscape, cluster string) (*rest.Config, error) {
	c, err := l.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	return c.Connect(clusters.Observer)
}

// observe gives the observer's client of a cluster.
func observe(l Landscape, cluster string) (client.WithWatch, error) {
	config, err := observer(l, cluster)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	attentive, err := world.Attentive(config)
	if err != nil {
		return nil, fmt.Errorf("make the observer's HTTP client for cluster %q: %w", cluster, err)
	}
	// The API warns about fields without effect. Our own manifests have some on purpose, for readers of the objects.
	config.WarningHandler = rest.NoWarnings{}
	return client.NewWithWatch(config, client.Options{Scheme: Scheme(), HTTPClient: attentive})
}

// install creates the definitions and waits until all are served.
func install(ctx context.Context, c client.Client, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	for _, definition := range definitions {
		if err := c.Create(ctx, definition.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create definition %q: %w", definition.Name, err)
		}
	}
	pending := definitions
	err := awaitThat(ctx, actorTimeout, func(ctx context.Context) error {
		for ; len(pending) > 0; pending = pending[1:] {
			current := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(pending[0]), current); err != nil {
				return err
			}
			if !established(current) {
				return fmt.Errorf("the definition %q is not served", current.Name)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait until all definitions are served: %w", err)
	}
	return nil
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// inJSON is a value as YAML of one line.
func inJSON(value any) (string, error) {
	content, err := json.Marshal(value)
	return string(content), err
}

// apply applies a manifest, filled in with values. Objects of the garden get their defaults here: its admission, which
// gives them to all others, runs only later.
func apply(ctx context.Context, c client.Client, manifest string, values any) error {
	t, err := template.New(manifest).Option("missingkey=error").Funcs(template.FuncMap{"json": inJSON}).ParseFS(manifests,
		"manifests/"+manifest)
	if err != nil {
		return fmt.Errorf("parse manifest %q: %w", manifest, err)
	}
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, manifest, values); err != nil {
		return fmt.Errorf("fill in manifest %q: %w", manifest, err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(&text, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("decode manifest %q: %w", manifest, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GroupVersionKind().Group == gardencorev1beta1.SchemeGroupVersion.Group {
			if err := admission.SetDefaults(object.GetKind(), object.Object); err != nil {
				return fmt.Errorf("set the defaults of %s %q of manifest %q: %w",
					object.GetKind(), object.GetName(), manifest, err)
			}
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner,
			client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %q of manifest %q: %w", object.GetKind(), object.GetName(), manifest, err)
		}
	}
}

package environment

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/controllers/admission/defaults"
	"github.com/transplant-sim/transplant/sim/landscape"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// fieldOwner is the name under which the set-up applies objects.
const fieldOwner = client.FieldOwner("transplant")

// install creates the definitions on a cluster and waits until all are served, and ready to be watched.
func install(ctx context.Context, l Landscape, cluster string, c client.Client,
	definitions []*apiextensionsv1.CustomResourceDefinition) error {
	group, creating := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, definition := range definitions {
		group.Go(func() error {
			if err := c.Create(creating, definition.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create definition %q: %w", definition.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	config, err := observer(l, cluster)
	if err != nil {
		return err
	}
	err = ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error { return ready.Kinds(ctx, config) })
	if err != nil {
		return fmt.Errorf("wait until all definitions are served: %w", err)
	}
	return nil
}

// functions for manifests.
var functions = template.FuncMap{"json": inJSON, "base64": func(text string) string {
	return base64.StdEncoding.EncodeToString([]byte(text))
}}

// inJSON is a value as YAML of one line.
func inJSON(value any) (string, error) {
	content, err := json.Marshal(value)
	return string(content), err
}

// apply applies a manifest, filled in with values.
func apply(ctx context.Context, c client.Client, manifest string, values any, extensions ...landscape.Extension) error {
	objects, err := filledIn(manifest, values, extensions...)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := applyObject(ctx, c, object); err != nil {
			return fmt.Errorf("fill in manifest %q: %w", manifest, err)
		}
	}
	return nil
}

// filledIn are the objects of a manifest with values. Objects of the garden are changed as the extensions' files say,
// and get their defaults here: its admission, which gives them to all others, runs only later.
func filledIn(manifest string, values any, extensions ...landscape.Extension) ([]*unstructured.Unstructured, error) {
	t, err := template.New(manifest).Option("missingkey=error").Funcs(functions).ParseFS(manifests, "manifests/"+manifest)
	if err != nil {
		return nil, fmt.Errorf("parse manifest %q: %w", manifest, err)
	}
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, manifest, values); err != nil {
		return nil, fmt.Errorf("fill in manifest %q: %w", manifest, err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(&text, 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode manifest %q: %w", manifest, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GroupVersionKind().Group == gardencorev1beta1.SchemeGroupVersion.Group {
			if err := overlay(object, extensions); err != nil {
				return nil, fmt.Errorf("fill in manifest %q: %w", manifest, err)
			}
			if err := defaults.Set(object.GetKind(), object.Object); err != nil {
				return nil, fmt.Errorf("set the defaults of %s %q of manifest %q: %w",
					object.GetKind(), object.GetName(), manifest, err)
			}
		}
		objects = append(objects, object)
	}
}

func applyObject(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner,
		client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %q: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// overlay changes an object of the garden as the extensions' files say.
func overlay(object *unstructured.Unstructured, extensions []landscape.Extension) error {
	content, err := object.MarshalJSON()
	if err == nil {
		content, err = landscape.Overlay(object.GetKind(), content, extensions)
	}
	if err != nil {
		return err
	}
	return object.UnmarshalJSON(content)
}

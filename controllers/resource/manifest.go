package resource

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// brotliSuffix ends the names of keys whose content is compressed.
const brotliSuffix = ".br"

// maxManifest bounds the decompressed size of one key, so that a small Secret cannot fill the memory.
const maxManifest = 32 << 20

// manifests are the objects of a ManagedResource's Secrets.
type manifests struct {
	objects  []*unstructured.Unstructured
	checksum string
	// undecodable says for each document that is not an object which one it is and why.
	undecodable []error
}

// readManifests reads all Secrets of a ManagedResource. A document that is not an object does not stand in the way of
// the others.
func (r *Reconciler) readManifests(ctx context.Context, managed *resourcesv1alpha1.ManagedResource) (*manifests,
	error) {
	read, hash := &manifests{}, sha256.New()
	for _, ref := range managed.Spec.SecretRefs {
		secret := &corev1.Secret{}
		if err := r.Source.Get(ctx, client.ObjectKey{Namespace: managed.Namespace, Name: ref.Name}, secret); err != nil {
			return nil, fmt.Errorf("read secret %q: %w", ref.Name, err)
		}
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			hash.Write(secret.Data[key])
			objects, problems := decode(key, secret.Data[key])
			read.objects = append(read.objects, objects...)
			for _, problem := range problems {
				read.undecodable = append(read.undecodable, fmt.Errorf("secret %q, key %q, %w", ref.Name, key, problem))
			}
		}
	}
	read.checksum = hex.EncodeToString(hash.Sum(nil))
	return read, nil
}

// decode reads the objects of one key of a Secret: documents in YAML or JSON, compressed if the key's name says so.
func decode(key string, content []byte) (objects []*unstructured.Unstructured, problems []error) {
	if strings.HasSuffix(key, brotliSuffix) {
		plain, err := io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(content)), maxManifest+1))
		if err == nil && len(plain) > maxManifest {
			err = fmt.Errorf("it has more than %d bytes", maxManifest)
		}
		if err != nil {
			return nil, []error{fmt.Errorf("decompress: %w", err)}
		}
		content = plain
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for index := 0; ; index++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, problems
		}
		if err != nil {
			return objects, append(problems, fmt.Errorf("document %d: %w", index, err))
		}
		object, err := decodeDocument(document)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("document %d: %w", index, err))
		case object != nil:
			objects = append(objects, object)
		}
	}
}

// decodeDocument returns nil for an empty document.
func decodeDocument(document []byte) (*unstructured.Unstructured, error) {
	content, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if content = bytes.TrimSpace(content); bytes.Equal(content, []byte("null")) {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(content); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if object.GetName() == "" || object.GetAPIVersion() == "" {
		return nil, fmt.Errorf("%s %q has no apiVersion or no name", object.GetKind(), object.GetName())
	}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(object.Object, "metadata", "resourceVersion")
	return object, nil
}

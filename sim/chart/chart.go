// Package chart renders the Helm chart of an extension as Gardener's controller of installations does, and splits what
// comes out into the program and what it needs. It talks to no cluster, and fetches nothing.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/ignore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/transplant-sim/transplant/api/userfile"
)

// Chart that was read.
type Chart struct{ chart *chart.Chart }

// Open a chart: a folder, or an archive (.tgz).
func Open(path string) (*Chart, error) {
	if userfile.Kind(path) != "folder" {
		archive, err := userfile.Read(path, maxArchive)
		if err != nil {
			return nil, fmt.Errorf("read the chart: %w", err)
		}
		return Read(archive)
	}
	// Helm opens these two before it looks at what they are; without the first one it would search the whole folder.
	err := userfile.Check(filepath.Join(path, chartutil.ChartfileName))
	if ignored := userfile.Check(filepath.Join(path, ignore.HelmIgnore)); !errors.Is(ignored, fs.ErrNotExist) {
		err = errors.Join(err, ignored)
	}
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	read, err := loader.LoadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	return checked(read)
}

// maxArchive bounds the archive of a chart, in bytes. Helm bounds what is in it.
const maxArchive = 16 << 20

// Read the archive of a chart, as a ControllerDeployment contains it.
func Read(archive []byte) (*Chart, error) {
	read, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read the archive of the chart: %w", err)
	}
	return checked(read)
}

func checked(read *chart.Chart) (*Chart, error) {
	if err := read.Validate(); err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	if missing := dependencies(read); len(missing) > 0 {
		return nil, fmt.Errorf("the chart lacks its dependencies %s: run helm dependency build", strings.Join(missing, ", "))
	}
	return &Chart{chart: read}, checkSchemas(read)
}

// checkSchemas refuses references to what is outside a schema: Helm would fetch it.
func checkSchemas(read *chart.Chart) error {
	for _, c := range read.Dependencies() {
		if err := checkSchemas(c); err != nil {
			return err
		}
	}
	if read.Schema == nil {
		return nil
	}
	const name = "file:///" + chartutil.SchemafileName
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(read.Schema))
	if err == nil {
		err = compiler.AddResource(name, schema)
	}
	if err == nil {
		_, err = compiler.Compile(name)
	}
	if err != nil {
		return fmt.Errorf("read %s of the chart %q: %w", chartutil.SchemafileName, read.Name(), err)
	}
	return nil
}

// noLoader loads nothing for a schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("nothing is fetched for a schema; put %s into its $defs", url)
}

// dependencies that a chart names and does not contain.
func dependencies(read *chart.Chart) []string {
	var missing []string
	for _, wanted := range read.Metadata.Dependencies {
		if !slices.ContainsFunc(read.Dependencies(), func(c *chart.Chart) bool { return c.Name() == wanted.Name }) {
			missing = append(missing, wanted.Name)
		}
	}
	return missing
}

// Release is what a chart is rendered for.
type Release struct {
	Name, Namespace string
	// Kubernetes is the version of the cluster.
	Kubernetes string
	// Values over those of the chart, the later ones over the former.
	Values []map[string]any
}

// Render gives the objects of a release, those of the chart's folder crds first, without hooks for tests.
func (c *Chart) Render(r Release) ([]*unstructured.Unstructured, error) {
	values := map[string]any{}
	for _, more := range r.Values {
		values = chartutil.MergeTables(deepCopy(more), values) // the first one wins
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	version, err := chartutil.ParseKubeVersion(r.Kubernetes)
	if err != nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	capabilities.KubeVersion = *version
	if err := chartutil.ProcessDependenciesWithMerge(c.chart, values); err != nil {
		return nil, fmt.Errorf("choose the chart's dependencies: %w", err)
	}
	all, err := chartutil.ToRenderValues(c.chart, values, chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace,
		Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, fmt.Errorf("put the values of the chart together: %w", err)
	}
	rendered, err := engine.Render(c.chart, all)
	if err != nil {
		return nil, fmt.Errorf("render the chart: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, crd := range c.chart.CRDObjects() {
		more, err := Objects(crd.File.Data)
		if err != nil {
			return nil, fmt.Errorf("read %s of the chart: %w", crd.Filename, err)
		}
		objects = append(objects, more...)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Base(name) == "NOTES.txt" || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		more, err := Objects([]byte(rendered[name]))
		if err != nil {
			return nil, fmt.Errorf("read what %s of the chart has rendered: %w", name, err)
		}
		objects = append(objects, more...)
	}
	return slices.DeleteFunc(objects, isTest), nil
}

func isTest(object *unstructured.Unstructured) bool {
	return strings.HasPrefix(object.GetAnnotations()["helm.sh/hook"], "test")
}

func deepCopy(values map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: values}).DeepCopy().Object
}

// Objects of YAML documents, in their order. The items of a List are objects of their own. Documents of nothing are
// left out.
func Objects(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for n := 1; ; n++ {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d is no YAML of an object: %w", n, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		items := []*unstructured.Unstructured{object}
		if object.IsList() {
			list, err := object.ToList()
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", n, err)
			}
			items = nil
			for i := range list.Items {
				items = append(items, &list.Items[i])
			}
		}
		for _, item := range items {
			if item.GetAPIVersion() == "" || item.GetKind() == "" || item.GetName() == "" {
				return nil, fmt.Errorf("document %d: each object needs apiVersion, kind and metadata.name", n)
			}
		}
		objects = append(objects, items...)
	}
}

package explain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kyaml "sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/webhooks"
)

// document is one object of a file, as JSON.
type document struct {
	metav1.TypeMeta
	content []byte
	// number is that of the YAML document in the file, from 1 on, and at the place in it: an item of a list.
	number int
	at     []any
}

// readDocuments reads all objects of a file: YAML documents, JSON, and the items of lists, "-" for standard input.
func readDocuments(text []byte) ([]document, error) {
	var found []document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, &misread{number: number, err: err}
		}
		content, err := kyaml.YAMLToJSON(part)
		if err != nil {
			return nil, &misread{number: number, err: fmt.Errorf("it is neither YAML nor JSON: %w", err)}
		}
		if bytes.Equal(content, []byte("null")) {
			continue // nothing but comments
		}
		items, err := flatten(document{content: content, number: number})
		if err != nil {
			return nil, &misread{number: number, err: err}
		}
		found = append(found, items...)
	}
}

// misread is what is wrong with one document of a file.
type misread struct {
	number int
	err    error
}

func (m *misread) Error() string { return m.err.Error() }
func (m *misread) Unwrap() error { return m.err }

// flatten gives the items of a list, and what is no list as it is. Items of a list of one kind, such as a ShootList,
// may leave out what they are.
func flatten(d document) ([]document, error) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if !bytes.HasPrefix(d.content, []byte("{")) {
		return nil, errors.New("expected an object with a kind")
	}
	if err := decode(d.content, &list); err != nil {
		return nil, fmt.Errorf("expected an object with a kind: %w", err)
	}
	if list.Kind != "" {
		d.Kind = list.Kind
	}
	if list.APIVersion != "" {
		d.APIVersion = list.APIVersion
	}
	itemKind, isList := strings.CutSuffix(d.Kind, "List")
	if !isList || list.Items == nil {
		return []document{d}, nil
	}
	var items []document
	for i, content := range list.Items {
		item := document{content: content, number: d.number, at: append(slices.Clone(d.at), "items", i)}
		if itemKind != "" {
			item.Kind, item.APIVersion = itemKind, d.APIVersion
		}
		flat, err := flatten(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		items = append(items, flat...)
	}
	return items, nil
}

// line of a field of the object in the text of its file; 0 if the field is not written there as such.
func (d document) line(text []byte, path []any) int {
	stream := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	for range d.number {
		root = yaml.Node{}
		if stream.Decode(&root) != nil {
			return 0
		}
	}
	return lineOf(&root, append(slices.Clone(d.at), path...))
}

// versions are those of the kinds that are read here as they are served by API servers of today.
var versions = map[string]string{
	"CloudProfile":          gardencorev1beta1.SchemeGroupVersion.String(),
	"Project":               gardencorev1beta1.SchemeGroupVersion.String(),
	"Seed":                  gardencorev1beta1.SchemeGroupVersion.String(),
	"Shoot":                 gardencorev1beta1.SchemeGroupVersion.String(),
	webhooks.KindMutating:   admissionregistrationv1.SchemeGroupVersion.String(),
	webhooks.KindValidating: admissionregistrationv1.SchemeGroupVersion.String(),
}

// checkVersion refuses objects of a version that is not served. An object without apiVersion has that of today.
func checkVersion(kind, version, field string) error {
	want := versions[kind]
	switch {
	case version == "" || want == "" || version == want:
		return nil
	case version == admissionregistrationv1.GroupName+"/v1beta1":
		return fmt.Errorf("field %s is %q: no API server of today serves it, and it had other defaults "+
			"(failurePolicy Ignore, timeoutSeconds 30): give the object as %s, as kubectl get shows it", field, version, want)
	}
	return fmt.Errorf("field %s is %q: give the %s as %s", field, version, kind, want)
}

// readOne reads a JSON object of a kind, and finds its unknown fields.
type readOne func(kind string, document []byte) ([]unknown, error)

// readObjects reads all objects of files. Fields that are not known here are named on standard error.
func readObjects(command *cobra.Command, flag string, paths []string, each readOne) error {
	warnings := newWarnings(command.ErrOrStderr())
	for _, path := range paths {
		content, err := readFile(command, path)
		if err != nil {
			return fmt.Errorf("read the objects (--%s): %w", flag, err)
		}
		documents, err := readDocuments(content)
		if wrong, is := errors.AsType[*misread](err); is {
			return fmt.Errorf("read document %d of %s: %w", wrong.number, path, err)
		}
		for _, d := range documents {
			if d.Kind == "" {
				err = errors.New("field kind is not set: give objects as the API server has them")
			} else if err = checkVersion(d.Kind, d.APIVersion, "apiVersion"); err == nil {
				var found []unknown
				found, err = each(d.Kind, d.content)
				warnings.print(found, func(unknown) string { return fmt.Sprintf("document %d of %s, %s", d.number, path, d.Kind) })
			}
			if err != nil {
				return fmt.Errorf("read document %d of %s: %w", d.number, path, d.inList(err))
			}
		}
	}
	return nil
}

// inList says of which item of a list something is wrong.
func (d document) inList(err error) error {
	for i := len(d.at) - 1; i > 0; i -= 2 {
		number, _ := d.at[i].(int)
		err = fmt.Errorf("item %d: %w", number+1, err)
	}
	return err
}

// folderOf is where files lie that a file names; those of standard input lie here.
func folderOf(path string) string {
	if path == "-" {
		return "."
	}
	return filepath.Dir(path)
}

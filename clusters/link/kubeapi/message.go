package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// The media types that a link can read and write: those of API servers but for CBOR, which is not on by default.
const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// protobufPrefix begins a message that says what it is.
var protobufPrefix = []byte("k8s\x00")

// decode reads the metadata of an object, or a list, in one of the media types. The Go types of both have the fields
// that all kinds share, under the same numbers.
func decode(content []byte, into interface{ Unmarshal([]byte) error }) error {
	raw, isProtobuf := bytes.CutPrefix(content, protobufPrefix)
	switch {
	case !isProtobuf && bytes.HasPrefix(bytes.TrimSpace(content[:min(len(content), 64)]), []byte("{")):
		return json.Unmarshal(content, into)
	case !isProtobuf:
		return yaml.Unmarshal(content, into)
	}
	var whole runtime.Unknown
	if err := whole.Unmarshal(raw); err != nil {
		return fmt.Errorf("read a protobuf message: %w", err)
	}
	return into.Unmarshal(whole.Raw)
}

// maxBody is more than an API server takes.
const maxBody = 16 << 20

// createdName is the name of the object in the body, which is put back; empty when there is none, or it is not given.
func createdName(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = PutBack(read, r.Body)
	if err != nil {
		return ""
	}
	var object metav1.PartialObjectMetadata
	if decode(read, &object) != nil {
		return ""
	}
	return object.Name
}

// PutBack is the whole of a body of which a part was read ahead.
func PutBack(read []byte, rest io.ReadCloser) io.ReadCloser {
	return &reread{io.MultiReader(bytes.NewReader(read), rest), rest}
}

// reread is a body of which a part was read ahead.
type reread struct {
	io.Reader
	io.Closer
}

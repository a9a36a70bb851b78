package link

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// accepted is the first media type in the client's Accept header that a link can write.
func accepted(r *http.Request) string {
	for _, line := range r.Header["Accept"] {
		for wanted := range strings.SplitSeq(line, ",") {
			switch kind, _, _ := mime.ParseMediaType(wanted); kind {
			case jsonType, yamlType, protobufType:
				return kind
			}
		}
	}
	return jsonType
}

// refusal is what an API server says when it refuses the request with this HTTP status.
func refusal(x *exchange, code int, reason metav1.StatusReason, message string,
	retryAfter time.Duration) *metav1.Status {
	group := x.request.Group
	if group == Core {
		group = ""
	}
	of := schema.GroupResource{Group: group, Resource: x.request.Resource}
	seconds := int((retryAfter + time.Second - 1) / time.Second)
	status := apierrors.NewGenericServerResponse(code, x.request.Verb, of, x.request.Name, message, seconds,
		false).ErrStatus
	if reason != "" {
		status.Reason = reason
	}
	if message != "" {
		status.Message = message
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &status
}

// refuse answers with a Status, in a form that the client accepts.
func (x *exchange) refuse(status *metav1.Status) {
	kind := accepted(x.r)
	body, err := encodeStatus(status, kind)
	if err != nil {
		http.Error(x.w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := x.w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-cache, private")
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	x.w.WriteHeader(int(status.Code))
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(body) // the client may have gone
	}
}

// encodeStatus writes a Status as an API server does. YAML has JSON in it.
func encodeStatus(status *metav1.Status, kind string) ([]byte, error) {
	if kind != protobufType {
		return json.Marshal(status)
	}
	raw, err := status.Marshal()
	if err != nil {
		return nil, fmt.Errorf("marshal a status: %w", err)
	}
	whole, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: status.APIVersion, Kind: status.Kind},
		Raw: raw}).Marshal()
	return append(bytes.Clone(protobufPrefix), whole...), err
}

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
	r.Body = &reread{io.MultiReader(bytes.NewReader(read), r.Body), r.Body}
	if err != nil {
		return ""
	}
	var object metav1.PartialObjectMetadata
	if decode(read, &object) != nil {
		return ""
	}
	return object.Name
}

// reread is a body of which a part was read ahead.
type reread struct {
	io.Reader
	io.Closer
}

// listed is what the link reads of a list in one of the media types.
type listed struct {
	Metadata metav1.ListMeta                `json:"metadata"`
	Items    []metav1.PartialObjectMetadata `json:"items"`
}

// Unmarshal reads a list's protobuf message.
func (l *listed) Unmarshal(raw []byte) error {
	var list metav1.PartialObjectMetadataList
	err := list.Unmarshal(raw)
	l.Metadata, l.Items = list.ListMeta, list.Items
	return err
}

// version is the list's resource version; 0 when there is none.
func (l *listed) version() uint64 {
	version, _ := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	return version
}

// same says that both lists hold the same objects in the same versions.
func (l *listed) same(other *listed) bool {
	return slices.EqualFunc(l.Items, other.Items, func(a, b metav1.PartialObjectMetadata) bool {
		return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
	})
}

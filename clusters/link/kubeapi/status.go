package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// Refusal is what an API server says when it refuses the request with this HTTP status. Reason and message are its own
// where they are empty; the client is to wait for retryAfter, in whole seconds, unless that is 0.
func (q *Request) Refusal(code int, reason metav1.StatusReason, message string,
	retryAfter time.Duration) *metav1.Status {
	group := q.Group
	if group == Core {
		group = ""
	}
	of := schema.GroupResource{Group: group, Resource: q.Resource}
	seconds := int((retryAfter + time.Second - 1) / time.Second)
	status := apierrors.NewGenericServerResponse(code, q.Verb, of, q.Name, message, seconds,
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

// WriteStatus answers a request with a Status, in a form that the client accepts.
func WriteStatus(w http.ResponseWriter, r *http.Request, status *metav1.Status) {
	kind := accepted(r)
	body, err := encodeStatus(status, kind)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-cache, private")
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have gone
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

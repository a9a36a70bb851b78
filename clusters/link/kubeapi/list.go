package kubeapi

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List is what the link reads of a list in one of the media types.
type List struct {
	Metadata metav1.ListMeta                `json:"metadata"`
	Items    []metav1.PartialObjectMetadata `json:"items"`
}

// ReadList reads the list that a body holds; nil where it holds none, or one without a version.
func ReadList(body []byte) *List {
	list := &List{}
	if decode(body, list) != nil || list.Version() == 0 {
		return nil
	}
	return list
}

// Unmarshal reads a list's protobuf message.
func (l *List) Unmarshal(raw []byte) error {
	var list metav1.PartialObjectMetadataList
	err := list.Unmarshal(raw)
	l.Metadata, l.Items = list.ListMeta, list.Items
	return err
}

// Version is the list's resource version; 0 when there is none.
func (l *List) Version() uint64 {
	version, _ := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	return version
}

// Same says that both lists hold the same objects in the same versions.
func (l *List) Same(other *List) bool {
	return slices.EqualFunc(l.Items, other.Items, func(a, b metav1.PartialObjectMetadata) bool {
		return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
	})
}

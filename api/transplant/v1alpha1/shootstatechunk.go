package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ShootStateChunk is a part of an entry of a ShootState that is too large for it (docs/specification/state-size.md#z2).
// It stands in the namespace of the ShootState and carries the label LabelShoot. A chunk never changes: new state makes
// new chunks, and chunks that no ShootState refers to any more are removed last, by the garden-controller-manager
// (docs/specification/state-size.md#z3).
//
// Like a ShootState it holds secrets: only gardenlets, by its name, and the garden's own controllers may read it
// (docs/specification/state-size.md#z6).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=shootstatechunks,singular=shootstatechunk,scope=Namespaced,shortName=ssc
// +kubebuilder:printcolumn:name="Shoot",type=string,JSONPath=`.shootName`
// +kubebuilder:printcolumn:name="Index",type=integer,JSONPath=`.index`
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.bytes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.shootName == oldSelf.shootName && self.index == oldSelf.index && self.bytes == oldSelf.bytes && self.sha256 == oldSelf.sha256",message="a chunk never changes"
type ShootStateChunk struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// ShootName is the name of the Shoot, and ShootState, that the chunk belongs to.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ShootName string `json:"shootName"`
	// Index is the chunk's place in its entry, from 0.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index"`
	// Bytes is the length of Data.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`
	// SHA256 is the digest of Data, in hexadecimal.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256"`
	// Data is a part of the entry's JSON.
	// +kubebuilder:validation:Required
	Data []byte `json:"data"`
}

// ShootStateChunkList is a list of ShootStateChunks.
//
// +kubebuilder:object:root=true
type ShootStateChunkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ShootStateChunks.
	Items []ShootStateChunk `json:"items"`
}

// LabelShoot is the label of a ShootStateChunk with the name of its Shoot, so that the chunks of a Shoot can be listed.
// A Shoot's name is short enough for a label.
const LabelShoot = "transplant.dev/shoot"

// StateReference is what a ShootState's entry holds in place of state that was moved to chunks, under the key
// transplant.dev/ref.
type StateReference struct {
	// Chunks are the names of the ShootStateChunks, in order.
	Chunks []string `json:"chunks"`
	// SHA256 is the digest of the whole, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Bytes is the length of the whole.
	Bytes int64 `json:"bytes"`
}

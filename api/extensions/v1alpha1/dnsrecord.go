package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &DNSRecord{}
	_ ObjectList = &DNSRecordList{}
)

// DNSRecordResource is the kind's name.
const DNSRecordResource = "DNSRecord"

// DNSRecord is a DNS record. Its name is <shoot>-internal, -external or -ingress.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dnsrecords,singular=dnsrecord,scope=Namespaced,shortName=dnsrec
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Domain Name",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Record Type",type=string,JSONPath=`.spec.recordType`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec DNSRecordSpec `json:"spec"`
	// Status is what was achieved.
	Status DNSRecordStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *DNSRecord) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *DNSRecord) GetExtensionStatus() Status { return &o.Status }

// DNSRecordList is a list of DNSRecords.
//
// +kubebuilder:object:root=true
type DNSRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the DNSRecords.
	Items []DNSRecord `json:"items"`
}

// Objects implements ObjectList.
func (l *DNSRecordList) Objects() []Object { return pointers[DNSRecord](l.Items) }

// DNSRecordSpec is what is wanted of a DNSRecord.
type DNSRecordSpec struct {
	DefaultSpec `json:",inline"`

	// SecretRef is the Secret with the DNS credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
	// Region is the cloud's region.
	Region *string `json:"region,omitempty"`
	// Zone is the zone of the record.
	Zone *string `json:"zone,omitempty"`
	// Name is the full domain name.
	Name string `json:"name"`
	// RecordType is the type of the record.
	// +kubebuilder:validation:Enum=A;AAAA;CNAME;TXT
	RecordType DNSRecordType `json:"recordType"`
	// Values are the values of the record.
	Values []string `json:"values"`
	// TTL is the time to live, in seconds.
	TTL *int64 `json:"ttl,omitempty"`
}

// DNSRecordStatus is what was achieved of a DNSRecord.
type DNSRecordStatus struct {
	DefaultStatus `json:",inline"`

	// Zone is the zone of the record.
	Zone *string `json:"zone,omitempty"`
}

// ConditionTypeCreated shows whether the record was ever created.
const ConditionTypeCreated = "Created"

// DNSRecordType is the type of a record.
type DNSRecordType string

const (
	// DNSRecordTypeA has IPv4 addresses.
	DNSRecordTypeA DNSRecordType = "A"
	// DNSRecordTypeAAAA has IPv6 addresses.
	DNSRecordTypeAAAA DNSRecordType = "AAAA"
	// DNSRecordTypeCNAME has another name.
	DNSRecordTypeCNAME DNSRecordType = "CNAME"
	// DNSRecordTypeTXT has text.
	DNSRecordTypeTXT DNSRecordType = "TXT"
)

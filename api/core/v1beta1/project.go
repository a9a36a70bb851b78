package v1beta1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Project is a namespace of shoots and its members (docs/specification/api.md#spec-1-6).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=projects,singular=project,scope=Cluster
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner.name`
// +kubebuilder:printcolumn:name="Creator",type=string,JSONPath=`.spec.createdBy.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Project struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state of the project.
	Spec ProjectSpec `json:"spec,omitempty"`
	// Status is the observed state of the project.
	Status ProjectStatus `json:"status,omitempty"`
}

// ProjectList is a list of Projects.
//
// +kubebuilder:object:root=true
type ProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Projects.
	Items []Project `json:"items"`
}

// ProjectSpec is the wanted state of a Project.
type ProjectSpec struct {
	// CreatedBy is who created the project.
	CreatedBy *rbacv1.Subject `json:"createdBy,omitempty"`
	// Description describes the project.
	Description *string `json:"description,omitempty"`
	// Owner is who owns the project.
	Owner *rbacv1.Subject `json:"owner,omitempty"`
	// Purpose is what the project is for.
	Purpose *string `json:"purpose,omitempty"`
	// Members are who may act in the project.
	Members []ProjectMember `json:"members,omitempty"`
	// Namespace is the project's namespace.
	Namespace *string `json:"namespace,omitempty"`
	// Tolerations are the project's tolerations of seed taints (docs/specification/nodes-and-seeds.md#spec-7-2).
	Tolerations *ProjectTolerations `json:"tolerations,omitempty"`
}

// ProjectMember is who may act in a project, and how.
type ProjectMember struct {
	rbacv1.Subject `json:",inline"`

	// Role is the member's first role.
	Role string `json:"role"`
	// Roles are the member's further roles.
	Roles []string `json:"roles,omitempty"`
}

// Roles of project members.
const (
	// ProjectMemberAdmin may do everything in the project.
	ProjectMemberAdmin = "admin"
	// ProjectMemberOwner owns the project.
	ProjectMemberOwner = "owner"
	// ProjectMemberUserAccessManager may change members.
	ProjectMemberUserAccessManager = "uam"
	// ProjectMemberViewer may read everything but Secrets.
	ProjectMemberViewer = "viewer"
)

// ProjectTolerations are a project's tolerations of seed taints.
type ProjectTolerations struct {
	// Defaults are added to every shoot.
	Defaults []Toleration `json:"defaults,omitempty"`
	// Whitelist may be used by shoots.
	Whitelist []Toleration `json:"whitelist,omitempty"`
}

// ProjectStatus is the observed state of a Project.
type ProjectStatus struct {
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is where the project stands.
	Phase ProjectPhase `json:"phase,omitempty"`
	// StaleSinceTimestamp is since when the project is not used.
	StaleSinceTimestamp *metav1.Time `json:"staleSinceTimestamp,omitempty"`
	// StaleAutoDeleteTimestamp is when an unused project is deleted.
	StaleAutoDeleteTimestamp *metav1.Time `json:"staleAutoDeleteTimestamp,omitempty"`
	// LastActivityTimestamp is when the project was used last.
	LastActivityTimestamp *metav1.Time `json:"lastActivityTimestamp,omitempty"`
}

// ProjectPhase is where a project stands.
type ProjectPhase string

const (
	// ProjectPending means that the project is being set up.
	ProjectPending ProjectPhase = "Pending"
	// ProjectReady means that the project can be used.
	ProjectReady ProjectPhase = "Ready"
	// ProjectFailed means that the project could not be set up.
	ProjectFailed ProjectPhase = "Failed"
	// ProjectTerminating means that the project is being deleted.
	ProjectTerminating ProjectPhase = "Terminating"
)

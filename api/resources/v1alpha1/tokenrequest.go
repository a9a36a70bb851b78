package v1alpha1

// Labels and annotations of Secrets for which a token of a ServiceAccount of the shoot is requested
// (docs/specification/api.md#spec-1-12).
const (
	// LabelPurpose with the value PurposeTokenRequestor marks such a Secret.
	LabelPurpose          = "resources.gardener.cloud/purpose"
	PurposeTokenRequestor = "token-requestor"
	// LabelClass says who requests the token; ClassShoot is the resource manager of the shoot.
	LabelClass = "resources.gardener.cloud/class"
	ClassShoot = "shoot"

	// AnnotationAccountName and AnnotationAccountNamespace are those of the ServiceAccount.
	AnnotationAccountName      = annotationPrefix + "name"
	AnnotationAccountNamespace = annotationPrefix + "namespace"
	// AnnotationTokenExpiration is for how long the token is requested, as a duration of Go.
	AnnotationTokenExpiration = annotationPrefix + "token-expiration-duration"
	// AnnotationTokenRenewal is when the next token is requested, in RFC 3339. Who requests the token writes it.
	AnnotationTokenRenewal = annotationPrefix + "token-renew-timestamp"
	// AnnotationInjectCA with the value true asks for the certificate authority of the shoot beside the token.
	AnnotationInjectCA = annotationPrefix + "inject-ca-bundle"

	annotationPrefix = "serviceaccount.resources.gardener.cloud/"
)

// Keys of such a Secret. A kubeconfig that is there gets the token, or else KeyToken does; KeyCABundle is for
// AnnotationInjectCA where there is no kubeconfig.
const (
	KeyToken      = "token"
	KeyKubeconfig = "kubeconfig"
	KeyCABundle   = "bundle.crt"
)

package admission

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applyadmissionregistrationv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

const (
	// ConfigurationName is the name of both webhook configurations.
	ConfigurationName = "transplant-admission"

	fieldOwner = client.FieldOwner("garden-controller-manager")

	pathValidate        = "/validate-core-gardener-cloud-v1beta1-shoot"
	pathDefault         = "/default-core-gardener-cloud-v1beta1-shoot"
	pathDefaultObject   = "/default-core-gardener-cloud-v1beta1"
	pathValidateProfile = "/validate-core-gardener-cloud-v1beta1-cloudprofile"
	pathValidateSeed    = "/validate-core-gardener-cloud-v1beta1-seed"
	pathValidateProject = "/validate-core-gardener-cloud-v1beta1-project"
	pathValidateManaged = "/validate-seedmanagement-gardener-cloud-v1alpha1-managedseed"

	// timeoutSeconds is what a refused look at the garden may take; the server itself answers in milliseconds.
	timeoutSeconds = 5
)

// whenSpecChanges is when the API server calls. What changes no specification is not called for, unless it asks for
// something by an annotation, so that gardenlets can write statuses and finalizers and take annotations away while this
// server is away. What is called for fails then (failurePolicy).
const whenSpecChanges = `request.operation != "UPDATE" || object.?spec != oldObject.?spec`

// configuration registers the server with the garden.
type configuration struct {
	client   client.Client
	host     string
	port     int
	service  *types.NamespacedName
	caBundle []byte
}

// apply writes both configurations. They are this process's alone: what others changed in them is changed back.
func (c *configuration) apply(ctx context.Context) error {
	for _, object := range []runtime.ApplyConfiguration{c.mutating(), c.validating()} {
		if err := c.client.Apply(ctx, object, fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %T %q: %w", object, ConfigurationName, err)
		}
	}
	return nil
}

func (c *configuration) validating() *applyadmissionregistrationv1.ValidatingWebhookConfigurationApplyConfiguration {
	return applyadmissionregistrationv1.ValidatingWebhookConfiguration(ConfigurationName).WithWebhooks(
		c.validatingWebhook("shoots", pathValidate, admissionregistrationv1.NamespacedScope,
			validation.ShootAnnotations()...),
		c.validatingWebhook("cloudprofiles", pathValidateProfile, admissionregistrationv1.ClusterScope),
		c.validatingWebhook("seeds", pathValidateSeed, admissionregistrationv1.ClusterScope, validation.SeedAnnotations()...),
		c.validatingWebhook("projects", pathValidateProject, admissionregistrationv1.ClusterScope),
		c.validatingWebhook("managedseeds", pathValidateManaged, admissionregistrationv1.NamespacedScope),
	)
}

// whenAsked is the condition that one of the annotations is new, or has an item in its list that it did not have
// before. An empty value counts: rules refuse some.
func whenAsked(annotations []string) string {
	const (
		value = `.metadata.?annotations[?a]`
		items = value + `.orValue("").replace(",", ";").split(";")`
	)
	return fmt.Sprintf(`["%s"].exists(a, object%s.hasValue() && `+
		`(!oldObject%s.hasValue() || object%s.exists(asked, !(asked in oldObject%s))))`,
		strings.Join(annotations, `", "`), value, value, items, items)
}

// changes is the condition that the specification changes, or that one of the annotations asks for something new.
func changes(annotations []string) *applyadmissionregistrationv1.MatchConditionApplyConfiguration {
	when := whenSpecChanges
	if len(annotations) > 0 {
		when += " || " + whenAsked(annotations)
	}
	return applyadmissionregistrationv1.MatchCondition().WithName("spec-changes").WithExpression(when)
}

func (c *configuration) validatingWebhook(resource, path string, scope admissionregistrationv1.ScopeType,
	annotations ...string) *applyadmissionregistrationv1.ValidatingWebhookApplyConfiguration {
	return applyadmissionregistrationv1.ValidatingWebhook().
		WithName(resource + ".admission.transplant.dev").
		WithAdmissionReviewVersions("v1").
		WithClientConfig(c.endpoint(path)).
		WithRules(writes(resource, scope, admissionregistrationv1.Create, admissionregistrationv1.Update,
			admissionregistrationv1.Delete)).
		WithMatchConditions(changes(annotations)).
		WithFailurePolicy(admissionregistrationv1.Fail).
		WithSideEffects(admissionregistrationv1.SideEffectClassNone).
		WithTimeoutSeconds(timeoutSeconds)
}

func (c *configuration) mutating() *applyadmissionregistrationv1.MutatingWebhookConfigurationApplyConfiguration {
	return applyadmissionregistrationv1.MutatingWebhookConfiguration(ConfigurationName).WithWebhooks(
		c.mutatingWebhook("shoots", pathDefault, admissionregistrationv1.NamespacedScope, validation.ShootAnnotations()...),
		c.mutatingWebhook("cloudprofiles", pathDefaultObject, admissionregistrationv1.ClusterScope),
		c.mutatingWebhook("projects", pathDefaultObject, admissionregistrationv1.ClusterScope),
		c.mutatingWebhook("seeds", pathDefaultObject, admissionregistrationv1.ClusterScope, validation.SeedAnnotations()...),
	)
}

func (c *configuration) mutatingWebhook(
	resource, path string, scope admissionregistrationv1.ScopeType, annotations ...string,
) *applyadmissionregistrationv1.MutatingWebhookApplyConfiguration {
	return applyadmissionregistrationv1.MutatingWebhook().
		WithName("defaults." + resource + ".admission.transplant.dev").
		WithAdmissionReviewVersions("v1").
		WithClientConfig(c.endpoint(path)).
		WithRules(writes(resource, scope, admissionregistrationv1.Create, admissionregistrationv1.Update)).
		WithMatchConditions(changes(annotations)).
		WithFailurePolicy(admissionregistrationv1.Fail).
		WithSideEffects(admissionregistrationv1.SideEffectClassNone).
		WithReinvocationPolicy(admissionregistrationv1.IfNeededReinvocationPolicy).
		WithTimeoutSeconds(timeoutSeconds)
}

// writes matches the resource itself and no subresource.
func writes(
	resource string, scope admissionregistrationv1.ScopeType, operations ...admissionregistrationv1.OperationType,
) *applyadmissionregistrationv1.RuleWithOperationsApplyConfiguration {
	of := gardencorev1beta1.SchemeGroupVersion
	if resource == "managedseeds" {
		of = seedmanagementv1alpha1.SchemeGroupVersion
	}
	return applyadmissionregistrationv1.RuleWithOperations().
		WithOperations(operations...).
		WithAPIGroups(of.Group).
		WithAPIVersions(of.Version).
		WithResources(resource).
		WithScope(scope)
}

// endpoint is where the API server calls: the Service if there is one, else the pod's own address.
func (c *configuration) endpoint(path string) *applyadmissionregistrationv1.WebhookClientConfigApplyConfiguration {
	endpoint := applyadmissionregistrationv1.WebhookClientConfig().WithCABundle(c.caBundle...)
	if c.service != nil {
		return endpoint.WithService(applyadmissionregistrationv1.ServiceReference().
			WithNamespace(c.service.Namespace).WithName(c.service.Name).WithPort(int32(c.port)).WithPath(path))
	}
	return endpoint.WithURL("https://" + net.JoinHostPort(c.host, strconv.Itoa(c.port)) + path)
}

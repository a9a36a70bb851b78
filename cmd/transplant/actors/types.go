package actors

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

type (
	informer       = crcache.Informer
	informerOption = crcache.InformerGetOption
	eventRecorder  = events.EventRecorder
)

func shootScheme() *runtime.Scheme { return clientgoscheme.Scheme }

// shootMapper knows the kinds that flows look at in shoots, so that making a client asks nobody.
func shootMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		mapper.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), meta.RESTScopeRoot)
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		mapper.Add(rbacv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	for _, kind := range []string{"Role", "RoleBinding"} {
		mapper.Add(rbacv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

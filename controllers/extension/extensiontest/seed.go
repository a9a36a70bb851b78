// Package extensiontest has seeds for the tests of more than one part of the reference provider.
package extensiontest

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Forbidding is a seed with these objects that refuses to read anything in namespaces.
func Forbidding(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if key.Namespace != "" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, key.Name, errors.New("no role"))
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
}

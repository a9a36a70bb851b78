package probe

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/probe/access"
)

// followObjects lists objects of a kind and then watches them, until the watch ends, which is an error, or ctx does.
func followObjects(
	ctx context.Context, c client.WithWatch, list *unstructured.UnstructuredList,
	listed func([]unstructured.Unstructured) error, changed func(watch.EventType, *unstructured.Unstructured) error,
	options ...client.ListOption,
) (err error) {
	defer func() {
		if ctx.Err() != nil {
			err = nil // it was to end, and has ended with an error or without, as it was just then
		}
	}()
	if err := c.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list %ss: %w", kindOf(list), err)
	}
	if err := listed(list.Items); err != nil {
		return err
	}
	stream, err := c.Watch(ctx, list, append(options, &client.ListOptions{Raw: watchFrom(list.GetResourceVersion())})...)
	if err != nil {
		return fmt.Errorf("watch %ss: %w", kindOf(list), err)
	}
	return access.Events(ctx, stream, func(event watch.Event) error {
		if object, is := event.Object.(*unstructured.Unstructured); is {
			return changed(event.Type, object)
		}
		return nil
	})
}

func kindOf(list *unstructured.UnstructuredList) string {
	kind := list.GetKind()
	return kind[:len(kind)-len("List")]
}

// watchFrom are the options of a watch that goes on from a list.
func watchFrom(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: false}
}

package probe

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// followObjects lists objects of a kind and then watches them, until the watch ends or ctx does.
func followObjects(
	ctx context.Context, c client.WithWatch, list *unstructured.UnstructuredList,
	listed func([]unstructured.Unstructured) error, changed func(watch.EventType, *unstructured.Unstructured) error,
	options ...client.ListOption,
) error {
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
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-stream.ResultChan():
			if !open {
				return errors.New("the watch has ended")
			}
			object, is := event.Object.(*unstructured.Unstructured)
			switch {
			case event.Type == watch.Error:
				return errors.New("the watch has ended with an error")
			case is:
				if err := changed(event.Type, object); err != nil {
					return err
				}
			}
		}
	}
}

func kindOf(list *unstructured.UnstructuredList) string {
	kind := list.GetKind()
	return kind[:len(kind)-len("List")]
}

// watchFrom are the options of a watch that goes on from a list.
func watchFrom(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: false}
}

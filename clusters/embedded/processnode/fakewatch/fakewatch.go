// Package fakewatch starts informers on a fake client, for tests. It is not for anything that runs.
package fakewatch

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
)

// Start starts the informers of a factory, and returns when all have listed and watch. A fake client's watch
// misses what happens between the list and it. A test that writes as soon as the informers have synced may wait for
// ever.
func Start(ctx context.Context, client *fake.Clientset, factory informers.SharedInformerFactory) {
	begun := make(chan struct{}, 100)
	client.PrependWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		events, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun <- struct{}{}
		return true, events, err
	})
	factory.Start(ctx.Done())
	for range factory.WaitForCacheSync(ctx.Done()) {
		select {
		case <-begun:
		case <-ctx.Done():
		}
	}
}

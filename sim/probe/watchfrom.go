package probe

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// watchFrom are the options of a watch that goes on from a list.
func watchFrom(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: false}
}

// Package metricsserver has what all managers share of their metrics: how they are served, and by what names those of
// client-go call API servers. It knows no metric of ours.
package metricsserver

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// At serves /metrics at an address, plain HTTP and never compressed: who scrapes is near, and of what an answer costs
// compressing it was two fifths.
func At(address string) server.Options {
	return server.Options{BindAddress: address, FilterProvider: func(*rest.Config, *http.Client) (server.Filter, error) {
		return func(_ logr.Logger, next http.Handler) (http.Handler, error) { return uncompressed(next), nil }, nil
	}}
}

func uncompressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		next.ServeHTTP(w, r)
	})
}

package chaosmesh

import (
	"context"
	"fmt"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// apiServerPort is where the API servers of shoots listen, which are the only pods that links lead to.
const apiServerPort = 6443

// planHTTP: requests to the API servers of shoots in the selected pods are harmed, whoever makes them. Links end TLS
// themselves, so what an experiment says about it is not needed.
func planHTTP(c *v1alpha1.HTTPChaos) plan {
	spec := &c.Spec
	p := plan{mode: spec.Mode, needs: world.BreakPodLinks, duration: spec.Duration}
	p.lack("remoteCluster", "remoteCluster", spec.RemoteCluster != "")
	if spec.Port != apiServerPort {
		p.lacks = append(p.lacks, lack{fmt.Sprintf("port %d", spec.Port), "port", spec.Port,
			fmt.Sprintf("must be %d, the port of shoots' API servers", apiServerPort)})
	}
	p.lack("replace", "replace", spec.Replace != nil)
	p.lack("patch", "patch", spec.Patch != nil)
	p.lack("code", "code", spec.Code != nil)
	p.lack("request_headers", "request_headers", len(spec.RequestHeaders) > 0)
	p.lack("response_headers", "response_headers", len(spec.ResponseHeaders) > 0)
	p.harms, p.problem = httpHarms(spec)
	switch {
	case spec.Abort != nil && *spec.Abort:
		p.action = "abort"
	case spec.Delay != nil:
		p.action = "delay"
	default:
		if len(p.lacks) == 0 {
			p.lacks = []lack{{"no action", "", "no action", "must have abort: true or a delay"}}
		}
	}
	p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
		return harmServers(ctx, w, cluster, spec.PodSelector, p.harms)
	}
	return p
}

func httpHarms(spec *v1alpha1.HTTPChaosSpec) (harms []link.Fault, err error) {
	match, at := kubeapi.Match{}, requests.Before
	if spec.Target == v1alpha1.PodHttpResponse {
		at = requests.After
	}
	if spec.Path != nil {
		match.Path = *spec.Path
	}
	if spec.Method != nil {
		match.Method = *spec.Method
	}
	if spec.Delay != nil {
		delay, err := time.ParseDuration(*spec.Delay)
		if err != nil {
			return nil, fmt.Errorf("read the delay: %w", err)
		}
		harms = append(harms, requests.Delay{Match: match, Delay: metav1.Duration{Duration: delay}, At: at})
	}
	if spec.Abort != nil && *spec.Abort {
		harms = append(harms, requests.Abort{Match: match, At: at})
	}
	return harms, nil
}

func harmServers(ctx context.Context, w world.World, cluster string, s v1alpha1.PodSelector,
	harms []link.Fault) (world.Injection, error) {
	pods, err := choose(ctx, w, cluster, s)
	if err != nil {
		return world.Injection{}, err
	}
	_, targets, err := w.Parts(ctx, cluster, pods)
	if err != nil {
		return world.Injection{}, err
	}
	if len(targets) == 0 {
		return world.Injection{}, fmt.Errorf("find the API servers of shoots in %d pods of cluster %q: there is none",
			len(pods), cluster)
	}
	var on landscape.Landscape
	for _, seed := range w.Seeds() {
		on.Seeds = append(on.Seeds, landscape.Seed{Name: seed})
	}
	return harmLinks(ctx, w, on.Actors(), targets, harms)
}

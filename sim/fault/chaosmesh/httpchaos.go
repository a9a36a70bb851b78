package chaosmesh

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/world"
)

// apiServerPort is where the API servers of shoots listen, which are the only pods that links lead to.
const apiServerPort = 6443

// planHTTP: requests to the API servers of shoots in the selected pods are harmed, whoever makes them. Links end TLS
// themselves, so what an experiment says about it is not needed.
func planHTTP(c *v1alpha1.HTTPChaos) plan {
	spec := &c.Spec
	p := plan{action: httpAction(spec), mode: spec.Mode, needs: world.BreakPodLinks, duration: spec.Duration}
	if p.action == "" {
		p.lacks = []lack{{"no action", "", "no action", "must have abort: true, a delay, replace or patch"}}
		return p
	}
	if spec.Port != apiServerPort {
		p.lacks = append(p.lacks, lack{what: fmt.Sprintf("port %d, where links lead to %d only", spec.Port,
			apiServerPort)})
		p.mesh = &applied{selectors: []v1alpha1.PodSelector{spec.PodSelector}, network: true, lasting: true}
	}
	p.harms, p.problem = httpHarms(spec)
	p.inject = func(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
		return harmServers(ctx, w, cluster, spec.PodSelector, p.harms)
	}
	return p
}

// httpAction is the first one that is given, in the order in which Chaos Mesh does them.
func httpAction(spec *v1alpha1.HTTPChaosSpec) string {
	switch {
	case ptr.Deref(spec.Abort, false):
		return "abort"
	case spec.Delay != nil:
		return "delay"
	case spec.Replace != nil:
		return "replace"
	case spec.Patch != nil:
		return "patch"
	}
	return ""
}

// httpHarms are the faults of links that an experiment is made of: whoever is first sees a request first, and an answer
// last.
func httpHarms(spec *v1alpha1.HTTPChaosSpec) (harms []link.Fault, err error) {
	match, answers, at := kubeapi.Match{Path: ptr.Deref(spec.Path, ""), Method: ptr.Deref(spec.Method, ""),
		Headers: spec.RequestHeaders}, requests.Answers{}, requests.Before
	if spec.Target == v1alpha1.PodHttpResponse { // code and headers of answers are no matter to requests
		answers, at = requests.Answers{Code: int(ptr.Deref(spec.Code, 0)), Headers: spec.ResponseHeaders}, requests.After
	}
	if ptr.Deref(spec.Abort, false) { // then nothing else is left to do
		return []link.Fault{requests.Abort{Match: match, Answers: answers, At: at}}, nil
	}
	if spec.Delay != nil {
		delay, err := time.ParseDuration(*spec.Delay)
		if err != nil {
			return nil, fmt.Errorf("read the delay: %w", err)
		}
		harms = append(harms, requests.Delay{Match: match, Answers: answers, Delay: metav1.Duration{Duration: delay}, At: at})
	}
	if spec.Replace != nil || spec.Patch != nil {
		rewrite := requests.Rewrite{Match: match, Answers: answers, At: at, Replace: replacementOf(spec.Replace, at)}
		if rewrite.Patch, err = patchOf(spec.Patch, at); err != nil {
			return nil, err
		}
		harms = append(harms, rewrite)
	}
	if at == requests.After { // an answer comes to the last one first, and its code is to be seen before it is replaced
		slices.Reverse(harms)
	}
	return harms, nil
}

// replacementOf a request or an answer. What the other one has only is no matter to it, as with Chaos Mesh.
func replacementOf(r *v1alpha1.PodHttpChaosReplaceActions, at requests.Moment) requests.Replacement {
	if r == nil {
		return requests.Replacement{}
	}
	if at == requests.After {
		return requests.Replacement{Code: int(ptr.Deref(r.Code, 0)), Headers: r.Headers, Body: r.Body}
	}
	return requests.Replacement{Path: ptr.Deref(r.Path, ""), Method: ptr.Deref(r.Method, ""), Queries: r.Queries,
		Headers: r.Headers, Body: r.Body}
}

func patchOf(p *v1alpha1.PodHttpChaosPatchActions, at requests.Moment) (patch requests.Patch, err error) {
	if p == nil {
		return patch, nil
	}
	if patch.Headers, err = pairs("headers", p.Headers); err != nil {
		return patch, err
	}
	if at == requests.Before {
		if patch.Queries, err = pairs("queries", p.Queries); err != nil {
			return patch, err
		}
	}
	if p.Body == nil {
		return patch, nil
	}
	if p.Body.Type != "JSON" {
		return patch, fmt.Errorf("patch.body.type %q: must be JSON", p.Body.Type)
	}
	patch.Body = json.RawMessage(p.Body.Value)
	return patch, nil
}

func pairs(field string, all [][]string) (named [][2]string, err error) {
	for _, pair := range all {
		if len(pair) != 2 {
			return nil, fmt.Errorf(`patch.%s %q: must be a name and a value, such as ["a", "b"]`, field, pair)
		}
		named = append(named, [2]string{pair[0], pair[1]})
	}
	return named, nil
}

func harmServers(ctx context.Context, w world.World, cluster string, s v1alpha1.PodSelector,
	harms []link.Fault) (world.Injection, error) {
	pods, err := choose(ctx, w, cluster, s)
	if err != nil || len(pods) == 0 {
		return nothing(), err
	}
	parts, err := w.Parts(ctx, cluster, pods)
	if err != nil {
		return world.Injection{}, err
	}
	if len(parts.Targets) == 0 {
		return world.Injection{}, fmt.Errorf("find the API servers of shoots in %d pods of cluster %q: there is none",
			len(pods), cluster)
	}
	return harmLinks(ctx, w, parts.All, parts.Targets, harms)
}

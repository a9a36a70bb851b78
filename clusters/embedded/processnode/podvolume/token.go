package podvolume

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxTokenAge is when even a long-lived token is renewed.
const maxTokenAge = 24 * time.Hour

// tokenRetry is how long a token that could not be renewed is kept before the next attempt.
const tokenRetry = 10 * time.Second

type tokenKey struct {
	audience string
	seconds  int64
}

type token struct {
	text           string
	renew, expires time.Time
}

// token returns a token of the pod's service account, the old one while it is young. An old one is kept while the API
// server cannot be reached.
func (s *Set) token(ctx context.Context, pod *corev1.Pod, source *corev1.ServiceAccountTokenProjection) (string,
	error) {
	key := tokenKey{audience: source.Audience, seconds: 3600}
	if source.ExpirationSeconds != nil {
		key.seconds = *source.ExpirationSeconds
	}
	now := s.clock.Now()
	old, known := s.tokens[key]
	if known && now.Before(old.renew) {
		return old.text, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &key.seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
			UID: pod.UID},
	}}
	if key.audience != "" {
		request.Spec.Audiences = []string{key.audience}
	}
	answer, err := s.api.Token(ctx, pod.Namespace, pod.Spec.ServiceAccountName, request)
	if err != nil {
		if known && now.Before(old.expires) {
			old.renew = now.Add(tokenRetry)
			s.tokens[key] = old
			return old.text, nil
		}
		return "", fmt.Errorf("fetch a token of service account %q: %w", pod.Spec.ServiceAccountName, err)
	}
	s.tokens[key] = fresh(answer, now)
	return answer.Status.Token, nil
}

// fresh plans a token's renewal at four fifths of its life.
func fresh(answer *authenticationv1.TokenRequest, now time.Time) token {
	expires := answer.Status.ExpirationTimestamp
	if expires.IsZero() {
		expires = metav1.NewTime(now.Add(time.Duration(*answer.Spec.ExpirationSeconds) * time.Second))
	}
	life := expires.Sub(now)
	return token{text: answer.Status.Token, renew: now.Add(min(life*4/5, maxTokenAge)), expires: expires.Time}
}

// renewal is when the first token needs to be renewed, or zero.
func (s *Set) renewal() time.Time {
	var first time.Time
	for _, t := range s.tokens {
		if first.IsZero() || t.renew.Before(first) {
			first = t.renew
		}
	}
	return first
}

// tokenMode is that of a token in a volume with a mode. As on a kubelet, a token is for its owner alone where that is
// who runs in all containers. Here the owner is root, and a pod that says nothing runs as root. A pod's fsGroup may
// read what its volumes hold, too.
func tokenMode(pod *corev1.Pod, volume fs.FileMode) fs.FileMode {
	var ofPod *int64
	if pod.Spec.SecurityContext != nil {
		ofPod = pod.Spec.SecurityContext.RunAsUser
	}
	isOther := func(c corev1.Container) bool {
		user := ofPod
		if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			user = c.SecurityContext.RunAsUser
		}
		return user != nil && *user != 0
	}
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	if fsGroup(pod) == nil && slices.ContainsFunc(containers, isOther) {
		return volume
	}
	return 0o600
}

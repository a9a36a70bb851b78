package errorcodes

import (
	"slices"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Classify gives the codes that an error message deserves, in the order of docs/specification/care.md#spec-5-8 and each
// once. Most messages deserve none. The specific word wins over the general one: a general word counts only where no
// word is there to which it yields. A word inside a longer one of another code does not count. What an API server
// refuses is no matter of the cloud: pass only what the cloud, a node, a shoot's webhook or a user's configuration is
// to blame for.
func Classify(message string) []gardencorev1beta1.ErrorCode {
	found := wordsIn(message)
	var codes []gardencorev1beta1.ErrorCode
	for _, k := range known {
		if slices.ContainsFunc(found, func(w word) bool { return w.code == k.Code && !beaten(w, found) }) {
			codes = append(codes, k.Code)
		}
	}
	return codes
}

// beaten is whether one of the words is more specific than this one.
func beaten(w word, by []word) bool {
	return slices.ContainsFunc(by, func(other word) bool {
		return len(other.yields) == 0 && slices.Contains(w.yields, other.code)
	})
}

// wordsIn are the words in a message, but for those that only stand inside of others: a RequestLimitExceeded is no
// LimitExceeded.
func wordsIn(message string) []word {
	var found []word
	places := make([][][]int, len(words))
	for i, w := range words {
		places[i] = w.says.FindAllStringIndex(message, -1)
	}
	for i, w := range words {
		if slices.ContainsFunc(places[i], func(at []int) bool { return !inside(message, at, w, places) }) {
			found = append(found, w)
		}
	}
	return found
}

// inside is whether a place is a part of a longer word of another code.
func inside(message string, at []int, w word, places [][][]int) bool {
	for i, other := range words {
		if other.code == w.code {
			continue
		}
		for _, p := range places[i] {
			longer := p[0] <= at[0] && at[1] <= p[1] && p[1]-p[0] > at[1]-at[0]
			if longer && !strings.ContainsAny(message[p[0]:p[1]], " \t\n") {
				return true
			}
		}
	}
	return false
}

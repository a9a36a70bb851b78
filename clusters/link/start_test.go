package link

import (
	"reflect"
	"testing"
)

// An interface cannot be sealed across packages: the compiler does not say if links know a fault by its JSON only.
func TestStart_EachFaultOfTheSpec_ActsOnSomething(t *testing.T) {
	t.Parallel()
	for kind, read := range types {
		fault, err := read([]byte(`{}`))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if reflect.ValueOf(start(fault, func(int64) int64 { return 0 })).IsZero() {
			t.Errorf("%s acts on nothing", kind)
		}
	}
}

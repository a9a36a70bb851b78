package jsonloss_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/jsonloss"
)

func TestBetween(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, before, after string
		want                []string
	}{
		{"same", `{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"c"}]}`, nil},
		{"more is no loss", `{"a":{"b":1}}`, `{"a":{"b":1,"c":2},"d":3}`, nil},
		{"null is absent", `{"a":null,"b":[]}`, `{}`, nil},
		{"changed", `{"a":{"b":1}}`, `{"a":{"b":"1"}}`, []string{".a.b: 1 became 1"}},
		{"gone", `{"a":{"b":1,"a":2}}`, `{"a":{}}`, []string{".a.a: 2 became <nil>", ".a.b: 1 became <nil>"}},
		{"object gone", `{"a":{"b":1}}`, `{}`, []string{".a: an object became <nil>"}},
		{"empty object gone", `{"a":{}}`, `{}`, []string{".a: an object became <nil>"}},
		{"item gone", `{"a":[1,2]}`, `{"a":[1]}`, []string{".a[1]: 2 became <nil>"}},
		{"list gone", `{"a":[1]}`, `{"a":{}}`, []string{".a: a list became map[]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonloss.Between(json.RawMessage(tc.before), json.RawMessage(tc.after))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBetweenNoJSON(t *testing.T) {
	t.Parallel()
	for _, documents := range [][2]any{{make(chan int), 1}, {1, make(chan int)}} {
		if _, err := jsonloss.Between(documents[0], documents[1]); err == nil {
			t.Errorf("a channel was taken for JSON in %v", documents)
		}
	}
}

package verdict_test

import (
	"encoding/json"
	"testing"

	"github.com/transplant-sim/transplant/sim/verdict"
)

func TestFault_OfAnEarlierVersion_KeepsItsHits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"name":"fire","touched":7}`, `{"name":"fire","hits":7}`} {
		var fault verdict.Fault
		if err := json.Unmarshal([]byte(text), &fault); err != nil || fault != (verdict.Fault{Name: "fire", Hits: 7}) {
			t.Errorf("%s is read as %+v, %v", text, fault, err)
		}
		again, err := json.Marshal(fault)
		if err != nil || string(again) != `{"name":"fire","hits":7}` {
			t.Errorf("written as %s, %v", again, err)
		}
	}
}

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/e2e/knocktest"
)

func TestAttack_OwnToken_IsShownWhereNoOtherIs(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get("Authorization")) // the client says what it got
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := s.Listener.Addr().String()
	attempts, err := json.Marshal([]knocktest.Attempt{
		{Address: address, Method: "GET", Path: "/a"}, {Address: address, Method: "GET", Path: "/b", Token: "given"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string][]knocktest.Outcome{
		file:              {{Status: 200, Body: "/a Bearer own"}, {Status: 200, Body: "/b Bearer given"}},
		file + "-missing": {{Status: 200, Body: "/a "}, {Status: 200, Body: "/b Bearer given"}},
	} {
		var out strings.Builder
		if err := attack(strings.NewReader(string(attempts)), &out, token); err != nil {
			t.Fatal(err)
		}
		var got []knocktest.Outcome
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with the token file %s (-want +got):\n%s", filepath.Base(token), diff)
		}
	}
	if err := attack(strings.NewReader("no list"), io.Discard, file); err == nil {
		t.Error("attempts that are no list are made")
	}
}

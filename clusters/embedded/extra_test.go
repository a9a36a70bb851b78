package embedded_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

// extraVariable makes the test binary serve 200 on the cloud's address, with the certificate it is given, or exit.
const extraVariable = "EMBEDDED_TEST_EXTRA"

func playExtra() {
	fields := strings.Split(os.Getenv(extraVariable), ",")
	if fields[0] == "exit" {
		fmt.Println("no use")
		os.Exit(7)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "cloud says %s to %s", r.URL.Path, r.Header.Get("Authorization"))
	})
	fmt.Println(http.ListenAndServeTLS(fields[0], fields[1], fields[2], handler))
}

func TestExtras(t *testing.T) {
	t.Parallel()
	var atHook error
	l := start(t, embedded.Options{
		Seeds: []string{},
		Extras: func(l *embedded.Landscape) ([]embedded.Extra, error) {
			certificate, key, err := l.Authorities().IssueServing("cloud", l.Slot().Cloud().Addr().String())
			return []embedded.Extra{{
				Name: "cloud", ReadyURL: "https://" + l.Slot().Cloud().String() + "/healthz",
				Env: []string{fmt.Sprintf("%s=%s,%s,%s", extraVariable, l.Slot().Cloud(), certificate, key)},
			}}, err
		},
		AfterClusters: func(ctx context.Context, l *embedded.Landscape) error {
			connection, err := net.DialTimeout("tcp", l.Slot().Cloud().String(), time.Second)
			if err != nil {
				atHook = err
				return nil
			}
			return connection.Close()
		},
	})
	if atHook != nil {
		t.Errorf("the extra was not up when the hook was called: %v", atHook)
	}
	cloud, err := l.Extras().Find("cloud")
	must(t, err)

	t.Run("Link", func(t *testing.T) { testCloudLink(t, l) })
	t.Run("StartAgain", func(t *testing.T) {
		must(t, cloud.Kill())
		spec := cloud.Spec()
		must(t, l.Extras().Start(t.Context(), embedded.Extra{
			Name: "cloud", Env: spec.Env, ReadyURL: "https://" + l.Slot().Cloud().String() + "/healthz",
		}))
		if got := l.State().Processes; len(got) != 1 || got[0].PID == cloud.PID() || !got[0].Alive() {
			t.Errorf("the state has the processes %v, want the new one alone", got)
		}
	})
	t.Run("Dies", func(t *testing.T) {
		err := l.Extras().Start(t.Context(), embedded.Extra{
			Name: "useless", Env: []string{extraVariable + "=exit"}, ReadyURL: "https://" + l.Slot().DNS().String(),
		})
		if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "useless.log") {
			t.Errorf("got %v, want the exit code and the log", err)
		}
	})
}

// A link to the cloud passes the token on and shows a certificate of the links' authority.
func testCloudLink(t *testing.T, l *embedded.Landscape) {
	opened, err := l.Links().Link("extensions-a", "cloud")
	must(t, err)
	again, err := l.Links().Link("extensions-a", "cloud")
	must(t, err)
	if again != opened {
		t.Error("the same link was opened twice")
	}
	answer, err := get(t, opened.URL()+"/v1/networks", l.Links().CA())
	must(t, err)
	if want := "cloud says /v1/networks to Bearer t"; answer != want {
		t.Errorf("over the link: got %q, want %q", answer, want)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := get(t, opened.URL(), nil); !errors.As(err, &unknown) {
		t.Errorf("without the links' authority: got %v, want an unknown authority", err)
	}
}

func get(t *testing.T, url string, authority []byte) (string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer t")
	response, err := (&http.Client{Transport: transport, Timeout: bound}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}

package thirdparty_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

// argsOf a file, from those with spaces between them.
func argsOf(line string) string {
	text := ""
	for arg := range strings.FieldsSeq(line) {
		text += "  - '" + arg + "'\n"
	}
	if text == "" {
		return ""
	}
	return "  args:\n" + text
}

// Programs that share a machine are refused a port of all addresses that another one has.
func TestCheckPorts_PortOfAllAddresses_BelongsToOneProgram(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("my-vault", "other", "type: vault}", "type: other}",
		", {kind: Network, type: transplant, stateMayChange: true}", "").Replace(vault)
	const metrics, health = "--metrics-bind-address=", "--health-bind-address="
	const webhook, host = "--webhook-config-server-port=10250", " --webhook-config-server-host="
	const every, other = " of all addresses, and so does ", "the extension in "
	for name, c := range map[string]struct {
		first, second string // args, with spaces between them
		seeds         int
		want          string // what is wrong with the first one; empty if both may run
	}{
		"each at its pod":      {metrics + "$(POD_IP):8080", metrics + "$(POD_IP):8080", 2, ""},
		"different ports":      {metrics + ":8080", metrics + ":8081", 1, ""},
		"one port":             {metrics + ":8080", health + "0.0.0.0:8080", 1, "8080" + every + other},
		"one at its pod":       {metrics + ":8080", metrics + "$(POD_IP):8080", 1, "8080" + every + other},
		"two seeds":            {metrics + "[::]:8080", "", 2, "8080" + every + "the same extension on another seed"},
		"the next word":        {"-metrics-bind-address :8080", metrics + "*:8080", 1, "8080" + every + other},
		"the last one counts":  {metrics + ":8080 " + metrics + "$(POD_IP):8080", "", 2, ""},
		"twice in one program": {metrics + ":8080 " + health + "$(POD_IP):8080", "", 1, "8080" + every + "spec.args[1]"},
		"webhooks":             {webhook, webhook, 1, "10250" + every + other},
		"a webhook at its pod": {webhook + host + "$(POD_IP)", "", 2, ""},
		"a URL at its pod":     {metrics + ":8080 --advertise=$(POD_IP):8080", "", 1, ""},
		"another's address":    {"--database=db:8080", "--database=db:8080", 2, ""},
		"any free port":        {metrics + ":0", metrics + ":0", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := thirdparty.Flag{Files: []string{extensionFile(t, vault+argsOf(c.first)),
				extensionFile(t, second+argsOf(c.second))}}
			extensions, err := given.Parse()
			if err != nil {
				t.Fatal(err)
			}
			err = thirdparty.CheckPorts(given.Files, extensions, c.seeds)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if place := given.Files[0] + ":9:5: spec.args[0]: listens at port "; err == nil ||
				!strings.HasPrefix(err.Error(), place+c.want) || !strings.Contains(err.Error(), "$(POD_IP), by args") {
				t.Errorf("error %v, want %q", err, place+c.want)
			}
		})
	}
}

// Args of an extension's file come after those of its chart, and win.
func TestCheckPorts_OfAChart_CountsWithTheArgsOfTheFile(t *testing.T) {
	t.Parallel()
	folder := chartWith(t, "")
	const metrics = "--metrics-bind-address=:8080"
	for args, want := range map[string]string{
		metrics: "spec.binary: listens at port 8080",
		metrics + " --metrics-bind-address=$(POD_IP):8080": "",
	} {
		given := thirdparty.Flag{Files: []string{extensionFile(t, vault+"  chart: "+folder+"\n"+argsOf(args))}}
		extensions, err := given.Parse()
		if err != nil {
			t.Fatal(err)
		}
		err = thirdparty.CheckPorts(given.Files, extensions, 2)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

package thirdparty

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// listener is a port that a program listens at, as its args say.
type listener struct {
	extension   int // whose program it is
	field, port string
	everywhere  bool // at all addresses, not at that of its pod alone
}

// CheckPorts finds programs that would listen at all addresses of one machine, at a port that another program has, too:
// another extension's, or their own on another seed. It sees what args say; what a program does by default it does not
// know. The extensions are those of the files, in their order.
func CheckPorts(files []string, extensions []landscape.Extension, seeds int) error {
	seed, err := scenario.SampleSeed(extensions...)
	if err != nil {
		return err
	}
	var all []listener
	for i, e := range extensions {
		found, err := listeners(e, seed)
		if err != nil {
			return err
		}
		for _, l := range found {
			l.extension = i
			all = append(all, l)
		}
	}
	var errs []error
	for i, l := range all {
		if other := sharing(files, all, i, seeds); other != "" {
			errs = append(errs, scenario.ExtensionMistake(files[l.extension], extensions[l.extension], l.field, fmt.Sprintf(
				"listens at port %s of all addresses, and so does %s: all pods of the embedded backend share the ports of this "+
					"machine; let it listen at the address of its pod alone, $(POD_IP), by args", l.port, other)))
		}
	}
	return errors.Join(errs...)
}

// sharing says who else wants the port of a listener at all addresses; empty for nobody.
func sharing(files []string, all []listener, i, seeds int) string {
	if !all[i].everywhere {
		return ""
	}
	for j, other := range all {
		switch {
		case i == j || other.port != all[i].port:
		case other.extension != all[i].extension:
			return "the extension in " + files[other.extension]
		default:
			return other.field
		}
	}
	if seeds > 1 {
		return "the same extension on another seed"
	}
	return ""
}

// ownPod is what stands for the address of a program's own pod.
const ownPod = "$(POD_IP)"

var (
	// address is one that a program may only listen at, but for that of its own pod, which may stand in a URL, too.
	address = regexp.MustCompile(`^(\$\(POD_IP\)|0\.0\.0\.0|\[::\]|\*|):([1-9]\d*)$`)
	// listens are the names of flags that take the address of a listener.
	listens = regexp.MustCompile(`bind|listen`)
	// webhookPort and webhookHost are the flags of Gardener's library, which has them apart.
	webhookPort, webhookHost = "--webhook-config-server-port", "--webhook-config-server-host"
)

// listeners of all containers of an extension.
func listeners(e landscape.Extension, seed *gardencorev1beta1.Seed) ([]listener, error) {
	if !e.HasChart() {
		return listenersOf(e.Args, func(arg int) string { return fmt.Sprintf("spec.args[%d]", arg) }), nil
	}
	installed, err := chart.Install(e, seed)
	if err != nil {
		return nil, fmt.Errorf("render the chart of extension %q: %w", e.Name, err)
	}
	var all []listener
	for _, c := range installed.Deployment.Spec.Template.Spec.Containers {
		args, field := append(c.Command, c.Args...), ""
		for _, program := range e.Containers {
			if program.Name == c.Name {
				args, field = append(args, program.Args...), program.Field
			}
		}
		all = append(all, listenersOf(args, func(int) string { return field })...)
	}
	return all, nil
}

// listenersOf a program with these args, of which the last of a flag counts.
func listenersOf(args []string, fieldOf func(arg int) string) []listener {
	type flag struct {
		value string
		arg   int
	}
	given, names := map[string]flag{}, []string{}
	for i, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "-") {
			continue
		}
		if !assigned && i+1 < len(args) {
			value = args[i+1]
		}
		if name = "--" + strings.TrimLeft(name, "-"); given[name].value == "" {
			names = append(names, name)
		}
		given[name] = flag{value, i}
	}
	var all []listener
	for _, name := range names {
		value := given[name].value
		if name == webhookPort {
			value = given[webhookHost].value + ":" + value
		}
		match := address.FindStringSubmatch(value)
		if match == nil || match[1] == ownPod && name != webhookPort && !listens.MatchString(name) {
			continue
		}
		all = append(all, listener{field: fieldOf(given[name].arg), port: match[2], everywhere: match[1] != ownPod})
	}
	return all
}

package fields_test

import (
	"go/types"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation/fields"
)

const (
	module = "github.com/transplant-sim/transplant/"
	wire   = module + "api/core/v1beta1"
)

// specs are the types of the specifications.
var specs = map[string]reflect.Type{
	"Shoot":        reflect.TypeFor[gardencorev1beta1.ShootSpec](),
	"CloudProfile": reflect.TypeFor[gardencorev1beta1.CloudProfileSpec](),
	"Seed":         reflect.TypeFor[gardencorev1beta1.SeedSpec](),
	"Project":      reflect.TypeFor[gardencorev1beta1.ProjectSpec](),
}

// controllers are the packages of the controllers, with their types. They are loaded once. The walk is for the cache of
// results: go, which lists the packages, is another process, so the cache would not see that there are more.
var controllers = sync.OnceValues(func() ([]*packages.Package, error) {
	walked := fs.WalkDir(os.DirFS("../.."), ".", func(_ string, _ fs.DirEntry, err error) error { return err })
	if walked != nil {
		return nil, walked
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	return packages.Load(&packages.Config{Mode: mode}, module+"controllers/...")
})

// reads are the fields of our types that controllers read, as Type.Field, outside of packages that only judge them.
func reads(t *testing.T, judges ...string) map[string]bool {
	t.Helper()
	loaded, err := controllers()
	if err != nil || packages.PrintErrors(loaded) > 0 {
		t.Fatalf("load the controllers: %v", err)
	}
	found := map[string]bool{}
	for _, one := range loaded {
		if slices.ContainsFunc(judges, func(path string) bool { return strings.HasPrefix(one.PkgPath, module+path) }) {
			continue
		}
		for _, selection := range one.TypesInfo.Selections {
			if selection.Kind() == types.FieldVal {
				addRead(found, selection)
			}
		}
	}
	return found
}

// addRead adds a field that is selected, and those embedded ones by way of which it is.
func addRead(found map[string]bool, selection *types.Selection) {
	of := selection.Recv()
	for _, index := range selection.Index() {
		if pointer, is := of.Underlying().(*types.Pointer); is {
			of = pointer.Elem()
		}
		structure, is := of.Underlying().(*types.Struct)
		if !is {
			return
		}
		if named, is := types.Unalias(of).(*types.Named); is && named.Obj().Pkg() != nil &&
			named.Obj().Pkg().Path() == wire {
			found[named.Obj().Name()+"."+structure.Field(index).Name()] = true
		}
		of = structure.Field(index).Type()
	}
}

// unread are the fields on the way to a value that no controller reads. Types of others are not looked into: whole is
// whether it has been seen to the end.
func unread(read map[string]bool, kind, path string) (missing []string, whole bool) {
	of := specs[kind]
	for _, name := range strings.Split(strings.TrimPrefix(path, "spec."), ".") {
		base := strings.NewReplacer("[]", "", "{}", "").Replace(name)
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of.PkgPath() != wire {
			return missing, false
		}
		chain, next := fieldChain(of, base)
		for _, one := range chain {
			if !read[one] {
				missing = append(missing, one)
			}
		}
		if next == nil {
			return missing, false
		}
		of = next
	}
	return missing, true
}

// fieldChain is a field of a type by its name on the wire, with those embedded ones by way of which it is there.
func fieldChain(of reflect.Type, name string) ([]string, reflect.Type) {
	for i := range of.NumField() {
		f := of.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return []string{of.Name() + "." + f.Name}, f.Type
		}
		if f.Anonymous && f.Type.PkgPath() == wire {
			if chain, next := fieldChain(f.Type, name); next != nil {
				return append([]string{of.Name() + "." + f.Name}, chain...), next
			}
		}
	}
	return nil, nil
}

// judges refuse values, and take settings out that a Kubernetes version does not have. Nothing else follows from that.
var judges = []string{"controllers/validation", "controllers/maintenance/sidechange"}

const imageRuntimes = "spec.machineImages[].versions[].cri[].containerRuntimes[].providerConfig"

// shared are fields without effect of a type that is read elsewhere.
var shared = map[string]string{
	"CloudProfile " + imageRuntimes: "that of a worker pool is read",
	"Seed spec.dns.internal.type":   "that of a default domain is read",
	"Seed spec.dns.internal.zone":   "that of a default domain is read",
}

// No controller reads a field with the warning that it has no effect.
func TestTables_FieldsWithoutEffect_AreNotRead(t *testing.T) {
	t.Parallel()
	read := reads(t, judges...)
	looked := 0
	for _, kind := range fields.Kinds() {
		for _, leaf := range fields.Leaves(kind) {
			row, _ := fields.Of(kind).Find(leaf.Path)
			if !strings.HasSuffix(row.Warning, "without effect here") {
				continue
			}
			looked++
			missing, whole := unread(read, kind, leaf.Path)
			isRead := whole && len(missing) == 0
			if _, known := shared[kind+" "+leaf.Path]; isRead != known {
				t.Errorf("%s %s is read by a controller: %t, and its warning says %s", kind, leaf.Path,
					isRead, row.Warning)
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d fields were looked at", looked)
	}
}

// settled are rows of fields that no controller reads, and that are not warned of.
var settled = map[string]string{
	"CloudProfile spec.providerConfig":           "extensions read it in the Cluster",
	"Seed spec.provider.providerConfig":          "extensions read it in the Cluster",
	"Seed spec.networks.ipFamilies[]":            "only what is the case anyway is accepted",
	"Shoot spec.provider.workers[].controlPlane": "it is refused",
}

// A controller reads every field without a warning, unless its row says why none needs to.
func TestTables_FieldsWithEffect_AreRead(t *testing.T) {
	t.Parallel()
	read := reads(t, judges...)
	judged := reads(t, judges[1]) // a profile acts by what is refused to its shoots
	for _, kind := range fields.Kinds() {
		for _, leaf := range fields.Leaves(kind) {
			row, _ := fields.Of(kind).Find(leaf.Path)
			if row.Warning != "" || strings.HasPrefix(row.Free, "descriptive") {
				continue
			}
			by := read
			if kind == "CloudProfile" {
				by = judged
			}
			missing, _ := unread(by, kind, leaf.Path)
			if _, known := settled[kind+" "+row.Path]; known != (len(missing) > 0) {
				t.Errorf("%s %s is not warned of; no controller reads %v", kind, leaf.Path, missing)
			}
		}
	}
}

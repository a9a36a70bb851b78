package fault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// GrowObject fills an object up to a size, with text that does not compress well. The heal takes the text out again.
type GrowObject struct {
	OneObject `json:",inline"`
	// Field that takes the text, data.growth when not given; one in the status is written as such.
	Field string `json:"field,omitempty"`
	// Size of the whole object as JSON, such as 1Mi.
	Size resource.Quantity `json:"size"`
}

var _ Fault = &GrowObject{}

// maxObject is less than what etcd takes as one request.
const maxObject = 1500 << 10

// Name is "growObject(cluster,object,size)".
func (g *GrowObject) Name() string {
	return fmt.Sprintf("growObject(%s,%s)", g.OneObject, g.Size.String())
}

// Check finds unknown clusters, and fields and sizes that no object can have.
func (g *GrowObject) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := g.checkObject(path, on)
	if size := g.Size.Value(); size < 1 || size > maxObject {
		errs = append(errs, field.Invalid(path.Child("size"), g.Size.String(),
			"must be from 1 to 1500Ki: etcd takes no more at once"))
	}
	if slices.Contains(strings.Split(g.field(), "."), "") {
		errs = append(errs, field.Invalid(path.Child("field"), g.Field,
			"must be names with a dot between each two, such as data.growth"))
	}
	return errs
}

// Inject grows the object, past whatever the controllers that own it do.
func (g *GrowObject) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	objects, err := g.connect(w)
	if err != nil {
		return world.Injection{}, err
	}
	begun, err := g.grow(ctx, objects)
	if g.isGone(err) {
		return nothingDone(), nil
	}
	if !begun { // it may have a field of this name of its own
		return world.Injection{}, err
	}
	heal := func(ctx context.Context) error {
		if err := g.patch(ctx, objects, nil); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
	return world.Injection{Heal: heal, Hits: func() int { return 1 }}, err // grow has seen it
}

// grow the object; it says whether it has begun to, also when it fails.
func (g *GrowObject) grow(ctx context.Context, objects dynamic.ResourceInterface) (begun bool, err error) {
	size, err := g.size(ctx, objects)
	if err != nil {
		return false, err
	}
	missing := int(g.Size.Value()) - size
	if missing <= 0 {
		return false, fmt.Errorf("grow %s: it has %d bytes already", g.Name(), size)
	}
	if err := g.patch(ctx, objects, g.padding(missing)); err != nil {
		return true, err // the API server may have done it
	}
	if size, err = g.size(ctx, objects); err == nil && int64(size) < g.Size.Value() {
		err = fmt.Errorf("grow %s: it has only %d bytes: the API server keeps no field %q", g.Name(), size, g.field())
	}
	return true, err
}

func (g *GrowObject) size(ctx context.Context, objects dynamic.ResourceInterface) (int, error) {
	object, err := objects.Get(ctx, g.Object, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("read what is to grow: %w", err)
	}
	content, err := object.MarshalJSON()
	return len(content), err
}

func (g *GrowObject) field() string {
	if g.Field == "" {
		return "data.growth"
	}
	return g.Field
}

// patch sets the field to a text, or removes it.
func (g *GrowObject) patch(ctx context.Context, objects dynamic.ResourceInterface, text any) error {
	names := strings.Split(g.field(), ".")
	for i := len(names) - 1; i >= 0; i-- {
		text = map[string]any{names[i]: text}
	}
	content, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("marshal the growth: %w", err)
	}
	var subresources []string
	if names[0] == "status" {
		subresources = []string{"status"}
	}
	if _, err := objects.Patch(ctx, g.Object, types.MergePatchType, content, metav1.PatchOptions{},
		subresources...); err != nil {
		return fmt.Errorf("patch the field %q of %s: %w", g.field(), g.Name(), err)
	}
	return nil
}

// padding is text of at least so many bytes, the same for every run. It is base64, which a Secret wants.
func (g *GrowObject) padding(n int) string {
	seed := fnv.New64a()
	_, _ = io.WriteString(seed, g.Name())
	random := rand.New(rand.NewPCG(seed.Sum64(), 0))
	raw := make([]byte, 3*((n+3)/4))
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}

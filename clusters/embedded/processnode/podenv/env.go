package podenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Objects finds what a pod refers to. A missing object is an apierrors.IsNotFound error.
type Objects interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
}

// Source is where the variables of one container come from.
type Source struct {
	Objects  Objects
	Pod      *corev1.Pod         // with its addresses in the status
	Services []corev1.EnvVar     // see Services; the weakest
	Node     corev1.ResourceList // what resourceFieldRef shows where no limit is set
}

// Environment is a container's variables, in the order in which they were first set.
type Environment struct {
	names  []string
	values map[string]string
}

// Lookup returns a variable's value; for Expand.
func (e *Environment) Lookup(name string) (string, bool) {
	value, known := e.values[name]
	return value, known
}

// Strings is KEY=value for each variable.
func (e *Environment) Strings() []string {
	out := make([]string, 0, len(e.names))
	for _, name := range e.names {
		out = append(out, name+"="+e.values[name])
	}
	return out
}

// Expand expands each text.
func (e *Environment) Expand(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, Expand(text, e.Lookup))
	}
	return out
}

// Default sets a variable that is not set yet.
func (e *Environment) Default(name, value string) {
	if _, known := e.values[name]; !known {
		e.set(name, value)
	}
}

func (e *Environment) set(name, value string) {
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// Of works out the environment of a container: services first, then envFrom, then env, the later winning. A value may
// refer to variables set before it. An error that wraps no API failure says that the pod asks for what is not there.
func (s Source) Of(ctx context.Context, container *corev1.Container) (*Environment, error) {
	e := &Environment{values: map[string]string{}}
	for _, variable := range s.Services {
		e.set(variable.Name, variable.Value)
	}
	for i := range container.EnvFrom {
		if err := s.addAll(ctx, e, &container.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range container.Env {
		variable := &container.Env[i]
		if variable.ValueFrom == nil {
			e.set(variable.Name, Expand(variable.Value, e.Lookup))
			continue
		}
		value, present, err := s.value(ctx, container, variable.ValueFrom)
		if err != nil {
			return nil, err
		}
		if present {
			e.set(variable.Name, value)
		}
	}
	return e, nil
}

func (s Source) addAll(ctx context.Context, e *Environment, from *corev1.EnvFromSource) error {
	data := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		configMap, err := s.Objects.ConfigMap(ctx, s.Pod.Namespace, from.ConfigMapRef.Name)
		if err != nil {
			return missing(err, "configmap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
		data = configMap.Data
	case from.SecretRef != nil:
		secret, err := s.Objects.Secret(ctx, s.Pod.Namespace, from.SecretRef.Name)
		if err != nil {
			return missing(err, "secret", from.SecretRef.Name, from.SecretRef.Optional)
		}
		for key, value := range secret.Data {
			data[key] = string(value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if name := from.Prefix + key; len(validation.IsRelaxedEnvVarName(name)) == 0 {
			e.set(name, data[key])
		}
	}
	return nil
}

func (s Source) value(ctx context.Context, container *corev1.Container, from *corev1.EnvVarSource) (value string,
	present bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = Field(s.Pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = Resource(s.Pod, container.Name, from.ResourceFieldRef, s.Node)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		secret, err := s.Objects.Secret(ctx, s.Pod.Namespace, ref.Name)
		if err != nil {
			return "", false, missing(err, "secret", ref.Name, ref.Optional)
		}
		content, ok := secret.Data[ref.Key]
		return s.keyed(string(content), ok, "Secret", ref.Name, ref.Key, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		configMap, err := s.Objects.ConfigMap(ctx, s.Pod.Namespace, ref.Name)
		if err != nil {
			return "", false, missing(err, "configmap", ref.Name, ref.Optional)
		}
		content, ok := configMap.Data[ref.Key]
		return s.keyed(content, ok, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	}
	return "", false, errors.New("the source of a variable is of a kind that this node does not know")
}

func (s Source) keyed(content string, ok bool, kind, name, key string, optional *bool) (string, bool, error) {
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, s.Pod.Namespace, name)
	}
	return content, ok, nil
}

// missing forgives the lack of an optional object.
func missing(err error, kind, name string, optional *bool) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the %s %q: %w", kind, name, err)
	}
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%s %q not found", kind, name)
}

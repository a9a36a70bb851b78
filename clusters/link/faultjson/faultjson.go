// Package faultjson is the form of faults in JSON: an object with a type, and with the fields of that type and no
// others. It does not know which types there are.
package faultjson

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal writes a fault whose Go type is its form in JSON, with its type in front.
func Marshal(kind string, plain any) ([]byte, error) {
	body, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"type":%q`, kind)
	if len(body) > len("{}") {
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}

// Unmarshal reads a fault whose Go type is its form in JSON, but for the type.
func Unmarshal[T any](data []byte) (T, error) {
	var none T
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return none, err
	}
	delete(fields, "type")
	rest, err := json.Marshal(fields)
	if err != nil {
		return none, err
	}
	return Strict[T](rest)
}

// Strict reads a value. Fields that its type does not have are an error.
func Strict[T any](data []byte) (T, error) {
	var value T
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&value)
	return value, err
}

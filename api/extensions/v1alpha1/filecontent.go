package v1alpha1

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Read returns what is in a file. The caller reads the data of a Secret; it is an error if the key is not among them.
// Machines here run no containers: for a file of an image, it is the reference to that file.
func (c FileContent) Read(secret func(name string) (map[string][]byte, error)) ([]byte, error) {
	switch {
	case c.Inline != nil && c.Inline.Encoding == "":
		return []byte(c.Inline.Data), nil
	case c.Inline != nil && c.Inline.Encoding == "b64":
		content, err := base64.StdEncoding.DecodeString(c.Inline.Data)
		if err != nil {
			return nil, fmt.Errorf("decode base64: %w", err)
		}
		return content, nil
	case c.SecretRef != nil:
		data, err := secret(c.SecretRef.Name)
		if err != nil {
			return nil, err
		}
		content, is := data[c.SecretRef.DataKey]
		if !is {
			return nil, fmt.Errorf("secret %q has no key %q", c.SecretRef.Name, c.SecretRef.DataKey)
		}
		return content, nil
	case c.ImageRef != nil:
		return []byte(c.ImageRef.Image + ":" + c.ImageRef.FilePathInImage), nil
	}
	return nil, errors.New("it has no content of a kind that is supported: inline (plain or b64), secretRef or imageRef")
}

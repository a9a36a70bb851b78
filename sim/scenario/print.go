package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Print writes a scenario as a file, its fields in the order of the types.
func Print(s *Scenario) ([]byte, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("marshal the scenario: %w", err)
	}
	// JSON is YAML in flow style: in block style it reads like a file that somebody wrote.
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("print the scenario: %w", err)
	}
	block(&document)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("print the scenario: %w", err)
	}
	return text.Bytes(), nil
}

func block(node *yaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		block(child)
	}
}

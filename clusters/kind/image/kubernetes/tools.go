//go:build tools

// Package main names two staging modules that no program imports, so that "go mod tidy" keeps their versions.
package main

import (
	_ "k8s.io/code-generator"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
)

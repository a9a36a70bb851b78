package imagebuild

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CopyTree copies files with their modes, but for who may write, and with the words replaced.
func CopyTree(from, to string, replace *strings.Replacer) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return CopyFile(path, filepath.Join(to, relative), mode, replace)
	})
}

// CopyFile copies one file; with replace, as text.
func CopyFile(from, to string, mode fs.FileMode, replace *strings.Replacer) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the folder of %q: %w", to, err)
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy a file: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("copy a file: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if replace == nil {
		_, err = io.Copy(target, source)
	} else {
		var content []byte
		if content, err = io.ReadAll(source); err == nil {
			_, err = replace.WriteString(target, string(content))
		}
	}
	if err != nil {
		return fmt.Errorf("copy the file %q: %w", from, err)
	}
	return target.Chmod(mode)
}

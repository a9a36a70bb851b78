// Package unpacked puts files that a program carries where other programs, and people, can read them: below the user's
// cache folder.
//
// It is not for files that somebody may change: what was changed is put right again.
package unpacked

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Folder is $XDG_CACHE_HOME/transplant/NAME/KEY, or the same below ~/.cache, with these files in it. The key is a hash
// of the files, so that two versions of a program do not disturb each other. Several programs may ask at once.
func Folder(name string, files fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w: set HOME or XDG_CACHE_HOME", err)
	}
	content, key, err := read(files)
	if err != nil {
		return "", fmt.Errorf("read the files of %s: %w", name, err)
	}
	folder := filepath.Join(cache, "transplant", name, key)
	for path, want := range content {
		at := filepath.Join(folder, filepath.FromSlash(path))
		if got, err := os.ReadFile(at); err == nil && bytes.Equal(got, want) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return "", fmt.Errorf("unpack the files of %s: %w", name, err)
		}
		if err := renameio.WriteFile(at, want, 0o444); err != nil {
			return "", fmt.Errorf("unpack the files of %s: %w", name, err)
		}
	}
	return folder, nil
}

// read all files, by path; their key has 16 hexadecimal digits.
func read(files fs.FS) (content map[string][]byte, key string, err error) {
	content, hash := map[string][]byte{}, sha256.New()
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if content[path], err = fs.ReadFile(files, path); err != nil {
			return err
		}
		// The length keeps the end of one file from passing for the beginning of the next.
		fmt.Fprintf(hash, "%s %d\n", path, len(content[path]))
		hash.Write(content[path])
		return nil
	})
	return content, hex.EncodeToString(hash.Sum(nil))[:16], err
}

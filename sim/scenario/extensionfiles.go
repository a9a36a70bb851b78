package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// maxFiles bounds the files of an extension in bytes, all together: they are one ConfigMap. maxManifest bounds a
// manifest; those of charts have hundreds of kilobytes.
const maxFiles, maxManifest = 1 << 19, 16 << 20

// from is a path as it is from a folder, a clean one.
func from(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// readFiles checks the files of an extension, and reads those that are copies into Content.
func readFiles(path *field.Path, files []landscape.ExtensionFile, folder string) field.ErrorList {
	var errs field.ErrorList
	size, seen := 0, map[string]bool{}
	for i := range files {
		file, at := &files[i], path.Index(i)
		errs = append(errs, checkFilePath(at.Child("path"), file.Path)...)
		if seen[file.Path] {
			errs = append(errs, twice(at.Child("path"), file.Path, leaveOne))
		}
		for other := range seen {
			if isBelow(file.Path, other) || isBelow(other, file.Path) {
				errs = append(errs, field.Invalid(at.Child("path"), file.Path, "is no file and a folder at once; see "+other))
			}
		}
		seen[file.Path] = true
		switch {
		case file.From != "" && file.Content != "":
			errs = append(errs, field.Forbidden(at.Child("content"), "there is a file to copy, too; give one of both"))
		case file.From != "":
			content, err := userfile.Read(from(folder, file.From), maxFiles)
			if err != nil {
				errs = append(errs, field.Invalid(at.Child("from"), file.From, reasonOf(err)))
			}
			file.Content = string(content)
		}
		size += len(file.Content)
	}
	if size > maxFiles {
		errs = append(errs, field.TooLong(path, "", maxFiles))
	}
	return errs
}

func checkFilePath(at *field.Path, path string) field.ErrorList {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return field.ErrorList{field.Invalid(at, path, "must be the absolute path of a file, such as /etc/my/config.yaml")}
	}
	if folder := landscape.Reserved(path); folder != "" {
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf(
			"the landscape puts files of its own into %s; take another folder", folder))}
	}
	return nil
}

func isBelow(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// reasonOf an error about a file that its field names already.
func reasonOf(err error) string {
	return err.Error() + "; the path is one from the folder of this file"
}

// readManifests reads the objects of the manifests.
func (e *ExtensionDeployment) readManifests(path *field.Path, folder string) field.ErrorList {
	var errs field.ErrorList
	e.Spec.Objects = nil
	for i, name := range e.Spec.Manifests {
		content, err := userfile.Read(from(folder, name), maxManifest)
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(i), name, reasonOf(err)))
			continue
		}
		objects, err := objectsOf(content)
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(i), name, err.Error()))
			continue
		}
		e.Spec.Objects = append(e.Spec.Objects, objects)
	}
	return errs
}

// objectsOf a manifest, at least one.
func objectsOf(content []byte) ([]*unstructured.Unstructured, error) {
	objects, err := chart.Objects(content)
	if err == nil && len(objects) == 0 {
		err = errors.New("has no object")
	}
	return objects, err
}

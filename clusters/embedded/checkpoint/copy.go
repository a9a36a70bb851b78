package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// isTransient reports whether a path in the folder of a landscape is of its processes only: who they are, what they
// listen on and have logged, and their programs.
func isTransient(path string) bool {
	first, rest, below := strings.Cut(path, "/")
	switch first {
	case ".transplant-landscape", "landscape.json", "ended", settledName, "processes.jsonl", "images", "logs",
		"supervisor.log", "supervisor.log.1":
		return true
	case "clusters":
		_, rest, _ = strings.Cut(rest, "/") // the cluster
		return below && strings.HasPrefix(rest, "logs/")
	}
	return false
}

// copyTree copies folders, files and symbolic links, with their modes and owners. It leaves out what skip says, and
// sockets, which are their processes'. It counts as count does.
func copyTree(ctx context.Context, from, to string, skip func(path string) bool) (files int, bytes int64, err error) {
	type folder struct {
		path string
		info fs.FileInfo
	}
	var folders []folder
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if skip(relative) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case info.IsDir():
			folders = append(folders, folder{target, info})
			return os.MkdirAll(target, 0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			err = copyLink(path, target)
		case info.Mode().IsRegular():
			err = copyFile(path, target)
		default:
			return nil
		}
		files, bytes = files+1, bytes+info.Size()
		return errors.Join(err, own(target, info))
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- { // at last: one may be closed to its owner
		err = own(folders[i].path, folders[i].info)
	}
	return files, bytes, err
}

// firstExpiry is when the first certificate in the files of a landscape expires, those among them that pods have
// mounted. Tokens live as long as its authorities do, or are made anew by a process node.
func firstExpiry(folder string) (first time.Time, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".crt" || !entry.Type().IsRegular() {
			return err
		}
		certificates, err := certutil.CertsFromFile(path)
		for _, c := range certificates {
			if first.IsZero() || c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		return err
	})
	return first, err
}

// count counts the files and links below a folder, and their bytes.
func count(folder string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	return files, bytes, err
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// block is what is left out where it holds nothing: etcd reserves more than it has written.
const block = 64 << 10

var zeros [block]byte

// copyFile copies what is in a file, and leaves holes where there are only zeros.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	size, buffer := int64(0), make([]byte, block)
	for err == nil {
		var n int
		n, err = io.ReadFull(source, buffer)
		if n > 0 && !bytes.Equal(buffer[:n], zeros[:n]) {
			if _, failed := target.WriteAt(buffer[:n], size); failed != nil {
				err = failed
			}
		}
		size += int64(n)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = target.Truncate(size)
	}
	return errors.Join(err, target.Close())
}

// own gives a file the mode of another one, and its owner: only root can give files to others.
func own(path string, like fs.FileInfo) error {
	if stat := like.Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		if err := os.Lchown(path, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if like.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	return os.Chmod(path, like.Mode()) // after the owner: a change of that takes away bits of the mode
}

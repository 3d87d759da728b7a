//go:build linux && (amd64 || arm64)

package crash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a stopped thread, seen through /proc: its memory, its open files
// and its working directory. What cannot be read, because a kill came between,
// reads as empty.
type process int

func (p process) proc(what string) string { return "/proc/" + strconv.Itoa(int(p)) + "/" + what }

// bytes are up to n bytes of the memory at address.
func (p process) bytes(address uint64, n int) []byte {
	memory, err := os.Open(p.proc("mem"))
	if err != nil {
		return nil
	}
	defer memory.Close()
	data := make([]byte, n)
	n, _ = memory.ReadAt(data, int64(address))
	return data[:n]
}

// words are n numbers of 64 bits at address.
func (p process) words(address uint64, n int) []uint64 {
	words, data := make([]uint64, n), p.bytes(address, 8*n)
	for i := range len(data) / 8 {
		words[i] = binary.NativeEndian.Uint64(data[8*i:])
	}
	return words
}

// text is the string at address, up to its zero byte.
func (p process) text(address uint64) string {
	const longest = 4096 // PATH_MAX
	text, _, _ := bytes.Cut(p.bytes(address, longest), []byte{0})
	return string(text)
}

// data are the bytes that a call is to write; nil where they are not in memory.
func (p process) data(f form, args arguments) (data []byte) {
	switch {
	case f.data > 0:
		return p.bytes(args.at(f.data), int(args.at(f.count)))
	case f.pieces > 0:
		for base, length := range p.pieces(f, args) {
			data = append(data, p.bytes(base, length)...)
		}
	}
	return data
}

// pieces yields address and length of each piece of a writev.
func (p process) pieces(f form, args arguments) func(yield func(uint64, int) bool) {
	return func(yield func(uint64, int) bool) {
		vector := p.words(args.at(f.pieces), 2*int(args.at(f.count)))
		for i := 0; i+1 < len(vector); i += 2 {
			if !yield(vector[i], int(vector[i+1])) {
				return
			}
		}
	}
}

// offset is where a write will begin: as it says, or at the file's end or position.
func (p process) offset(f form, args arguments) int64 {
	if f.atRef > 0 && args.at(f.atRef) != 0 {
		return int64(p.words(args.at(f.atRef), 1)[0])
	}
	if f.at > 0 && int64(args.at(f.at)) >= 0 {
		return int64(args.at(f.at))
	}
	fd := int32(args.at(f.fd))
	position, flags := p.position(fd)
	if flags&syscall.O_APPEND == 0 {
		return position
	}
	info, err := os.Stat(p.file(fd))
	if err != nil {
		return position
	}
	return info.Size()
}

func (p process) position(fd int32) (position, flags int64) {
	info, err := os.ReadFile(p.proc(fmt.Sprintf("fdinfo/%d", fd)))
	if err != nil {
		return 0, 0
	}
	_, _ = fmt.Sscanf(string(info), "pos: %d\nflags: %o", &position, &flags)
	return position, flags
}

// file is a path by which this process, too, can reach an open file.
func (p process) file(fd int32) string { return p.proc(fmt.Sprintf("fd/%d", fd)) }

// removed is what the kernel adds to the path of an open file that has lost that name.
const removed = " (deleted)"

// descriptor is the path of an open file, in dir where it has one there.
func (p process) descriptor(dir string, fd int32) string {
	link := p.file(fd)
	path, err := os.Readlink(link)
	if err != nil || !strings.HasSuffix(path, removed) || !within(dir, path) {
		return path
	}
	info, err := os.Stat(link)
	if err != nil {
		return path
	}
	return otherName(dir, path, info)
}

// otherName looks for a name of the file in dir; a hard link outlives the name
// by which a file was opened. Where there is none it returns path.
func otherName(dir, path string, file os.FileInfo) string {
	_ = filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && os.SameFile(info, file) {
			path = at
			return fs.SkipAll
		}
		return nil
	})
	return path
}

// base is the directory from which a path is taken.
func (p process) base(args arguments, argument int) string {
	const here = -100 // AT_FDCWD
	link := p.proc("cwd")
	if fd := int32(args.at(argument)); argument > 0 && fd != here {
		link = p.file(fd)
	}
	directory, _ := os.Readlink(link)
	return directory
}

// path is the absolute path that the text at address means from base.
func (p process) path(base string, address uint64, follow bool) string {
	path := p.text(address)
	if own, found := strings.CutPrefix(path, "/proc/self/"); found {
		path = p.proc(own)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	if follow {
		if end, err := filepath.EvalSymlinks(path); err == nil {
			return end
		}
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(directory, filepath.Base(path))
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// relative is the path as Call has it. A file without a name lies outside.
func relative(dir, path string) string {
	if path == dir {
		return "."
	}
	if strings.HasSuffix(path, removed) {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
	return strings.TrimPrefix(path, dir+"/")
}

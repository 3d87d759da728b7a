//go:build linux && (amd64 || arm64)

package crash

import (
	"os"
	"syscall"
)

// Further kinds, of calls after which files can change without one.
const (
	unseen    = "unseen"
	unseenMap = "unseen mapping" // of some files only
)

// form says where a system call has what. Arguments count from 1; 0 is none.
type form struct {
	kind string

	fd           int  // the open file that it changes
	dir, path    int  // the directory's descriptor and the path from there
	toDir, to    int  // the same for the second path
	text         int  // what a symlink shall hold
	follow       bool // a symlink at the path's end is followed
	noFollow     int  // flags that can forbid that (AT_SYMLINK_NOFOLLOW)
	flags, perm  int
	always       int // the flags of what takes none
	how          int // flags and mode in a struct (openat2)
	data, pieces int // the bytes, or an array of pieces of them (writev)
	count        int // how many bytes, or pieces
	at, atRef    int // the offset, or where it stands in memory
}

// forms has every call that changes files by a name or a descriptor.
var forms = map[string]form{
	"open":      {kind: Create, path: 1, flags: 2, perm: 3},
	"creat":     {kind: Create, path: 1, always: syscall.O_CREAT | syscall.O_TRUNC, perm: 2},
	"openat":    {kind: Create, dir: 1, path: 2, flags: 3, perm: 4},
	"openat2":   {kind: Create, dir: 1, path: 2, how: 3},
	"mknod":     {kind: Create, path: 1, always: syscall.O_CREAT | syscall.O_EXCL, perm: 2},
	"mknodat":   {kind: Create, dir: 1, path: 2, always: syscall.O_CREAT | syscall.O_EXCL, perm: 3},
	"mkdir":     {kind: Mkdir, path: 1, perm: 2},
	"mkdirat":   {kind: Mkdir, dir: 1, path: 2, perm: 3},
	"chmod":     {kind: Chmod, path: 1, follow: true, perm: 2},
	"fchmod":    {kind: Chmod, fd: 1, perm: 2},
	"fchmodat":  {kind: Chmod, dir: 1, path: 2, follow: true, perm: 3},
	"fchmodat2": {kind: Chmod, dir: 1, path: 2, follow: true, perm: 3, noFollow: 4},

	"write":           {kind: Write, fd: 1, data: 2, count: 3},
	"pwrite64":        {kind: Write, fd: 1, data: 2, count: 3, at: 4},
	"writev":          {kind: Write, fd: 1, pieces: 2, count: 3},
	"pwritev":         {kind: Write, fd: 1, pieces: 2, count: 3, at: 4},
	"pwritev2":        {kind: Write, fd: 1, pieces: 2, count: 3, at: 4},
	"sendfile":        {kind: Write, fd: 1, count: 4},
	"copy_file_range": {kind: Write, fd: 3, atRef: 4, count: 5},
	"splice":          {kind: Write, fd: 3, atRef: 4, count: 5},

	"truncate":        {kind: Truncate, path: 1, follow: true, at: 2},
	"ftruncate":       {kind: Truncate, fd: 1, at: 2},
	"fallocate":       {kind: Allocate, fd: 1, at: 3},
	"fsync":           {kind: Sync, fd: 1},
	"fdatasync":       {kind: Sync, fd: 1},
	"sync_file_range": {kind: Flush, fd: 1},
	"syncfs":          {kind: Sync},
	"sync":            {kind: Sync},

	"rename":    {kind: Rename, path: 1, to: 2},
	"renameat":  {kind: Rename, dir: 1, path: 2, toDir: 3, to: 4},
	"renameat2": {kind: Rename, dir: 1, path: 2, toDir: 3, to: 4, flags: 5},
	"link":      {kind: Link, path: 1, to: 2},
	"linkat":    {kind: Link, dir: 1, path: 2, toDir: 3, to: 4},
	"symlink":   {kind: Symlink, text: 1, path: 2},
	"symlinkat": {kind: Symlink, text: 1, dir: 2, path: 3},
	"unlink":    {kind: Remove, path: 1},
	"unlinkat":  {kind: Remove, dir: 1, path: 2},
	"rmdir":     {kind: Remove, path: 1},

	"mmap":           {kind: unseenMap, flags: 4},
	"io_uring_setup": {kind: unseen},
}

const (
	renameExchange = 2        // RENAME_EXCHANGE
	temporary      = 0x400000 // the bit of O_TMPFILE beside O_DIRECTORY
	noFollowAt     = 0x100    // AT_SYMLINK_NOFOLLOW
)

// arguments are those of a call, numbered as in form.
type arguments [6]uint64

func (a arguments) at(i int) uint64 {
	if i == 0 {
		return 0
	}
	return a[i-1]
}

// describe returns the call that a thread is about to make, and whether it
// changes what lies under the directory.
func (t *tracer) describe(p process, name string, f form, args arguments) (Call, bool) {
	call := Call{Kind: f.kind, Name: name, Perm: uint32(args.at(f.perm))}
	changes := true
	switch {
	case f.kind == unseen, f.kind == unseenMap:
		t.noteUnseen(p, name, f, args)
		return Call{}, false
	case f.kind == Create:
		flags := openFlags(p, f, &call, args)
		call.Path = p.path(p.base(args, f.dir), args.at(f.path), flags&(syscall.O_NOFOLLOW|syscall.O_EXCL) == 0)
		changes = opensToChange(&call, flags)
	case f.fd > 0:
		call.Path = p.descriptor(t.dir, int32(args.at(f.fd)))
	case f.path > 0:
		follow := f.follow && args.at(f.noFollow)&noFollowAt == 0
		call.Path = p.path(p.base(args, f.dir), args.at(f.path), follow)
	default:
		call.Path = t.dir
	}
	if f.to > 0 {
		call.To = p.path(p.base(args, f.toDir), args.at(f.to), false)
	}
	if !changes || !within(t.dir, call.Path) && !within(t.dir, call.To) {
		return Call{}, false
	}
	t.complete(p, f, args, &call)
	return call, true
}

// complete reads what only a call under the directory is worth reading for.
func (t *tracer) complete(p process, f form, args arguments, call *Call) {
	call.Path, call.To = relative(t.dir, call.Path), relative(t.dir, call.To)
	switch call.Kind {
	case Write:
		call.At = p.offset(f, args)
		call.Data = p.data(f, args)
	case Truncate, Allocate:
		call.At = int64(args.at(f.at))
	case Symlink:
		call.To = p.text(args.at(f.text))
	case Rename:
		if args.at(f.flags)&renameExchange != 0 {
			call.Kind = Exchange
		}
	}
}

// openFlags returns the flags with which a file is opened; mknod has none, and makes one or fails.
func openFlags(p process, f form, call *Call, args arguments) int {
	switch {
	case f.how > 0:
		how := p.words(args.at(f.how), 2)
		call.Perm = uint32(how[1])
		return int(how[0])
	case f.flags > 0:
		return int(args.at(f.flags))
	}
	return f.always
}

// opensToChange reports whether opening the file makes or empties it, and sets the kind.
func opensToChange(call *Call, flags int) bool {
	_, err := os.Lstat(call.Path)
	there := err == nil
	switch {
	case flags&temporary != 0:
		return true
	case flags&syscall.O_CREAT != 0 && !there:
		return true
	case flags&syscall.O_CREAT != 0 && flags&syscall.O_EXCL != 0:
		return false
	case flags&syscall.O_TRUNC != 0 && there:
		call.Kind, call.Perm = Truncate, 0
		return true
	}
	return false
}

// noteUnseen notes calls after which files can be changed without any, such as
// a mapping of a file under the directory that is shared and writable.
func (t *tracer) noteUnseen(p process, name string, f form, args arguments) {
	const protection, flags, file = 3, 4, 5
	if f.kind == unseen {
		t.run.addUnseen(name)
		return
	}
	writable, shared := args.at(protection)&syscall.PROT_WRITE != 0, args.at(flags)&syscall.MAP_SHARED != 0
	if writable && shared && args.at(flags)&syscall.MAP_ANON == 0 {
		if path := p.descriptor(t.dir, int32(args.at(file))); within(t.dir, path) {
			t.run.addUnseen(name + " of " + relative(t.dir, path))
		}
	}
}

//go:build amd64 || arm64

package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// programVariable names the program that this test binary is, started again by a test.
const programVariable = "CRASH_TEST_PROGRAM"

var programs = map[string]func() error{
	"publish": publish, "names": names, "forms": writeForms, "map": mapFile, "pipe": writePipe, "append": appendLines,
	"threads": threads, "family": family, "sleep": sleep, "signal": catchSignal,
}

// The programs run before package testing does anything.
func init() {
	program, found := programs[os.Getenv(programVariable)]
	if !found {
		return
	}
	if err := program(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// again is this binary as a program.
func again(program string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), programVariable+"="+program)
	return cmd
}

// publish replaces a file the careful way, beneath an os.Root.
func publish() error {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	file, err := root.OpenFile("sub/new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString("content")
	directory, err2 := root.Open("sub")
	return errors.Join(err, err2, file.Sync(), file.Close(), root.Rename("sub/new", "sub/file"), directory.Sync())
}

// names does what changes names and modes, and some calls that change nothing.
func names() error {
	file, err := os.OpenFile("file", os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	again, err := os.OpenFile("file", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = again.WriteString("ab")
	_, err2 := again.WriteString("cd")
	_, err3 := file.WriteAt([]byte("X"), 3)
	errs := []error{
		err, err2, err3, file.Truncate(3), file.Chmod(0o600),
		os.Mkdir("d", 0o700), os.Link("file", "d/link"), os.Symlink("nowhere", "../place-link/d/symlink"),
		os.Remove("file"), os.Rename("d/link", "d/renamed"), os.Remove("d/symlink"),
		os.WriteFile("../outside", []byte("unseen"), 0o600),
		os.Truncate("d/renamed", 1), os.Chmod("d/renamed", 0o640),
	}
	_, err = again.WriteString("ef") // by a descriptor whose own name is gone
	errs = append(errs, err, os.Remove("d/renamed"), os.Remove("d"))
	_, err = file.WriteString("g")
	return errors.Join(append(errs, err, again.Sync())...)
}

// writeForms writes with every call that has pieces or a source of its own, and prints the counts.
func writeForms() error {
	file, err := os.Create("file")
	if err != nil {
		return err
	}
	small, large := []byte("abcd"), []byte("0123456789")
	vector := func(number uintptr, offset uintptr, pieces ...[]byte) {
		list := make([]syscall.Iovec, len(pieces))
		for i := range pieces {
			list[i].Base = &pieces[i][0]
			list[i].SetLen(len(pieces[i]))
		}
		n, _, _ := syscall.Syscall6(number, file.Fd(), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), offset, 0, 0)
		fmt.Print(n, " ")
	}
	vector(syscall.SYS_WRITEV, 0, small, large)
	vector(syscall.SYS_WRITEV, 0, large, small)
	vector(syscall.SYS_PWRITEV, 20, large, small)
	n, err := syscall.Pwrite(int(file.Fd()), large, 40)
	fmt.Print(n, " ")
	source, err2 := os.Open("source")
	if err2 != nil {
		return err2
	}
	n, err2 = syscall.Sendfile(int(file.Fd()), int(source.Fd()), nil, 6)
	fmt.Print(n, " ")
	last, err3 := syscall.Sendfile(int(file.Fd()), int(source.Fd()), nil, 1)
	fmt.Print(last)
	return errors.Join(err, err2, err3)
}

// appendLines writes five lines with one call each, tells of errors, and goes on.
func appendLines() error {
	file, err := os.Create("lines")
	if err != nil {
		return err
	}
	for i := range 5 {
		line := fmt.Sprintf("line %d\n", i)
		n, err := syscall.Write(int(file.Fd()), []byte(line))
		fmt.Printf("%d %v\n", n, err)
	}
	return nil
}

// mapFile maps a file so that it can be written without a call.
func mapFile() error {
	file, err := os.OpenFile("file", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = syscall.Mmap(int(file.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return err
}

// writePipe writes to a full pipe. A signal breaks that off before the pipe is
// read, and the kernel makes the call again. It prints what was written in the end.
func writePipe() error {
	const size = 1 << 16
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		return err
	}
	pipe, err := syscall.Open("pipe", syscall.O_RDWR, 0)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	if _, err = syscall.Write(pipe, make([]byte, size)); err != nil {
		return err
	}
	writer := make(chan int)
	go func() {
		runtime.LockOSThread()
		writer <- syscall.Gettid()
		n, err := syscall.Write(pipe, []byte("tail"))
		fmt.Print(n, " ", err)
		close(writer)
	}()
	thread := <-writer
	for !asleep(thread) {
		runtime.Gosched()
	}
	_, _, errno := syscall.Syscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(thread), uintptr(syscall.SIGUSR1))
	<-signals
	_, err = syscall.Read(pipe, make([]byte, size))
	<-writer
	if errno != 0 {
		return errno
	}
	return err
}

func asleep(thread int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
	return err != nil || strings.Contains(string(stat), ") S ")
}

const perThread = 40

// threads appends to a file from two threads at once.
func threads() error {
	file, err := os.OpenFile("lines", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for name := range 2 {
		group.Go(func() {
			runtime.LockOSThread()
			for i := range perThread {
				if _, err := syscall.Write(int(file.Fd()), fmt.Appendf(nil, "%d %02d\n", name, i)); err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	group.Wait()
	return nil
}

// family starts a child in its group and one in a session of its own, tells
// their numbers and its own, changes a file, and waits for them.
func family() error {
	near, far := again("sleep"), again("sleep")
	far.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, child := range []*exec.Cmd{near, far} {
		output, err := child.StdoutPipe()
		if err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
			return err
		}
	}
	fmt.Println(os.Getpid(), near.Process.Pid, far.Process.Pid)
	return errors.Join(os.WriteFile("file", nil, 0o600), near.Wait(), far.Wait())
}

// sleep says that it is there, and never ends by itself.
func sleep() error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.ReadAll(reader)
	return errors.Join(err, writer.Close())
}

// catchSignal sends itself a signal and makes a file when it arrives.
func catchSignal() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR1)
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		return err
	}
	<-ctx.Done()
	return os.Mkdir("caught", 0o700)
}

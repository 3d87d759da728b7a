package command

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/tidwall/gjson"
)

// fate says when a process is killed: a time after an event of its life.
type fate struct {
	from  event
	after time.Duration
}

type event int

const (
	never event = iota
	atStart
	inLock   // it has got the lock
	atCommit // its line is in the log
	atAnswer // its answer was read
)

var spared = fate{}

// doom draws a fate. Most of those who are killed are to die between their
// first and their last write, which is a short part of a process's life.
// Of readers fewer are killed, because a reader that is gone tells nothing.
func (r *round) doom(random *rand.Rand, req request) fate {
	usual, kills := r.usual.Load(), r.kills
	if req.reads() {
		kills /= 10
	}
	if random.Float64() >= kills {
		return spared
	}
	switch random.IntN(6) {
	case 0:
		return fate{atStart, time.Duration(random.Int64N(2 * usual))}
	case 1:
		return fate{from: atAnswer}
	case 2, 3:
		return fate{inLock, time.Duration(random.Int64N(int64(20 * time.Millisecond)))}
	}
	return fate{atCommit, time.Duration(random.Int64N(int64(4 * time.Millisecond)))}
}

// victim is a process that is to be killed while it writes.
type victim struct {
	from  event
	log   int64 // how long the log was when it got the lock
	begin func()
}

// watchLock looks who holds the lock and how long the log is, again and again
// until over, and lets the fate of that process begin.
func (r *round) watchLock(over <-chan struct{}) {
	often := time.NewTicker(100 * time.Microsecond)
	defer often.Stop()
	for {
		select {
		case <-over:
			return
		case <-often.C:
		}
		holder, _ := os.ReadFile(filepath.Join(r.dir, storeName, "thread_relations.json.holder"))
		if found, is := r.doomed.Load(strings.TrimSpace(string(holder))); is && r.due(found.(*victim)) {
			r.doomed.Delete(strings.TrimSpace(string(holder)))
			found.(*victim).begin()
		}
	}
}

// due reports whether the event has come to the process that holds the lock.
func (r *round) due(v *victim) bool {
	if v.from == inLock {
		return true
	}
	length := r.logLength()
	if v.log == 0 {
		v.log = length
	}
	return length > v.log
}

func (r *round) logLength() int64 {
	names, _ := filepath.Glob(filepath.Join(r.dir, storeName, "ops", "*"))
	length := int64(0)
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			length += info.Size()
		}
	}
	return length
}

// sentence has a started process meet its fate, and returns how to take that back.
func (r *round) sentence(p *os.Process, f fate) (pardon func()) {
	timer := time.AfterFunc(math.MaxInt64, func() { _ = p.Kill() })
	holder := fmt.Sprintf("pid %d", p.Pid)
	switch f.from {
	case atStart:
		timer.Reset(f.after)
	case inLock, atCommit:
		r.doomed.Store(holder, &victim{from: f.from, begin: func() { timer.Reset(f.after) }})
	}
	return func() {
		r.doomed.Delete(holder)
		timer.Stop()
	}
}

// perform has a process do what is asked and meet its fate, and takes both
// into the history. An answer counts from the moment its line is read, not
// from the end of the process: what it tells is promised then.
func (r *round) perform(client int, req request, content []byte, f fate) {
	cmd := exec.Command("leslie", append(r.line(req), "--json")...)
	cmd.Dir, cmd.Stdin = r.dir, bytes.NewReader(content)
	stdout, err := cmd.StdoutPipe()
	call := time.Since(r.begun)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.Error(err)
		return
	}
	r.processes.Add(1)
	pardon := r.sentence(cmd.Process, f)
	line, unread := bufio.NewReader(stdout).ReadBytes('\n')
	end := time.Since(r.begun)
	if f.from == atAnswer {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	pardon()
	given := reply{unknown: unread != nil}
	switch shot := cmd.ProcessState.ExitCode() < 0; {
	case unread == nil:
		given = r.understand(req, line)
		r.answered(given, shot, end-call)
	case shot:
		r.killed.Add(1)
		end = time.Since(r.begun)
	default:
		r.Errorf("%v ended without an answer: %v, %q", cmd.Args, cmd.ProcessState, line)
	}
	r.keep(porcupine.Operation{ClientId: client, Input: req, Call: int64(call), Output: given, Return: int64(end)})
}

// answered counts a process that answered, just before it was shot or not.
func (r *round) answered(given reply, shot bool, took time.Duration) {
	switch {
	case given.busy():
		r.busy.Add(1)
	case shot:
		r.late.Add(1)
	default:
		r.usual.Store(int64(took))
	}
}

func (r *round) keep(operation porcupine.Operation) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.history = append(r.history, operation)
}

// line is the command line of a request.
func (r *round) line(req request) []string {
	line := append(strings.Fields(req.name), req.thread)
	switch {
	case req.name == "spawn":
		return []string{"spawn", "--id", req.thread, "--intent", r.intent}
	case strings.HasPrefix(req.name, "artifact"):
		return append(line, "docs/notes.md")
	}
	return line
}

// understand reads the one line of an answer.
func (r *round) understand(req request, line []byte) reply {
	answer := gjson.ParseBytes(line)
	if warnings := answer.Get("warnings").Raw; warnings != "[]" || !gjson.ValidBytes(line) {
		r.Errorf("%s warns: %s", describe(req, reply{}), warnings)
	}
	if failure := answer.Get("error"); failure.Exists() {
		return reply{code: failure.Get("code").Str, from: failure.Get("details.current").Str}
	}
	data := answer.Get("data")
	given := reply{from: data.Get("from").Str, status: data.Get("status").Str, revision: data.Get("revision").Int()}
	if req.name == "status" {
		given.status, given.revision = data.Get("thread.status").Str, data.Get("thread.revision").Int()
	}
	if strings.HasPrefix(req.name, "artifact") {
		given.content = r.nameOf(data)
	}
	return given
}

// nameOf returns the name of the content that an answer tells of.
func (r *round) nameOf(artifact gjson.Result) string {
	sum := artifact.Get("sha256").Str
	if content := artifact.Get("content"); content.Exists() && sha([]byte(content.Str)) != sum {
		return fmt.Sprintf("%d bytes that are not those of %s", len(content.Str), sum)
	}
	name, known := r.contents.Load(sum)
	if !known {
		return fmt.Sprintf("%d bytes that nobody wrote, %s", artifact.Get("bytes").Int(), sum)
	}
	return name.(string)
}

func sha(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// What one process after the other would have to answer about one thread and
// its one artifact, as CONTRACT has it. Every answer is fixed by those before
// it, so a history is right when the processes can be put into an order that
// keeps to the clock and gives each exactly the answer it gave.

// request is what a process was asked.
type request struct {
	name    string // of the command
	thread  string
	content string // what it puts
}

// reads reports whether it changes nothing.
func (r request) reads() bool { return r.name == "status" || r.name == "artifact get" }

// reply is what a process answered. Each command fills in what it tells.
type reply struct {
	unknown  bool // it was killed before it answered
	code     string
	from     string
	status   string
	revision int64
	content  string
}

// busy reports whether the lock was not to be had.
func (given reply) busy() bool { return given == reply{code: "T501"} }

// subject is the state of one thread; the zero subject does not exist.
type subject struct {
	status   string
	revision int64
	content  string // of its artifact, "" where there is none
}

// transitions are the states that an action leads to, by the state it leaves.
var transitions = map[string]map[string]string{
	"done":    {"active": "completed", "suspended": "completed"},
	"fail":    {"active": "failed", "suspended": "failed"},
	"cancel":  {"active": "cancelled", "suspended": "cancelled"},
	"suspend": {"active": "suspended"},
	"resume":  {"suspended": "active", "failed": "active"},
	"reopen":  {"completed": "active", "failed": "active", "cancelled": "active"},
}

// answer returns the one right answer to r, and the state it leaves.
func (s subject) answer(r request) (reply, subject) {
	switch {
	case r.name == "spawn" && s.status == "":
		return s.become("active").tell(reply{})
	case r.name == "spawn":
		return reply{code: "T103"}, s
	case s.status == "":
		return reply{code: "T101"}, s
	case r.name == "status":
		return s.tell(reply{})
	case r.name == "artifact put":
		s.content, s.revision = r.content, s.revision+1
		return reply{content: r.content, revision: s.revision}, s
	case transitions[r.name] == nil && s.content == "":
		return reply{code: "T110"}, s
	case r.name == "artifact get":
		return reply{content: s.content}, s
	case r.name == "artifact remove":
		gone := s.content
		s.content, s.revision = "", s.revision+1
		return reply{content: gone, revision: s.revision}, s
	}
	to, allowed := transitions[r.name][s.status]
	if !allowed {
		return reply{code: "T102", from: s.status}, s
	}
	return s.become(to).tell(reply{from: s.status})
}

func (s subject) become(status string) subject {
	s.status, s.revision = status, s.revision+1
	return s
}

// tell fills in what the record shows.
func (s subject) tell(r reply) (reply, subject) {
	r.status, r.revision = s.status, s.revision
	return r, s
}

var threadModel = (&porcupine.NondeterministicModel{
	Partition:         byThread,
	Init:              func() []any { return []any{subject{}} },
	Step:              func(state, input, output any) []any { return state.(subject).after(input.(request), output.(reply)) },
	DescribeOperation: func(input, output any) string { return describe(input.(request), output.(reply)) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// after returns the states that r can leave when it was given this answer. One
// without an answer has happened or has not; it cannot happen any more when the
// process is dead, because nobody else would put its line into the log. A
// writer that did not get the lock in its time has changed nothing.
func (s subject) after(r request, given reply) []any {
	right, next := s.answer(r)
	switch {
	case given.unknown:
		return []any{s, next}
	case given == right:
		return []any{next}
	case given.busy() && !r.reads():
		return []any{s}
	}
	return nil
}

// byThread takes a history apart, the threads in order of their ids.
func byThread(history []porcupine.Operation) [][]porcupine.Operation {
	of := map[string][]porcupine.Operation{}
	var ids []string
	for _, operation := range history {
		id := operation.Input.(request).thread
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], operation)
	}
	slices.Sort(ids)
	var partitions [][]porcupine.Operation
	for _, id := range ids {
		partitions = append(partitions, of[id])
	}
	return partitions
}

func describe(r request, given reply) string {
	line := strings.TrimSpace(r.name + " " + r.thread + " " + r.content)
	if given.unknown {
		return line + " -> killed"
	}
	line += " ->"
	for _, part := range []string{given.code, given.from, given.status, given.content} {
		if part != "" {
			line += " " + part
		}
	}
	if given.revision > 0 {
		line += fmt.Sprintf(" @%d", given.revision)
	}
	return line
}

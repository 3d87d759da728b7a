package errcodes

import (
	"slices"
	"strings"
)

// The rows stand in one file a module, sorted by code. They are composite
// literals that the compiler lays out as data: a process that meets no error
// spends nothing on the catalogue.

// rows returns the rows among which that of c would stand.
func rows(c Code) []Entry {
	switch {
	case len(c) != 4:
		return nil
	case c[0] == 'W':
		return warningRows
	case c[0] != 'T':
		return nil
	}
	switch c[1] {
	case '1':
		return threadRows
	case '2':
		return referenceRows
	case '3':
		return mergeRows
	case '4':
		return transferRows
	case '5':
		return storageRows
	case '6':
		return objectiveRows
	case '7':
		if c >= ProseSyntax {
			return proseRows
		}
		return taskRows
	case '8':
		if c >= SandboxEscape {
			return toolRows
		}
		return loopRows
	case '9':
		return systemRows
	}
	return nil
}

// find returns the row of c, nil where it is not declared.
func find(c Code) *Entry {
	module := rows(c)
	i, found := slices.BinarySearchFunc(module, c, func(e Entry, code Code) int {
		return strings.Compare(string(e.Code), string(code))
	})
	if !found {
		return nil
	}
	return &module[i]
}

// Catalogue returns every entry, errors first, then warnings, each sorted by
// code. The slice is the caller's own; what its entries point to is not.
func Catalogue() []Entry {
	return slices.Concat(threadRows, referenceRows, mergeRows, transferRows, storageRows, objectiveRows,
		taskRows, proseRows, loopRows, toolRows, systemRows, warningRows)
}

// Fields that many codes promise.
var (
	threadField    = Field{Name: "threadId", Type: "string", Doc: "the thread", In: "id"}
	objectiveField = Field{Name: "objectiveId", Type: "string", Doc: "the objective", In: "id"}
	loopField      = Field{Name: "loopId", Type: "string", Doc: "the loop", In: "id"}
	runField       = Field{Name: "runId", Type: "string", Doc: "the run of the program", In: "id"}
	mergeField     = Field{Name: "mergeId", Type: "string", Doc: "the merge", In: "id"}
	requestField   = Field{Name: "requestId", Type: "string", Doc: "the request for approval", In: "id"}
	nearestField   = Field{Name: "nearest", Type: "string[]", Doc: "the existing names that were perhaps meant, the likeliest first"}
	pathField      = Field{Name: "path", Type: "string", Doc: "the file"}
	reasonField    = Field{Name: "reason", Type: "string", Doc: "why"}
	problemField   = Field{Name: "problem", Type: "string", Doc: "what is wrong"}
	stderrField    = Field{Name: "stderr", Type: "string", Doc: "the end of what it wrote to standard error"}
	agentField     = Field{Name: "agent", Type: "string", Doc: "the agent, as it was given"}
	timeoutField   = Field{Name: "timeout", Type: "string", Doc: "the limit, such as 5m0s"}
	lineField      = Field{Name: "line", Type: "integer", Doc: "the line, from 1"}
	columnField    = Field{Name: "column", Type: "integer", Doc: "the column, from 1"}
	typeField      = Field{Name: "type", Type: "string", Doc: "TASK_FAILURE or RESOURCE_EXHAUSTION"}
	becauseField   = Field{Name: "reason", Type: "string", Doc: "the reason code of the failure"}
)

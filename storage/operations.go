package storage

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// Logged is one operation of the log, without the records it wrote.
type Logged struct {
	Seq         int64
	OperationID string
	Time        time.Time
	Operation   string
	Operator    string
	Actor       string
	Reason      string
	Keys        []string // of the records it wrote or deleted, sorted
	Paths       []string // of the files it changed
}

// Query selects operations of the log.
type Query struct {
	Since  string // the id of an operation; only later ones
	Before string // the id of an operation; only earlier ones
	Of     string // an id; only those that touched a record or file of it
	Limit  int    // how many, the latest; 0 for all
}

// Operations returns the operations that query selects, the newest last, and
// whether there are older ones that it selects too. Damaged parts of the log
// come back as W502 and leave the rest readable. Codes: T502, T505, T506, and
// T508 where Since or Before is no operation of the log.
func (s *Store) Operations(query Query) (list []Logged, more bool, warnings errcodes.Warnings, err error) {
	loaded, err := s.load()
	if err != nil {
		return nil, false, nil, err
	}
	loaded.close()
	warnings.Add(loaded.warnings...)
	within := window{Query: query, begun: query.Before == ""}
	for line, err := range s.backward(&warnings) {
		if err != nil {
			return nil, false, warnings, err
		}
		if within.ended(more) {
			break
		}
		if !within.shows(line) || !query.mayTouch(line) {
			continue
		}
		op := line.logged()
		switch {
		case op.isCheckpoint(): // nothing was done
		case !query.selects(op):
		case query.Limit > 0 && len(list) == query.Limit:
			more = true
		default:
			list = append(list, op)
		}
	}
	if id := within.missing(); id != "" {
		return nil, false, warnings, errcodes.OperationNotFound.With("operationId", id)
	}
	slices.Reverse(list)
	return list, more, warnings, nil
}

// window is the part of the log between the two operations of a query. It is
// told of them newest first: begun is that Before was passed, closed that
// Since was reached.
type window struct {
	Query
	begun, closed bool
}

// shows reports whether the next older operation lies within w.
func (w *window) shows(line opLine) bool {
	w.closed = w.closed || w.Since != "" && line.is(w.Since)
	within := w.begun && !w.closed
	w.begun = w.begun || line.is(w.Before)
	return within
}

// is reports whether the operation has this id. The log can be long, and few
// lines of it hold an id, so those are looked into.
func (o opLine) is(id string) bool {
	return bytes.Contains(o.text, []byte(id)) && gjson.GetBytes(o.text, "id").Str == id
}

// ended reports whether nothing older has to be looked at: more says that
// enough was found.
func (w *window) ended(more bool) bool {
	return w.begun && (w.closed || more && w.Since == "")
}

// missing returns the operation of the query that the log does not have, or "".
func (w *window) missing() string {
	switch {
	case !w.begun:
		return w.Before
	case !w.closed:
		return w.Since
	default:
		return ""
	}
}

// backward yields the operations of the log, the newest first.
func (s *Store) backward(warnings *errcodes.Warnings) iter.Seq2[opLine, error] {
	return func(yield func(opLine, error) bool) {
		numbers, err := generations(s.disk.Root)
		if err != nil {
			yield(opLine{}, cannotRead(opsPath, err))
			return
		}
		for _, number := range slices.Backward(numbers) {
			log, err := readSegment(s.disk.Root, number)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield(opLine{}, cannotRead(generationPath(number), err))
				return
			}
			for _, f := range log.faults {
				if !f.isTorn {
					warnings.Add(logDamage(generationPath(number), f, statePath+", which has its effect; the operation itself cannot be listed"))
				}
			}
			for _, line := range slices.Backward(log.lines) {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

// mayTouch is false where selects is, and needs not take the line apart: an
// id stands in a key or a path as it is.
func (q Query) mayTouch(line opLine) bool {
	return q.Of == "" || bytes.Contains(line.text, []byte(q.Of))
}

func (q Query) selects(op Logged) bool {
	if q.Of == "" {
		return true
	}
	touches := func(key string) bool { return slices.Contains(strings.Split(key, "/"), q.Of) }
	return slices.ContainsFunc(op.Keys, touches) || slices.ContainsFunc(op.Paths, touches)
}

// isCheckpoint reports whether the operation is a part of a checkpoint, which
// changes nothing and is not shown.
func (op Logged) isCheckpoint() bool {
	return op.Operation == checkpointName && op.Operator == "system"
}

// logged reads what the line says of its operation. Of a checkpoint only the
// records of that very operation count.
func (o opLine) logged() Logged {
	op := Logged{Seq: o.seq, Keys: []string{}, Paths: []string{}}
	gjson.ParseBytes(o.text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "id":
			op.OperationID = value.Str
		case "time":
			op.Time, _ = time.Parse(time.RFC3339Nano, value.Str)
		case "operation":
			op.Operation = value.Str
		case "operator":
			op.Operator = value.Str
		case "actor":
			op.Actor = value.Str
		case "reason":
			op.Reason = value.Str
		case "put":
			value.ForEach(func(key, record gjson.Result) bool {
				if _, _, seq, _ := body(record.Raw).bookkeeping(); seq == o.seq {
					op.Keys = append(op.Keys, key.Str)
				}
				return true
			})
		case "del":
			value.ForEach(func(_, deleted gjson.Result) bool {
				op.Keys = append(op.Keys, deleted.Str)
				return true
			})
		case "files":
			value.ForEach(func(_, file gjson.Result) bool {
				op.Paths = append(op.Paths, file.Get("path").Str)
				return true
			})
		}
		return true
	})
	slices.Sort(op.Keys)
	return op
}

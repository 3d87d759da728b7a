package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

// What an attacker writes has the right checksums.

// coded reads the store twice and writes to it: each time the answer is a
// result or has a code, and both readings are the same.
func coded(t testing.TB, s *Store, what string) {
	t.Helper()
	read := func() (string, error) {
		var all []string
		_, err := s.View(ctx, func(v *View) error {
			all = nil
			for record, err := range v.Scan("") {
				if err != nil {
					return err
				}
				all = append(all, fmt.Sprintf("%s %s r%d", record.Key, record.Value, record.Revision))
			}
			return nil
		})
		return strings.Join(all, "\n"), err
	}
	first, err := read()
	hasCode(t, what+": reading", err)
	if again, _ := read(); again != first {
		t.Errorf("%s: it reads %.200q and then %.200q", what, first, again)
	}
	_, _, _, err = s.Operations(Query{})
	hasCode(t, what+": its log", err)
	_, _, err = s.Update(ctx, Operation{Name: "put"}, func(tx *Tx) error {
		_, err := tx.Put("thread/new", item{})
		return err
	})
	hasCode(t, what+": writing", err)
	_, _, err = s.Repair(ctx, Operation{Name: "doctor"})
	hasCode(t, what+": repair", err)
}

func hasCode(t testing.TB, what string, err error) {
	t.Helper()
	var coded *errcodes.Error
	if err != nil && !errors.As(err, &coded) {
		t.Errorf("%s: an error without a code: %v", what, err)
	}
}

// hugeNumbers are what may stand where a number belongs.
var hugeNumbers = []string{"-1", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1e999", "1.5", `"7"`, "null", "[1]",
	"576460752303423486", "576460752303423487", "576460752303423488", "999999999999999999"}

func TestForgedNumbers(t *testing.T) {
	alone(t)
	_, fresh := forged(t)
	for _, member := range []string{"version", "seq", "generation", "offset", "count", "bytes"} {
		for _, value := range hugeNumbers {
			s := fresh(t)
			s.write(t, statePath, forgeHeader(s.file(t, statePath), member, value))
			coded(t, s, member+" "+value)
		}
	}
	for _, member := range []string{`{"seq":`, `"revision":`, `,"seq":`} {
		for _, value := range hugeNumbers {
			s := fresh(t)
			s.write(t, logPath, forgeLines(s.file(t, logPath), func(text string) string { return replaceNumber(text, member, value) }))
			s.write(t, statePath, nil)
			s.write(t, backupPath, nil)
			coded(t, s, "of the log: "+member+" "+value)
		}
	}
}

// forgeHeader puts value in the place of a number of a header, and gives it
// the right checksum and length.
func forgeHeader(state []byte, member, value string) []byte {
	end := bytes.Index(state, []byte(headerEnd))
	line := strings.TrimRight(string(state[:end]), " ")
	line = line[:strings.LastIndex(line, `,"crc"`)] + "}"
	line = string(seal([]byte(replaceNumber(line, `"`+member+`":`, value))))
	line = line[:len(line)-1]
	return append([]byte(line+strings.Repeat(" ", max(end-len(line), 0))), state[end:]...)
}

func replaceNumber(text, before, value string) string {
	at := strings.LastIndex(text, before)
	if at < 0 {
		return text
	}
	at += len(before)
	rest := strings.TrimLeft(text[at:], "0123456789")
	return text[:at] + value + rest
}

// forgeLines changes every line of a log but the first, and seals it again.
func forgeLines(log []byte, change func(string) string) []byte {
	var forged []byte
	for i, line := range bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if i > 0 {
			line = seal([]byte(change(string(line[:len(line)-checksumSize]) + "}")))
		}
		forged = append(append(forged, line...), '\n')
	}
	return forged
}

func TestForgedOperations(t *testing.T) {
	alone(t)
	template, fresh := forged(t)
	want, _ := contents(t, template)
	for _, members := range []string{
		`"put":{"../../x":{"revision":1,"seq":9}}`, `"put":{"thread/../../etc":{"revision":1,"seq":9}}`, `"put":{"a\u0000b":{"revision":1,"seq":9}}`,
		`"put":{"thread/x":{"name":"no bookkeeping"}}`, `"put":{"thread/x":7}`, `"put":7`, `"put":{"thread/x":{"a":[[[}],"revision":1,"seq":9}}`,
		`"put":{"thread/x":{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"revision":1,"seq":9}}`,
		`"del":["../x"]`, `"del":7`, `"del":[{"a":1}]`, `"checkpoint":false`, `"checkpoint":"yes"`,
		`"put":{"thread/x":{"revision":1,"seq":9}},"put":{"thread/x":{"a":1,"revision":2,"seq":9}}`,
		`"put":{"thread/x":{"revision":1,"seq":9}},"checkpoint":true`, `"checkpoint":false,"checkpoint":true`,
	} {
		for _, alone := range []bool{false, true} {
			s := fresh(t)
			log := s.file(t, logPath)
			line := seal([]byte(`{"seq":9,"id":"op-forged","time":"2026-02-09T16:00:00Z","operation":"x",` + members + `}`))
			s.write(t, logPath, append(append(log, line...), '\n'))
			if alone {
				s.write(t, statePath, nil)
				s.write(t, backupPath, nil)
			}
			if got, err := all(s); err == nil && members == `"checkpoint":false` && !maps.Equal(got, want) {
				t.Errorf("%s cleared the store: %v", members, got)
			} else if err == nil && strings.Contains(members, "put") && len(got) != len(want) {
				t.Errorf("%.60s was taken: %v", members, got)
			}
			coded(t, s, members)
		}
	}
}

// all reads every record.
func all(s *Store) (map[string]string, error) {
	got := map[string]string{}
	_, err := s.View(ctx, func(v *View) error {
		clear(got)
		for record, err := range v.Scan("") {
			if err != nil {
				return err
			}
			got[record.Key] = fmt.Sprintf("%s r%d", record.Value, record.Revision)
		}
		return nil
	})
	return got, err
}

// TestDeepNesting ends the process where a reader goes down by recursion.
func TestDeepNesting(t *testing.T) {
	alone(t)
	deep := bytes.Repeat([]byte("["), 12<<20)
	object := append([]byte(`{"version":1,"records":{"thread/x":`), deep...)
	for _, path := range []string{statePath, backupPath, logPath} {
		for _, data := range [][]byte{deep, object, append(seal(append(bytes.Clone(object), '}')), '\n')} {
			s, _ := seeded(t)
			s.write(t, path, data)
			coded(t, s, "deep "+path)
		}
	}
}

// TestMemoryIsBoundedByWhatIsValid puts a huge file in the place of each.
func TestMemoryIsBoundedByWhatIsValid(t *testing.T) {
	alone(t)
	const size, bound = 512 << 20, 96 << 20
	for _, path := range []string{statePath, backupPath, logPath} {
		s, _ := seeded(t)
		if err := os.Truncate(filepath.Join(s.path, path), size); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		coded(t, s, "huge "+path)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > bound {
			t.Errorf("%s of %d MB took %d MB", path, size>>20, used>>20)
		}
	}
}

func TestOperationThatNoReaderTakes(t *testing.T) {
	alone(t)
	s, want := seeded(t)
	log := s.file(t, logPath)
	_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
		_, err := tx.Put("thread/huge", item{Name: strings.Repeat("x", lineLimit)})
		return err
	})
	if !errors.Is(err, errcodes.WriteFailed) || !strings.Contains(fmt.Sprint(errcodes.Of(err).Detail("hint")), "smaller") {
		t.Errorf("got %.300v", err)
	}
	if got, _ := contents(t, s); !maps.Equal(got, want) || !bytes.Equal(log, s.file(t, logPath)) {
		t.Error("a refused operation left something")
	}
	_, _, err = s.Update(ctx, Operation{}, func(tx *Tx) error {
		_, err := tx.Put("thread/large", item{Name: strings.Repeat("x", lineLimit-1000)})
		return err
	})
	got, warnings := contents(t, s)
	if err != nil || len(got["thread/large"]) < lineLimit-1000 || len(warnings) > 0 {
		t.Errorf("the largest operation: %v %v", err, warnings)
	}
}

// TestCheckpointIsManyLines loses the log of a store of some megabytes: it
// begins again in lines of bounded length, which by themselves give all.
func TestCheckpointIsManyLines(t *testing.T) {
	s := newStore(t)
	_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
		for n := range 40 {
			if _, err := tx.Put(fmt.Sprintf("thread/t%02d", n), item{Name: strings.Repeat("x", 100_000)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.remove(t, opsPath)
	commit, _, err := s.Repair(ctx, Operation{Name: "doctor"})
	if err != nil {
		t.Fatal(err)
	}
	numbers, _ := generations(s.disk.Root)
	log, err := readSegment(s.disk.Root, numbers[0])
	if err != nil || len(log.lines) < 4 || len(log.faults) > 0 || log.lines[len(log.lines)-1].seq != commit.Seq {
		t.Fatalf("%v, %d lines, the commit is %d", err, len(log.lines), commit.Seq)
	}
	for i, line := range log.lines {
		if len(line.text) > checkpointShare+1000 || line.seq != log.before+int64(i)+1 {
			t.Errorf("line %d has %d bytes and is operation %d after %d", i, len(line.text), line.seq, log.before)
		}
	}
	list, _, _, err := s.Operations(Query{})
	if err != nil || len(list) != 1 || list[0].OperationID != commit.OperationID {
		t.Errorf("the log shows %v, %v", list, err)
	}
	before, _ := contents(t, s)
	put(t, s, "thread/t01", item{Name: "later"})
	s.write(t, statePath, nil)
	s.write(t, backupPath, nil)
	before["thread/t01"] = `{"name":"later"} r2`
	if got, _ := contents(t, s); !maps.Equal(got, before) {
		t.Errorf("the log alone gives %d records of %d", len(got), len(before))
	}
}

// TestCheckpointHoldsWhatWasBefore changes and deletes records in the very
// update that begins the log again.
func TestCheckpointHoldsWhatWasBefore(t *testing.T) {
	s, want := seeded(t)
	s.remove(t, opsPath)
	commit, _, err := s.Update(ctx, Operation{Name: "change"}, func(tx *Tx) error {
		if err := tx.Delete("thread/t3"); err != nil {
			return err
		}
		_, err := tx.Put("thread/t1", item{Name: "new"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := readSegment(s.disk.Root, 2)
	if err != nil || len(log.lines) != 2 {
		t.Fatal(err, log)
	}
	st := &state{overlay: map[string]body{}, seq: log.before}
	if err := st.replay(log.lines[:1]); err != nil {
		t.Fatal(err)
	}
	if len(st.overlay) != len(want) || !bytes.Contains(st.overlay["thread/t1"], []byte(`"changed"`)) {
		t.Errorf("the checkpoint holds %s", st.overlay)
	}
	list, _, _, err := s.Operations(Query{Of: "t1"})
	if err != nil || len(list) != 1 || list[0].Seq != commit.Seq || len(list[0].Keys) != 2 {
		t.Errorf("of t1: %v %v", list, err)
	}
	delete(want, "thread/t3")
	want["thread/t1"] = `{"name":"new"} r3`
	if got, _ := contents(t, s); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	verify(t, s)
}

// TestForgedPublication names files in the log that no operation may change,
// by the right hashes of what is there.
func TestForgedPublication(t *testing.T) {
	template, fresh := forged(t)
	want, _ := contents(t, template)
	outside := t.TempDir()
	for _, path := range []string{"../victim", "/etc/victim", backupPath, lockPath, statePath + ".x", "ops/9.jsonl", "objects/ab/cd", ".gitignore",
		"threads/../ops/9.jsonl", "linked/kept", "linked/x", "out/x", "threads/a\x00b", "staging/x", "damaged/x", "logs/x"} {
		for _, from := range []string{"", "x"} {
			s := fresh(t)
			if err := os.Mkdir(filepath.Join(s.path, "inner"), 0o755); err != nil {
				t.Fatal(err)
			}
			s.write(t, "inner/kept", []byte("kept"))
			for dir, target := range map[string]string{"linked": "inner", "out": outside} {
				if err := os.Symlink(target, filepath.Join(s.path, dir)); err != nil {
					t.Fatal(err)
				}
			}
			now, _ := s.sum(path)
			e := &entry{Seq: 9, ID: "op-forged", Operation: "x", Files: []File{{Path: path, From: from, Before: now, Mode: 0o4755}}}
			if from != "" {
				e.Files[0].After = strings.Repeat("a", 64)
			}
			s.publishForged(t, e)
			_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error { return nil })
			hasCode(t, path, err)
			if after, _ := s.sum(path); after != now {
				t.Errorf("%q from %q was changed: %v", path, from, err)
			}
			if got, err := all(s); err != nil || !maps.Equal(got, want) {
				t.Errorf("%q: %v %v", path, got, err)
			}
			if found, _ := filepath.Glob(filepath.Join(outside, "*")); len(found) > 0 {
				t.Errorf("%q: something was written outside: %v", path, found)
			}
		}
	}
}

// publishForged leaves the store as after a crash between the commit of e and
// its publication.
func (s *Store) publishForged(t *testing.T, e *entry) {
	t.Helper()
	line, err := e.line(logPath)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, logPath, append(s.file(t, logPath), line...))
	if err := os.MkdirAll(filepath.Join(s.path, stagingPath, e.ID), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(t, stagedPath(e.ID, 0), []byte("forged"))
}

func TestMissingOfForgedNumbers(t *testing.T) {
	if got := missing(map[int64]bool{2: true, 5: true}, largestNumber); got != "1, 3 to 4, 6 to 576460752303423487, all after 576460752303423487, if there were any" {
		t.Error(got)
	}
}

package storage

import (
	"bytes"
	"os"
	"testing"
)

// fuzzFile puts arbitrary bytes in the place of one file of a store whose
// other files are whole: the answer is the right records or a refusal.
func fuzzFile(f *testing.F, path string) {
	s, want := seeded(f)
	whole := s.file(f, path)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.ReplaceAll(whole, []byte(","), []byte(" ,\n")))
	f.Add([]byte(`{"version":1,"seq":99,"generation":7,"offset":3,"count":0,"bytes":9,"sorted":true,"crc":"00000000","records":{}}`))
	f.Add(bytes.Repeat([]byte("["), 100_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		s.write(t, path, data)
		expect(t, s, want, "fuzzed "+path, false)
	})
}

func FuzzState(f *testing.F) { fuzzFile(f, statePath) }

func FuzzBackup(f *testing.F) { fuzzFile(f, backupPath) }

func FuzzLog(f *testing.F) { fuzzFile(f, logPath) }

// forged returns a function that makes stores of the same few records,
// whose files nobody waits for to be durable.
func forged(t testing.TB) (template *Store, fresh func(testing.TB) *Store) {
	template, _ = seeded(t)
	return template, func(t testing.TB) *Store {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(template.path)); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		s.disk.Intercept = func(change *Change, do func() error) error {
			if change.Call == "sync" {
				return nil
			}
			return do()
		}
		return s
	}
}

// FuzzForgedLog gives arbitrary lines of the log the right checksums: every
// command on that store has an answer with a code, and reads it the same twice.
func FuzzForgedLog(f *testing.F) {
	template, fresh := forged(f)
	for line := range bytes.Lines(template.file(f, logPath)) {
		f.Add(append(bytes.Clone(line[:len(line)-1-checksumSize]), '}'), true)
	}
	f.Add([]byte(`{"seq":9,"id":"op-x","put":{"../x":{"revision":1,"seq":9}},"del":[7],"checkpoint":true}`), false)
	f.Fuzz(func(t *testing.T, line []byte, alone bool) {
		if len(line) == 0 || bytes.IndexByte(line, '\n') >= 0 {
			t.Skip()
		}
		s := fresh(t)
		s.write(t, logPath, append(s.file(t, logPath), append(seal(line), '\n')...))
		if alone {
			s.write(t, statePath, nil)
			s.write(t, backupPath, nil)
		}
		coded(t, s, "forged log")
	})
}

// FuzzForgedState does the same with the header and one record of the state file.
func FuzzForgedState(f *testing.F) {
	f.Add("seq", "9", []byte(`"thread/x":{"revision":1,"seq":9}`))
	f.Add("count", "-1", []byte(`"../x":{"a":1,"revision":1,"seq":576460752303423487}`))
	f.Add("generation", "576460752303423487", []byte(`"thread/t0":{"a":1,"revision":576460752303423487,"seq":1}`))
	_, fresh := forged(f)
	f.Fuzz(func(t *testing.T, member, value string, record []byte) {
		s := fresh(t)
		whole := s.file(t, statePath)
		if len(record) > 0 {
			at := bytes.Index(whole, []byte(headerEnd)) + len(headerEnd)
			whole = append(append(bytes.Clone(whole[:at]), append(seal(bytes.Clone(record)), ",\n"...)...), whole[at:]...)
		}
		s.write(t, statePath, forgeHeader(whole, member, value))
		coded(t, s, "forged state")
	})
}

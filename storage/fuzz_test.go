package storage

import (
	"bytes"
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

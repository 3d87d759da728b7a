package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

const logPath = "ops/1.jsonl"

// seeded returns a store with a few records, one of them changed and one
// deleted, and what it holds.
func seeded(t testing.TB) (*Store, map[string]string) {
	t.Helper()
	s := newStore(t)
	for n := range 6 {
		put(t, s, fmt.Sprintf("thread/t%d", n), item{Name: fmt.Sprint("name ", n)})
	}
	put(t, s, "thread/t1", item{Name: "changed"})
	s.Update(ctx, Operation{Name: "drop"}, func(tx *Tx) error { return tx.Delete("thread/t2") })
	all, _ := contents(t, s)
	return s, all
}

func (s *Store) remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.path, path)); err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte.
func flip(data []byte, at int) []byte {
	changed := bytes.Clone(data)
	changed[at] ^= 0x15
	return changed
}

var damages = map[string]func(data []byte) []byte{
	"empty":       func([]byte) []byte { return nil },
	"truncated":   func(d []byte) []byte { return d[:len(d)/2] },
	"zero-filled": func(d []byte) []byte { return make([]byte, len(d)) },
	"garbage":     func(d []byte) []byte { return []byte("\x00garbage{{{\n\xff\xfe") },
	"flipped":     func(d []byte) []byte { return flip(d, len(d)*2/3) },
	"no record":   func(d []byte) []byte { return []byte("{}") },
	"other JSON":  func(d []byte) []byte { return []byte(`[1,2,3]`) },
}

func TestDamagedStateIsRecovered(t *testing.T) {
	for name, damage := range damages {
		for _, alsoBackup := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s backup too %v", name, alsoBackup), func(t *testing.T) {
				s, want := seeded(t)
				s.write(t, statePath, damage(s.file(t, statePath)))
				source := backupPath
				if alsoBackup {
					s.write(t, backupPath, damage(s.file(t, backupPath)))
					source = opsPath
				}
				damaged := s.file(t, statePath)
				got, warnings := contents(t, s)
				if !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if len(warnings) != 1 || warnings[0].Code != errcodes.Recovered || fmt.Sprint(warnings[0].Context) != fmt.Sprint(errcodes.Recovered.Warn("path", statePath, "source", source).Context) {
					t.Errorf("warnings %v", warnings)
				}
				if !bytes.Equal(damaged, s.file(t, statePath)) {
					t.Error("reading has written")
				}
				if _, warnings := put(t, s, "thread/new", item{Name: "n"}); len(warnings) != 1 {
					t.Errorf("the write that repairs said %v", warnings)
				}
				want["thread/new"] = `{"name":"n"} r1`
				if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) > 0 {
					t.Errorf("after the next write: %v %v", got, warnings)
				}
				put(t, s, "thread/new", item{Name: "n"})
				verify(t, s)
			})
		}
	}
}

func TestMissingStateIsRecovered(t *testing.T) {
	s, want := seeded(t)
	s.remove(t, statePath)
	if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) != 1 {
		t.Errorf("got %v %v", got, warnings)
	}
	if created, err := Init(ctx, s.path, Options{}); created || err != nil {
		t.Errorf("Init over a recoverable store: %v %v", created, err)
	}
}

func TestCorruptStateNeverBecomesTheBackup(t *testing.T) {
	s, _ := seeded(t)
	good := s.file(t, backupPath)
	s.write(t, statePath, []byte("garbage"))
	put(t, s, "thread/new", item{})
	if !bytes.Equal(good, s.file(t, backupPath)) {
		t.Error("the backup changed although the state was corrupt")
	}
}

func TestDamagedLogIsNamedAndStateServes(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s, want := seeded(t)
			s.write(t, logPath, damage(s.file(t, logPath)))
			got, warnings := contents(t, s)
			if !maps.Equal(got, want) || len(warnings) == 0 || warnings[0].Code != errcodes.Recovered {
				t.Fatalf("got %v %v", got, warnings)
			}
			if context := fmt.Sprint(warnings[0].Context); !strings.Contains(context, logPath) {
				t.Errorf("the warning does not name the log: %s", context)
			}
			put(t, s, "thread/new", item{})
			if got, warnings := contents(t, s); len(got) != len(want)+1 || len(warnings) > 0 {
				t.Errorf("after the next write: %v %v", got, warnings)
			}
			s.write(t, statePath, nil)
			s.write(t, backupPath, nil)
			if got, _ := contents(t, s); len(got) != len(want)+1 {
				t.Errorf("the log alone gives %v", got)
			}
		})
	}
}

func TestDamagedLineOfTheLogHasItsPlace(t *testing.T) {
	s, _ := seeded(t)
	data := s.file(t, logPath)
	lines := bytes.SplitAfter(data, []byte("\n"))
	begin := len(lines[0]) + len(lines[1]) + len(lines[2])
	s.write(t, logPath, flip(data, begin+30))
	_, warnings := contents(t, s)
	want := errcodes.Recovered.Warn("path", logPath, "source", statePath, "line", 4, "bytes", fmt.Sprintf("%d-%d", begin, begin+len(lines[3])))
	if len(warnings) != 1 || fmt.Sprint(warnings[0]) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", warnings, want)
	}
}

func TestAllThreeDamaged(t *testing.T) {
	for name, damage := range damages {
		if name == "empty" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, _ := seeded(t)
			history := string(s.file(t, logPath))
			files := map[string][]byte{}
			for _, path := range []string{statePath, backupPath, logPath} {
				files[path] = damage(s.file(t, path))
				s.write(t, path, files[path])
			}
			_, err := s.View(ctx, func(v *View) error {
				for _, err := range v.Scan("") {
					if err != nil {
						return err
					}
				}
				return nil
			})
			if coded := errcodes.Of(err); coded.Code != errcodes.StoreCorrupted || coded.Detail("recovery") == nil {
				t.Fatalf("View: %v", err)
			}
			_, _, err = s.Update(ctx, Operation{}, func(tx *Tx) error { _, err := tx.Put("a/1", item{}); return err })
			if !errors.Is(err, errcodes.StoreCorrupted) {
				t.Errorf("Update: %v", err)
			}
			if created, err := Init(ctx, s.path, Options{}); created || name != "flipped" && !errors.Is(err, errcodes.StoreCorrupted) {
				t.Errorf("Init: %v %v", created, err)
			}
			for path, data := range files {
				if !bytes.Equal(data, s.file(t, path)) {
					t.Errorf("%s was changed", path)
				}
			}
			commit, warnings, err := s.Repair(ctx, Operation{Name: "doctor"})
			if err != nil || commit.OperationID == "" || len(warnings) == 0 {
				t.Fatalf("Repair: %v %v %v", commit, warnings, err)
			}
			got, warnings := contents(t, s)
			for key, value := range got {
				if text, _, _ := strings.Cut(value, "} r"); !strings.Contains(history, `"`+key+`":`+text) {
					t.Errorf("salvaged %s %s, which was never written", key, value)
				}
			}
			kept, _ := filepath.Glob(filepath.Join(s.path, damagedPath, "*", statePath))
			if len(kept) != 1 || len(warnings) > 0 {
				t.Errorf("kept %v, warnings %v", kept, warnings)
			}
			put(t, s, "thread/new", item{})
		})
	}
}

func TestSalvageTakesLinesOfWhatIsStillJSON(t *testing.T) {
	s, want := seeded(t)
	s.write(t, statePath, bytes.Replace(s.file(t, statePath), []byte(`"records"`), []byte(`"recordz"`), 1))
	s.write(t, backupPath, nil)
	s.write(t, logPath, flip(s.file(t, logPath), 200))
	if _, err := s.View(ctx, func(*View) error { return nil }); !errors.Is(err, errcodes.StoreCorrupted) {
		t.Fatalf("View: %v", err)
	}
	if _, _, err := s.Repair(ctx, Operation{Name: "doctor"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := contents(t, s); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEmptyLogBesideFilesIsNotAnEmptyStore(t *testing.T) {
	s := newStore(t)
	s.remove(t, statePath)
	s.remove(t, backupPath)
	if _, err := s.View(ctx, func(*View) error { return nil }); !errors.Is(err, errcodes.NoStore) {
		t.Errorf("a store in the making: %v", err)
	}
	if err := os.Mkdir(filepath.Join(s.path, "threads"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(ctx, func(*View) error { return nil }); !errors.Is(err, errcodes.StoreCorrupted) {
		t.Errorf("a store that has lost everything: %v", err)
	}
	if created, err := Init(ctx, s.path, Options{}); created || !errors.Is(err, errcodes.StoreCorrupted) {
		t.Errorf("Init over it: %v %v", created, err)
	}
}

func TestRewrittenByAnotherProgram(t *testing.T) {
	s, want := seeded(t)
	pretty := bytes.ReplaceAll(bytes.ReplaceAll(s.file(t, statePath), []byte(`":`), []byte(`" : `)), []byte(`,"`), []byte(",\n  \""))
	s.write(t, statePath, pretty)
	if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) > 0 {
		t.Errorf("reformatted: %v %v", got, warnings)
	}
	put(t, s, "thread/t0", item{Name: "again"})
	if _, err := readFrameAt(s, statePath); err != nil {
		t.Errorf("the next write did not put it in order: %v", err)
	}
	put(t, s, "thread/t0", item{Name: "again"})
	verify(t, s)
}

func TestMembersAddedByAnotherProgramAreKept(t *testing.T) {
	s, want := seeded(t)
	data := bytes.Replace(s.file(t, statePath), []byte(`{"name":"name 3"`), []byte(`{"mine":[1, 2],"name":"name 3"`), 1)
	data = bytes.Replace(data, []byte(`"sorted":true`), []byte(`"sorted":true,"note":"by hand"`), 1)
	s.write(t, statePath, data)
	got, warnings := contents(t, s)
	if len(warnings) > 0 || got["thread/t3"] != `{"name":"name 3","mine":[1,2]} r1` {
		t.Errorf("got %v %v", got["thread/t3"], warnings)
	}
	put(t, s, "thread/t4", item{Name: "other"})
	put(t, s, "thread/t3", item{Name: "written"})
	want["thread/t3"], want["thread/t4"] = `{"name":"written","mine":[1,2]} r2`, `{"name":"other"} r2`
	if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) > 0 {
		t.Errorf("after writes: %v %v", got, warnings)
	}
	if !bytes.Contains(s.file(t, statePath), []byte(`"note":"by hand"`)) {
		t.Error("the header lost a member")
	}
	s.write(t, statePath, nil)
	s.write(t, backupPath, nil)
	if got, _ := contents(t, s); !maps.Equal(got, want) {
		t.Errorf("from the log: %v", got)
	}
}

func TestValuesChangedByHandAreNotBelieved(t *testing.T) {
	s, want := seeded(t)
	s.write(t, statePath, bytes.Replace(s.file(t, statePath), []byte("name 3"), []byte("forged by an editor"), 1))
	if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) != 1 {
		t.Errorf("got %v %v", got, warnings)
	}
}

func TestNewerSchemaIsUntouched(t *testing.T) {
	s, _ := seeded(t)
	for _, version := range []string{"2", "99"} {
		data := bytes.Replace(s.file(t, statePath), []byte(`"version":1`), []byte(`"version":`+version), 1)
		s.write(t, statePath, data)
		_, err := s.View(ctx, func(*View) error { return nil })
		if !errors.Is(err, errcodes.NewerSchema) {
			t.Errorf("View: %v", err)
		}
		if _, _, err := s.Update(ctx, Operation{}, func(*Tx) error { return nil }); !errors.Is(err, errcodes.NewerSchema) {
			t.Errorf("Update: %v", err)
		}
		if _, err := Init(ctx, s.path, Options{}); !errors.Is(err, errcodes.NewerSchema) {
			t.Errorf("Init: %v", err)
		}
		if !bytes.Equal(data, s.file(t, statePath)) {
			t.Error("the state was changed")
		}
		s.write(t, statePath, bytes.Replace(data, []byte(`"version":`+version), []byte(`"version":1`), 1))
	}
}

func TestTornTailIsCutByTheNextWrite(t *testing.T) {
	s, want := seeded(t)
	data := s.file(t, logPath)
	s.write(t, logPath, append(data, `{"seq":9,"id":"op-torn","time":"2026`...))
	if got, warnings := contents(t, s); !maps.Equal(got, want) || len(warnings) > 0 {
		t.Errorf("got %v %v", got, warnings)
	}
	put(t, s, "thread/new", item{})
	if bytes.Contains(s.file(t, logPath), []byte("op-torn")) {
		t.Error("the torn line is still there")
	}
	verify(t, s)
}

// expect reads the store and accepts the right records, told as recovered
// where tell is set, or a refusal.
func expect(t testing.TB, s *Store, want map[string]string, what string, tell bool) {
	t.Helper()
	got := map[string]string{}
	warnings, err := s.View(ctx, func(v *View) error {
		clear(got)
		for record, err := range v.Scan("") {
			if err != nil {
				return err
			}
			got[record.Key] = fmt.Sprintf("%s r%d", record.Value, record.Revision)
		}
		return nil
	})
	switch {
	case errors.Is(err, errcodes.StoreCorrupted), errors.Is(err, errcodes.NewerSchema):
	case err != nil:
		t.Errorf("%s: %v", what, err)
	case !maps.Equal(got, want):
		t.Errorf("%s: wrong data %v, want %v (%v)", what, got, want, warnings)
	case tell && len(warnings) == 0:
		t.Errorf("%s: answered with silence", what)
	}
}

func TestOtherThingsInThePlaceOfFiles(t *testing.T) {
	replace := map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
	}
	for kind, make := range replace {
		for _, path := range []string{statePath, backupPath, logPath, opsPath, lockPath} {
			if kind == "directory" && path == opsPath {
				continue
			}
			t.Run(kind+" "+path, func(t *testing.T) {
				s, _ := seeded(t)
				s.remove(t, path)
				if err := make(filepath.Join(s.path, path)); err != nil {
					t.Fatal(err)
				}
				_, _, err := s.Update(ctx, Operation{}, func(tx *Tx) error {
					_, err := tx.Put("a/1", item{})
					return err
				})
				if !errors.Is(err, errcodes.WriteFailed) || !strings.Contains(errcodes.Of(err).Detail("hint").(string), "Move away") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

func TestDamagedBackupIsToldAndReplaced(t *testing.T) {
	s, want := seeded(t)
	s.write(t, backupPath, []byte("junk"))
	got, warnings := contents(t, s)
	if !maps.Equal(got, want) || len(warnings) != 1 || fmt.Sprint(warnings[0].Context) != fmt.Sprint(errcodes.Recovered.Warn("path", backupPath, "source", statePath).Context) {
		t.Errorf("got %v %v", got, warnings)
	}
	put(t, s, "thread/new", item{})
	if _, warnings := contents(t, s); len(warnings) > 0 {
		t.Errorf("after the next write: %v", warnings)
	}
	verify(t, s)
}

func TestPermissionIsTold(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	s, _ := seeded(t)
	os.Chmod(filepath.Join(s.path, statePath), 0)
	if _, err := s.View(ctx, func(*View) error { return nil }); !errors.Is(err, errcodes.ReadFailed) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

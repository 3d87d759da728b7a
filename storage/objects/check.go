package objects

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/leslie-sh/leslie/storage"
)

// Check compares every object with its hash. A damaged one has no repair
// here: its bytes are gone, unless the room that needs them has a copy.
func Check(r storage.Reader) ([]storage.Check, error) {
	dir := r.Dir()
	check := storage.Check{Name: "objects"}
	err := fs.WalkDir(dir.FS(), folder, func(at string, found fs.DirEntry, err error) error {
		switch {
		case at == folder && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			check.Findings = append(check.Findings, finding(at, reason(err)))
		case found.IsDir():
		default:
			check.Count++
			if problem := damage(r, at); problem != "" {
				check.Findings = append(check.Findings, finding(at, problem))
			}
		}
		return nil
	})
	return []storage.Check{check}, err
}

// damage says what is wrong with the object at a path; "" is nothing.
func damage(r storage.Reader, at string) string {
	id := strings.ReplaceAll(strings.TrimPrefix(at, folder+"/"), "/", "")
	if !Valid(id) || Path(id) != at {
		return "this is not the place of an object"
	}
	file, err := openRegular(r.Dir(), at)
	if err != nil {
		return reason(err)
	}
	defer file.Close()
	sum, _, err := hashOf(file)
	if err != nil {
		return reason(err)
	}
	if sum != id {
		return "its content does not match its hash"
	}
	return ""
}

func finding(at, problem string) storage.Finding {
	err := unreadable(at, problem, nil)
	return storage.Finding{Subject: at, Code: err.Code, Message: err.Error()}
}

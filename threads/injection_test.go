package threads

import (
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/storage"
)

func TestInject(t *testing.T) {
	r := newRoom(t)
	r.spawn(Spawn{ID: "x"})
	inject := func(kind, content string) (i Injection, thread Thread, err error) {
		_, err = r.update(func(tx *storage.Tx) (err error) {
			i, thread, err = Inject(tx, Injection{ThreadID: "x", Type: kind, Content: content, By: "ann"})
			return err
		})
		return i, thread, err
	}
	for n, kind := range InjectionTypes() {
		i, thread, err := inject(kind, "say\n"+kind)
		if err != nil || i.Order != n+1 || thread.Revision != int64(n+2) {
			t.Errorf("%+v %+v %v", i, thread, err)
		}
	}
	r.force("x", Completed)
	if _, _, err := inject("info", "still heard"); err != nil {
		t.Error(err)
	}
	for _, bad := range [][2]string{{"order", "x"}, {"info", ""}, {"info", "\u2067"}, {"info", "\xc3"}} {
		_, _, err := inject(bad[0], bad[1])
		wantCode(t, err, errcodes.Usage)
	}
	r.force("x", Archived)
	_, _, err := inject("info", "too late")
	wantCode(t, err, errcodes.InvalidTransition, "action", "inject")
	_, err = r.update(func(tx *storage.Tx) error {
		_, _, err := Inject(tx, Injection{ThreadID: "y", Type: "info", Content: "x"})
		return err
	})
	wantCode(t, err, errcodes.ThreadNotFound)
	r.view(func(v *storage.View) error {
		list, err := Injections(v, "x")
		if len(list) != 4 || list[0].Type != "constraint" || list[2].Content != "say\ncorrection" || list[3].Content != "still heard" || list[0].By != "ann" {
			t.Errorf("%+v", list)
		}
		return err
	})
}

package response

import (
	"encoding/base64"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// picked returns the value at out.Get as --get prints it: strings and numbers
// raw, lists and objects as compact JSON, with a newline behind. The path
// leads into data, or into the whole envelope where data has nothing there.
// A success without a value there is a warning of its own.
func (a *answer) picked(out Output) []byte {
	path := out.Get
	if exact, found := a.exact(path); found {
		return exact
	}
	value := gjson.GetBytes(a.data, path)
	if !value.Exists() {
		value = gjson.GetBytes(a.envelope(), path)
	}
	switch {
	case !value.Exists() && a.failure == nil:
		nothing := errcodes.NothingAtPath.Warn("path", errcodes.Clip(path))
		a.Warnings = append(a.Warnings[:len(a.Warnings):len(a.Warnings)], nothing)
		if out.Notice != nil {
			out.Notice(nothing)
		}
		return nil
	case !value.Exists():
		return nil
	case value.Type == gjson.Number && value.Raw != "":
		return append([]byte(value.Raw), '\n')
	case value.Type == gjson.Null:
		return []byte("null\n")
	default:
		return append([]byte(value.String()), '\n')
	}
}

// exact returns the bytes of a file that data carries as content or merged,
// with nothing added. Bytes that are not text are carried in base64.
func (a *answer) exact(path string) ([]byte, bool) {
	if path != "content" && path != "merged" {
		return nil, false
	}
	value := gjson.GetBytes(a.data, path)
	if value.Type != gjson.String {
		return nil, false
	}
	if gjson.GetBytes(a.data, "encoding").Str == "base64" {
		decoded, err := base64.StdEncoding.DecodeString(value.Str)
		return decoded, err == nil
	}
	return []byte(value.Str), true
}

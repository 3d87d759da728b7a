package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/tidwall/gjson"

	"github.com/leslie-sh/leslie/errcodes"
)

// header is the first line of the state file:
//
//	{"version":1,"seq":120,"generation":3,"offset":5210,"count":64,"bytes":23456,"sorted":true,"crc":"..."   ,"records":{
//
// The state holds every operation up to seq; later ones are in the log of its
// generation from offset on. bytes is the size of the whole file: a file of
// another size was not written by this package. Spaces pad the line, so that
// it can be written last.
type header struct {
	Version    int    // of the layout
	Seq        int64  // the last operation that the records hold
	Generation int64  // the log file in which later operations are
	Offset     int64  // where in it they begin
	Count      int64  // records
	Bytes      int64  // size of the file
	Extra      []byte // members that this version does not know, as `,"name":value...`
}

const (
	headerEnd   = `,"records":{` + "\n"
	headerRoom  = 240 // more than every number at its longest
	headerLimit = 64 << 10
)

// size is the length of the header line, which does not depend on the numbers.
func (h header) size() int { return headerRoom + len(h.Extra) + len(headerEnd) }

func (h header) line() []byte {
	line := h.sealed()
	line = line[:len(line)-1]
	line = append(line, bytes.Repeat([]byte(" "), h.size()-len(headerEnd)-len(line))...)
	return append(line, headerEnd...)
}

// sealed is the header as an object with its checksum.
func (h header) sealed() []byte {
	return seal(fmt.Appendf(nil, `{"version":%d,"seq":%d,"generation":%d,"offset":%d,"count":%d,"bytes":%d,"sorted":true%s}`,
		h.Version, h.Seq, h.Generation, h.Offset, h.Count, h.Bytes, h.Extra))
}

// integrity says how a header fits its checksum.
type integrity int

const (
	unfit    integrity = iota // something has damaged it, or changed a number
	extended                  // it fits, but for members that were added at its end
	intact                    // it fits
)

// extraLimit bounds the members of a header that this version does not know.
const extraLimit = 3 << 10

// parseHeader reads the header's members from any valid JSON object.
func parseHeader(object string) (h header, fits integrity) {
	numbers := map[string]*int64{"seq": &h.Seq, "generation": &h.Generation, "offset": &h.Offset, "count": &h.Count, "bytes": &h.Bytes}
	var sum string
	var unknown [][]byte
	sound, room := true, extraLimit
	gjson.Parse(object).ForEach(func(key, value gjson.Result) bool {
		target, known := numbers[key.Str]
		switch {
		case known:
			*target, known = number(value.Raw)
			sound = sound && known
		case key.Str == "version":
			h.Version, known = version(value.Raw)
			sound = sound && known
		case key.Str == "crc":
			sum = value.Str
		case key.Str != "sorted" && key.Str != "records" && key.Str != "sums":
			if room -= len(key.Raw) + len(value.Raw) + len(",:"); room >= 0 {
				unknown = append(unknown, appendMember(nil, key.Raw, value.Raw))
			}
		}
		return true
	})
	for n := len(unknown); sound && room >= 0 && n >= 0 && fits == unfit; n-- {
		h.Extra = bytes.Join(unknown[:n], nil)
		if bytes.HasSuffix(h.sealed(), []byte(`"`+sum+`"}`)) {
			fits = extended
			if n == len(unknown) {
				fits = intact
			}
		}
	}
	h.Extra = bytes.Join(unknown, nil)
	return h, fits
}

// version reads the number of a layout; one too large for a number is from the future, too.
func version(text string) (int, bool) {
	value, ok := number(text)
	return int(min(value, math.MaxInt32)), ok && value > 0
}

// headerOf reads the header from the first bytes of a state file, and reports
// whether it is as this package wrote it. Code: T505.
func headerOf(start []byte) (h header, ours bool, err error) {
	end := bytes.Index(start, []byte(headerEnd))
	if end < 0 {
		return header{}, false, nil
	}
	object := append(append([]byte(nil), start[:end]...), '}')
	if !validJSON(object) {
		return header{}, false, nil
	}
	h, fits := parseHeader(string(object))
	return h, fits == intact && h.size() == end+len(headerEnd), h.known()
}

// known refuses a layout from the future.
func (h header) known() error {
	if h.Version > SchemaVersion {
		return errcodes.NewerSchema.With("version", h.Version, "known", SchemaVersion, "path", statePath)
	}
	return nil
}

func appendMember(object []byte, key, value string) []byte {
	return append(append(append(append(object, ','), key...), ':'), compact(value)...)
}

// compact returns valid JSON without white space between its tokens.
func compact(value string) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(value)); err != nil {
		return []byte(value)
	}
	return out.Bytes()
}

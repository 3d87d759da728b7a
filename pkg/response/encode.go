package response

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leslie-sh/leslie/errcodes"
)

// deepest is how far values may nest. Data that contains itself gets there.
const deepest = 200

// encoder writes values as encoding/json does, with these differences, all
// of which a caller is promised: a nil slice is [] and a nil map {}, a nil
// pointer or interface is left out together with its key, nothing is escaped
// for HTML, invalid UTF-8 is replaced, a duration is a string such as
// "21.3s", and an error is its text.
type encoder struct {
	out   []byte
	depth int
}

// marshal encodes v; nil is null.
func marshal(v any) ([]byte, error) {
	e := encoder{out: make([]byte, 0, 1024)}
	err := e.value(reflect.ValueOf(v))
	return e.out, err
}

func (e *encoder) value(v reflect.Value) error {
	if isNull(v) {
		e.out = append(e.out, "null"...)
		return nil
	}
	if e.depth++; e.depth > deepest {
		return errors.New("values are nested too deeply")
	}
	defer func() { e.depth-- }()
	if form := formOf(v.Type()); form != asKind {
		return e.formed(form, v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return e.value(v.Elem())
	case reflect.Struct:
		return e.structure(v)
	case reflect.Map:
		return e.mapping(v)
	case reflect.Slice, reflect.Array:
		return e.list(v)
	default:
		return e.scalar(v)
	}
}

func (e *encoder) scalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		e.out = appendString(e.out, v.String())
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return fmt.Errorf("%v is no number of JSON", v.Float())
		}
		return e.foreign(json.Marshal(v.Interface()))
	default:
		return fmt.Errorf("a %s has no form in JSON", v.Type())
	}
	return nil
}

func (e *encoder) formed(form form, v reflect.Value) error {
	switch form {
	case asTime:
		return e.time(v.Interface().(time.Time))
	case asDuration:
		e.out = appendString(e.out, short(v.Interface().(time.Duration)))
		return nil
	case asJSON:
		return e.foreign(v.Interface().(json.Marshaler).MarshalJSON())
	case asText:
		written, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		e.out = appendString(e.out, string(written))
		return err
	case asError:
		e.out = appendString(e.out, v.Interface().(error).Error())
		return nil
	default:
		return e.foreign(json.Marshal(v.Interface()))
	}
}

func (e *encoder) time(t time.Time) error {
	if year := t.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("the year %d has no form in JSON", year)
	}
	e.out = append(t.AppendFormat(append(e.out, '"'), time.RFC3339Nano), '"')
	return nil
}

// foreign takes over JSON that was encoded elsewhere.
func (e *encoder) foreign(encoded []byte, err error) error {
	if err != nil {
		return err
	}
	if len(encoded) == 0 { // an empty json.RawMessage
		encoded = []byte("null")
	}
	out := bytes.NewBuffer(e.out)
	err = json.Compact(out, bytes.ToValidUTF8(encoded, []byte("\uFFFD")))
	e.out = out.Bytes()
	return err
}

func (e *encoder) structure(v reflect.Value) error {
	fields := fieldsOf(v.Type())
	return e.members(func(key func([]byte)) error {
		for i := range fields {
			value, shown := fields[i].in(v)
			if !shown {
				continue
			}
			key(fields[i].key)
			if err := e.value(value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *encoder) mapping(v reflect.Value) error {
	values := make(map[string]reflect.Value, v.Len())
	keys := make([]string, 0, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key, err := mapKey(entries.Key())
		if err != nil {
			return err
		}
		if !isNull(entries.Value()) {
			values[key] = entries.Value()
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return e.members(func(key func([]byte)) error {
		for _, name := range slices.Compact(keys) {
			key(append(appendString(nil, name), ':'))
			if err := e.value(values[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

func mapKey(key reflect.Value) (string, error) {
	switch {
	case key.Kind() == reflect.String:
		return strings.ToValidUTF8(key.String(), "\uFFFD"), nil
	case key.CanInt(), key.CanUint():
		return fmt.Sprint(key.Interface()), nil
	default:
		return "", fmt.Errorf("a map by %s has no form in JSON", key.Type())
	}
}

// facts writes named facts as an object, in their order, each key once.
func (e *encoder) facts(facts []errcodes.Attr) error {
	return e.members(func(key func([]byte)) error {
		for i, fact := range facts {
			value := reflect.ValueOf(fact.Value)
			repeated := slices.ContainsFunc(facts[:i], func(f errcodes.Attr) bool { return f.Key == fact.Key })
			if repeated || isNull(value) {
				continue
			}
			key(append(appendString(nil, fact.Key), ':'))
			if err := e.value(value); err != nil {
				return err
			}
		}
		return nil
	})
}

// members writes an object; each calls key before every value.
func (e *encoder) members(each func(key func([]byte)) error) error {
	e.out = append(e.out, '{')
	first := true
	err := each(func(key []byte) {
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, key...)
	})
	e.out = append(e.out, '}')
	return err
}

func (e *encoder) list(v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		e.out = appendString(e.out, base64.StdEncoding.EncodeToString(v.Bytes()))
		return nil
	}
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

// short writes a duration for a reader: 21.3s, 30m, 250ms.
func short(d time.Duration) string {
	if d.Abs() >= time.Second {
		d = d.Round(100 * time.Millisecond)
	} else if d.Abs() >= time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	written := d.String()
	if tail, found := strings.CutSuffix(written, "m0s"); found {
		written = tail + "m"
	}
	if tail, found := strings.CutSuffix(written, "h0m"); found {
		written = tail + "h"
	}
	return written
}

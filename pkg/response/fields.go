package response

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// field is one member that a struct has as a JSON object.
type field struct {
	name      string
	key       []byte // `"name":`
	index     []int
	typ       reflect.Type
	omitEmpty bool
	omitZero  bool
	indirect  bool // reached through an embedded pointer
}

var fieldTables sync.Map // of []field by reflect.Type

// fieldsOf lists the members of the struct type t in the order in which they
// are written. The encoder and the schema both go by this list, so that they
// cannot differ. Tags are those of encoding/json but for ",string"; fields of
// embedded structs stand where the struct is embedded, and of two with one
// name the less deeply embedded counts. Fields through which a struct embeds
// itself are not followed.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldTables.Load(t); ok {
		return known.([]field)
	}
	all := collect(t, nil)
	fields := slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(other field) bool {
			return other.name == f.name && len(other.index) < len(f.index)
		})
	})
	fieldTables.Store(t, fields)
	return fields
}

func collect(t reflect.Type, path []int) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(slices.Clone(path), i)
		switch inner := pointed(f.Type); {
		case tag == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct && inner != t && formOf(inner) == asKind:
			for _, promoted := range collect(inner, index) {
				promoted.indirect = promoted.indirect || f.Type.Kind() == reflect.Pointer
				fields = append(fields, promoted)
			}
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			fields = append(fields, field{
				name: name, key: append(appendString(nil, name), ':'), index: index, typ: f.Type,
				omitEmpty: has(options, "omitempty"), omitZero: has(options, "omitzero"),
			})
		}
	}
	return fields
}

// in returns the value of f in the struct v; false when it is left out:
// because its tag says so, or because it would be null.
func (f *field) in(v reflect.Value) (reflect.Value, bool) {
	for i, at := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(at)
	}
	return v, !isNull(v) && !(f.omitEmpty && empty(v)) && !(f.omitZero && zero(v))
}

// optional reports whether f can be left out.
func (f *field) optional() bool {
	kind := f.typ.Kind()
	return f.omitEmpty || f.omitZero || f.indirect || kind == reflect.Pointer || kind == reflect.Interface
}

// isNull reports whether v would be written as null and is left out instead.
func isNull(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || isNull(v.Elem())
	default:
		return false
	}
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func zero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

func has(options, option string) bool {
	return slices.Contains(strings.Split(options, ","), option)
}

func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// form says how the values of a type are written.
type form int

const (
	asKind form = iota // as its kind is
	asTime
	asDuration
	asNumber // json.Number
	asJSON   // by its own MarshalJSON
	asText   // by its own MarshalText
	asError  // by its own Error
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	durationType  = reflect.TypeFor[time.Duration]()
	numberType    = reflect.TypeFor[json.Number]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
	errorType     = reflect.TypeFor[error]()
)

// formOf tells the form of t. Only named types can have methods, and the
// question is asked for every value, so the rest is answered at once.
func formOf(t reflect.Type) form {
	switch {
	case t.PkgPath() == "" && t.Kind() != reflect.Pointer:
		return asKind
	case t == timeType:
		return asTime
	case t == durationType:
		return asDuration
	case t == numberType:
		return asNumber
	case t.Implements(marshalerType):
		return asJSON
	case t.Implements(textType):
		return asText
	case t.Kind() != reflect.String && t.Implements(errorType):
		return asError
	default:
		return asKind
	}
}

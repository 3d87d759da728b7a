package response

import (
	"reflect"

	"github.com/leslie-sh/leslie/errcodes"
)

// Schema returns the JSON Schema (draft 2020-12) of every response, success
// and failure, of a command whose data has the type of data; nil stands for
// any object. Schemas are open: later versions add keys and remove none. The
// bound of 20 KB may shorten lists and strings, which the schema allows, and
// in extreme cases take out members, which it does not.
func Schema(data any) map[string]any {
	w := walker{defs: map[string]any{"error": errorSchema(), "warning": warningSchema()}, open: map[reflect.Type]bool{}}
	whole := map[string]any{"type": "object"}
	if data != nil {
		whole = w.schema(pointed(reflect.TypeOf(data)))
	}
	properties, _ := whole["properties"].(map[string]any)
	if properties != nil {
		addMissing(properties)
	}
	partial := map[string]any{"type": "object"}
	if properties != nil {
		partial["properties"] = properties
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type":    "object",
		"oneOf": []any{
			envelopeSchema(true, map[string]any{"data": whole, "error": false}, "data"),
			envelopeSchema(false, map[string]any{"data": partial, "error": ref("error")}, "error"),
		},
		"$defs": w.defs,
	}
}

// addMissing adds what data may tell of parts that the bound left out.
func addMissing(properties map[string]any) {
	for name, schema := range map[string]any{"omitted": typed("integer"), "truncated": listOf(typed("string")), "next": typed("string")} {
		if properties[name] == nil {
			properties[name] = schema
		}
	}
}

func envelopeSchema(success bool, parts map[string]any, needed string) map[string]any {
	parts["success"] = map[string]any{"const": success}
	parts["warnings"] = listOf(ref("warning"))
	return map[string]any{"properties": parts, "required": []any{"success", needed, "warnings"}}
}

func errorSchema() map[string]any {
	effects := []any{string(errcodes.None), string(errcodes.Partial), string(errcodes.Complete), string(errcodes.Unknown)}
	ways := []any{string(errcodes.Same), string(errcodes.AfterRefresh), string(errcodes.AfterFix), string(errcodes.AfterHuman)}
	details := map[string]any{
		"type":     "object",
		"required": []any{"hint", "retryable", "effect", "operation"},
		"properties": map[string]any{
			"hint":         typed("string"),
			"retryable":    typed("boolean"),
			"retry":        map[string]any{"enum": ways},
			"retryAfterMs": typed("integer"),
			"effect":       map[string]any{"enum": effects},
			"operation":    typed("string"),
			"attempts":     typed("integer"),
			"waited":       typed("string"),
			"userMessage":  typed("string"),
			"next":         listOf(typed("string")),
		},
	}
	return coded("T", "details", details)
}

func warningSchema() map[string]any { return coded("W", "context", typed("object")) }

// coded returns the schema of what has a code, a message and facts.
func coded(letter, facts string, schema map[string]any) map[string]any {
	return map[string]any{
		"type":     "object",
		"required": []any{"code", "message", facts},
		"properties": map[string]any{
			"code":    map[string]any{"type": "string", "pattern": "^" + letter + "[0-9]{3}$"},
			"message": typed("string"),
			facts:     schema,
		},
	}
}

func typed(name string) map[string]any { return map[string]any{"type": name} }

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

func listOf(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// walker derives schemas from types as the encoder writes their values.
type walker struct {
	defs map[string]any
	open map[reflect.Type]bool // the structs around the present one: true when they were met again
}

func (w *walker) schema(t reflect.Type) map[string]any {
	if schema := formSchema(t); schema != nil {
		return schema
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.schema(t.Elem())
	case reflect.Struct:
		return w.structure(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": w.schema(t.Elem())}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return listOf(w.schema(t.Elem()))
	default:
		return scalarSchema(t.Kind())
	}
}

// formSchema returns the schema of a type that is not written as its kind
// is, nil for one that is.
func formSchema(t reflect.Type) map[string]any {
	switch formOf(t) {
	case asKind:
		return nil
	case asTime:
		return map[string]any{"type": "string", "format": "date-time"}
	case asNumber:
		return typed("number")
	case asJSON:
		return map[string]any{}
	default:
		return typed("string")
	}
}

func scalarSchema(kind reflect.Kind) map[string]any {
	switch kind {
	case reflect.String:
		return typed("string")
	case reflect.Bool:
		return typed("boolean")
	case reflect.Float32, reflect.Float64:
		return typed("number")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return typed("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	default:
		return map[string]any{}
	}
}

// structure returns the schema of a struct. One that contains itself is
// defined once and referred to by its name.
func (w *walker) structure(t reflect.Type) map[string]any {
	if _, around := w.open[t]; around {
		w.open[t] = true
		return ref(t.String())
	}
	w.open[t] = false
	properties, required := map[string]any{}, []any{}
	for _, f := range fieldsOf(t) {
		properties[f.name] = w.schema(f.typ)
		if !f.optional() {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	if w.open[t] {
		w.defs[t.String()] = schema
	}
	delete(w.open, t)
	return schema
}

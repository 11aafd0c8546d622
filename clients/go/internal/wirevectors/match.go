package wirevectors

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

const tolerance = 1e-4

// Differences are where a value is not what an expanded template asks for; none = it matches.
func Differences(template, value any) []string { return differences(template, value, "") }

func differences(template, value any, at string) []string {
	switch template := template.(type) {
	case map[string]any:
		if operator := operatorOf(template); operator != "" {
			return byOperator(operator, template[operator], value, at)
		}
		return ofObject(template, value, at)
	case []any:
		return ofArray(template, value, at)
	case float64:
		if number, ok := value.(float64); ok && math.Abs(template-number) <= tolerance {
			return nil
		}
	default:
		if reflect.DeepEqual(template, value) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: expected %s, got %s", place(at), shown(template), shown(value))}
}

func ofObject(template map[string]any, value any, at string) []string {
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: expected an object, got %s", place(at), shown(value))}
	}
	var found []string
	for key, wanted := range template {
		got, there := object[key]
		inner, isObject := wanted.(map[string]any)
		switch absent := isObject && operatorOf(inner) == "$absent"; {
		case absent && there:
			found = append(found, fmt.Sprintf("%s.%s: expected nothing, got %s", at, key, shown(got)))
		case absent:
		case !there:
			found = append(found, fmt.Sprintf("%s.%s: expected %s, got nothing", at, key, shown(wanted)))
		default:
			found = append(found, differences(wanted, got, at+"."+key)...)
		}
	}
	return found
}

func ofArray(template []any, value any, at string) []string {
	array, ok := value.([]any)
	if !ok || len(array) != len(template) {
		return []string{fmt.Sprintf("%s: expected an array of %d, got %s", place(at), len(template), shown(value))}
	}
	var found []string
	for i, wanted := range template {
		found = append(found, differences(wanted, array[i], fmt.Sprintf("%s[%d]", at, i))...)
	}
	return found
}

func byOperator(operator string, argument, value any, at string) []string {
	switch operator {
	case "$any":
		return nil
	case "$match":
		pattern, _ := argument.(string)
		expression, err := regexp.Compile(pattern)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", place(at), err)}
		}
		if text, ok := value.(string); !ok || !expression.MatchString(text) {
			return []string{fmt.Sprintf("%s: expected a string with %q, got %s", place(at), pattern, shown(value))}
		}
		return nil
	case "$not":
		if len(differences(argument, value, at)) == 0 {
			return []string{fmt.Sprintf("%s: expected anything but %s", place(at), shown(argument))}
		}
		return nil
	case "$contains":
		return ofContained(argument, value, at)
	}
	return []string{fmt.Sprintf("%s: %s is not for this place, or not expanded", place(at), operator)}
}

func ofContained(argument, value any, at string) []string {
	wanted, _ := argument.([]any)
	array, ok := value.([]any)
	if !ok {
		return []string{fmt.Sprintf("%s: expected an array, got %s", place(at), shown(value))}
	}
	var found []string
	for _, template := range wanted {
		matched := false
		for _, element := range array {
			matched = matched || len(differences(template, element, at)) == 0
		}
		if !matched {
			found = append(found, fmt.Sprintf("%s: no element matches %s in %s", place(at), shown(template), shown(value)))
		}
	}
	return found
}

// Dig gives the value at a dotted path.
func Dig(value any, path string) (any, error) {
	for part := range strings.SplitSeq(path, ".") {
		var next any
		there := false
		switch held := value.(type) {
		case map[string]any:
			next, there = held[part]
		case []any:
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(held) {
				next, there = held[i], true
			}
		}
		if !there {
			return nil, fmt.Errorf("nothing to save at %s: no %s in %s", path, part, shown(value))
		}
		value = next
	}
	return value, nil
}

func place(at string) string {
	if at == "" {
		return "."
	}
	return at
}

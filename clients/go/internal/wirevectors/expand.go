package wirevectors

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand gives the node with variables and builders replaced; operators of expectations stay.
func Expand(node any, variables map[string]any) (any, error) {
	switch node := node.(type) {
	case string:
		return substituted(node, variables)
	case []any:
		return expandAll(node, variables)
	case map[string]any:
		if operator := operatorOf(node); operator != "" {
			return build(operator, node[operator], node, variables)
		}
		expanded := make(map[string]any, len(node))
		for key, part := range node {
			value, err := Expand(part, variables)
			if err != nil {
				return nil, err
			}
			expanded[key] = value
		}
		return expanded, nil
	}
	return node, nil
}

func expandAll(nodes []any, variables map[string]any) ([]any, error) {
	expanded := make([]any, len(nodes))
	for i, part := range nodes {
		value, err := Expand(part, variables)
		if err != nil {
			return nil, err
		}
		expanded[i] = value
	}
	return expanded, nil
}

func build(operator string, argument any, node map[string]any, variables map[string]any) (any, error) {
	switch operator {
	case "$any", "$absent", "$match":
		return node, nil
	case "$not", "$contains":
		expanded, err := Expand(argument, variables)
		return map[string]any{operator: expanded}, err
	}
	parts, ok := argument.([]any)
	if !ok {
		return nil, fmt.Errorf("%s takes an array", operator)
	}
	switch operator {
	case "$repeat":
		part, count, err := counted(parts)
		if err != nil {
			return nil, err
		}
		text, err := textOf(part, variables)
		return strings.Repeat(text, count), err
	case "$concat":
		var whole strings.Builder
		for _, part := range parts {
			text, err := textOf(part, variables)
			if err != nil {
				return nil, err
			}
			whole.WriteString(text)
		}
		return whole.String(), nil
	case "$list":
		part, count, err := counted(parts)
		if err != nil {
			return nil, err
		}
		elements := make([]any, count)
		for i := range elements {
			if elements[i], err = Expand(part, variables); err != nil {
				return nil, err
			}
		}
		return elements, nil
	case "$floats":
		return runs(parts)
	case "$f32":
		values, err := runs(parts)
		if err != nil {
			return nil, err
		}
		return packed(values)
	}
	return nil, fmt.Errorf("unknown builder or operator %s", operator)
}

// counted are the two parts of [node, count].
func counted(parts []any) (node any, count int, err error) {
	if len(parts) == 2 {
		if number, ok := parts[1].(float64); ok && number >= 0 && number == math.Trunc(number) {
			return parts[0], int(number), nil
		}
	}
	return nil, 0, fmt.Errorf("%v is no element and count", parts)
}

// runs are the values of [[value, count], ...].
func runs(parts []any) ([]any, error) {
	var values []any
	for _, part := range parts {
		pair, _ := part.([]any)
		value, count, err := counted(pair)
		if err != nil {
			return nil, err
		}
		for range count {
			values = append(values, value)
		}
	}
	return values, nil
}

func packed(values []any) (string, error) {
	var bytes []byte
	for _, value := range values {
		number, ok := value.(float64)
		if name, named := value.(string); named {
			parsed, err := strconv.ParseFloat(name, 64)
			number, ok = parsed, err == nil
		}
		if !ok {
			return "", fmt.Errorf("%v is no number", value)
		}
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(number)))
	}
	return base64.StdEncoding.EncodeToString(bytes), nil
}

func textOf(node any, variables map[string]any) (string, error) {
	expanded, err := Expand(node, variables)
	if err != nil {
		return "", err
	}
	text, ok := expanded.(string)
	if !ok {
		return "", fmt.Errorf("%s is no string", shown(expanded))
	}
	return text, nil
}

func substituted(text string, variables map[string]any) (any, error) {
	found := reference.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 1 && found[0][0] == 0 && found[0][1] == len(text) && found[0][2] >= 0 {
		return variable(text[found[0][2]:found[0][3]], variables)
	}
	var whole strings.Builder
	end := 0
	for _, at := range found {
		whole.WriteString(text[end:at[0]])
		end = at[1]
		if at[2] < 0 {
			whole.WriteString("${")
			continue
		}
		name := text[at[2]:at[3]]
		value, err := variable(name, variables)
		if err != nil {
			return nil, err
		}
		part, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%s is no string and cannot stand inside %q", name, text)
		}
		whole.WriteString(part)
	}
	whole.WriteString(text[end:])
	return whole.String(), nil
}

func variable(name string, variables map[string]any) (any, error) {
	value, known := variables[name]
	if !known {
		return nil, fmt.Errorf("unknown variable %s", name)
	}
	return value, nil
}

// operatorOf is the one key of a builder or operator, otherwise empty.
func operatorOf(node map[string]any) string {
	if len(node) == 1 {
		for key := range node {
			if strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "${") {
				return key
			}
		}
	}
	return ""
}

func shown(value any) string {
	const longest = 2000
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > longest {
		return fmt.Sprintf("%s... (%d bytes)", text[:longest], len(text))
	}
	return string(text)
}

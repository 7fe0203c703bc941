// Command kstatus says of each object on stdin (JSON, one a line) what cli-utils' kstatus makes of it: a line of JSON
// with its status and message, or its error.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type answer struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var object json.RawMessage
		if err := in.Decode(&object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(judge(object)); err != nil {
			log.Fatal(err)
		}
	}
}

func judge(text []byte) answer {
	var object map[string]any
	// Unlike encoding/json, utiljson makes integers of whole numbers.
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return answer{Error: err.Error()}
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Status: string(result.Status), Message: result.Message}
}

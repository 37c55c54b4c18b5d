package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// vocab is the size of GPT-2's vocabulary.
const vocab = 50257

// readText returns the ids of the text in a file, by default Newton's Opticks, and the name of the file.
func readText(file string) (ids []uint, name string, err error) {
	if file == "" {
		if file, err = opticks(); err != nil {
			return nil, "", err
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("no text to work on: %w", err)
	}
	codec, err := tokenizer.Get(tokenizer.R50kBase)
	if err != nil {
		return nil, "", err
	}
	if ids, _, err = codec.Encode(string(text)); err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	if len(ids) == 0 {
		return nil, "", fmt.Errorf("%s is empty", file)
	}
	return ids, filepath.Base(file), nil
}

// opticks returns where Newton's Opticks lie in the Go installation. Only the go command knows where that is: it may have
// moved since this program was built.
func opticks() (file string, err error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("no Go installation to take a text from: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(goroot)), "src", "testdata", "Isaac.Newton-Opticks.txt"), nil
}

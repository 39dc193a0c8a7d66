// Calls a model from Go: loads it, gives it a batch of rows, and compares the scores with numbers from a file.
// Arguments: the model, a file of float32 inputs, and a file of the results that are expected.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

func readFloats(path string) []float32 {
	bytes, err := os.ReadFile(path)
	check(err)
	floats := make([]float32, len(bytes)/4)
	for i := range floats {
		floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return floats
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "quick_start:", err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 4 {
		check(fmt.Errorf("give three files"))
	}
	module, err := Load(os.Args[1])
	check(err)
	defer module.Free()
	data, expected := readFloats(os.Args[2]), readFloats(os.Args[3])
	columns := module.Columns()

	// The second call is recorded, and later ones are replays. Goroutines share the module.
	type answer struct {
		scores []float32
		err    error
	}
	answers := make(chan answer)
	for call := 0; call < 4; call++ {
		go func() {
			scores, err := module.Call(data, columns)
			answers <- answer{scores, err}
		}()
	}
	largest := 0.0
	for call := 0; call < 4; call++ {
		got := <-answers
		check(got.err)
		for i, score := range got.scores {
			largest = math.Max(largest, math.Abs(float64(score-expected[i])))
		}
	}
	fmt.Printf("%d rows, largest difference %g\n", len(data)/columns, largest)
	if largest >= 1e-5 {
		os.Exit(1)
	}
}

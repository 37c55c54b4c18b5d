package positional_test

import (
	"fmt"
	"log"
	"math"

	"github.com/rowvec/rowvec/positional"
)

// showScaling prints the frequencies of 4 pairs for a sequence of length positions.
func showScaling(s positional.Scaling, base float64, length int) {
	f, err := s.Frequencies(8, base, length)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v:", s)
	for i := range 4 {
		multiplier := 1.
		if f.Multipliers != nil {
			multiplier = f.Multipliers[i]
		}
		fmt.Printf(" %.4g", multiplier*math.Pow(f.Base, -2*float64(i)/8))
	}
	fmt.Printf(", amplitude %.4g\n", f.Amplitude)
}

func ExampleLinear_Frequencies() {
	showScaling(positional.Linear{Factor: 1}, 10000, 0)
	showScaling(positional.Linear{Factor: 4}, 10000, 0)
	// Output:
	// Linear(factor=1): 1 0.1 0.01 0.001, amplitude 1
	// Linear(factor=4): 0.25 0.025 0.0025 0.00025, amplitude 1
}

// The highest frequency stays, the lowest is divided by the factor.
func ExampleNTK_Frequencies() {
	showScaling(positional.NTK{Factor: 4}, 10000, 0)
	// Output: NTK(factor=4): 1 0.063 0.003969 0.00025, amplitude 1
}

// The longer the sequence, the lower the frequencies.
func ExampleDynamicNTK_Frequencies() {
	s := positional.DynamicNTK{Factor: 2, Original: 4096}
	for _, length := range []int{4096, 8192, 16384} {
		showScaling(s, 10000, length)
	}
	// Output:
	// DynamicNTK(factor=2, original=4096): 1 0.1 0.01 0.001, amplitude 1
	// DynamicNTK(factor=2, original=4096): 1 0.06934 0.004807 0.0003333, amplitude 1
	// DynamicNTK(factor=2, original=4096): 1 0.05228 0.002733 0.0001429, amplitude 1
}

// The scaling of Qwen2.5 for 131,072 positions.
func ExampleYaRN_Frequencies() {
	showScaling(positional.YaRN{Factor: 4, Original: 32768}, 1e6, 0)
	// Output: YaRN(factor=4, original=32768): 1 0.03162 0.000625 7.906e-06, amplitude 1.139
}

// The scaling of Llama 3.1.
func ExampleLlama3_Frequencies() {
	s := positional.Llama3{Factor: 8, LowFrequency: 1, HighFrequency: 4, Original: 8192}
	showScaling(s, 500000, 0)
	// Output: Llama3(factor=8, original=8192): 1 0.03761 0.0005248 6.648e-06, amplitude 1
}

func ExampleLongRoPE_Frequencies() {
	s := positional.LongRoPE{
		Short:  []float64{1, 1, 1.25, 2},
		Long:   []float64{1, 1.25, 10, 32},
		Factor: 32, Original: 4096,
	}
	showScaling(s, 10000, 4096)
	showScaling(s, 10000, 4097)
	// Output:
	// LongRoPE(factor=32, original=4096): 1 0.1 0.008 0.0005, amplitude 1.19
	// LongRoPE(factor=32, original=4096): 1 0.08 0.001 3.125e-05, amplitude 1.19
}

func ExampleLinear_Kind() {
	fmt.Println(positional.Linear{}.Kind())
	// Output: linear
}

func ExampleLinear_ByLength() {
	fmt.Println(positional.Linear{}.ByLength())
	// Output: false
}

func ExampleLinear_String() {
	fmt.Println(positional.Linear{Factor: 4}.String())
	// Output: Linear(factor=4)
}

func ExampleNTK_Kind() {
	fmt.Println(positional.NTK{}.Kind())
	// Output: ntk
}

func ExampleNTK_ByLength() {
	fmt.Println(positional.NTK{}.ByLength())
	// Output: false
}

func ExampleNTK_String() {
	fmt.Println(positional.NTK{Factor: 4}.String())
	// Output: NTK(factor=4)
}

func ExampleDynamicNTK_Kind() {
	fmt.Println(positional.DynamicNTK{}.Kind())
	// Output: dynamic
}

func ExampleDynamicNTK_ByLength() {
	fmt.Println(positional.DynamicNTK{}.ByLength())
	// Output: true
}

func ExampleDynamicNTK_String() {
	fmt.Println(positional.DynamicNTK{Factor: 2, Original: 4096}.String())
	// Output: DynamicNTK(factor=2, original=4096)
}

func ExampleYaRN_Kind() {
	fmt.Println(positional.YaRN{}.Kind())
	// Output: yarn
}

func ExampleYaRN_ByLength() {
	fmt.Println(positional.YaRN{}.ByLength())
	// Output: false
}

func ExampleYaRN_String() {
	fmt.Println(positional.YaRN{Factor: 4, Original: 32768}.String())
	// Output: YaRN(factor=4, original=32768)
}

func ExampleLlama3_Kind() {
	fmt.Println(positional.Llama3{}.Kind())
	// Output: llama3
}

func ExampleLlama3_ByLength() {
	fmt.Println(positional.Llama3{}.ByLength())
	// Output: false
}

func ExampleLlama3_String() {
	fmt.Println(positional.Llama3{Factor: 8, LowFrequency: 1, HighFrequency: 4, Original: 8192}.String())
	// Output: Llama3(factor=8, original=8192)
}

func ExampleLongRoPE_Kind() {
	fmt.Println(positional.LongRoPE{}.Kind())
	// Output: longrope
}

func ExampleLongRoPE_ByLength() {
	fmt.Println(positional.LongRoPE{}.ByLength())
	// Output: true
}

func ExampleLongRoPE_String() {
	fmt.Println(positional.LongRoPE{Factor: 32, Original: 4096}.String())
	// Output: LongRoPE(factor=32, original=4096)
}

// The keys of the two-way tests: a function of a number.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
)

func key(keyType string, number uint64) []byte {
	switch keyType {
	case "text":
		return []byte(fmt.Sprintf("ключ-%d-é", number))
	case "bytes":
		bytes := binary.LittleEndian.AppendUint32(nil, uint32(number))
		for j := uint64(0); j < number%37; j++ {
			bytes = append(bytes, byte(number*31+j*17))
		}
		return bytes
	}
	panic(keyType)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// build FORMAT KEY-TYPE N FPR FILE, or ask FORMAT KEY-TYPE N FILE.
func main() {
	keyType := os.Args[3]
	n, err := strconv.ParseUint(os.Args[4], 10, 64)
	check(err)
	if os.Args[1] == "build" {
		fpr, err := strconv.ParseFloat(os.Args[5], 64)
		check(err)
		keys := make([][]byte, n)
		for number := range keys {
			keys[number] = key(keyType, uint64(number))
		}
		build(keys, fpr, os.Args[6])
		return
	}
	contains := open(os.Args[5])
	answers := make([]byte, 2*n)
	for number := range answers {
		answers[number] = '0'
		if contains(key(keyType, uint64(number))) {
			answers[number] = '1'
		}
	}
	fmt.Println(string(answers))
}

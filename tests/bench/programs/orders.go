// SPDX-License-Identifier: GPL-3.0-or-later

// orders_go COUNT: so many orders from structures to JSON and back, by encoding/json, in four
// goroutines that a channel feeds.  A static program loads no usage.c: it writes the same file
// itself, but for what it put into rings.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type item struct {
	Name  string            `json:"name"`
	Count int               `json:"count"`
	Price float64           `json:"price"`
	Notes map[string]string `json:"notes,omitempty"`
}

type order struct {
	Number int    `json:"number"`
	Buyer  string `json:"buyer"`
	Items  []item `json:"items"`
	Paid   bool   `json:"paid"`
	Next   *order `json:"next,omitempty"`
}

func makeOrder(number, depth int) *order {
	made := &order{Number: number, Buyer: "buyer \"" + strconv.Itoa(number%97) + "\"", Paid: number%3 == 0}
	for i := 0; i < 2+number%4; i++ {
		one := item{Name: "item " + strconv.Itoa(i), Count: i + 1, Price: float64(number%1000) / 8}
		if i == 0 {
			one.Notes = map[string]string{"size": "large", "wrap": "no"}
		}
		made.Items = append(made.Items, one)
	}
	if depth > 0 {
		made.Next = makeOrder(number+1, depth-1)
	}
	return made
}

func total(one *order) float64 {
	sum := 0.0
	for i := range one.Items {
		sum += one.Items[i].Price * float64(one.Items[i].Count)
	}
	if one.Next != nil {
		sum += total(one.Next)
	}
	return sum
}

func thereAndBack(number int) float64 {
	var back order
	text, err := json.Marshal(makeOrder(number, 2))
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		panic(err)
	}
	return total(&back)
}

func usage() (user, system float64) {
	var taken syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &taken)
	return float64(taken.Utime.Nano()) / 1e9, float64(taken.Stime.Nano()) / 1e9
}

func monotonic() float64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return float64(now.Nano()) / 1e9
}

func main() {
	user, system := usage()
	began, wall := monotonic(), time.Now()
	count, _ := strconv.Atoi(os.Args[1])
	numbers := make(chan int, 16)
	var group sync.WaitGroup
	var cents int64
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			for number := range numbers {
				atomic.AddInt64(&cents, int64(thereAndBack(number)*100))
			}
			group.Done()
		}()
	}
	for number := 0; number < count; number++ {
		numbers <- number
	}
	close(numbers)
	group.Wait()
	fmt.Println(cents)
	path := os.Getenv("BENCH_USAGE")
	if path == "" || os.Getenv("BENCH_PROGRAM") != filepath.Base(os.Args[0]) {
		return
	}
	userThen, systemThen := usage()
	text := fmt.Sprintf("%.6f %.6f %.6f 0 %.6f 0\n", userThen-user, systemThen-system,
		time.Since(wall).Seconds(), began)
	os.WriteFile(path, []byte(text), 0o644)
}

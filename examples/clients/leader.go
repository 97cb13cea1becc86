// Asks nodes which one leads, follows the changes, and writes with a fencing token.
//
//	go run leader.go who URL...                says which node leads: exit status 1 if none does
//	go run leader.go follow URL                prints the changes as this node sees them
//	go run leader.go write URL RESOURCE TEXT   puts the text to another URL, if this node leads
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

// Answer is what a node says of the leader; Leader and Epoch are nil if it knows none.
type Answer struct {
	Node          int
	Leads         bool
	Leader, Epoch *uint64
}

var client = http.Client{Timeout: 2 * time.Second}

func ask(url string) (answer Answer, err error) {
	reply, err := client.Get(url + "/leader") // 200 if it leads, and 503 if not
	if err != nil {
		return answer, err
	}
	defer reply.Body.Close()
	return answer, json.NewDecoder(reply.Body).Decode(&answer)
}

func text(number *uint64) string {
	if number == nil {
		return "none"
	}
	return fmt.Sprint(*number)
}

func who(urls []string) {
	for _, url := range urls {
		if answer, err := ask(url); err != nil {
			log.Print(err)
		} else if answer.Leads {
			fmt.Printf("node %d leads in epoch %s: %s\n", answer.Node, text(answer.Epoch), url)
			return
		}
	}
	log.Fatal("no node leads")
}

func follow(url string) {
	last := ""
	for ; ; time.Sleep(time.Second) {
		request, err := http.NewRequest("GET", url+"/events", nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Last-Event-ID", last)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Print(err)
			continue
		}
		// A status comes twice a second: if nothing comes, the connection is dead.
		silence := time.AfterFunc(5*time.Second, func() { reply.Body.Close() })
		kind := ""
		lines := bufio.NewScanner(reply.Body)
		lines.Buffer(nil, 1<<20)
		for ; lines.Scan(); silence.Reset(5 * time.Second) {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			var change Answer
			switch {
			case field == "event":
				kind = value
			case field == "id":
				last = value
			case field == "data" && kind == "change" && json.Unmarshal([]byte(value), &change) == nil:
				fmt.Printf("leader %s epoch %s\n", text(change.Leader), text(change.Epoch))
			}
		}
		silence.Stop()
		reply.Body.Close()
	}
}

func write(url, resource, content string) {
	answer, err := ask(url)
	if err != nil || !answer.Leads || answer.Epoch == nil {
		log.Fatal("this node does not lead: ", err)
	}
	request, err := http.NewRequest("PUT", resource, strings.NewReader(content))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Fencing-Token", fmt.Sprintf("%d/%d", *answer.Epoch, answer.Node))
	reply, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	reply.Body.Close()
	if reply.StatusCode >= 300 { // 409: a leader with a higher epoch has been there
		log.Fatalf("epoch %s is refused: %d", text(answer.Epoch), reply.StatusCode)
	}
	fmt.Printf("written in epoch %s\n", text(answer.Epoch))
}

func main() {
	log.SetFlags(0)
	switch words := os.Args[1:]; {
	case len(words) > 1 && words[0] == "who":
		who(words[1:])
	case len(words) == 2 && words[0] == "follow":
		follow(words[1])
	case len(words) == 4 && words[0] == "write":
		write(words[1], words[2], words[3])
	default:
		log.Fatal("usage: leader who URL... | follow URL | write URL RESOURCE TEXT")
	}
}

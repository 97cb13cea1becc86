#!/usr/bin/env python3
"""Asks nodes which one leads, follows the changes, and writes with a fencing token.

leader.py who URL...                says which node leads: exit status 1 if none does
leader.py follow URL                prints the changes as this node sees them, until it is stopped
leader.py write URL RESOURCE TEXT   puts the text to another URL, if this node leads
"""
import http.client, json, sys, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def ask(url):
    try:
        return json.load(urlopen(url + "/leader", timeout=2))
    except HTTPError as answer:  # 503: it does not lead, and says which node does
        return json.load(answer)

def who(*urls):
    for url in urls:
        try:
            answer = ask(url)
        except (OSError, ValueError) as error:
            print(f"{url}: {error}", file=sys.stderr)
            continue
        if answer["leads"]:
            return print(f"node {answer['node']} leads in epoch {answer['epoch']}: {url}")
    sys.exit("no node leads")

def follow(url):
    last, kind = None, None
    while True:
        try:  # A status comes twice a second: if nothing comes, the connection is dead.
            headers = {"Last-Event-ID": last} if last else {}
            for line in urlopen(Request(url + "/events", headers=headers), timeout=5):
                field, _, value = line.decode().strip().partition(": ")
                kind = value if field == "event" else kind
                last = value if field == "id" else last
                if field == "data" and kind == "change":
                    change = json.loads(value)
                    print(f"leader {change['leader']} epoch {change['epoch']}", flush=True)
        except (OSError, http.client.HTTPException) as error:
            print(f"{url}: {error}", file=sys.stderr)
        time.sleep(1)

def write(url, resource, text):
    answer = ask(url)
    if not answer["leads"]:
        sys.exit("this node does not lead")
    headers = {"Fencing-Token": f"{answer['epoch']}/{answer['node']}"}
    try:
        urlopen(Request(resource, text.encode(), headers, method="PUT"), timeout=2)
    except HTTPError as refusal:  # 409: a leader with a higher epoch has been there
        sys.exit(f"epoch {answer['epoch']} is refused: {refusal.code}")
    print(f"written in epoch {answer['epoch']}")

if __name__ == "__main__":
    commands = {"who": (who, 1, None), "follow": (follow, 1, 1), "write": (write, 3, 3)}
    command, least, most = commands.get((sys.argv + [""])[1], (None, 0, 0))
    given = sys.argv[2:]
    if command is None or len(given) < least or len(given) > (most or len(given)):
        sys.exit(__doc__)
    command(*given)

#!/usr/bin/env python3
"""An election of its own, the bully among three nodes, that writes logs to be judged.

bully_log.py FOLDER      writes FOLDER/1.ndjson, FOLDER/2.ndjson and FOLDER/3.ndjson

Then: bellwether-conformance validate FOLDER/*.ndjson
"""
import json, pathlib, random, sys

NODES = [1, 2, 3]
WAITS = {"election": 3, "coordinator": 6, "watch": 9, "heartbeat": 4}

class Node:
    def __init__(self, network, node, log):
        self.network, self.node, self.log = network, node, log
        self.incarnation = 0
        self.up = False

    def write(self, **entry):
        self.log.write(json.dumps({"n": self.n, **entry}) + "\n")
        self.n += 1

    def step(self, **happened):
        after = {"role": self.role, "armed": [[self.timer, self.due]]}
        if self.leader:
            after["leader"] = self.leader
        out = [{"send": message} for message in self.out]
        self.write(step={**happened, "out": out, "after": after})
        for message in self.out:
            self.network.carry(self, message)
        self.out = []

    def send(self, to, message):
        self.last += 1
        self.out.append({"to": to, "id": self.last, "message": message})

    def become(self, role, leader, timer):
        self.role, self.leader, self.timer = role, leader, timer
        self.due = self.network.now + WAITS[timer]

    def start(self):
        self.incarnation += 1
        self.up, self.n, self.last, self.out = True, 0, 0, []
        start = {"format": 1, "protocol": "bully", "vocabulary": "model", "node": self.node,
                 "incarnation": self.incarnation, "members": NODES}
        self.write(start=start)
        self.elect()
        self.step(boot=None)

    def elect(self):
        higher = [node for node in NODES if node > self.node]
        if not higher:
            return self.lead()
        self.become("candidate", None, "election")
        for node in higher:
            self.send(node, "election")

    def lead(self):
        self.become("leader", self.node, "heartbeat")
        for node in NODES:
            if node < self.node:
                self.send(node, "coordinator")

    def receive(self, sender, incarnation, message):
        origin, kind = sender.node, message["message"]
        if kind == "election":
            self.send(origin, "ok")
            if self.role == "leader":
                self.send(origin, "coordinator")
        elif kind == "ok" and self.role == "candidate":
            self.become("waiting", None, "coordinator")
        elif kind == "coordinator" and origin >= (self.leader or 0):
            self.become("follower", origin, "watch")
        self.step(receive={"from": origin, "incarnation": incarnation, "id": message["id"],
                           "message": kind})

    def expire(self):
        expired = self.timer
        self.lead() if expired in ("election", "heartbeat") else self.elect()
        self.step(expire=expired)

class Network:
    def __init__(self, folder):
        self.now, self.links = 0, {}
        self.nodes = [Node(self, node, (folder / f"{node}.ndjson").open("w")) for node in NODES]

    def carry(self, sender, message):
        link = self.links.setdefault((sender.node, message["to"]), [])
        link.append((sender, sender.incarnation, message))

    def run(self, events):
        chance = random.Random(1)
        for node in self.nodes:
            node.start()
        for _ in range(events):
            node = chance.choice(self.nodes)
            full = [link for link in self.links.values() if link]
            if not node.up:
                node.start()
            elif chance.random() < 0.01:
                node.up = False
            elif full and chance.random() < 0.9:
                sender, incarnation, message = chance.choice(full).pop(0)
                receiver = self.nodes[message["to"] - 1]
                if receiver.up and chance.random() < 0.95:
                    receiver.receive(sender, incarnation, message)
            else:
                node = min((node for node in self.nodes if node.up), key=lambda node: node.due)
                self.now = max(self.now, node.due)
                node.expire()
        for node in self.nodes:
            node.log.close()

if len(sys.argv) != 2:
    sys.exit(__doc__)
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
Network(folder).run(2000)

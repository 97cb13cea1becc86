------------------------------- MODULE Bully -------------------------------
(***************************************************************************)
(* The textbook bully algorithm: the live node with the highest id leads.  *)
(* This is the world of                                                    *)
(*                                                                         *)
(*   check bully --variant baseline --network set --timing perfect         *)
(*                                                                         *)
(* told a second time, for TLC.  Each disjunct of Next is one transition,  *)
(* and each enabled instance of it one successor, so that both counts,     *)
(* distinct and generated, can be compared with those of other checkers.   *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    N,  \* how many nodes; their ids are 1..N, and a higher id has priority
    C,  \* how often a node may crash
    R   \* how often a crashed node may recover

ASSUME N >= 2 /\ C >= 0 /\ R >= 0

VARIABLES
    up,          \* which nodes run
    role,        \* what each node does
    leader,      \* whom each node takes for the leader, or None
    net,         \* the messages in flight: a set, so equal ones merge
    crashes,     \* how many crashes there were
    recoveries   \* how many recoveries there were

vars == <<up, role, leader, net, crashes, recoveries>>

Node == 1..N
None == 0
Higher(i) == (i + 1)..N
Lower(i) == 1..(i - 1)

Election(i, j)    == [kind |-> "election", src |-> i, dst |-> j]
Ok(i, j)          == [kind |-> "ok", src |-> i, dst |-> j]
Coordinator(i, j) == [kind |-> "coordinator", src |-> i, dst |-> j]

Message ==
    {Election(p[1], p[2]) : p \in {q \in Node \X Node : q[1] < q[2]}}
    \cup {Ok(p[1], p[2]) : p \in {q \in Node \X Node : q[1] > q[2]}}
    \cup {Coordinator(p[1], p[2]) : p \in {q \in Node \X Node : q[1] > q[2]}}

(***************************************************************************)
(* Everybody is up and has long agreed on the highest.                     *)
(***************************************************************************)
Init ==
    /\ up = [i \in Node |-> TRUE]
    /\ role = [i \in Node |-> IF i = N THEN "leader" ELSE "follower"]
    /\ leader = [i \in Node |-> N]
    /\ net = {}
    /\ crashes = 0
    /\ recoveries = 0

(***************************************************************************)
(* What a node does in several of its steps.  `flying' is what is in       *)
(* flight besides the messages that are sent here.  Nobody knows who is    *)
(* up: messages go to down nodes too.                                      *)
(***************************************************************************)
Becomes(i, newRole, newLeader) ==
    /\ role' = [role EXCEPT ![i] = newRole]
    /\ leader' = [leader EXCEPT ![i] = newLeader]

BecomeLeader(i, flying) ==
    /\ Becomes(i, "leader", i)
    /\ net' = flying \cup {Coordinator(i, j) : j \in Lower(i)}

\* Whoever has the highest id of all need not ask.
StartElection(i, flying) ==
    IF i = N
    THEN BecomeLeader(i, flying)
    ELSE /\ Becomes(i, "candidate", None)
         /\ net' = flying \cup {Election(i, j) : j \in Higher(i)}

(***************************************************************************)
(* Faults.  What a node sent before it crashed stays in flight.            *)
(***************************************************************************)
Crash(i) ==
    /\ up[i]
    /\ crashes < C
    /\ up' = [up EXCEPT ![i] = FALSE]
    /\ Becomes(i, "follower", None)
    /\ crashes' = crashes + 1
    /\ UNCHANGED <<net, recoveries>>

Recover(i) ==
    /\ ~up[i]
    /\ recoveries < R
    /\ up' = [up EXCEPT ![i] = TRUE]
    /\ recoveries' = recoveries + 1
    /\ StartElection(i, net)
    /\ UNCHANGED crashes

(***************************************************************************)
(* Time-outs.  Timing is perfect: a timer expires only once what it waits  *)
(* for can no longer come.                                                 *)
(***************************************************************************)
Follows(i) == up[i] /\ role[i] = "follower"

SuspectDue(i) == Follows(i) /\ leader[i] # None /\ ~up[leader[i]]

ElectionTimeoutDue(i) ==
    /\ up[i]
    /\ role[i] = "candidate"
    /\ \A j \in Higher(i) : up[j] => Election(i, j) \notin net
    /\ \A j \in Higher(i) : Ok(j, i) \notin net

CoordinatorTimeoutDue(i) ==
    /\ up[i]
    /\ role[i] = "waiting"
    /\ \A j \in Higher(i) : ~up[j] /\ Coordinator(j, i) \notin net

Suspect(i) ==
    /\ SuspectDue(i)
    /\ StartElection(i, net)
    /\ UNCHANGED <<up, crashes, recoveries>>

ElectionTimeout(i) ==
    /\ ElectionTimeoutDue(i)
    /\ BecomeLeader(i, net)
    /\ UNCHANGED <<up, crashes, recoveries>>

CoordinatorTimeout(i) ==
    /\ CoordinatorTimeoutDue(i)
    /\ StartElection(i, net)
    /\ UNCHANGED <<up, crashes, recoveries>>

(***************************************************************************)
(* Deliveries, in any order.                                               *)
(***************************************************************************)
\* A lower node campaigns: answer it, and campaign oneself, unless one already does.  A leader
\* repeats that it leads.
OnElection(i, j, flying) ==
    LET answered == flying \cup {Ok(i, j)} IN
    CASE role[i] = "follower" -> StartElection(i, answered)
      [] role[i] = "leader" -> /\ net' = answered \cup {Coordinator(i, j)}
                               /\ UNCHANGED <<role, leader>>
      [] OTHER -> net' = answered /\ UNCHANGED <<role, leader>>

\* A higher node lives: leave the leading to it.  An answer does not tell to which election it
\* belongs, so an old one counts as well.
OnOk(i, flying) ==
    /\ net' = flying
    /\ UNCHANGED leader
    /\ IF role[i] = "candidate"
       THEN role' = [role EXCEPT ![i] = "waiting"]
       ELSE UNCHANGED role

\* Believed from whomever and however old, also by one that leads itself.
OnCoordinator(i, j, flying) ==
    /\ Becomes(i, "follower", j)
    /\ net' = flying

Deliver(m) ==
    /\ m \in net
    /\ LET rest == net \ {m} IN
       CASE ~up[m.dst] -> net' = rest /\ UNCHANGED <<role, leader>>
         [] up[m.dst] /\ m.kind = "election" -> OnElection(m.dst, m.src, rest)
         [] up[m.dst] /\ m.kind = "ok" -> OnOk(m.dst, rest)
         [] up[m.dst] /\ m.kind = "coordinator" -> OnCoordinator(m.dst, m.src, rest)
    /\ UNCHANGED <<up, crashes, recoveries>>

Next ==
    \/ \E i \in Node : Crash(i)
    \/ \E i \in Node : Recover(i)
    \/ \E i \in Node : Suspect(i)
    \/ \E i \in Node : ElectionTimeout(i)
    \/ \E i \in Node : CoordinatorTimeout(i)
    \/ \E m \in net : Deliver(m)

Spec == Init /\ [][Next]_vars

\* Deliveries and due time-outs happen in the end; faults owe nothing.
FairSpec ==
    /\ Spec
    /\ \A i \in Node :
        /\ WF_vars(Suspect(i))
        /\ WF_vars(ElectionTimeout(i))
        /\ WF_vars(CoordinatorTimeout(i))
    /\ \A m \in Message : WF_vars(Deliver(m))

\* Some delivery or due time-out happens in the end, whichever: less than FairSpec says, and
\* cheaper to check.
CoarseFairSpec ==
    /\ Spec
    /\ WF_vars(\/ \E i \in Node : Suspect(i) \/ ElectionTimeout(i) \/ CoordinatorTimeout(i)
               \/ \E m \in net : Deliver(m))

-----------------------------------------------------------------------------
(***************************************************************************)
(* Properties.                                                             *)
(***************************************************************************)
TypeOK ==
    /\ up \in [Node -> BOOLEAN]
    /\ role \in [Node -> {"follower", "candidate", "waiting", "leader"}]
    /\ leader \in [Node -> Node \cup {None}]
    /\ net \subseteq Message
    /\ crashes \in 0..C
    /\ recoveries \in 0..R
    \* Whether a node is up, its role and its leader are not independent.
    /\ \A i \in Node :
        /\ ~up[i] => role[i] = "follower" /\ leader[i] = None
        /\ role[i] = "leader" <=> leader[i] = i
        /\ role[i] \in {"candidate", "waiting"} => leader[i] = None
        /\ Follows(i) => leader[i] > i

Leads(i) == up[i] /\ role[i] = "leader"

OneLeader == \A i, j \in Node : Leads(i) /\ Leads(j) => i = j

\* Nobody follows a lower id than that of another node that leads.
FollowerBound == \A i, k \in Node : Follows(i) /\ Leads(k) /\ i # k => leader[i] >= k

Agreed ==
    \A i \in Node : up[i] =>
        leader[i] # None /\ up[leader[i]] /\ \A j \in Higher(leader[i]) : ~up[j]

\* Nothing can happen but faults.
Quiescent ==
    /\ net = {}
    /\ \A i \in Node : ~SuspectDue(i) /\ ~ElectionTimeoutDue(i) /\ ~CoordinatorTimeoutDue(i)

QuiescentAgreed == Quiescent => Agreed

\* Under FairSpec, and under CoarseFairSpec, this says what QuiescentAgreed says as an
\* invariant of Spec: budgets bound the faults, and between faults each node starts finitely many
\* elections, so that every fair behaviour comes to rest.
Stabilises == <>[]Agreed

\* TLC stops at the first state that violates an invariant.  This one evaluates all three and never
\* fails, so that a search under it counts the whole state space, and pays for judging it.
Judged ==
    /\ OneLeader \in BOOLEAN
    /\ FollowerBound \in BOOLEAN
    /\ QuiescentAgreed \in BOOLEAN
=============================================================================

/*
 * The textbook bully algorithm: the live node with the highest id leads. This is the world of
 *
 *     check bully --variant baseline --network set --timing perfect
 *
 * told a third time, for SPIN. Parameters, given to spin as -D flags:
 *
 *     N  how many nodes, 2 to 5; their ids are 1..N, and a higher id has priority
 *     C  how often a node may crash
 *     R  how often a crashed node may recover
 *     CHECK  which property is asserted: 1 OneLeader, 2 FollowerBound, 3 QuiescentAgreed; 0 (the
 *            default) none
 *     FAIR   who is owed a step, for Stabilises: 1 whatever stays possible, 2 the nodes and the
 *            network together; 0 (the default) nobody, and Stabilises is not asked
 *
 * Unless FAIR is given, one process plays all nodes. Each option of its loop is one d_step, so one
 * transition, and each possible step of a state is one option. With partial order reduction off
 * (-DNOREDUCE), "states, stored" and "transitions" are therefore the counts of distinct and
 * generated states.
 */
#ifndef CHECK
#define CHECK 0
#endif
#ifndef FAIR
#define FAIR 0
#endif

/*
 * EACH: A(x) for every node x, A(lo, hi) for every pair. SOME, ANY: A(x), or A(i, x) with a node i
 * at hand, or-ed over every node x; two, because a macro may not occur in itself.
 */
#if N == 2
#define EACH_NODE(A)    A(1) A(2)
#define ANY_NODE(A, i)  (A(i, 1) | A(i, 2))
#define SOME_NODE(A)    (A(1) | A(2))
#define EACH_PAIR(A)    A(1, 2)
#elif N == 3
#define EACH_NODE(A)    A(1) A(2) A(3)
#define ANY_NODE(A, i)  (A(i, 1) | A(i, 2) | A(i, 3))
#define SOME_NODE(A)    (A(1) | A(2) | A(3))
#define EACH_PAIR(A)    A(1, 2) A(1, 3) A(2, 3)
#elif N == 4
#define EACH_NODE(A)    A(1) A(2) A(3) A(4)
#define ANY_NODE(A, i)  (A(i, 1) | A(i, 2) | A(i, 3) | A(i, 4))
#define SOME_NODE(A)    (A(1) | A(2) | A(3) | A(4))
#define EACH_PAIR(A)    A(1, 2) A(1, 3) A(2, 3) A(1, 4) A(2, 4) A(3, 4)
#elif N == 5
#define EACH_NODE(A)    A(1) A(2) A(3) A(4) A(5)
#define ANY_NODE(A, i)  (A(i, 1) | A(i, 2) | A(i, 3) | A(i, 4) | A(i, 5))
#define SOME_NODE(A)    (A(1) | A(2) | A(3) | A(4) | A(5))
#define EACH_PAIR(A)    A(1, 2) A(1, 3) A(2, 3) A(1, 4) A(2, 4) A(3, 4) \
                        A(1, 5) A(2, 5) A(3, 5) A(4, 5)
#else
#error "N must be 2 to 5: the messages in flight must fit into an int"
#endif

/* ---- State ------------------------------------------------------------------------------- */

/*
 * Messages in flight: a set, one bit for each possible message. ELECTION only travels up, OK and
 * COORDINATOR only down, so each kind has one bit for each pair of nodes.
 */
int net = 0;

#define PAIRS                (N * (N - 1) / 2)
#define PAIR(lo, hi)         (((hi) - 1) * ((hi) - 2) / 2 + (lo) - 1)
#define ELECTION(lo, hi)     (1 << PAIR(lo, hi))
#define OK(hi, lo)           (1 << (PAIRS + PAIR(lo, hi)))
#define COORDINATOR(hi, lo)  (1 << (2 * PAIRS + PAIR(lo, hi)))

/*
 * What each node is, three bits each: down, candidate, waiting, or settled with a leader, which is
 * then the value. A node that is its own leader leads; one that has another follows.
 */
#define DOWN         0
#define CANDIDATE    (N + 1)
#define WAITING      (N + 2)
#define SHIFT(i)     (3 * ((i) - 1))
#define IS(i)        ((nodes >> SHIFT(i)) & 7)
#define UP(i)        (IS(i) != DOWN)
#define LEADS(i)     (IS(i) == (i))
#define FOLLOWS(i)   (IS(i) > (i) && IS(i) <= N)
#define NONE_UP_ABOVE(i)  ((nodes >> (3 * (i))) == 0)

/* Everybody is up and has long agreed on the highest: N in each group of three bits. */
short nodes = N * (((1 << (3 * N)) - 1) / 7);

byte crashes = 0;
byte recoveries = 0;

/* ---- Sets of messages --------------------------------------------------------------------- */

#define ELECTION_UP(i, j)       (((i) < (j)) * ELECTION(i, j))
#define ELECTION_TO_LIVE(i, j)  (((i) < (j) && UP(j)) * ELECTION(i, j))
#define OK_DOWN(i, j)           (((i) < (j)) * OK(j, i))
#define COORDINATOR_IN(i, j)    (((i) < (j)) * COORDINATOR(j, i))
#define COORDINATOR_OUT(i, j)   (((i) > (j)) * COORDINATOR(i, j))

#define ELECTIONS_FROM(i)     ANY_NODE(ELECTION_UP, i)
#define LIVE_ELECTIONS(i)     ANY_NODE(ELECTION_TO_LIVE, i)
#define OKS_TO(i)             ANY_NODE(OK_DOWN, i)
#define COORDINATORS_TO(i)    ANY_NODE(COORDINATOR_IN, i)
#define COORDINATORS_FROM(i)  ANY_NODE(COORDINATOR_OUT, i)

/* ---- When a timer expires: only once what it waits for can no longer come ------------------ */

#define SUSPECT_DUE(i)              (FOLLOWS(i) && IS(IS(i)) == DOWN)
#define ELECTION_TIMEOUT_DUE(i)     (IS(i) == CANDIDATE && !(net & (LIVE_ELECTIONS(i) | OKS_TO(i))))
#define COORDINATOR_TIMEOUT_DUE(i)  (IS(i) == WAITING && NONE_UP_ABOVE(i) \
                                     && !(net & COORDINATORS_TO(i)))

/* ---- What a node does in several of its steps ---------------------------------------------- */

inline become(i, what) {
    nodes = (nodes & ~(7 << SHIFT(i))) | ((what) << SHIFT(i))
}

/* Nobody knows who is up: messages go to down nodes too. */
inline become_leader(i) {
    become(i, i);
    net = net | COORDINATORS_FROM(i)
}

/* Whoever has the highest id of all need not ask. */
inline start_election(i) {
    if
    :: i == N -> become_leader(i)
    :: else -> become(i, CANDIDATE); net = net | ELECTIONS_FROM(i)
    fi
}

/* ---- Deliveries, from j to i --------------------------------------------------------------- */

/*
 * A lower node campaigns: answer it, and campaign oneself, unless one already does. A leader
 * repeats that it leads.
 */
inline on_election(i, j) {
    net = net & ~ELECTION(j, i);
    if
    :: UP(i) -> net = net | OK(i, j)
    :: else
    fi;
    if
    :: FOLLOWS(i) -> start_election(i)
    :: LEADS(i) -> net = net | COORDINATOR(i, j)
    :: else
    fi
}

/*
 * A higher node lives: leave the leading to it. An answer does not tell to which election it
 * belongs, so an old one counts as well.
 */
inline on_ok(i, j) {
    net = net & ~OK(j, i);
    if
    :: IS(i) == CANDIDATE -> become(i, WAITING)
    :: else
    fi
}

/* Believed from whomever and however old, also by one that leads itself. */
inline on_coordinator(i, j) {
    net = net & ~COORDINATOR(j, i);
    if
    :: UP(i) -> become(i, j)
    :: else
    fi
}

/* ---- Properties ---------------------------------------------------------------------------- */

#define BOTH_LEAD(lo, hi)  || (LEADS(lo) && LEADS(hi))
#define ONE_LEADER         (!(false EACH_PAIR(BOTH_LEAD)))

/*
 * Nobody follows a lower id than that of another node that leads. A node only follows a higher one,
 * so that no lower one can be the other.
 */
#define UNBOUND(lo, hi)    || (FOLLOWS(lo) && LEADS(hi) && IS(lo) < hi)
#define FOLLOWER_BOUND     (!(false EACH_PAIR(UNBOUND)))

/* Quiescent: nothing can happen but faults. Agreed: the highest live node leads all. */
#define DUE(j)            (SUSPECT_DUE(j) || ELECTION_TIMEOUT_DUE(j) || COORDINATOR_TIMEOUT_DUE(j))
#define SETTLED_WELL(j)   (IS(j) <= N && UP(IS(j)) && NONE_UP_ABOVE(IS(j)))
#define ASTRAY(j)         (UP(j) && !SETTLED_WELL(j))
#define QUIESCENT         (net == 0 && !SOME_NODE(DUE))
#define QUIESCENT_AGREED  (!QUIESCENT || !SOME_NODE(ASTRAY))

/* Asserted at the end of each step, in the step: a claim or a monitor would add transitions. */
inline judge() {
#if CHECK == 1
    assert(ONE_LEADER);
#elif CHECK == 2
    assert(FOLLOWER_BOUND);
#elif CHECK == 3
    assert(QUIESCENT_AGREED);
#endif
    skip
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* What a node sent before it crashed stays in flight. */
#define CRASH(i) \
    :: d_step { UP(i) && crashes < C -> crashes++; become(i, DOWN); judge() }
#define RECOVER(i) \
    :: d_step { !UP(i) && recoveries < R -> recoveries++; start_election(i); judge() }
#define SUSPECT(i) \
    :: d_step { SUSPECT_DUE(i) -> start_election(i); judge() }
#define ELECTION_TIMEOUT(i) \
    :: d_step { ELECTION_TIMEOUT_DUE(i) -> become_leader(i); judge() }
#define COORDINATOR_TIMEOUT(i) \
    :: d_step { COORDINATOR_TIMEOUT_DUE(i) -> start_election(i); judge() }
#define DELIVER_ELECTION(lo, hi) \
    :: d_step { net & ELECTION(lo, hi) -> on_election(hi, lo); judge() }
#define DELIVER_OK(lo, hi) \
    :: d_step { net & OK(hi, lo) -> on_ok(lo, hi); judge() }
#define DELIVER_COORDINATOR(lo, hi) \
    :: d_step { net & COORDINATOR(hi, lo) -> on_coordinator(lo, hi); judge() }

#define FAULTS \
    EACH_NODE(CRASH) \
    EACH_NODE(RECOVER)
#define OWED_STEPS \
    EACH_NODE(SUSPECT) \
    EACH_NODE(ELECTION_TIMEOUT) \
    EACH_NODE(COORDINATOR_TIMEOUT) \
    EACH_PAIR(DELIVER_ELECTION) \
    EACH_PAIR(DELIVER_OK) \
    EACH_PAIR(DELIVER_COORDINATOR)

#if FAIR == 0

active proctype bully() {
end:    /* a state without a possible step is no error */
    do
    FAULTS
    OWED_STEPS
    od
}

#else

/*
 * Stabilises, that in the end the live nodes agree for good, under weak fairness (pan -a -f). To
 * SPIN fairness is a matter of processes: one that stays able to take a step takes one. So the
 * steps are shared out to processes by what is owed. Faults are not: as long as one is possible,
 * their process may as well do nothing, for ever.
 */
active proctype faults() {
    do
    FAULTS
    :: crashes < C || recoveries < R
    od
}

#if FAIR == 1

/* Each delivery and each time-out is a process of its own, so it is owed by itself. */
#define SUSPECTS(i)  active proctype suspect_##i() { do SUSPECT(i) od }
#define ELECTION_TIMEOUTS(i) \
    active proctype election_timeout_##i() { do ELECTION_TIMEOUT(i) od }
#define COORDINATOR_TIMEOUTS(i) \
    active proctype coordinator_timeout_##i() { do COORDINATOR_TIMEOUT(i) od }
#define ELECTIONS(lo, hi) \
    active proctype election_##lo##_##hi() { do DELIVER_ELECTION(lo, hi) od }
#define OKS(lo, hi) \
    active proctype ok_##hi##_##lo() { do DELIVER_OK(lo, hi) od }
#define COORDINATORS(lo, hi) \
    active proctype coordinator_##hi##_##lo() { do DELIVER_COORDINATOR(lo, hi) od }

EACH_NODE(SUSPECTS)
EACH_NODE(ELECTION_TIMEOUTS)
EACH_NODE(COORDINATOR_TIMEOUTS)
EACH_PAIR(ELECTIONS)
EACH_PAIR(OKS)
EACH_PAIR(COORDINATORS)

#else

/* Some step is owed, whichever: less than what FAIR == 1 says, and much cheaper. */
active proctype owed() {
    do
    OWED_STEPS
    od
}

#endif

#define AGREED  (!SOME_NODE(ASTRAY))

/* The opposite of Stabilises: disagreement, again and again. */
never {
agreed:
    do
    :: AGREED
    :: else -> goto accept_astray
    od;
accept_astray:
    do
    :: !AGREED
    :: else -> goto agreed
    od
}

#endif

// Dynamic batching, proved for all requests, slots, limits, stop tokens and language models.
//
// Three things stand side by side, each spelled in its own words:
//   1. Solo: what a request gets when it has the language model for itself.
//   2. The transition system: Initial, Admit and Advance, as in ../transitions.py.
//   5. The code: Generate, statement by statement as in ../generate.py, one method a loop.
// Part 3 proves invariants of the system, part 4 the theorems about all its runs, parts 5 and 6 that
// the code does what the system does and nothing else. The language model is a function parameter,
// so nothing at all is assumed about it; "pure" is a hypothesis, written where it is needed. What is a
// `method` here can be compiled and run, and is compared with the Python by running both.

type Token = int
type Tokens = seq<Token>

datatype Request = Request(request_id: string, prompt: Tokens, limit: nat)  // limit: generated tokens
datatype Dialect = Dialect(stop_excluded: bool, padded: bool)
datatype Call = Call(rows: seq<Tokens>, replies: Tokens)

// ---- 1. Alone ------------------------------------------------------------------------------------

// The tokens after `prefix`, one at a time, until the stop token or `limit` of them.
function Solo(next: Tokens -> Token, prefix: Tokens, limit: nat, stop_token: Token): Tokens
  decreases limit
{
  if limit == 0 then []
  else if next(prefix) == stop_token then [stop_token]
  else [next(prefix)] + Solo(next, prefix + [next(prefix)], limit - 1, stop_token)
}

// ---- 2. The transition system --------------------------------------------------------------------

datatype Problem = Problem(requests: seq<Request>, num_slots: nat, stop_token: Token, dialect: Dialect)
datatype Occupant = Nobody | Holds(request: nat)
datatype State = State(waiting: seq<nat>, slots: seq<Occupant>, generated: seq<Tokens>, finished: set<nat>)

// The shape of a state; everything else about it is an invariant of part 4.
predicate WellFormed(p: Problem, s: State)
{
  && |s.slots| == p.num_slots
  && |s.generated| == |p.requests|
  && (forall k :: 0 <= k < |s.waiting| ==> s.waiting[k] < |p.requests|)
  && (forall i :: 0 <= i < |s.slots| && s.slots[i].Holds? ==> s.slots[i].request < |p.requests|)
  && (forall r :: r in s.finished ==> r < |p.requests|)
}

predicate Running(s: State, r: nat)
{
  exists i :: 0 <= i < |s.slots| && s.slots[i] == Holds(r)
}

function method Initial(p: Problem): State
  ensures WellFormed(p, Initial(p))
{
  var finished := set r: nat | r < |p.requests| && p.requests[r].limit == 0;
  State(Unstarted(p, |p.requests|), Repeat(Nobody, p.num_slots), Repeat([], |p.requests|), finished)
}

function method Unstarted(p: Problem, count: nat): seq<nat>
  requires count <= |p.requests|
  ensures forall k :: 0 <= k < |Unstarted(p, count)| ==> Unstarted(p, count)[k] < count
{
  if count == 0 then []
  else if p.requests[count - 1].limit > 0 then Unstarted(p, count - 1) + [count - 1]
  else Unstarted(p, count - 1)
}

function method Repeat<T>(item: T, count: nat): seq<T>
  ensures |Repeat(item, count)| == count
  ensures forall i :: 0 <= i < count ==> Repeat(item, count)[i] == item
{
  if count == 0 then [] else Repeat(item, count - 1) + [item]
}

function method Admit(s: State): State
{
  AdmitFrom(s, 0)
}

function method AdmitFrom(s: State, index: nat): State
  requires index <= |s.slots|
  ensures |AdmitFrom(s, index).slots| == |s.slots|
  decreases |s.slots| - index
{
  if index == |s.slots| then s else AdmitFrom(Place(s, index), index + 1)
}

// One slot's share of Admit.
function method Place(s: State, index: nat): State
  requires index < |s.slots|
{
  if s.slots[index].Nobody? && s.waiting != []
  then s.(slots := s.slots[index := Holds(s.waiting[0])], waiting := s.waiting[1..])
  else s
}

function method Prefix(p: Problem, s: State, r: nat): Tokens
  requires r < |p.requests| && |s.generated| == |p.requests|
{
  p.requests[r].prompt + s.generated[r]
}

predicate method Full(p: Problem, r: nat, generated: Tokens)
  requires r < |p.requests|
{
  (generated != [] && generated[|generated| - 1] == p.stop_token) || |generated| == p.requests[r].limit
}

function method Advance(p: Problem, s: State, replies: map<nat, Token>): State
  requires WellFormed(p, s) && Answered(s, replies, 0)
  ensures WellFormed(p, Advance(p, s, replies))
{
  AdvanceFrom(p, s, replies, 0)
}

predicate Answered(s: State, replies: map<nat, Token>, index: nat)
{
  forall i :: index <= i < |s.slots| && s.slots[i].Holds? ==> s.slots[i].request in replies
}

function method AdvanceFrom(p: Problem, s: State, replies: map<nat, Token>, index: nat): State
  requires WellFormed(p, s) && Answered(s, replies, index) && index <= p.num_slots
  ensures WellFormed(p, AdvanceFrom(p, s, replies, index))
  decreases p.num_slots - index
{
  if index == p.num_slots then s else AdvanceFrom(p, Give(p, s, replies, index), replies, index + 1)
}

// One slot's share of Advance.
function method Give(p: Problem, s: State, replies: map<nat, Token>, index: nat): State
  requires WellFormed(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures WellFormed(p, Give(p, s, replies, index))
{
  if s.slots[index].Nobody? then s
  else
    var r := s.slots[index].request;
    var generated := s.generated[r] + [replies[r]];
    var given := s.(generated := s.generated[r := generated]);
    if Full(p, r, generated)
    then given.(slots := s.slots[index := Nobody], finished := s.finished + {r})
    else given
}

predicate method Halted(s: State)
{
  s.waiting == [] && Idle(s)
}

predicate method Idle(s: State)
{
  forall i :: 0 <= i < |s.slots| ==> s.slots[i].Nobody?
}

// The slots whose rows a call carries, lowest first.
function Sent(p: Problem, s: State): seq<nat>
{
  Chosen(s, p.dialect.padded, |s.slots|)
}

// Of the lowest `count` slots, those in use, or all of them.
function Chosen(s: State, all: bool, count: nat): seq<nat>
  requires count <= |s.slots|
{
  if count == 0 then []
  else if all || s.slots[count - 1].Holds? then Chosen(s, all, count - 1) + [count - 1]
  else Chosen(s, all, count - 1)
}

// One row a sent slot: the prefix of its request, or the pad row.
function Rows(p: Problem, s: State, sent: seq<nat>): seq<Tokens>
  requires WellFormed(p, s) && forall k :: 0 <= k < |sent| ==> sent[k] < p.num_slots
  ensures |Rows(p, s, sent)| == |sent|
{
  if sent == [] then []
  else
    var last := sent[|sent| - 1];
    var row := if s.slots[last].Holds? then Prefix(p, s, s.slots[last].request) else [];
    Rows(p, s, sent[..|sent| - 1]) + [row]
}

// Reply k belongs to the request in the k-th sent slot.
function Replies(s: State, sent: seq<nat>, tokens: Tokens): map<nat, Token>
  requires |tokens| == |sent| && forall k :: 0 <= k < |sent| ==> sent[k] < |s.slots|
{
  if sent == [] then map[]
  else
    var last := |sent| - 1;
    var others := Replies(s, sent[..last], tokens[..last]);
    if s.slots[sent[last]].Holds? then others[s.slots[sent[last]].request := tokens[last]] else others
}

// Whether `calls` is a path of the system: each call carries what its state says, and one reply a row.
predicate Legal(p: Problem, calls: seq<Call>)
  decreases |calls|, 0
{
  calls == [] || (
    && Legal(p, Earlier(calls))
    && Asks(p, After(p, Earlier(calls)), Last(calls))
    && |Last(calls).replies| == |Last(calls).rows|)
}

function Earlier(calls: seq<Call>): seq<Call>
  requires calls != []
{
  calls[..|calls| - 1]
}

function Last(calls: seq<Call>): Call
  requires calls != []
{
  calls[|calls| - 1]
}

predicate Asks(p: Problem, s: State, call: Call)
  requires WellFormed(p, s)
{
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  !Idle(s) && call.rows == Rows(p, s, Sent(p, s))
}

// The state at the next call, or at the end.
function After(p: Problem, calls: seq<Call>): State
  requires Legal(p, calls)
  ensures WellFormed(p, After(p, calls))
  decreases |calls|, 1
{
  if calls == [] then Initially(p)
  else Step(p, After(p, Earlier(calls)), Last(calls))
}

function Initially(p: Problem): State
  ensures WellFormed(p, Initially(p))
{
  AdmitIsWellFormed(p, Initial(p), 0);
  Admit(Initial(p))
}

function Step(p: Problem, s: State, call: Call): State
  requires WellFormed(p, s) && Asks(p, s, call) && |call.replies| == |call.rows|
  ensures WellFormed(p, Step(p, s, call))
{
  var sent := Sent(p, s);
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  RepliesAnswer(p, s, sent, call.replies);
  var after := Advance(p, s, Replies(s, sent, call.replies));
  AdmitIsWellFormed(p, after, 0);
  Admit(after)
}

predicate Ascends(sent: seq<nat>)
{
  forall j, k :: 0 <= j < k < |sent| ==> sent[j] < sent[k]
}

lemma ChosenAscends(s: State, all: bool, count: nat)
  requires count <= |s.slots|
  ensures var chosen := Chosen(s, all, count);
    && (forall k :: 0 <= k < |chosen| ==> chosen[k] < count && (all || s.slots[chosen[k]].Holds?))
    && (forall i: nat :: i < count && (all || s.slots[i].Holds?) ==> i in chosen)
    && Ascends(chosen)
    && |chosen| <= count
    && ((forall i :: 0 <= i < count ==> all || s.slots[i].Holds?) ==> |chosen| == count)
{
}

lemma RepliesAnswer(p: Problem, s: State, sent: seq<nat>, tokens: Tokens)
  requires |tokens| == |sent| && forall k :: 0 <= k < |sent| ==> sent[k] < |s.slots|
  ensures forall k :: 0 <= k < |sent| && s.slots[sent[k]].Holds? ==>
    s.slots[sent[k]].request in Replies(s, sent, tokens)
{
  if sent != [] {
    var last := |sent| - 1;
    RepliesAnswer(p, s, sent[..last], tokens[..last]);
    forall k | 0 <= k < |sent| && s.slots[sent[k]].Holds?
      ensures s.slots[sent[k]].request in Replies(s, sent, tokens)
    {
      if k < last { assert sent[..last][k] == sent[k]; }
    }
  }
}

lemma AdmitIsWellFormed(p: Problem, s: State, index: nat)
  requires WellFormed(p, s) && index <= p.num_slots
  ensures WellFormed(p, AdmitFrom(s, index))
  decreases p.num_slots - index
{
  if index < p.num_slots { AdmitIsWellFormed(p, Place(s, index), index + 1); }
}

// ---- 3. Invariants -------------------------------------------------------------------------------

predicate SlotsDistinct(p: Problem, s: State)
{
  forall i, j :: 0 <= i < j < |s.slots| && s.slots[i].Holds? ==> s.slots[i] != s.slots[j]
}

predicate Partition(p: Problem, s: State)
{
  && (forall r: nat :: r < |p.requests| ==> r in s.waiting || Running(s, r) || r in s.finished)
  && (forall r: nat :: r in s.waiting ==> !Running(s, r) && r !in s.finished)
  && (forall r: nat :: Running(s, r) ==> r !in s.finished)
}

predicate WithinLimits(p: Problem, s: State)
  requires WellFormed(p, s)
{
  forall r: nat :: r < |p.requests| ==> |s.generated[r]| <= p.requests[r].limit
}

predicate FullMeansFinished(p: Problem, s: State)
  requires WellFormed(p, s)
{
  forall r: nat :: r < |p.requests| ==> (r in s.finished <==> Full(p, r, s.generated[r]))
}

predicate WaitingUntouched(p: Problem, s: State)
  requires WellFormed(p, s)
{
  forall k :: 0 <= k < |s.waiting| ==> s.generated[s.waiting[k]] == []
}

// The queue is in the order of arrival, and whoever was admitted came before whoever waits.
predicate Fifo(p: Problem, s: State)
  requires WellFormed(p, s)
{
  && Ascends(s.waiting)
  && (forall r: nat, k :: Admitted(p, s, r) && 0 <= k < |s.waiting| ==> r < s.waiting[k])
}

predicate Admitted(p: Problem, s: State, r: nat)
{
  Running(s, r) || (r in s.finished && r < |p.requests| && p.requests[r].limit > 0)
}

// A request with nothing to generate is neither in the queue nor in a slot.
predicate ZeroUntouched(p: Problem, s: State)
  requires WellFormed(p, s)
{
  && (forall k :: 0 <= k < |s.waiting| ==> p.requests[s.waiting[k]].limit > 0)
  && (forall r: nat :: r < |p.requests| && Running(s, r) ==> p.requests[r].limit > 0)
}

predicate Invariants(p: Problem, s: State)
{
  && WellFormed(p, s)
  && SlotsDistinct(p, s)
  && Partition(p, s)
  && WithinLimits(p, s)
  && FullMeansFinished(p, s)
  && WaitingUntouched(p, s)
  && Fifo(p, s)
  && ZeroUntouched(p, s)
}

// Holds at a call, that is, after Admit.
predicate NoIdleSlot(p: Problem, s: State)
{
  s.waiting == [] || forall i :: 0 <= i < |s.slots| ==> s.slots[i].Holds?
}

// At the start.

lemma UnstartedIsInOrder(p: Problem, count: nat)
  requires count <= |p.requests|
  ensures var queue := Unstarted(p, count);
    && Ascends(queue)
    && (forall k :: 0 <= k < |queue| ==> p.requests[queue[k]].limit > 0)
    && (forall r: nat :: r < count && p.requests[r].limit > 0 ==> r in queue)
{
}

lemma InitialHoldsInvariants(p: Problem)
  ensures Invariants(p, Initial(p))
{
  UnstartedIsInOrder(p, |p.requests|);
}

// Admit, slot by slot.

lemma PlaceKeepsWellFormed(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures WellFormed(p, Place(s, index))
{
}

lemma PlaceMovesOne(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots && s.slots[index].Nobody? && s.waiting != []
  ensures var after := Place(s, index);
    && after.slots[index].Holds?
    && (forall r: nat :: Running(after, r) <==> Running(s, r) || Holds(r) == after.slots[index])
    && (forall r: nat :: r in s.waiting <==> r in after.waiting || Holds(r) == after.slots[index])
    && after.slots[index].request !in after.waiting
{
  var after := Place(s, index);
  forall r: nat | Running(s, r) ensures Running(after, r) {
    var i :| 0 <= i < |s.slots| && s.slots[i] == Holds(r);
    assert after.slots[i] == Holds(r);
  }
}

lemma PlaceKeepsSlotsDistinct(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures SlotsDistinct(p, Place(s, index))
{
  if s.waiting != [] { assert s.waiting[0] in s.waiting; }
}

lemma PlaceKeepsPartition(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures Partition(p, Place(s, index))
{
  if s.slots[index].Nobody? && s.waiting != [] { PlaceMovesOne(p, s, index); }
}

lemma PlaceKeepsFullMeansFinished(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures WellFormed(p, Place(s, index)) && WithinLimits(p, Place(s, index)) && FullMeansFinished(p, Place(s, index))
{
}

lemma PlaceKeepsWaitingUntouched(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures WellFormed(p, Place(s, index)) && WaitingUntouched(p, Place(s, index))
{
}

lemma PlaceKeepsFifo(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures WellFormed(p, Place(s, index)) && Fifo(p, Place(s, index))
{
  if s.slots[index].Nobody? && s.waiting != [] {
    var after := Place(s, index);
    PlaceMovesOne(p, s, index);
    forall r: nat | Admitted(p, after, r) ensures Admitted(p, s, r) || Holds(r) == after.slots[index] {}
  }
}

lemma PlaceKeepsZeroUntouched(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures WellFormed(p, Place(s, index)) && ZeroUntouched(p, Place(s, index))
{
  if s.slots[index].Nobody? && s.waiting != [] { PlaceMovesOne(p, s, index); }
}

lemma PlaceKeepsInvariants(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index < p.num_slots
  ensures Invariants(p, Place(s, index))
{
  PlaceKeepsWellFormed(p, s, index);
  PlaceKeepsSlotsDistinct(p, s, index);
  PlaceKeepsPartition(p, s, index);
  PlaceKeepsFullMeansFinished(p, s, index);
  PlaceKeepsWaitingUntouched(p, s, index);
  PlaceKeepsFifo(p, s, index);
  PlaceKeepsZeroUntouched(p, s, index);
}

lemma AdmitKeepsInvariants(p: Problem, s: State, index: nat)
  requires Invariants(p, s) && index <= p.num_slots
  ensures Invariants(p, AdmitFrom(s, index))
  ensures AdmitFrom(s, index).generated == s.generated
  ensures AdmitFrom(s, index).finished == s.finished
  decreases p.num_slots - index
{
  if index < p.num_slots {
    PlaceKeepsInvariants(p, s, index);
    AdmitKeepsInvariants(p, Place(s, index), index + 1);
  }
}

lemma AdmitLeavesNoIdleSlot(p: Problem, s: State, index: nat)
  requires |s.slots| == p.num_slots && index <= p.num_slots
  requires s.waiting == [] || forall i :: 0 <= i < index ==> s.slots[i].Holds?
  ensures NoIdleSlot(p, AdmitFrom(s, index))
  decreases p.num_slots - index
{
  if index < p.num_slots { AdmitLeavesNoIdleSlot(p, Place(s, index), index + 1); }
}

lemma AdmitKeepsAll(p: Problem, s: State)
  requires Invariants(p, s)
  ensures Invariants(p, Admit(s)) && NoIdleSlot(p, Admit(s))
  ensures Admit(s).generated == s.generated && Admit(s).finished == s.finished
{
  AdmitKeepsInvariants(p, s, 0);
  AdmitLeavesNoIdleSlot(p, s, 0);
}

// Advance, slot by slot.

lemma GiveChangesOneSlot(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots && s.slots[index].Holds?
  ensures var after, r := Give(p, s, replies, index), s.slots[index].request;
    && (forall q: nat :: q != r ==> (Running(after, q) <==> Running(s, q)))
    && (Running(after, r) <==> !Full(p, r, s.generated[r] + [replies[r]]))
    && after.waiting == s.waiting
    && Running(s, r)
{
  var after, r := Give(p, s, replies, index), s.slots[index].request;
  assert s.slots[index] == Holds(r);
  forall q: nat | q != r && Running(s, q) ensures Running(after, q) {
    var i :| 0 <= i < |s.slots| && s.slots[i] == Holds(q);
    assert after.slots[i] == Holds(q);
  }
  if !Full(p, r, s.generated[r] + [replies[r]]) { assert after.slots[index] == Holds(r); }
}

lemma GiveKeepsSlotsDistinct(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures SlotsDistinct(p, Give(p, s, replies, index))
{
}

lemma GiveKeepsPartition(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures Partition(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? { GiveChangesOneSlot(p, s, replies, index); }
}

lemma GiveKeepsWithinLimits(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures WithinLimits(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? { GiveChangesOneSlot(p, s, replies, index); }
}

lemma GiveKeepsFullMeansFinished(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures FullMeansFinished(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? { GiveChangesOneSlot(p, s, replies, index); }
}

lemma GiveKeepsWaitingUntouched(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures WaitingUntouched(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? {
    GiveChangesOneSlot(p, s, replies, index);
    forall k | 0 <= k < |s.waiting| ensures s.waiting[k] != s.slots[index].request {
      assert s.waiting[k] in s.waiting;
    }
  }
}

lemma GiveKeepsFifo(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures Fifo(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? {
    GiveChangesOneSlot(p, s, replies, index);
    assert Admitted(p, s, s.slots[index].request);
    forall r: nat | Admitted(p, Give(p, s, replies, index), r) ensures Admitted(p, s, r) {}
  }
}

lemma GiveKeepsZeroUntouched(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures ZeroUntouched(p, Give(p, s, replies, index))
{
  if s.slots[index].Holds? { GiveChangesOneSlot(p, s, replies, index); }
}

lemma GiveKeepsInvariants(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots
  ensures Invariants(p, Give(p, s, replies, index))
{
  GiveKeepsSlotsDistinct(p, s, replies, index);
  GiveKeepsPartition(p, s, replies, index);
  GiveKeepsWithinLimits(p, s, replies, index);
  GiveKeepsFullMeansFinished(p, s, replies, index);
  GiveKeepsWaitingUntouched(p, s, replies, index);
  GiveKeepsFifo(p, s, replies, index);
  GiveKeepsZeroUntouched(p, s, replies, index);
}

lemma AdvanceKeepsInvariants(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index <= p.num_slots
  ensures Invariants(p, AdvanceFrom(p, s, replies, index))
  decreases p.num_slots - index
{
  if index < p.num_slots {
    GiveKeepsInvariants(p, s, replies, index);
    AdvanceKeepsInvariants(p, Give(p, s, replies, index), replies, index + 1);
  }
}

// Progress: the tokens that may still be generated, over all requests.

function Remaining(p: Problem, s: State, count: nat): int
  requires WellFormed(p, s) && count <= |p.requests|
{
  if count == 0 then 0
  else Remaining(p, s, count - 1) + p.requests[count - 1].limit - |s.generated[count - 1]|
}

lemma RemainingIsNatural(p: Problem, s: State, count: nat)
  requires WellFormed(p, s) && WithinLimits(p, s) && count <= |p.requests|
  ensures Remaining(p, s, count) >= 0
{
}

lemma RemainingReadsGenerated(p: Problem, s: State, t: State, count: nat)
  requires WellFormed(p, s) && WellFormed(p, t) && count <= |p.requests|
  requires s.generated == t.generated
  ensures Remaining(p, s, count) == Remaining(p, t, count)
{
}

lemma GiveSpends(p: Problem, s: State, replies: map<nat, Token>, index: nat, count: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots && count <= |p.requests|
  ensures var spent := s.slots[index].Holds? && s.slots[index].request < count;
    Remaining(p, Give(p, s, replies, index), count) == Remaining(p, s, count) - (if spent then 1 else 0)
{
}

lemma AdvanceSpends(p: Problem, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && Answered(s, replies, index) && index <= p.num_slots
  ensures var after := AdvanceFrom(p, s, replies, index);
    && Remaining(p, after, |p.requests|) <= Remaining(p, s, |p.requests|)
    && ((exists i :: index <= i < p.num_slots && s.slots[i].Holds?) ==>
        Remaining(p, after, |p.requests|) < Remaining(p, s, |p.requests|))
  decreases p.num_slots - index
{
  if index < p.num_slots {
    GiveKeepsInvariants(p, s, replies, index);
    GiveSpends(p, s, replies, index, |p.requests|);
    AdvanceSpends(p, Give(p, s, replies, index), replies, index + 1);
    var given := Give(p, s, replies, index);
    forall i | index < i < p.num_slots ensures given.slots[i] == s.slots[i] {}
  }
}

// Own tokens: what is generated, and what it would get alone from there on, is what it gets alone.

function Rest(p: Problem, next: Tokens -> Token, r: nat, generated: Tokens): Tokens
  requires r < |p.requests| && |generated| <= p.requests[r].limit
{
  if Full(p, r, generated) then []
  else Solo(next, p.requests[r].prompt + generated, p.requests[r].limit - |generated|, p.stop_token)
}

function Alone(p: Problem, next: Tokens -> Token, r: nat): Tokens
  requires r < |p.requests|
{
  Solo(next, p.requests[r].prompt, p.requests[r].limit, p.stop_token)
}

predicate OnTrack(p: Problem, next: Tokens -> Token, s: State)
  requires Invariants(p, s)
{
  forall r: nat :: r < |p.requests| ==> s.generated[r] + Rest(p, next, r, s.generated[r]) == Alone(p, next, r)
}

predicate Truthful(p: Problem, next: Tokens -> Token, s: State, replies: map<nat, Token>, index: nat)
  requires WellFormed(p, s)
{
  forall i :: index <= i < |s.slots| && s.slots[i].Holds? ==>
    s.slots[i].request in replies && replies[s.slots[i].request] == next(Prefix(p, s, s.slots[i].request))
}

lemma InitialIsOnTrack(p: Problem, next: Tokens -> Token)
  ensures Invariants(p, Initial(p)) && OnTrack(p, next, Initial(p))
{
  InitialHoldsInvariants(p);
  forall r: nat | r < |p.requests| ensures Rest(p, next, r, []) == Alone(p, next, r) {
    assert p.requests[r].prompt + [] == p.requests[r].prompt;
  }
}

lemma OneTokenIsOnTrack(p: Problem, next: Tokens -> Token, r: nat, generated: Tokens)
  requires r < |p.requests| && |generated| < p.requests[r].limit && !Full(p, r, generated)
  ensures var more := generated + [next(p.requests[r].prompt + generated)];
    generated + Rest(p, next, r, generated) == more + Rest(p, next, r, more)
{
  var prefix := p.requests[r].prompt + generated;
  var token, left := next(prefix), p.requests[r].limit - |generated|;
  var more := generated + [token];
  assert p.requests[r].prompt + more == prefix + [token];
  assert Rest(p, next, r, generated) == Solo(next, prefix, left, p.stop_token);
  if token == p.stop_token {
    assert Solo(next, prefix, left, p.stop_token) == [token];
    assert Full(p, r, more);
  } else {
    assert Solo(next, prefix, left, p.stop_token) == [token] + Solo(next, prefix + [token], left - 1, p.stop_token);
    assert Rest(p, next, r, more) == Solo(next, prefix + [token], left - 1, p.stop_token);
    assert more + Rest(p, next, r, more) == generated + ([token] + Rest(p, next, r, more));
  }
}

lemma GiveIsOnTrack(p: Problem, next: Tokens -> Token, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && OnTrack(p, next, s) && index < p.num_slots
  requires Answered(s, replies, index) && Truthful(p, next, s, replies, index)
  ensures var after := Give(p, s, replies, index);
    Invariants(p, after) && OnTrack(p, next, after) && Truthful(p, next, after, replies, index + 1)
{
  GiveKeepsInvariants(p, s, replies, index);
  if s.slots[index].Holds? {
    var r := s.slots[index].request;
    GiveChangesOneSlot(p, s, replies, index);
    OneTokenIsOnTrack(p, next, r, s.generated[r]);
  }
}

lemma AdvanceIsOnTrack(p: Problem, next: Tokens -> Token, s: State, replies: map<nat, Token>, index: nat)
  requires Invariants(p, s) && OnTrack(p, next, s) && index <= p.num_slots
  requires Answered(s, replies, index) && Truthful(p, next, s, replies, index)
  ensures var after := AdvanceFrom(p, s, replies, index); Invariants(p, after) && OnTrack(p, next, after)
  decreases p.num_slots - index
{
  if index < p.num_slots {
    GiveIsOnTrack(p, next, s, replies, index);
    AdvanceIsOnTrack(p, next, Give(p, s, replies, index), replies, index + 1);
  }
}

// A row and its reply belong to the request in the slot, equal rows included.

lemma RowsBelong(p: Problem, s: State, sent: seq<nat>)
  requires WellFormed(p, s) && forall k :: 0 <= k < |sent| ==> sent[k] < p.num_slots
  ensures forall k :: 0 <= k < |sent| && s.slots[sent[k]].Holds? ==>
    Rows(p, s, sent)[k] == Prefix(p, s, s.slots[sent[k]].request)
{
  if sent != [] { RowsBelong(p, s, sent[..|sent| - 1]); }
}

lemma RepliesBelong(p: Problem, s: State, sent: seq<nat>, tokens: Tokens)
  requires SlotsDistinct(p, s) && |tokens| == |sent|
  requires forall k :: 0 <= k < |sent| ==> sent[k] < |s.slots|
  requires Ascends(sent)
  ensures forall k :: 0 <= k < |sent| && s.slots[sent[k]].Holds? ==>
    s.slots[sent[k]].request in Replies(s, sent, tokens) &&
    Replies(s, sent, tokens)[s.slots[sent[k]].request] == tokens[k]
{
  if sent != [] {
    var last := |sent| - 1;
    RepliesBelong(p, s, sent[..last], tokens[..last]);
    forall k | 0 <= k < last && s.slots[sent[k]].Holds?
      ensures s.slots[sent[k]].request in Replies(s, sent, tokens)
      ensures Replies(s, sent, tokens)[s.slots[sent[k]].request] == tokens[k]
    {
      assert sent[..last][k] == sent[k] && tokens[..last][k] == tokens[k];
      assert s.slots[sent[k]] != s.slots[sent[last]];
    }
  }
}

predicate Pure(next: Tokens -> Token, call: Call)
{
  |call.replies| == |call.rows| && forall k :: 0 <= k < |call.rows| ==> call.replies[k] == next(call.rows[k])
}

lemma CallIsTruthful(p: Problem, next: Tokens -> Token, s: State, call: Call)
  requires Invariants(p, s) && Asks(p, s, call) && Pure(next, call)
  ensures (ChosenAscends(s, p.dialect.padded, |s.slots|);
    Truthful(p, next, s, Replies(s, Sent(p, s), call.replies), 0))
{
  var sent := Sent(p, s);
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  RowsBelong(p, s, sent);
  RepliesBelong(p, s, sent, call.replies);
  forall i: nat | i < |s.slots| && s.slots[i].Holds?
    ensures var r := s.slots[i].request; var replies := Replies(s, sent, call.replies);
      r in replies && replies[r] == next(Prefix(p, s, r))
  {
    var k :| 0 <= k < |sent| && sent[k] == i;
  }
}

// ---- 4. Theorems about every run -----------------------------------------------------------------

lemma StepKeepsInvariants(p: Problem, s: State, call: Call)
  requires Invariants(p, s) && Asks(p, s, call) && |call.replies| == |call.rows| && NoIdleSlot(p, s)
  ensures var after := Step(p, s, call);
    && Invariants(p, after)
    && NoIdleSlot(p, after)
    && Remaining(p, after, |p.requests|) < Remaining(p, s, |p.requests|)
{
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  var sent := Sent(p, s);
  var replies := Replies(s, sent, call.replies);
  RepliesAnswer(p, s, sent, call.replies);
  var advanced := Advance(p, s, replies);
  AdvanceKeepsInvariants(p, s, replies, 0);
  AdvanceSpends(p, s, replies, 0);
  AdmitKeepsAll(p, advanced);
  RemainingReadsGenerated(p, advanced, Admit(advanced), |p.requests|);
}

lemma EarlierIsLegal(p: Problem, calls: seq<Call>, i: nat)
  requires Legal(p, calls) && i <= |calls|
  ensures Legal(p, calls[..i])
  ensures i < |calls| ==> Asks(p, After(p, calls[..i]), calls[i]) && |calls[i].replies| == |calls[i].rows|
{
  if i == |calls| { assert calls[..i] == calls; }
  else {
    EarlierIsLegal(p, Earlier(calls), i);
    assert Earlier(calls)[..i] == calls[..i];
  }
}

// Theorem: at every call, and at the end, the invariants hold and no slot idles beside a waiting request.
lemma InvariantsAlways(p: Problem, calls: seq<Call>)
  requires Legal(p, calls)
  ensures Invariants(p, After(p, calls)) && NoIdleSlot(p, After(p, calls))
{
  if calls == [] {
    InitialHoldsInvariants(p);
    AdmitKeepsAll(p, Initial(p));
  } else {
    InvariantsAlways(p, Earlier(calls));
    StepKeepsInvariants(p, After(p, Earlier(calls)), Last(calls));
  }
}

// Theorem: what every call promises. The rows are the prefixes of whoever runs, at most num_slots and one at
// least; no slot idles while a request waits; who runs was admitted before who waits, and has tokens to get.
lemma EveryCall(p: Problem, calls: seq<Call>, i: nat)
  requires p.num_slots > 0 && Legal(p, calls) && i < |calls|
  ensures Legal(p, calls[..i]) && Asks(p, After(p, calls[..i]), calls[i])
  ensures Invariants(p, After(p, calls[..i])) && NoIdleSlot(p, After(p, calls[..i]))
  ensures 1 <= |calls[i].rows| <= p.num_slots
  ensures After(p, calls[..i]).waiting != [] || p.dialect.padded ==> |calls[i].rows| == p.num_slots
{
  EarlierIsLegal(p, calls, i);
  InvariantsAlways(p, calls[..i]);
  ChosenAscends(After(p, calls[..i]), p.dialect.padded, p.num_slots);
}

// Theorem: a run has no more calls than tokens that may be generated.
lemma CallsAreBounded(p: Problem, calls: seq<Call>)
  requires Legal(p, calls)
  ensures |calls| + Remaining(p, After(p, calls), |p.requests|) <= Remaining(p, Initial(p), |p.requests|)
{
  if calls == [] {
    InitialHoldsInvariants(p);
    AdmitKeepsAll(p, Initial(p));
    RemainingReadsGenerated(p, Initial(p), Admit(Initial(p)), |p.requests|);
  } else {
    CallsAreBounded(p, Earlier(calls));
    InvariantsAlways(p, Earlier(calls));
    StepKeepsInvariants(p, After(p, Earlier(calls)), Last(calls));
  }
}

lemma OnTrackAlways(p: Problem, next: Tokens -> Token, calls: seq<Call>)
  requires Legal(p, calls) && forall i :: 0 <= i < |calls| ==> Pure(next, calls[i])
  ensures Invariants(p, After(p, calls)) && OnTrack(p, next, After(p, calls))
{
  InvariantsAlways(p, calls);
  if calls == [] {
    InitialIsOnTrack(p, next);
    AdmitKeepsAll(p, Initial(p));
  } else {
    var s := After(p, Earlier(calls));
    OnTrackAlways(p, next, Earlier(calls));
    ChosenAscends(s, p.dialect.padded, |s.slots|);
    var replies := Replies(s, Sent(p, s), Last(calls).replies);
    CallIsTruthful(p, next, s, Last(calls));
    AdvanceIsOnTrack(p, next, s, replies, 0);
    AdmitKeepsAll(p, Advance(p, s, replies));
  }
}

// Theorem: with a pure language model, every request gets exactly what it would get alone.
lemma EveryRequestAsAlone(p: Problem, next: Tokens -> Token, calls: seq<Call>)
  requires Legal(p, calls) && Halted(After(p, calls))
  requires forall i :: 0 <= i < |calls| ==> Pure(next, calls[i])
  ensures forall r: nat :: r < |p.requests| ==>
    r in After(p, calls).finished && After(p, calls).generated[r] == Alone(p, next, r)
{
  OnTrackAlways(p, next, calls);
}

type Model = (seq<Call>, seq<Tokens>) -> Tokens

// Whether the replies are the model's, which may look at everything it was asked before.
predicate AnsweredBy(model: Model, calls: seq<Call>)
{
  forall i :: 0 <= i < |calls| ==> calls[i].replies == model(calls[..i], calls[i].rows)
}

// Theorem: a model leaves the system one run; so "is a run of the system" says what every call is.
lemma RunIsDetermined(p: Problem, model: Model, calls: seq<Call>, others: seq<Call>)
  requires Legal(p, calls) && AnsweredBy(model, calls) && Halted(After(p, calls))
  requires Legal(p, others) && AnsweredBy(model, others) && Halted(After(p, others))
  ensures calls == others
{
  var count := if |calls| < |others| then |calls| else |others|;
  CommonCallsAgree(p, model, calls, others, count);
  assert calls[..|calls|] == calls && others[..|others|] == others;
  EarlierIsLegal(p, calls, count);
  EarlierIsLegal(p, others, count);
}

lemma NextCallAgrees(p: Problem, model: Model, calls: seq<Call>, call: Call, other: Call)
  requires Legal(p, calls) && Asks(p, After(p, calls), call) && Asks(p, After(p, calls), other)
  requires call.replies == model(calls, call.rows) && other.replies == model(calls, other.rows)
  ensures call == other
{
}

lemma OneMoreCallAgrees(calls: seq<Call>, others: seq<Call>, i: nat)
  requires i < |calls| && i < |others| && calls[..i] == others[..i] && calls[i] == others[i]
  ensures calls[..i + 1] == others[..i + 1]
{
  assert calls[..i + 1] == calls[..i] + [calls[i]];
  assert others[..i + 1] == others[..i] + [others[i]];
}

lemma {:induction false} CommonCallsAgree(p: Problem, model: Model, calls: seq<Call>, others: seq<Call>, count: nat)
  requires Legal(p, calls) && AnsweredBy(model, calls) && Legal(p, others) && AnsweredBy(model, others)
  requires count <= |calls| && count <= |others|
  ensures calls[..count] == others[..count]
{
  if count > 0 {
    CommonCallsAgree(p, model, calls, others, count - 1);
    EarlierIsLegal(p, calls, count - 1);
    EarlierIsLegal(p, others, count - 1);
    NextCallAgrees(p, model, calls[..count - 1], calls[count - 1], others[count - 1]);
    OneMoreCallAgrees(calls, others, count - 1);
  }
}

// ---- 5. The code ---------------------------------------------------------------------------------

// What occupies a slot: a request in progress and what the model has generated for it.
datatype Slot = Free | InUse(request: Request, generated: Tokens)

datatype Outcome = Returned(results: map<string, Tokens>) | Raised

predicate DistinctIds(requests: seq<Request>)
{
  forall q, r :: 0 <= q < r < |requests| ==> requests[q].request_id != requests[r].request_id
}

// How the code's variables stand for a state of the system.

predicate Queues(p: Problem, waiting: seq<Request>, queue: seq<nat>)
{
  |waiting| == |queue| &&
  forall k :: 0 <= k < |queue| ==> queue[k] < |p.requests| && waiting[k] == p.requests[queue[k]]
}

predicate Occupies(p: Problem, slots: seq<Slot>, s: State)
  requires WellFormed(p, s)
{
  |slots| == p.num_slots &&
  forall i :: 0 <= i < p.num_slots ==> slots[i] == Content(p, s, s.slots[i])
}

function Content(p: Problem, s: State, occupant: Occupant): Slot
  requires WellFormed(p, s) && (occupant.Holds? ==> occupant.request < |p.requests|)
{
  if occupant.Nobody? then Free else InUse(p.requests[occupant.request], s.generated[occupant.request])
}

predicate Records(p: Problem, results: map<string, Tokens>, s: State)
  requires WellFormed(p, s)
{
  && (forall r: nat :: r < |p.requests| ==>
      p.requests[r].request_id in results && results[p.requests[r].request_id] == Value(p, s, r))
  && results.Keys == Ids(p.requests)
}

function Ids(requests: seq<Request>): set<string>
{
  set r | r in requests :: r.request_id
}

// All of it; opaque, so that the loops below are not proved anew for each conjunct.
predicate {:opaque} Stands(p: Problem, s: State, slots: seq<Slot>, waiting: seq<Request>, results: map<string, Tokens>)
{
  Invariants(p, s) && Occupies(p, slots, s) && Queues(p, waiting, s.waiting) && Records(p, results, s)
}

function Value(p: Problem, s: State, r: nat): Tokens
  requires WellFormed(p, s) && r < |p.requests|
{
  if r in s.finished then Output(p.dialect, s.generated[r], p.stop_token) else []
}

function method Output(dialect: Dialect, generated: Tokens, stop_token: Token): Tokens
{
  var stopped := generated != [] && generated[|generated| - 1] == stop_token;
  if stopped && dialect.stop_excluded then generated[..|generated| - 1] else generated
}

// results = {request.request_id: [] for request in requests}
method Prepare(ghost p: Problem, requests: seq<Request>) returns (results: map<string, Tokens>)
  requires requests == p.requests && DistinctIds(requests)
  ensures Records(p, results, Initial(p))
{
  results := map[];
  var index := 0;
  while index < |requests|
    invariant 0 <= index <= |requests|
    invariant forall r :: 0 <= r < index ==>
      requests[r].request_id in results && results[requests[r].request_id] == []
    invariant results.Keys == Ids(requests[..index])
  {
    assert requests[..index + 1] == requests[..index] + [requests[index]];
    results := results[requests[index].request_id := []];
    index := index + 1;
  }
  assert requests[..index] == requests;
}

// waiting = deque(request for request in requests if dialect.limit(request) > 0)
method Enqueue(ghost p: Problem, requests: seq<Request>) returns (waiting: seq<Request>)
  requires requests == p.requests
  ensures Queues(p, waiting, Initial(p).waiting)
{
  waiting := [];
  var index := 0;
  while index < |requests|
    invariant 0 <= index <= |requests|
    invariant Queues(p, waiting, Unstarted(p, index))
  {
    if requests[index].limit > 0 {
      waiting := waiting + [requests[index]];
    }
    index := index + 1;
  }
}

// slots = [None] * num_slots
method AllFree(ghost p: Problem, num_slots: nat) returns (slots: seq<Slot>)
  requires num_slots == p.num_slots
  ensures Occupies(p, slots, Initial(p))
{
  slots := [];
  while |slots| < num_slots
    invariant |slots| <= num_slots
    invariant forall i :: 0 <= i < |slots| ==> slots[i] == Free
  {
    slots := slots + [Free];
  }
}

// One turn of the loop of Refill.
method RefillOne(ghost p: Problem, ghost s: State, index: nat, slots0: seq<Slot>, waiting0: seq<Request>,
                 ghost results: map<string, Tokens>)
  returns (slots: seq<Slot>, waiting: seq<Request>)
  requires index < p.num_slots == |s.slots| && Stands(p, s, slots0, waiting0, results)
  ensures |slots| == p.num_slots == |Place(s, index).slots| && Stands(p, Place(s, index), slots, waiting, results)
{
  reveal Stands();
  PlaceKeepsInvariants(p, s, index);
  slots, waiting := slots0, waiting0;
  if slots[index] == Free && waiting != [] {
    slots := slots[index := InUse(waiting[0], [])];
    waiting := waiting[1..];
  }
}

// Every free slot takes the next waiting request, before the call.
method Refill(ghost p: Problem, ghost s: State, slots0: seq<Slot>, waiting0: seq<Request>,
              ghost results: map<string, Tokens>)
  returns (slots: seq<Slot>, waiting: seq<Request>)
  requires |slots0| == p.num_slots == |s.slots| && Stands(p, s, slots0, waiting0, results)
  ensures |slots| == p.num_slots && Stands(p, Admit(s), slots, waiting, results)
{
  slots, waiting := slots0, waiting0;
  ghost var now := s;
  var index := 0;
  while index < |slots|
    invariant 0 <= index <= |slots| == p.num_slots == |now.slots|
    invariant AdmitFrom(now, index) == Admit(s) && Stands(p, now, slots, waiting, results)
  {
    slots, waiting := RefillOne(p, now, index, slots, waiting, results);
    now := Place(now, index);
    index := index + 1;
  }
}

// occupied = [index for index, slot in enumerate(slots) if slot is not None]
method Occupied(ghost p: Problem, ghost s: State, slots: seq<Slot>, ghost waiting: seq<Request>,
                ghost results: map<string, Tokens>)
  returns (occupied: seq<nat>)
  requires WellFormed(p, s) && Stands(p, s, slots, waiting, results)
  ensures occupied == Chosen(s, false, p.num_slots)
{
  reveal Stands();
  occupied := [];
  var index := 0;
  while index < |slots|
    invariant 0 <= index <= |slots|
    invariant occupied == Chosen(s, false, index)
  {
    if slots[index].InUse? {
      occupied := occupied + [index];
    }
    index := index + 1;
  }
}

// sent = list(range(num_slots)) if dialect.batch == "padded" else occupied
method Choose(ghost p: Problem, ghost s: State, occupied: seq<nat>, num_slots: nat, dialect: Dialect)
  returns (sent: seq<nat>)
  requires num_slots == p.num_slots == |s.slots| && dialect == p.dialect
  requires occupied == Chosen(s, false, p.num_slots)
  ensures sent == Sent(p, s)
{
  if !dialect.padded {
    return occupied;
  }
  sent := [];
  var index := 0;
  while index < num_slots
    invariant 0 <= index <= num_slots
    invariant sent == Chosen(s, true, index)
  {
    sent := sent + [index];
    index := index + 1;
  }
}

// batch = [slot.prefix() if (slot := slots[index]) else [] for index in sent]
method BuildBatch(ghost p: Problem, ghost s: State, slots: seq<Slot>, ghost waiting: seq<Request>,
                  ghost results: map<string, Tokens>, sent: seq<nat>)
  returns (batch: seq<Tokens>)
  requires WellFormed(p, s) && Stands(p, s, slots, waiting, results)
  requires forall k :: 0 <= k < |sent| ==> sent[k] < p.num_slots
  ensures batch == Rows(p, s, sent)
{
  reveal Stands();
  batch := [];
  var row := 0;
  while row < |sent|
    invariant 0 <= row <= |sent|
    invariant batch == Rows(p, s, sent[..row])
  {
    assert sent[..row + 1][..row] == sent[..row] && sent[..row + 1][row] == sent[row];
    var slot := slots[sent[row]];
    batch := batch + [if slot.InUse? then slot.request.prompt + slot.generated else []];
    row := row + 1;
  }
  assert sent[..row] == sent;
}

lemma NobodyIsSkipped(p: Problem, s: State, replies: map<nat, Token>, start: nat, end: nat)
  requires WellFormed(p, s) && Answered(s, replies, start) && start <= end <= p.num_slots
  requires forall i :: start <= i < end ==> s.slots[i].Nobody?
  ensures AdvanceFrom(p, s, replies, start) == AdvanceFrom(p, s, replies, end)
  decreases end - start
{
  if start < end { NobodyIsSkipped(p, s, replies, start + 1, end); }
}

// What Deliver has done before row `row`: the slots below `start` are served, the others as they were.
predicate {:opaque} Underway(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>,
                             now: State, row: nat, start: nat)
{
  && Invariants(p, now)
  && |s.slots| == p.num_slots
  && start <= p.num_slots
  && (forall k :: 0 <= k < |sent| ==> (k < row <==> sent[k] < start))
  && (forall i :: start <= i < p.num_slots ==> now.slots[i] == s.slots[i])
  && WellFormed(p, s)
  && Answered(s, replies, 0)
  && Answered(now, replies, start)
  && AdvanceFrom(p, now, replies, start) == Advance(p, s, replies)
}

lemma EveryoneIsAnswered(p: Problem, s: State, tokens: Tokens)
  requires WellFormed(p, s) && |tokens| == |Sent(p, s)|
  ensures forall k :: 0 <= k < |Sent(p, s)| ==> Sent(p, s)[k] < |s.slots|
  ensures Answered(s, Replies(s, Sent(p, s), tokens), 0)
{
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  RepliesAnswer(p, s, Sent(p, s), tokens);
  forall i: nat | i < |s.slots| && s.slots[i].Holds?
    ensures s.slots[i].request in Replies(s, Sent(p, s), tokens)
  {
    assert i in Sent(p, s);
    var k :| 0 <= k < |Sent(p, s)| && Sent(p, s)[k] == i;
  }
}

lemma UnderwayAtStart(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>)
  requires Invariants(p, s) && Answered(s, replies, 0)
  ensures Underway(p, s, sent, replies, s, 0, 0)
{
  reveal Underway();
}

// Before the slot of the next row there is nobody left to serve.
lemma UnderwayToRow(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>, now: State, row: nat, start: nat)
  requires Underway(p, s, sent, replies, now, row, start) && row <= |sent| && Ascends(sent)
  requires forall k :: 0 <= k < |sent| ==> sent[k] < p.num_slots
  requires forall i: nat :: i < |s.slots| && s.slots[i].Holds? ==> i in sent
  ensures Underway(p, s, sent, replies, now, row, if row < |sent| then sent[row] else p.num_slots)
{
  reveal Underway();
  var end := if row < |sent| then sent[row] else p.num_slots;
  forall i: nat | start <= i < end ensures now.slots[i].Nobody? {
    if s.slots[i].Holds? {
      assert i in sent;
      var k :| 0 <= k < |sent| && sent[k] == i;
    }
  }
  NobodyIsSkipped(p, now, replies, start, end);
}

lemma UnderwayAtRow(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>, now: State, row: nat, start: nat)
  requires Underway(p, s, sent, replies, now, row, start) && start < p.num_slots
  ensures Invariants(p, now) && Answered(now, replies, start)
  ensures |s.slots| == p.num_slots && now.slots[start] == s.slots[start]
{
  reveal Underway();
}

lemma UnderwayAfterRow(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>, now: State, row: nat)
  requires row < |sent| && Ascends(sent) && sent[row] < p.num_slots
  requires Underway(p, s, sent, replies, now, row, sent[row])
  requires Invariants(p, now) && Answered(now, replies, sent[row])
  ensures Underway(p, s, sent, replies, Give(p, now, replies, sent[row]), row + 1, sent[row] + 1)
{
  reveal Underway();
  GiveKeepsInvariants(p, now, replies, sent[row]);
}

lemma UnderwayAtEnd(p: Problem, s: State, sent: seq<nat>, replies: map<nat, Token>, now: State)
  requires Underway(p, s, sent, replies, now, |sent|, p.num_slots)
  requires WellFormed(p, s) && Answered(s, replies, 0)
  ensures now == Advance(p, s, replies)
{
  reveal Underway();
}

lemma GiveIsOccupied(p: Problem, s: State, replies: map<nat, Token>, index: nat, slots: seq<Slot>)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots && Occupies(p, slots, s)
  ensures var after := Give(p, s, replies, index);
    Occupies(p, slots[index := Content(p, after, after.slots[index])], after)
{
}

lemma GiveIsRecorded(p: Problem, s: State, replies: map<nat, Token>, index: nat, results: map<string, Tokens>)
  requires Invariants(p, s) && Answered(s, replies, index) && index < p.num_slots && s.slots[index].Holds?
  requires Records(p, results, s) && DistinctIds(p.requests)
  ensures var after, r := Give(p, s, replies, index), s.slots[index].request;
    Records(p, if r in after.finished then results[p.requests[r].request_id := Value(p, after, r)] else results, after)
{
  GiveChangesOneSlot(p, s, replies, index);
  assert p.requests[s.slots[index].request] in p.requests;
}

// One turn of the loop of Deliver: a request takes its token, and leaves its slot with its stop token or at its limit.
method DeliverOne(ghost p: Problem, ghost s: State, ghost replies: map<nat, Token>, index: nat, token: Token,
                  slots0: seq<Slot>, ghost waiting: seq<Request>, results0: map<string, Tokens>,
                  stop_token: Token, dialect: Dialect)
  returns (slots: seq<Slot>, results: map<string, Tokens>)
  requires Invariants(p, s) && index < p.num_slots && Answered(s, replies, index)
  requires Stands(p, s, slots0, waiting, results0) && DistinctIds(p.requests)
  requires stop_token == p.stop_token && dialect == p.dialect
  requires s.slots[index].Holds? ==> replies[s.slots[index].request] == token
  ensures |slots| == p.num_slots && Stands(p, Give(p, s, replies, index), slots, waiting, results)
{
  reveal Stands();
  slots, results := slots0, results0;
  GiveKeepsInvariants(p, s, replies, index);
  GiveIsOccupied(p, s, replies, index, slots);
  var slot := slots[index];
  if slot.InUse? {
    GiveIsRecorded(p, s, replies, index, results);
    var generated := slot.generated + [token];
    slots := slots[index := InUse(slot.request, generated)];
    if token == stop_token || |generated| == slot.request.limit {
      results := results[slot.request.request_id := Output(dialect, generated, stop_token)];
      slots := slots[index := Free];
    }
  }
}

lemma StandsOnInvariants(p: Problem, s: State, slots: seq<Slot>, waiting: seq<Request>, results: map<string, Tokens>)
  requires Stands(p, s, slots, waiting, results)
  ensures Invariants(p, s)
{
  reveal Stands();
}

// The reply list goes back to the slots, in the order of the rows.
method Deliver(ghost p: Problem, ghost s: State, slots0: seq<Slot>, sent: seq<nat>, tokens: Tokens,
               ghost waiting: seq<Request>, results0: map<string, Tokens>, stop_token: Token, dialect: Dialect)
  returns (slots: seq<Slot>, results: map<string, Tokens>)
  requires WellFormed(p, s) && Stands(p, s, slots0, waiting, results0) && DistinctIds(p.requests)
  requires |slots0| == p.num_slots
  requires sent == Sent(p, s) && |tokens| == |sent|
  requires stop_token == p.stop_token && dialect == p.dialect
  ensures forall k :: 0 <= k < |sent| ==> sent[k] < |s.slots|
  ensures Answered(s, Replies(s, sent, tokens), 0)
  ensures |slots| == p.num_slots && Stands(p, Advance(p, s, Replies(s, sent, tokens)), slots, waiting, results)
{
  slots, results := slots0, results0;
  ghost var now, start := s, 0;
  StandsOnInvariants(p, s, slots, waiting, results);
  EveryoneIsAnswered(p, s, tokens);
  ChosenAscends(s, p.dialect.padded, |s.slots|);
  RepliesBelong(p, s, sent, tokens);
  ghost var replies: map<nat, Token> := Replies(s, sent, tokens);
  UnderwayAtStart(p, s, sent, replies);
  var row := 0;
  while row < |sent|
    invariant 0 <= row <= |sent| && |slots| == p.num_slots
    invariant Underway(p, s, sent, replies, now, row, start) && Stands(p, now, slots, waiting, results)
  {
    var index := sent[row];
    UnderwayToRow(p, s, sent, replies, now, row, start);
    UnderwayAtRow(p, s, sent, replies, now, row, index);
    slots, results := DeliverOne(p, now, replies, index, tokens[row], slots, waiting, results, stop_token, dialect);
    UnderwayAfterRow(p, s, sent, replies, now, row);
    now, start := Give(p, now, replies, index), index + 1;
    row := row + 1;
  }
  UnderwayToRow(p, s, sent, replies, now, row, start);
  UnderwayAtEnd(p, s, sent, replies, now);
}

// ---- 6. Theorems about the code ------------------------------------------------------------------

// How a run ends well: the calls are a run of the system to its end, and the results are what it generated.
predicate {:opaque} Completes(p: Problem, model: Model, calls: seq<Call>, results: map<string, Tokens>)
{
  Legal(p, calls) && AnsweredBy(model, calls) && Halted(After(p, calls)) && Records(p, results, After(p, calls))
}

// How a run ends with an error: the last call alone has a reply that does not have one token a row.
predicate {:opaque} Fails(p: Problem, model: Model, calls: seq<Call>)
{
  && calls != []
  && AnsweredBy(model, calls)
  && Legal(p, Earlier(calls))
  && Asks(p, After(p, Earlier(calls)), Last(calls))
  && |Last(calls).replies| != |Last(calls).rows|
}

// What Generate has done before a turn of its loop: `calls` lead to `s`, up to Admit.
predicate {:opaque} Reached(p: Problem, model: Model, calls: seq<Call>, s: State)
{
  Invariants(p, s) && Legal(p, calls) && AnsweredBy(model, calls) && After(p, calls) == Admit(s)
}

// The same after the refill: `calls` lead to `s`, where the next call is due.
predicate {:opaque} Due(p: Problem, model: Model, calls: seq<Call>, s: State)
{
  Invariants(p, s) && NoIdleSlot(p, s) && Legal(p, calls) && AnsweredBy(model, calls) && After(p, calls) == s
}

lemma ReachedAtStart(p: Problem, model: Model)
  ensures Reached(p, model, [], Initial(p))
{
  reveal Reached();
  InitialHoldsInvariants(p);
}

lemma DueAfterRefill(p: Problem, model: Model, calls: seq<Call>, s: State)
  requires WellFormed(p, s) && Reached(p, model, calls, s)
  ensures WellFormed(p, Admit(s)) && Due(p, model, calls, Admit(s))
  ensures 0 <= Remaining(p, Admit(s), |p.requests|) == Remaining(p, s, |p.requests|)
{
  reveal Reached();
  reveal Due();
  AdmitKeepsAll(p, s);
  RemainingIsNatural(p, s, |p.requests|);
  RemainingReadsGenerated(p, s, Admit(s), |p.requests|);
}

lemma StandsAtStart(p: Problem, slots: seq<Slot>, waiting: seq<Request>, results: map<string, Tokens>)
  requires Occupies(p, slots, Initial(p)) && Queues(p, waiting, Initial(p).waiting) && Records(p, results, Initial(p))
  ensures Stands(p, Initial(p), slots, waiting, results)
{
  reveal Stands();
  InitialHoldsInvariants(p);
}

lemma CompletesWhenNobodyRuns(p: Problem, model: Model, calls: seq<Call>, s: State, slots: seq<Slot>,
                              waiting: seq<Request>, results: map<string, Tokens>)
  requires p.num_slots > 0 && |s.slots| == p.num_slots && Chosen(s, false, p.num_slots) == []
  requires Due(p, model, calls, s) && Stands(p, s, slots, waiting, results)
  ensures Completes(p, model, calls, results)
{
  reveal Due();
  reveal Stands();
  reveal Completes();
  ChosenAscends(s, false, |s.slots|);
  forall i: nat | i < |s.slots| ensures s.slots[i].Nobody? {
    assert s.slots[i].Holds? ==> i in Chosen(s, false, p.num_slots);
  }
  assert s.slots[0].Nobody?;
}

lemma SomebodyRuns(s: State)
  requires Chosen(s, false, |s.slots|) != []
  ensures !Idle(s)
{
  ChosenAscends(s, false, |s.slots|);
  assert s.slots[Chosen(s, false, |s.slots|)[0]].Holds?;
}

lemma OneMoreIsAnswered(model: Model, calls: seq<Call>, call: Call)
  requires AnsweredBy(model, calls) && call.replies == model(calls, call.rows)
  ensures AnsweredBy(model, calls + [call])
{
  forall i | 0 <= i < |calls| ensures (calls + [call])[..i] == calls[..i] {}
  assert (calls + [call])[..|calls|] == calls;
}

lemma FailsOnWrongLength(p: Problem, model: Model, calls: seq<Call>, s: State, call: Call)
  requires WellFormed(p, s) && Due(p, model, calls, s) && Asks(p, s, call) && call.replies == model(calls, call.rows)
  requires |call.replies| != |call.rows|
  ensures Fails(p, model, calls + [call])
{
  reveal Due();
  reveal Fails();
  OneMoreIsAnswered(model, calls, call);
  assert Earlier(calls + [call]) == calls && Last(calls + [call]) == call;
}

lemma ReachedAfterCall(p: Problem, model: Model, calls: seq<Call>, s: State, call: Call)
  requires WellFormed(p, s) && Due(p, model, calls, s) && Asks(p, s, call) && call.replies == model(calls, call.rows)
  requires |call.replies| == |Sent(p, s)|
  ensures forall k :: 0 <= k < |Sent(p, s)| ==> Sent(p, s)[k] < |s.slots|
  ensures Answered(s, Replies(s, Sent(p, s), call.replies), 0)
  ensures var after := Advance(p, s, Replies(s, Sent(p, s), call.replies));
    && Reached(p, model, calls + [call], after)
    && Remaining(p, after, |p.requests|) < Remaining(p, s, |p.requests|)
{
  reveal Due();
  reveal Reached();
  EveryoneIsAnswered(p, s, call.replies);
  var replies := Replies(s, Sent(p, s), call.replies);
  AdvanceKeepsInvariants(p, s, replies, 0);
  AdvanceSpends(p, s, replies, 0);
  OneMoreIsAnswered(model, calls, call);
  assert Earlier(calls + [call]) == calls && Last(calls + [call]) == call;
}

// Theorem: the code ends, makes the calls of the system and no other, and returns what it generated.
// A reply that does not have one token a row raises; no call follows it and nothing is returned.
method Generate(model: Model, requests: seq<Request>, num_slots: nat, stop_token: Token, dialect: Dialect)
  returns (outcome: Outcome, calls: seq<Call>)
  requires num_slots >= 1 && DistinctIds(requests)
  ensures var p := Problem(requests, num_slots, stop_token, dialect);
    if outcome.Returned? then Completes(p, model, calls, outcome.results) else Fails(p, model, calls)
{
  ghost var p := Problem(requests, num_slots, stop_token, dialect);
  ghost var s := Initial(p);
  var results := Prepare(p, requests);
  var waiting := Enqueue(p, requests);
  var slots := AllFree(p, num_slots);
  calls := [];
  StandsAtStart(p, slots, waiting, results);
  ReachedAtStart(p, model);
  while true
    invariant WellFormed(p, s) && |slots| == num_slots
    invariant Stands(p, s, slots, waiting, results) && Reached(p, model, calls, s)
    decreases Remaining(p, s, |p.requests|)
  {
    DueAfterRefill(p, model, calls, s);
    slots, waiting := Refill(p, s, slots, waiting, results);
    s := Admit(s);
    var occupied := Occupied(p, s, slots, waiting, results);
    if occupied == [] {
      CompletesWhenNobodyRuns(p, model, calls, s, slots, waiting, results);
      return Returned(results), calls;
    }
    SomebodyRuns(s);
    var sent := Choose(p, s, occupied, num_slots, dialect);
    ChosenAscends(s, dialect.padded, num_slots);
    var batch := BuildBatch(p, s, slots, waiting, results, sent);
    var tokens := model(calls, batch);
    ghost var call := Call(batch, tokens);
    if |tokens| != |sent| {
      FailsOnWrongLength(p, model, calls, s, call);
      return Raised, calls + [Call(batch, tokens)];
    }
    ReachedAfterCall(p, model, calls, s, call);
    slots, results := Deliver(p, s, slots, sent, tokens, waiting, results, stop_token, dialect);
    s := Advance(p, s, Replies(s, sent, tokens));
    calls := calls + [Call(batch, tokens)];
  }
}

// A pure model: the token of a row is a function of that row.
function method Each(next: Tokens -> Token, rows: seq<Tokens>): Tokens
  ensures |Each(next, rows)| == |rows|
  ensures forall k :: 0 <= k < |rows| ==> Each(next, rows)[k] == next(rows[k])
{
  if rows == [] then [] else Each(next, rows[..|rows| - 1]) + [next(rows[|rows| - 1])]
}

// Theorem: with a pure language model, the code returns for every request exactly what it would get alone.
method GenerateForPureModel(next: Tokens -> Token, requests: seq<Request>, num_slots: nat, stop_token: Token,
                            dialect: Dialect)
  returns (results: map<string, Tokens>, calls: seq<Call>)
  requires num_slots >= 1 && DistinctIds(requests)
  ensures var p := Problem(requests, num_slots, stop_token, dialect);
    Legal(p, calls) && Halted(After(p, calls)) && forall i :: 0 <= i < |calls| ==> Pure(next, calls[i])
  ensures results.Keys == Ids(requests)
  ensures forall r: nat :: r < |requests| ==>
    requests[r].request_id in results &&
    results[requests[r].request_id] ==
      Output(dialect, Solo(next, requests[r].prompt, requests[r].limit, stop_token), stop_token)
{
  ghost var p := Problem(requests, num_slots, stop_token, dialect);
  var outcome;
  outcome, calls := Generate((earlier, rows) => Each(next, rows), requests, num_slots, stop_token, dialect);
  reveal Fails();
  reveal Completes();
  results := outcome.results;
  EveryRequestAsAlone(p, next, calls);
}

// Theorem: the same without Solo. Whatever a request shares the slots with, it gets what a run of its own gives it.
method TogetherAsAlone(next: Tokens -> Token, requests: seq<Request>, r: nat, num_slots: nat, stop_token: Token,
                       dialect: Dialect)
  returns (together: map<string, Tokens>, alone: map<string, Tokens>)
  requires num_slots >= 1 && DistinctIds(requests) && r < |requests|
  ensures requests[r].request_id in together && requests[r].request_id in alone
  ensures together[requests[r].request_id] == alone[requests[r].request_id]
{
  var calls;
  together, calls := GenerateForPureModel(next, requests, num_slots, stop_token, dialect);
  alone, calls := GenerateForPureModel(next, [requests[r]], 1, stop_token, dialect);
  assert [requests[r]][0] == requests[r];
}

// The hypotheses can be met, and the theorem says what one expects: two requests, one slot.
method Example()
{
  var requests := [Request("a", [1], 2), Request("b", [7, 0], 3), Request("zero", [], 0)];
  var next := (prefix: Tokens) => if prefix == [] then 0 else prefix[|prefix| - 1] + 1;
  var results, calls := GenerateForPureModel(next, requests, 1, 2, Dialect(true, false));
  assert requests[0].request_id == "a" && requests[1].request_id == "b" && requests[2].request_id == "zero";
  assert Solo(next, [1], 2, 2) == [2];
  assert results["a"] == [];
  assert next([7, 0]) == 1 && next([7, 0, 1]) == 2;
  assert Solo(next, [7, 0], 3, 2) == [1, 2];
  assert results["b"] == [1];
  assert results["zero"] == [];
}

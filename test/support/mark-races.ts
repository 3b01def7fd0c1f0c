/**
 * Rounds of two processes that mark one key at once, bypassing the keyring, on any store that an
 * address names. The result has to be as if one had come after the other. A round throws if
 * anything is wrong, and counts what it saw.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KeyRecord, Mark } from 'keyscope';
import { applyMark } from '../../src/stores/marks.ts';
import { type Arena, AT_ONCE } from './races.ts';
import { RECORD } from './records.ts';
import { timesOf } from './store-process.ts';

type Kind = Mark['kind'];

/** The mark of each process. */
export type Pair = readonly [Kind, Kind];

const KINDS: readonly Kind[] = ['retire', 'suspend', 'resume', 'revoke', 'withdraw'];

/** Every pair of kinds, including each with itself. */
export const PAIRS: readonly Pair[] = KINDS.flatMap((first, index) =>
  KINDS.slice(index).map((second): Pair => [first, second]),
);

export interface MarkRaces {
  readonly rounds: number;
  /** Rounds in which one call wrote, and the other learned that it did not. */
  readonly oneWrote: number;
  readonly bothWrote: number;
  readonly noneWrote: number;
  /** Rounds in which each call began before the other one was answered. */
  readonly met: number;
}

const GUESTS = ['0b0b0b0b-0000-4000-8000-00000000000b', '0c0c0c0c-0000-4000-8000-00000000000c'];

/** Makes a mark that says which side, 0 or 1, wrote it. */
function markOf(kind: Kind, side: number, round: number): Mark {
  const at = 1_700_000_000_000 + side;
  const why = { by: `process ${side}`, reason: `round ${round}` };
  switch (kind) {
    case 'revoke':
      return { kind, at, ...why, seal: String(side).repeat(64) };
    case 'retire':
      return { kind, at, retireAt: at + 10, ...why, withdrawn: [] };
    case 'suspend':
      return { kind, at, ...why };
    case 'resume':
      return { kind, at };
    case 'withdraw':
      // Both withdraw the same entity, or each another one, in turn.
      return { kind, at, entityId: String(GUESTS[side * (round % 2)]) };
  }
}

/** Makes a new key for each round, in most rounds one on which both marks could be written. */
function recordOf(pair: Pair, round: number): KeyRecord {
  const keyId = randomUUID();
  const entityId = randomUUID();
  const isSuspended = pair.includes('resume') === (round % 4 !== 3);
  return {
    ...RECORD,
    keyId,
    rootKeyId: keyId,
    digest: `s1$${`${keyId}${entityId}`.replaceAll('-', '')}`,
    entityId,
    accessibleEntities: [entityId, ...GUESTS],
    suspendedAt: isSuspended ? 5 : null,
    endedBy: isSuspended ? 'somebody' : null,
    changedAt: isSuspended ? 5 : null,
  };
}

/** A mark that a process sent, with the answer and its time. */
interface Sent {
  readonly mark: Mark;
  readonly wrote: boolean;
  readonly from: number;
  readonly to: number;
}

async function send(arena: Arena, keyId: string, mark: Mark, side: number): Promise<Sent> {
  const answer = await arena.children[side === 0 ? 0 : 1].ask('mark', keyId, mark);
  const { wrote, from, to } = timesOf(answer);
  assert.ok(wrote !== undefined && from && to, `${mark.kind}: ${JSON.stringify(answer)}`);
  return { mark, wrote, from, to };
}

/** Sends both marks at once, in alternating order. */
async function meet(arena: Arena, keyId: string, pair: Pair, round: number): Promise<Sent[]> {
  const sides = round % 2 === 0 ? [0, 1] : [1, 0];
  const sent = sides.map((side) => {
    const kind = pair[side === 0 ? 0 : 1];
    return send(arena, keyId, markOf(kind, side, round), side);
  });
  return Promise.all(sent);
}

/** Returns the record after marks in this order, or null if the answers would differ. */
function replay(before: KeyRecord, order: readonly Sent[]): KeyRecord | null {
  let record = before;
  for (const { mark, wrote } of order) {
    const marked = applyMark(record, mark);
    if ((marked !== null) !== wrote) return null;
    record = marked ?? record;
  }
  return record;
}

/** Checks that one order of the two calls explains both the record and the answers. */
function checkRound(before: KeyRecord, sent: readonly Sent[], found: KeyRecord | null): void {
  const orders = [sent, sent.toReversed()];
  // A call that was answered before the other one started did come first.
  const possible = orders.filter(([first, second]) => Number(second?.to) > Number(first?.from));
  const ends = possible.map((order) => replay(before, order));
  const isOne = ends.some((end) => end !== null && isDeepStrictEqual(end, found));
  assert.ok(isOne, `no order leads there: ${JSON.stringify({ before, sent, found })}`);
}

/**
 * Lets two processes each write a mark on one key at once, a thousand times and more. The record
 * and both answers have to be as if one had come after the other.
 */
export async function markAgainstMark(
  arena: Arena,
  pair: Pair,
  rounds: number,
): Promise<MarkRaces> {
  const { store } = arena;
  const wrote = [0, 0, 0];
  let met = 0;
  for (let from = 0; from < rounds; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, rounds - from) }, (_, i) => from + i);
    const records = numbers.map((round) => recordOf(pair, round));
    await Promise.all(records.map(async (record) => store.insert(record)));
    const raced = await Promise.all(
      records.map(({ keyId }, index) => meet(arena, keyId, pair, from + index)),
    );
    const found = await Promise.all(records.map(async ({ keyId }) => store.findById(keyId)));
    for (const [index, sent] of raced.entries()) {
      checkRound(records[index] ?? RECORD, sent, found[index] ?? null);
      const winners = sent.filter((each) => each.wrote).length;
      wrote[winners] = (wrote[winners] ?? 0) + 1;
      if (isMeeting(sent)) met += 1;
    }
  }
  const [noneWrote = 0, oneWrote = 0, bothWrote = 0] = wrote;
  return { rounds, oneWrote, bothWrote, noneWrote, met };
}

function isMeeting([first, second]: readonly Sent[]): boolean {
  if (first === undefined || second === undefined) return false;
  return first.from < second.to && second.from < first.to;
}

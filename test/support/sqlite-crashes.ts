/**
 * Rounds of processes on SQLite files that are killed at any moment, or that all open a new file at
 * once. A round throws if anything is wrong.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { keyringOver } from './patient-keyring.ts';
import { HOUR, verdict } from './races.ts';
import type { Driver } from './sqlite.ts';
import { open } from './sqlite.ts';
import type { Child, Handed } from './store-process.ts';
import { isHanded, spareChildren, timesOf } from './store-process.ts';

// ── kill -9 in the middle of anything ────────────────────────────────────────────────────────────

/** The acknowledged state of a key. */
interface Said extends Handed {
  readonly entityId: string;
  /** `unknown` if an operation on it had started when the process was killed. */
  state: 'live' | 'retiring' | 'retired' | 'revoked' | 'unknown';
}

/**
 * Starts a writer on a SQLite file and kills it after a number of moments, again and again; at 0 it
 * is about to open the file. After each kill, compares the file with everything that was ever
 * acknowledged. Returns the number of keys.
 */
export async function crashRounds(
  driver: Driver,
  file: string,
  kills: readonly number[],
  seed = 0,
): Promise<number> {
  const ledger: Said[] = [];
  const scheme = driver === 'node:sqlite' ? 'sqlite' : driver;
  for (const [i, child] of spareChildren(kills.length)) {
    const crash = { seed: seed + i, moments: kills[i] ?? 0, ledger };
    await crashOnce(child, `${scheme}:${file}`, crash);
    await compare(driver, file, ledger);
  }
  return ledger.length;
}

interface Crash {
  /** Determines what the process does. */
  readonly seed: number;
  readonly moments: number;
  /** Everything acknowledged so far; the round adds to it. */
  readonly ledger: Said[];
}

async function crashOnce(child: Child, address: string, crash: Crash): Promise<void> {
  const { seed, moments, ledger } = crash;
  const dice = diceOf(seed);
  await child.ready;
  const opened = child.ask('open', address);
  if (moments === 0) {
    // During the creation of the tables, or shortly before or after it.
    await sleep(dice(8));
    return child.kill();
  }
  await opened;
  await child.ask('announce');

  let killed: Promise<void> | undefined;
  child.onMoment = (_moment, count) => {
    if (count >= moments) killed ??= child.kill();
  };
  while (killed === undefined) {
    const live = ledger.filter((said) => said.state === 'live');
    const isNew = dice(2) !== 0 || live.length === 0;
    const on = isNew ? undefined : live[dice(live.length)];
    await operate(child, ledger, on, dice(3));
  }
  await killed;
}

/** Makes dice that give the same numbers for the same seed. */
function diceOf(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % sides;
  };
}

/** Performs one operation on a key, or makes one, and notes what is known, answered or not. */
async function operate(
  child: Child,
  ledger: Said[],
  on: Said | undefined,
  choice: number,
): Promise<void> {
  if (on === undefined) {
    const entityId = randomUUID();
    const made = await child.ask('issue', entityId);
    if (isHanded(made)) ledger.push({ ...made, entityId, state: 'live' });
    return;
  }
  on.state = 'unknown';
  const { entityId, keyId } = on;
  if (choice === 0) {
    const answer = await child.ask('revoke', entityId, keyId);
    if (timesOf(answer).revoked) on.state = 'revoked';
    return;
  }
  const overlapMs = choice === 1 ? HOUR : 0;
  const answer = await child.ask('rotate', entityId, keyId, overlapMs);
  if (!isHanded(answer)) return;
  on.state = overlapMs === 0 ? 'retired' : 'retiring';
  ledger.push({ ...answer, entityId, state: 'live' });
}

/** Compares a file with everything that was ever acknowledged. */
async function compare(driver: Driver, file: string, ledger: readonly Said[]): Promise<void> {
  const db = open(driver, file);
  try {
    const keyring = keyringOver(sqliteStore(db));
    const check = db.prepare('PRAGMA integrity_check').all()[0] as object;
    assert.deepEqual({ ...check }, { integrity_check: 'ok' });
    for (const said of ledger) {
      const found = await verdict(keyring, said.key);
      const { keyId, state } = said;
      const message = `${keyId}: ${state} was acknowledged; now ${String(found)}`;
      assert.ok(allowedVerdicts(said).includes(found), message);
    }
  } finally {
    db.close();
  }
}

/** Returns the outcomes that `verify` may have for a key, by its state. */
function allowedVerdicts({ keyId, state }: Said): readonly unknown[] {
  switch (state) {
    case 'live':
    case 'retiring':
      return [keyId];
    case 'unknown':
      return [keyId, 'revoked', 'retired'];
    default:
      return [state];
  }
}

// ── A new file ───────────────────────────────────────────────────────────────────────────────────

/**
 * Lets all of them open a new file at once, with both drivers. The file has to be migrated exactly
 * once.
 */
export async function migrationRound(children: readonly Child[], file: string): Promise<void> {
  const schemes = ['sqlite', 'better-sqlite3'];
  const asked = children.map((child, i) => child.ask('open', `${schemes[i % 2]}:${file}`));
  const answers = await Promise.all(asked);
  for (const answer of answers) assert.equal(answer, 'opened');
  const db = open('node:sqlite', file);
  try {
    const ours = "sql IS NOT NULL AND name LIKE 'keyscope%'";
    const names = db.prepare(`SELECT name FROM sqlite_master WHERE ${ours}`).all();
    assert.equal(names.length, MIGRATIONS.sqlite.flat().length);
    const schema = db.prepare('SELECT * FROM keyscope_schema').all()[0] as object;
    assert.deepEqual({ ...schema }, { id: 1, version: 1, min_reader: 1, purge_before: null });
  } finally {
    db.close();
  }
}

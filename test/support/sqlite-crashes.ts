/**
 * Rounds of processes on SQLite files that are killed at arbitrary moments or all open a new file
 * at once. A round throws if it finds a fault.
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

/** The state of a key that a process acknowledged. */
interface Said extends Handed {
  readonly entityUuid: string;
  /** `unknown` if an operation on it was in progress when the process was killed. */
  state: 'live' | 'retiring' | 'retired' | 'revoked' | 'unknown';
}

/**
 * Repeatedly starts a writer on a SQLite file and kills it after a number of moments; at 0 it is
 * about to open the file. After each kill, compares the file with everything ever acknowledged.
 * Returns the number of keys.
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
  /** Decides what the process does. */
  readonly seed: number;
  readonly moments: number;
  /** Everything acknowledged so far. The round adds to it. */
  readonly ledger: Said[];
}

async function crashOnce(child: Child, address: string, crash: Crash): Promise<void> {
  const { seed, moments, ledger } = crash;
  const dice = diceOf(seed);
  await child.ready;
  const opened = child.ask('open', address);
  if (moments === 0) {
    // While the tables are created, or shortly before or after.
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

/** Random numbers below `sides`, the same for the same seed. */
function diceOf(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % sides;
  };
}

/** Uses or creates a key, and records what is known of it, answered or not. */
async function operate(
  child: Child,
  ledger: Said[],
  on: Said | undefined,
  choice: number,
): Promise<void> {
  if (on === undefined) {
    const entityUuid = randomUUID();
    const made = await child.ask('issue', entityUuid);
    if (isHanded(made)) ledger.push({ ...made, entityUuid, state: 'live' });
    return;
  }
  on.state = 'unknown';
  const { entityUuid, keyId } = on;
  if (choice === 0) {
    const answer = await child.ask('revoke', entityUuid, keyId);
    if (timesOf(answer).revoked) on.state = 'revoked';
    return;
  }
  const overlapMs = choice === 1 ? HOUR : 0;
  const answer = await child.ask('rotate', entityUuid, keyId, overlapMs);
  if (!isHanded(answer)) return;
  on.state = overlapMs === 0 ? 'retired' : 'retiring';
  ledger.push({ ...answer, entityUuid, state: 'live' });
}

/** Compares a file with everything ever acknowledged. */
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

/** The outcomes that `verify` may have for a key in this state. */
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
 * All processes open a new file at once, alternating between the drivers. Each finds it migrated
 * exactly once.
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

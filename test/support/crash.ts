/** Rounds of processes that are killed, or that race: few in the unit tests, many in `test/long`. */
import assert from 'node:assert/strict';
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isAccessError } from 'keyscope';
import type { Driver } from './sqlite.ts';
import { AUTHORITY, INPUT, keyringOn, open } from './sqlite.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

function start(...args: readonly string[]): ChildProcessByStdio<Writable, Readable, null> {
  const argv = ['--disable-warning=ExperimentalWarning', '--import', path('typescript.ts'), path('sqlite-child.ts')];
  return spawn(process.execPath, [...argv, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

// ── kill -9 ───────────────────────────────────────────────────────────────────────────────────────────

/** What was said of a key's state; `unknown` where an operation on it had begun when the process was killed. */
type Said = { readonly key: string; readonly state: 'live' | 'revoked' | 'retired' | 'unknown' };
export type Ledger = Map<string, Said>;

type Line = readonly [string, string, string, string, number];

function enter(ledger: Ledger, [word, keyId, key, from, overlapMs]: Line): void {
  const set = (id: string, state: Said['state']) => ledger.set(id, { key: ledger.get(id)?.key ?? '', state });
  if (word === 'revoke' || word === 'rotate') set(keyId, 'unknown');
  if (word === 'revoked') set(keyId, 'revoked');
  if (word === 'rotated') set(from, overlapMs === 0 ? 'retired' : 'live');
  if (word === 'issued' || word === 'rotated') ledger.set(keyId, { key, state: 'live' });
}

export interface CrashRound {
  readonly driver: Driver;
  readonly file: string;
  /** What the process does. */
  readonly seed: number;
  /** After how many lines it is killed; at 1 it is about to open the file. */
  readonly lines: number;
  /** What was acknowledged in this file so far; the round adds to it. */
  readonly ledger: Ledger;
}

/** Starts a writer, kills it, and compares the file with all that was ever acknowledged. */
export async function crashRound({ driver, file, seed, lines, ledger }: CrashRound): Promise<void> {
  const child = start('write', driver, file, String(seed));
  const ended = once(child, 'close');
  let heard = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    enter(ledger, JSON.parse(line) as Line);
    heard += 1;
    if (heard === lines) child.kill('SIGKILL');
  }
  const [, signal] = await ended;
  assert.equal(signal, 'SIGKILL', 'the writer ended before it was killed');
  await compare(driver, file, ledger);
}

async function compare(driver: Driver, file: string, ledger: Ledger): Promise<void> {
  const db = open(driver, file);
  try {
    assert.deepEqual({ ...(db.prepare('PRAGMA integrity_check').all()[0] as object) }, { integrity_check: 'ok' });
    const keyring = keyringOn(db);
    for (const [keyId, { key, state }] of ledger) {
      const outcome = await keyring.verify(key).then(
        (principal) => principal.keyId,
        (error: unknown) => (isAccessError(error) ? error.reason : error),
      );
      const allowed = state === 'live' ? [keyId] : state === 'unknown' ? [keyId, 'revoked', 'retired'] : [state];
      assert.ok(allowed.includes(outcome as string), `${keyId}: ${state} was acknowledged; now ${outcome}`);
    }
    const { keys } = await keyring.list({ limit: 1000 }, AUTHORITY);
    assert.ok(keys.length >= Math.min(1000, ledger.size), 'rows are missing');
  } finally {
    db.close();
  }
}

// ── Races ─────────────────────────────────────────────────────────────────────────────────────────────

export interface Servant {
  ask(...task: readonly unknown[]): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** A process that does what it is asked, one line at a time. */
export function servant(driver: Driver): Servant {
  const child = start('serve', driver);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(...task) {
      child.stdin.write(`${JSON.stringify(task)}\n`);
      const { value, done } = await answers.next();
      assert.ok(!done, 'the process ended');
      return (JSON.parse(String(value)) as unknown[])[0];
    },
    async stop() {
      const ended = once(child, 'close');
      child.stdin.end();
      return ended;
    },
  };
}

/** All of them open a new file at once: each finds it migrated, once. */
export async function migrationRound(servants: readonly Servant[], file: string): Promise<void> {
  const answers = await Promise.all(servants.map((one) => one.ask('open', file)));
  assert.deepEqual(
    answers,
    servants.map(() => 'opened'),
  );
  const db = open('node:sqlite', file);
  try {
    const names = db.prepare("SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND name LIKE 'keyscope%'").all();
    assert.equal(names.length, 7);
    assert.deepEqual({ ...(db.prepare('SELECT * FROM keyscope_schema').all()[0] as object) }, { id: 1, version: 1 });
  } finally {
    db.close();
  }
}

/** Two processes rotate one key at once, with different overlaps: one has a successor, the other a conflict. */
export async function rotationRound(servants: readonly Servant[], file: string): Promise<void> {
  const db = open('node:sqlite', file);
  try {
    const keyring = keyringOn(db);
    const before = Date.now();
    const { info, key } = await keyring.issue(INPUT, AUTHORITY);
    const overlaps = servants.map((_, i) => (i + 1) * 3_600_000);
    const answers = await Promise.all(servants.map((one, i) => one.ask('rotate', file, info.keyId, overlaps[i])));
    const winners = answers.filter((answer) => typeof answer === 'object') as { readonly key: string }[];
    assert.equal(winners.length, 1, `of ${JSON.stringify(answers.map((a) => (typeof a === 'object' ? 'won' : a)))}`);
    assert.equal(answers.filter((answer) => answer === 'conflict').length, servants.length - 1);

    // The plaintext that was handed out works; what the others had made is revoked.
    const successor = await keyring.verify(winners[0]?.key ?? '');
    const { keys } = await keyring.list({ limit: 1000 }, AUTHORITY);
    const made = keys.filter(({ rotatedFrom }) => rotatedFrom === info.keyId);
    const live = made.filter(({ revokedAt }) => revokedAt === null);
    assert.deepEqual(
      live.map(({ keyId }) => keyId),
      [successor.keyId],
    );
    // The predecessor lives on for as long as the winner said.
    await keyring.verify(key);
    const retireAt = keys.find(({ keyId }) => keyId === info.keyId)?.retireAt?.getTime() ?? 0;
    const overlap = overlaps[answers.indexOf(winners[0])] ?? 0;
    const start = retireAt - overlap;
    assert.ok(start >= before && start <= Date.now(), 'the predecessor retires when the winner said');
  } finally {
    db.close();
  }
}

/**
 * Rounds of processes that are killed, or that race, on any store that an address names: few in the
 * unit tests, many against servers. What a round finds wrong it throws; what it saw it counts.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { KeyInfo, KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, isAccessError } from 'keyscope';
import type { Driver } from './sqlite.ts';
import { catalog, INPUT, keyringOn, open, PEPPERS } from './sqlite.ts';

export const HOUR = 3_600_000;

/**
 * A keyring over a store. Patient: a machine that does ten things at once is slow and not broken.
 */
export const keyringOver = (store: KeyStore, now: () => number = Date.now) =>
  createKeyring({ prefix: 'acme', catalog, store, peppers: PEPPERS, storeTimeoutMs: 60_000, now });

// ── Processes ─────────────────────────────────────────────────────────────────────────────────────────

/** What was handed out. */
export type Handed = { readonly keyId: string; readonly key: string };
const isHanded = (answer: unknown): answer is Handed => Object(answer).key !== undefined;
/** What a revocation answers, and a rotation too: when its write was over, or began. */
type Timed = { readonly revoked?: true; readonly from?: number; readonly to?: number };
const timed = (answer: unknown): Timed => Object(answer);

export interface Child {
  /**
   * Sends a task at once, whatever is under way. `null` where the process ends before it answers.
   */
  ask(task: string, ...given: readonly unknown[]): Promise<unknown>;
  /** Called with each moment that the process announces, and how many that makes. */
  onMoment: (moment: string, count: number) => void;
  /** Resolves where the process has opened its store, and rejects where it ended instead. */
  readonly ready: Promise<unknown>;
  /** Resolves where it has ended. */
  readonly gone: Promise<unknown>;
  /** What it announced since it was asked to. */
  readonly heard: readonly string[];
  /** `kill -9`, and waits until the process is gone. */
  kill(): Promise<void>;
  /** Lets it end what it does, and close its store. */
  stop(): Promise<void>;
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Starts a process on a store, or on none yet. */
export function startChild(address?: string): Child {
  const argv = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    path('typescript.ts'),
    path('store-child.ts'),
  ];
  const given = address === undefined ? [] : [address];
  const child = spawn(process.execPath, [...argv, ...given], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  // What is written to a process that was killed is lost, as it should be.
  child.stdin.on('error', () => {});
  const waiting = new Map<number, (answer: unknown) => void>();
  let opened = () => {};
  let over = false;
  const open = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const failed = async () => {
    await ended;
    throw new Error('the process ended before it was ready');
  };
  const ready = Promise.race([open, failed()]);
  // Who kills it does not wait for it.
  ready.catch(() => {});
  const heard: string[] = [];
  const self: Child = {
    async ask(task, ...args) {
      if (over) throw new Error('the process has ended');
      const id = tasks++;
      const answer = new Promise<unknown>((resolve) => waiting.set(id, resolve));
      child.stdin.write(`${JSON.stringify([id, task, ...args])}\n`);
      return answer;
    },
    onMoment: () => {},
    ready,
    gone: ended,
    heard,
    async kill() {
      child.kill('SIGKILL');
      const [, signal] = await ended;
      assert.equal(signal, 'SIGKILL', 'the process ended before it was killed');
    },
    async stop() {
      child.stdin.end();
      const [code] = await ended;
      assert.equal(code, 0, 'the process failed');
    },
  };
  let tasks = 0;
  const listen = async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const [id, what, when] = JSON.parse(line) as [number | null, unknown, string];
      if (id !== null) waiting.get(id)?.(what);
      else if (when === 'ready') opened();
      else self.onMoment(`${what} ${when}`, heard.push(`${what} ${when}`));
      if (id !== null) waiting.delete(id);
    }
    over = true;
    for (const resolve of waiting.values()) resolve(null);
  };
  void listen();
  return self;
}

// ── Races ─────────────────────────────────────────────────────────────────────────────────────────────

/** What the rounds run on: a store of this process, and two others on the same address. */
export interface Arena {
  readonly store: KeyStore;
  readonly children: readonly [Child, Child];
}

/** Rounds that are under way at once, each on a key and an entity of its own. */
const AT_ONCE = 50;

export interface Races {
  readonly rounds: number;
  /** Rounds of which one call won, and the other got nothing. */
  readonly oneWinner: number;
  /**
   * Rounds in which both had looked before either had written: the conditional write alone decided.
   */
  readonly metAtTheWrite: number;
}

interface Round {
  readonly entityUuid: string;
  readonly old: Handed;
  readonly answers: readonly [unknown, unknown];
}

type Task = readonly [name: 'rotate' | 'revoke', given: number];
const ROTATE: Task = ['rotate', HOUR];

/** Both processes are told at once, in alternating order, and answer as they like. */
async function race(
  arena: Arena,
  count: number,
  tasks: (i: number) => readonly [Task, Task],
): Promise<Round[]> {
  const keyring = keyringOver(arena.store);
  const [a, b] = arena.children;
  const ask = (child: Child, [task, given]: Task, entityUuid: string, keyId: string) =>
    child.ask(task, entityUuid, keyId, given);
  const round = async (i: number): Promise<() => Promise<Round>> => {
    const entityUuid = randomUUID();
    const { key, info } = await keyring.issue(INPUT, { entityUuid });
    const old = { key, keyId: info.keyId };
    return async () => {
      const [first, second] = i % 2 === 0 ? [a, b] : [b, a];
      const [one, two] = tasks(i);
      const answers = Promise.all([
        ask(first, one, entityUuid, old.keyId),
        ask(second, two, entityUuid, old.keyId),
      ] as const);
      return { entityUuid, old, answers: await answers };
    };
  };
  const done: Round[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - from);
    const starts = await Promise.all(Array.from({ length: size }, (_, i) => round(from + i)));
    done.push(...(await Promise.all(starts.map((start) => start()))));
  }
  return done;
}

/** The key that was raced for, and what was made of it, as this process sees them. */
async function outcome(store: KeyStore, { entityUuid, old }: Omit<Round, 'answers'>) {
  const rows = await store.list({ entityUuid, after: null, limit: 100 });
  const made = rows.filter(({ rotatedFrom }) => rotatedFrom === old.keyId);
  const before = rows.find(({ keyId }) => keyId === old.keyId);
  assert.ok(before, 'the predecessor is not listed');
  assert.equal(rows.length, made.length + 1, 'keys that nobody asked for');
  const live = made.filter(({ revokedAt }) => revokedAt === null).map(({ keyId }) => keyId);
  return { before, made, live };
}

/** What `verify` says of a key: its id, or why it is refused. */
const verdict = (keyring: ReturnType<typeof keyringOver>, key: string): Promise<unknown> =>
  keyring.verify(key).then(
    (principal) => principal.keyId,
    (error: unknown) => (isAccessError(error) ? error.reason : error),
  );

/**
 * Two processes rotate one key at once: one has its successor, the other a conflict, and what that
 * one had made ends.
 */
export async function rotateAgainstRotate(arena: Arena, rounds: number): Promise<Races> {
  const keyring = keyringOver(arena.store);
  let [oneWinner, metAtTheWrite] = [0, 0];
  for (const round of await race(arena, rounds, () => [ROTATE, ROTATE])) {
    const winners = round.answers.filter(isHanded);
    assert.deepEqual(
      round.answers.filter((answer) => !isHanded(answer)),
      ['conflict'],
      'of two rotations one is refused',
    );
    const { before, made, live } = await outcome(arena.store, round);
    assert.deepEqual(
      live,
      winners.map(({ keyId }) => keyId),
      'the successors that live are those that were handed out',
    );
    for (const { key, keyId } of winners) assert.equal(await verdict(keyring, key), keyId);
    assert.ok(before.retireAt !== null && before.revokedAt === null, 'the predecessor is retiring');
    assert.equal(
      await verdict(keyring, round.old.key),
      round.old.keyId,
      'and works in its overlap',
    );
    oneWinner += winners.length;
    metAtTheWrite += made.length - 1;
  }
  return { rounds, oneWinner, metAtTheWrite };
}

/**
 * One process revokes what the other rotates. Whatever the order, the key is revoked. Where the
 * rotation came first, its successor lives: it is another key, and the answer named it. Where the
 * revocation did, nothing usable was made.
 */
export async function revokeAgainstRotate(
  arena: Arena,
  rounds: number,
): Promise<Races & { rotations: number }> {
  const keyring = keyringOver(arena.store);
  let [oneWinner, metAtTheWrite, rotations] = [0, 0, 0];
  // Now the one, now the other is asked first, and the revocation held back by up to three
  // look-ups.
  const revokeFirst = (i: number) => i % 4 < 2;
  const revoke = (i: number): Task => ['revoke', (i >> 2) % 4];
  const raced = await race(arena, rounds, (i) =>
    revokeFirst(i) ? [revoke(i), ROTATE] : [ROTATE, revoke(i)],
  );
  for (const [i, round] of raced.entries()) {
    const [revoked, rotated] = revokeFirst(i) ? round.answers : [...round.answers].reverse();
    assert.equal(
      timed(revoked).revoked,
      true,
      `a revocation is done, whatever else goes on, not ${revoked}`,
    );
    const { before, made, live } = await outcome(arena.store, round);
    assert.notEqual(before.revokedAt, null, 'the predecessor is revoked');
    assert.equal(await verdict(keyring, round.old.key), 'revoked');
    if (isHanded(rotated)) {
      assert.deepEqual(
        live,
        [rotated.keyId],
        'the successor that was handed out is the one that lives',
      );
      assert.equal(await verdict(keyring, rotated.key), rotated.keyId);
      assert.notEqual(before.retireAt, null, 'a rotation that succeeds retires');
      // Its write was asked for before the revocation was acknowledged: after that, no successor is
      // handed out.
      const { from = 0 } = timed(rotated);
      assert.ok(from < (timed(revoked).to ?? 0), 'a key that had been revoked was rotated');
      rotations += 1;
    } else {
      assert.match(
        String(rotated),
        /^(?:conflict|invalid_token)$/,
        'a rotation that comes too late is denied',
      );
      assert.deepEqual(live, [], 'a rotation that was refused leaves no key behind');
      assert.equal(before.retireAt, null, 'a rotation that was refused retires nothing');
      // `conflict` is said by the write alone: at the look the key was live.
      metAtTheWrite += made.length;
    }
    oneWinner += 1;
  }
  return { rounds, oneWinner, metAtTheWrite, rotations };
}

// ── kill -9 in the middle of a rotation ───────────────────────────────────────────────────────────────

export interface Kills {
  readonly kills: number;
  /** Times the predecessor worked after the kill, and until its `retireAt` where it had one. */
  predecessorAlive: number;
  /** Rotations whose answer was out before the kill. Their successors work. */
  handedOut: number;
  /** Successors that nobody has, and that `list` shows. */
  visible: number;
  /** Times a key was to be had afterwards, by rotating once more or by issuing. */
  remedied: number;
  /** Where the process was when it was killed: moment → times. */
  readonly at: Record<string, number>;
}

/** What was reached for certain, and what may have been reached, when the process was killed. */
const reached = ({ heard }: Child, method: string, stopped: boolean) => ({
  surely: heard.includes(`${method} after`),
  // It stands still at the moment that it announced last; otherwise it went on until the signal
  // came.
  maybe: !stopped || heard.includes(`${method} during`) || heard.includes(`${method} after`),
});

/**
 * Kills a process at its `n`-th moment of a rotation: where `stopped`, it stands still at that
 * moment, otherwise it runs on until the signal arrives. Then this process looks at what is left.
 */
async function killRound(
  address: string,
  store: KeyStore,
  spare: Child,
  n: number,
  stopped: boolean,
  seen: Kills,
) {
  let time = Date.now();
  const keyring = keyringOver(store, () => time);
  const entityUuid = randomUUID();
  const by = { entityUuid };
  const { key, info } = await keyring.issue(INPUT, by);
  const old = { key, keyId: info.keyId };

  await spare.ready;
  await spare.ask('announce', stopped ? n : undefined);
  const there = new Promise<void>((resolve) => {
    spare.onMoment = (_moment, count) => {
      if (count === n) resolve();
    };
  });
  const answer = spare.ask('rotate', entityUuid, old.keyId, HOUR);
  await Promise.race([there, spare.gone]);
  await spare.kill();
  const handed = await answer;
  // What was on its way when the process died, the server may still be doing.
  await sleep(address.includes('sqlite') ? 0 : 30);
  const at = spare.heard.at(-1) ?? '';
  seen.at[at] = (seen.at[at] ?? 0) + 1;

  const { before, made, live } = await outcome(store, { entityUuid, old });
  const [inserted, retired] = [
    reached(spare, 'insert', stopped),
    reached(spare, 'markEnded', stopped),
  ];
  assert.ok(
    made.length <= (inserted.maybe ? 1 : 0) && made.length >= (inserted.surely ? 1 : 0),
    `${made.length} made`,
  );
  assert.ok(
    before.retireAt === null ? !retired.surely : retired.maybe,
    `retireAt is ${before.retireAt}`,
  );
  assert.ok(before.retireAt === null || made.length === 1, 'retired, and no successor to be seen');
  assert.deepEqual(live.length, made.length, 'nobody has revoked a successor');
  assert.equal(before.revokedAt, null);
  seen.visible += isHanded(handed) ? 0 : made.length;

  // The predecessor lives until its `retireAt`, to the millisecond.
  assert.equal(await verdict(keyring, old.key), old.keyId, 'the predecessor is dead');
  if (before.retireAt !== null) {
    time = before.retireAt - 1;
    assert.equal(
      await verdict(keyring, old.key),
      old.keyId,
      'the predecessor is dead before its time',
    );
    time = before.retireAt;
    assert.equal(await verdict(keyring, old.key), 'retired', 'the predecessor outlives its time');
    time = Date.now();
  }
  seen.predecessorAlive += 1;
  if (isHanded(handed))
    assert.equal(await verdict(keyring, handed.key), made[0]?.keyId, 'handed out, and works');
  await remedy({ keyring, old, before, made, by, handed, seen });
}

interface Left {
  readonly keyring: ReturnType<typeof keyringOver>;
  readonly old: Handed;
  readonly before: KeyRecord;
  readonly made: readonly KeyRecord[];
  readonly by: { readonly entityUuid: string };
  readonly handed: unknown;
  readonly seen: Kills;
}

/**
 * What an operator does then: rotates once more, and where that is refused revokes what nobody has
 * and issues.
 */
async function remedy({ keyring, old, before, made, by, handed, seen }: Left): Promise<void> {
  const again: KeyInfo | string = await keyring.rotate(old.keyId, { overlapMs: HOUR }, by).then(
    ({ info }) => info,
    (error: unknown) => (isAccessError(error) ? error.code : String(error)),
  );
  // One successor is ever handed out: the second rotation succeeds only where the first retired
  // nothing. Where it is refused that is looked up again: a busy server may have written what the
  // process had sent before it died, after all.
  const late = again === 'conflict' && (await keyring.get(old.keyId, by))?.retireAt instanceof Date;
  assert.equal(
    typeof again !== 'object',
    before.retireAt !== null || late,
    `a second rotation: ${again}`,
  );
  assert.ok(!isHanded(handed) || again === 'conflict', 'two successors were handed out');
  seen.handedOut += isHanded(handed) ? 1 : 0;
  const { keys } = await keyring.list({ limit: 10 }, by);
  for (const { keyId } of made) {
    assert.ok(
      keys.some((listed) => listed.keyId === keyId && listed.rotatedFrom === old.keyId),
      'a successor that list does not show',
    );
    if (!isHanded(handed)) await keyring.revoke(keyId, by);
  }
  const fresh = await keyring.issue(INPUT, by);
  assert.equal(await verdict(keyring, fresh.key), fresh.info.keyId);
  seen.remedied += 1;
}

/** Processes for one kill each: the next one starts while the one before is at work. */
function* spares(count: number, address?: string): Generator<[number, Child]> {
  let next = startChild(address);
  for (let i = 0; i < count; i++) {
    const child = next;
    if (i + 1 < count) next = startChild(address);
    yield [i, child];
  }
}

/**
 * `kill -9` at every moment of a rotation in turn, in every other turn while the process stands
 * still. The moments: before, during (where the store answers by promise) and after each of three
 * calls, then made and not said, then said.
 */
export async function killRotations(
  address: string,
  store: KeyStore,
  kills: number,
  first = 1,
): Promise<Kills> {
  const seen: Kills = { kills, predecessorAlive: 0, handedOut: 0, visible: 0, remedied: 0, at: {} };
  const moments = address.includes('sqlite') ? 8 : 11;
  for (const [i, child] of spares(kills, address)) {
    const turn = Math.floor(i / moments);
    await killRound(address, store, child, first + (i % moments), turn % 2 === 0, seen);
  }
  return seen;
}

// ── kill -9 in the middle of anything ─────────────────────────────────────────────────────────────────

/**
 * What was said of a key's state; `unknown` where an operation on it had begun when the process was
 * killed.
 */
type Said = Handed & {
  readonly entityUuid: string;
  state: 'live' | 'retiring' | 'retired' | 'revoked' | 'unknown';
};
type Ledger = Said[];

/**
 * Starts a writer on a SQLite file and kills it after so many moments, again and again; at 0 it is
 * about to open the file. After each kill holds the file to all that was ever acknowledged. Answers
 * how many keys that were.
 */
export async function crashRounds(
  driver: Driver,
  file: string,
  kills: readonly number[],
  seed = 0,
): Promise<number> {
  const ledger: Ledger = [];
  for (const [i, child] of spares(kills.length)) {
    const moments = kills[i] ?? 0;
    await crash(child, `${driver === 'node:sqlite' ? 'sqlite' : driver}:${file}`, {
      seed: seed + i,
      moments,
      ledger,
    });
    await compare(driver, file, ledger);
  }
  return ledger.length;
}

interface Crash {
  /** What the process does. */
  readonly seed: number;
  readonly moments: number;
  /** What was acknowledged so far; the round adds to it. */
  readonly ledger: Ledger;
}

async function crash(
  child: Child,
  address: string,
  { seed, moments, ledger }: Crash,
): Promise<void> {
  let killed: Promise<void> | undefined;
  const kill = () => {
    killed ??= child.kill();
  };
  let state = seed;
  const dice = (sides: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % sides;
  };
  await child.ready;
  const opened = child.ask('open', address);
  if (moments === 0) {
    // Into the making of the tables, or shortly before or after it.
    await sleep(dice(8));
    return child.kill();
  }
  await opened;
  await child.ask('announce');
  child.onMoment = (_moment, count) => {
    if (count >= moments) kill();
  };
  while (killed === undefined) {
    const live = ledger.filter((said) => said.state === 'live');
    await operate(child, ledger, dice(2) === 0 ? live[dice(live.length || 1)] : undefined, dice(3));
  }
  await killed;
}

/**
 * One operation, on a key or to make one, and what is known of it whether it was answered or not.
 */
async function operate(
  child: Child,
  ledger: Ledger,
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
  const overlapMs = choice === 1 ? HOUR : 0;
  const answer = await (choice === 0
    ? child.ask('revoke', entityUuid, keyId)
    : child.ask('rotate', entityUuid, keyId, overlapMs));
  if (timed(answer).revoked) on.state = 'revoked';
  if (isHanded(answer)) {
    on.state = overlapMs === 0 ? 'retired' : 'retiring';
    ledger.push({ ...answer, entityUuid, state: 'live' });
  }
}

/** Holds a file to all that was ever acknowledged. */
async function compare(driver: Driver, file: string, ledger: Ledger): Promise<void> {
  const db = open(driver, file);
  try {
    const keyring = keyringOn(db);
    assert.deepEqual(
      { ...(db.prepare('PRAGMA integrity_check').all()[0] as object) },
      { integrity_check: 'ok' },
    );
    for (const { key, keyId, state } of ledger) {
      const found = await verdict(keyring, key);
      const works = state === 'live' || state === 'retiring';
      const allowed: readonly unknown[] = works
        ? [keyId]
        : state === 'unknown'
          ? [keyId, 'revoked', 'retired']
          : [state];
      assert.ok(allowed.includes(found), `${keyId}: ${state} was acknowledged; now ${found}`);
    }
  } finally {
    db.close();
  }
}

// ── A new file ────────────────────────────────────────────────────────────────────────────────────────

/**
 * All of them open a new file at once, with one driver and the other: each finds it migrated, once.
 */
export async function migrationRound(children: readonly Child[], file: string): Promise<void> {
  const drivers = ['sqlite', 'better-sqlite3'];
  const answers = await Promise.all(
    children.map((child, i) => child.ask('open', `${drivers[i % 2]}:${file}`)),
  );
  assert.deepEqual(
    answers,
    children.map(() => 'opened'),
  );
  const db = open('node:sqlite', file);
  try {
    const names = db
      .prepare("SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND name LIKE 'keyscope%'")
      .all();
    assert.equal(names.length, 8);
    assert.deepEqual(
      { ...(db.prepare('SELECT * FROM keyscope_schema').all()[0] as object) },
      { id: 1, version: 1 },
    );
  } finally {
    db.close();
  }
}

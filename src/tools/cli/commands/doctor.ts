/**
 * `keyscope doctor` looks at one thing after another. It writes nothing: what would create tables
 * is asked only where there are some.
 */
import { randomUUID } from 'node:crypto';
import { causeOf } from '../../../core/errors.js';
import { isObject } from '../../../core/input.js';
import type { KeyRecord } from '../../../core/record.js';
import { within } from '../../../core/thenable.js';
import { pepperReport } from '../../../management/reports/pepper-report.js';
import type { Call } from '../call.js';
import { EXIT } from '../command-error.js';
import { type CommandConfig, type CommandSql, isConfigured } from '../define-config.js';
import { hintOf } from '../explain.js';
import type { Style } from '../output.js';
import {
  askClock,
  askMissingTriggers,
  askPrimary,
  askRights,
  askVersion,
  KNOWN_VERSION,
} from '../sql.js';
import { type Column, tablePrinter } from '../table.js';

/** What is said of a check. A check that cannot be made is `not known`, and never `ok`. */
type State = 'ok' | 'to do' | 'not known';

/** One line of the result. */
export interface Finding {
  readonly check: string;
  readonly state: State;
  /** What was seen, or what to do. */
  readonly what: string;
}

/** What is said of one check, without its name. */
type Verdict = readonly [state: State, what: string];

const STYLES: Readonly<Record<State, Style>> = { ok: 'good', 'to do': 'bad', 'not known': 'doubt' };

const COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: ({ check }) => check },
  { title: 'STATE', cell: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { title: 'WHAT', cell: ({ what }) => what },
];

/** Checks one thing after another. What cannot be asked is not known, and never ok. */
export async function run(call: Call): Promise<number> {
  const { output, timeoutMs } = call;
  const config = await call.config();
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs, findings }));
  // What to do is a sentence, which is not cut.
  const uncut = { ...output, width: Number.POSITIVE_INFINITY };
  await tablePrinter(uncut, COLUMNS)(findings);
  const isDown = findings.some(({ check, state }) => check === 'store' && state === 'to do');
  if (isDown) return EXIT.store;
  return findings.some(({ state }) => state === 'to do') ? EXIT.refused : EXIT.done;
}

/** What a check may use. */
interface Asked {
  readonly config: CommandConfig;
  /** How long one check may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Those before it. */
  readonly findings: readonly Finding[];
}

type Check = (asked: Asked) => Promise<Finding>;

/** A check that takes longer is not waited for, however long a report may take. */
const CHECK_MS = 5_000;

/** Largest difference of two clocks that nobody notices, in milliseconds. */
const SKEW_MS = 1_000;

/** Four look-ups at once, and a connection for everything else. */
const LEAST_POOL = 5;

/** Where this was not done, nothing else can be asked without a wait or without creating tables. */
const FIRST: readonly string[] = ['schema', 'store'];

/**
 * Makes a check of a function. What it throws, and what it does not answer in time, is not known;
 * of the store itself it is something to do.
 */
function check(name: string, look: (asked: Asked) => Promise<Verdict>): Check {
  return async (asked) => {
    const broken = asked.findings.find(
      (each) => FIRST.includes(each.check) && each.state === 'to do',
    );
    if (broken !== undefined) {
      return { check: name, state: 'not known', what: `see ${broken.check}` };
    }
    const limit = Math.min(asked.timeoutMs, CHECK_MS);
    try {
      const giveUp = (): never => {
        throw new Error(`keyscope: no answer within ${limit / 1_000} s`);
      };
      // Within a promise, so that what is thrown at once is caught, too.
      const looked = Promise.resolve().then(() => look(asked));
      const [state, what] = await within(limit, looked, giveUp);
      return { check: name, state, what };
    } catch (error) {
      const hint = hintOf(error) + hintOf(causeOf(error));
      const state = name === 'store' ? 'to do' : 'not known';
      return { check: name, state, what: `asked, and failed${hint}` };
    }
  };
}

/** The same for what only the database itself can tell. */
function checkSql(name: string, look: (sql: CommandSql) => Promise<Verdict>): Check {
  return check(name, async ({ config }) => {
    if (config.sql === undefined) return ['not known', 'the config has no `sql` to ask with'];
    return look(config.sql);
  });
}

/** In the order in which each may rely on those before. */
export const CHECKS: readonly Check[] = [
  check('config', async () => ['ok', 'it loads, and has what the command needs']),
  checkSql('schema', checkSchema),
  check('store', checkStore),
  checkSql('clock', checkClock),
  checkSql('primary', checkPrimary),
  checkSql('triggers', checkTriggers),
  check('pool', checkPool),
  check('channel', checkChannel),
  check('peppers', checkPeppers),
  check('deployment', ({ config }) => checkSeals(config)),
  check('records', checkRecords),
  checkSql('rights', checkRights),
];

async function checkSchema(sql: CommandSql): Promise<Verdict> {
  const found = await askVersion(sql);
  if (found.version === 0) return ['to do', 'there are no tables: run keyscope migrate'];
  const shown = `version ${found.version}`;
  if (found.version === KNOWN_VERSION) return ['ok', shown];
  if (found.version < KNOWN_VERSION) return ['to do', `${shown} is older: run keyscope migrate`];
  if (found.minReader <= KNOWN_VERSION) return ['ok', `${shown} is newer, and can be worked with`];
  return ['to do', `${shown} is newer than this release: upgrade keyscope`];
}

async function checkStore({ config }: Asked): Promise<Verdict> {
  const begun = performance.now();
  // Nobody's keys: none, and no refusal. The keyring waits no longer than its `storeTimeoutMs`.
  await config.keyring.list({ limit: 1 }, { entityUuid: randomUUID() });
  return ['ok', `answers in ${Math.round(performance.now() - begun)} ms`];
}

async function checkClock(sql: CommandSql): Promise<Verdict> {
  const before = Date.now();
  const theirs = await askClock(sql);
  const after = Date.now();
  if (theirs === null) return ['ok', 'the database has the clock of this machine'];
  if (!Number.isFinite(theirs)) return ['not known', 'the database said no time'];
  // Its answer was made between the two.
  const skew = Math.max(before - theirs, theirs - after, 0);
  const ms = `${Math.round(skew)} ms apart from the database's`;
  if (skew <= SKEW_MS) return ['ok', ms];
  return ['to do', `${ms}: synchronize both, or keys end early or late`];
}

async function checkPrimary(sql: CommandSql): Promise<Verdict> {
  const isPrimary = await askPrimary(sql);
  if (isPrimary === null) return ['ok', 'a file has no replica'];
  if (isPrimary) return ['ok', 'reads and writes go to the primary'];
  return ['to do', 'this is a replica, which lags: connect to the primary'];
}

async function checkTriggers(sql: CommandSql): Promise<Verdict> {
  const missing = await askMissingTriggers(sql);
  if (missing.length === 0) return ['ok', 'all are there'];
  const instead = 'whoever writes the table can rewrite history; see SchemaOptions';
  return ['to do', `missing: ${missing.join(', ')}: ${instead}`];
}

async function checkPool({ config }: Asked): Promise<Verdict> {
  const { connections } = config;
  if (connections === undefined) return ['not known', 'the config has no `connections`'];
  const shown = `at most ${connections} connections`;
  if (connections >= LEAST_POOL) return ['ok', shown];
  return ['to do', `${shown}: allow ${LEAST_POOL} or more, for look-ups take up to 4`];
}

async function checkChannel({ config }: Asked): Promise<Verdict> {
  const { store } = config as { readonly store: { readonly channelState?: () => unknown } };
  if (store.channelState === undefined) return ['not known', 'the store has no channel'];
  let state = store.channelState();
  // It comes up with its first beat.
  for (let round = 0; state === 'starting' && round < 40; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    state = store.channelState();
  }
  if (state === 'up') return ['ok', 'it is up'];
  if (state === 'none') return ['not known', 'the cache has no channel'];
  return ['to do', `it is ${String(state)}: see onError of the cache`];
}

async function checkRecords({ config }: Asked): Promise<Verdict> {
  if (config.store.isInProcess !== true) return ['ok', 'they outlive this process'];
  return [
    'to do',
    'they end with the process that made them: pass a store over a file or a server',
  ];
}

/** Whom a database lets in without a password of its own: everybody, and Supabase's public API. */
const ANYBODY: readonly string[] = ['public', 'anon', 'authenticated'];

async function checkRights(sql: CommandSql): Promise<Verdict> {
  const roles = await askRights(sql);
  if (roles === null) return ['ok', 'a file has no roles: its permissions decide'];
  if (roles.length === 0) return ['ok', 'nobody but the owner and this user can use the tables'];
  const open = roles.filter((role) => ANYBODY.includes(role));
  const shown = roles.includes('public') ? 'public, which is everybody' : roles.join(', ');
  const others = `these can read or write the tables, too: ${shown}`;
  if (open.length > 0) return ['to do', `${others}; REVOKE ALL on them from ${open.join(', ')}`];
  return ['not known', `${others}; REVOKE what you did not mean`];
}

async function checkPeppers({ config, timeoutMs }: Asked): Promise<Verdict> {
  if (config.store.summarize === undefined) return ['not known', 'the store cannot count them'];
  const uses = await pepperReport(config.store, { timeoutMs });
  if (uses.length === 0) return ['ok', 'there are no live keys'];
  const shown = uses.map(({ scheme, live, lastUsedAt }) => {
    const used = lastUsedAt === null ? 'use not known' : `last used ${lastUsedAt.toISOString()}`;
    return `${scheme}: ${live} live, ${used}`;
  });
  const what = shown.join('; ');
  const isMissing = uses.some((use) => isConfigured(use.pepper, config) === false);
  if (isMissing) return ['to do', `${what}; not all are configured: those keys do not work`];
  if (config.peppers === undefined) return ['not known', `${what}; the config names no peppers`];
  return ['ok', what];
}

// ── The keyring's `deployment`, compared with what keys were sealed under ───────────────────────

/** How many keys are looked at. */
const SAMPLE = 50;

/** What the keyring sees of a row with a pepper: its seal matches, or not, or nobody can tell. */
type Seal = 'sound' | 'broken' | 'not known';

/** Looks at some keys: a wrong deployment breaks the seal of each of them, an edit that of one. */
async function checkSeals(config: CommandConfig): Promise<Verdict> {
  const { store } = config;
  if (store.listAll === undefined) return ['not known', 'the store cannot list its keys'];
  const { items } = await store.listAll({ after: null, limit: SAMPLE }, { fresh: true });
  const seals = new Map<string, Seal>();
  for (const row of items) {
    const isPeppered = isObject(row) && String(row.digest).startsWith('h1.');
    if (isPeppered) seals.set(row.keyId, await sealOf(config, row));
  }
  const broken = [...seals].filter(([, seal]) => seal === 'broken').map(([keyId]) => keyId);
  const sound = [...seals.values()].filter((seal) => seal === 'sound').length;
  if (broken.length === 0 && sound === 0) return ['not known', 'no key has a seal to compare with'];
  if (broken.length === 0) return ['ok', `the seals of ${sound} keys match`];
  if (sound > 0) {
    return ['to do', `these rows were edited by hand, look at them: ${broken.join(' ')}`];
  }
  const instead =
    'is `deployment` what it was when the keys were made, and each pepper its secret?';
  return ['to do', `the seal of none of ${broken.length} keys matches: ${instead}`];
}

async function sealOf({ keyring }: CommandConfig, row: KeyRecord): Promise<Seal> {
  const { keyId, entityUuid } = row;
  const info = await keyring.get(keyId, { entityUuid });
  // A key of another prefix is another keyring's.
  if (info === null || !('tampered' in info) || info.state === 'orphaned') return 'not known';
  return info.tampered ? 'broken' : 'sound';
}

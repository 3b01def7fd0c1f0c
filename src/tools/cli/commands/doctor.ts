/**
 * `keyscope doctor` runs its checks in order. It writes nothing: checks that would make the store
 * create tables run only if the tables exist.
 */
import { randomUUID } from 'node:crypto';
import { causeOf } from '../../../core/errors.js';
import { isObject } from '../../../core/input.js';
import type { KeyRecord } from '../../../core/record.js';
import { within } from '../../../core/thenable.js';
import { pepperReport } from '../../../reports/pepper-report.js';
import { type Call, type ChosenConfig, chooseKeyring } from '../call.js';
import { EXIT } from '../command-error.js';
import { type CommandSql, isConfigured } from '../define-config.js';
import { adviceOn, hintOf } from '../explain.js';
import { missingLines } from '../orm-configs.js';
import type { Style } from '../output.js';
import {
  askClock,
  askColumns,
  askPrimary,
  askRights,
  askTriggerFault,
  askVersion,
  KNOWN_VERSION,
} from '../sql.js';
import { type Column, tablePrinter } from '../table.js';

/** The outcome of a check. A check that cannot run is `not known`, never `ok`. */
type State = 'ok' | 'to do' | 'not known';

/** One line of the result. */
export interface Finding {
  readonly check: string;
  readonly state: State;
  /** The result, or what to do. */
  readonly what: string;
}

/** A finding without its name. */
type Verdict = readonly [state: State, what: string];

const STYLES: Readonly<Record<State, Style>> = { ok: 'good', 'to do': 'bad', 'not known': 'doubt' };

const COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: ({ check }) => check },
  { title: 'STATE', cell: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { title: 'WHAT', cell: ({ what }) => what },
];

/** Runs every check and prints the findings. */
export async function run(call: Call): Promise<number> {
  const { output, timeoutMs } = call;
  const config = chooseKeyring(call, await call.config());
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs, findings }));
  // Findings are sentences, which must not be cut.
  const uncut = { ...output, width: Number.POSITIVE_INFINITY };
  await tablePrinter(uncut, COLUMNS)(findings);
  const isDown = findings.some(({ check, state }) => check === 'store' && state === 'to do');
  if (isDown) return EXIT.store;
  return findings.some(({ state }) => state === 'to do') ? EXIT.refused : EXIT.done;
}

/** The input of a check. */
interface Asked {
  readonly config: ChosenConfig;
  /** How long one check may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The findings of the checks before it. */
  readonly findings: readonly Finding[];
}

type Check = (asked: Asked) => Promise<Finding>;

/** The longest time for one check, even if `--timeout` is longer. */
const CHECK_MS = 5_000;

/** The largest harmless difference between two clocks, in milliseconds. */
const SKEW_MS = 1_000;

/** Up to four look-ups at once, and one connection for everything else. */
const LEAST_POOL = 5;

/** If one of these fails, later checks would wait in vain or create tables. */
const FIRST: readonly string[] = ['schema', 'store'];

/**
 * Makes a check. An error or a timeout means `not known`, or `to do` for the check of the store
 * itself.
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
      // Inside a promise, so that a synchronous error is caught as well.
      const looked = Promise.resolve().then(() => look(asked));
      const [state, what] = await within(limit, looked, giveUp);
      return { check: name, state, what };
    } catch (error) {
      const hint = hintOf(error) + hintOf(causeOf(error));
      const state = name === 'store' ? 'to do' : 'not known';
      const advice = adviceOn(error) || adviceOn(causeOf(error));
      return { check: name, state, what: `the check failed${hint}${advice}` };
    }
  };
}

/** Makes a check that queries the database directly. */
function checkSql(name: string, look: (sql: CommandSql) => Promise<Verdict>): Check {
  return check(name, async ({ config }) => {
    if (config.sql === undefined) return ['not known', 'the config has no `sql` to query with'];
    return look(config.sql);
  });
}

/** In order: each check may rely on those before it. */
export const CHECKS: readonly Check[] = [
  check('config', async () => ['ok', 'it loads']),
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
  checkSql('orm', checkOrm),
];

const CONFUSING =
  'may take one text for another, so that an entity sees keys of others: restore what ' +
  'keyscope schema prints';

async function checkSchema(sql: CommandSql): Promise<Verdict> {
  const found = await askVersion(sql);
  if (found.version === 0) return ['to do', 'the tables are missing: run keyscope migrate'];
  const shown = `version ${found.version}`;
  if (found.version < KNOWN_VERSION) return ['to do', `${shown} is older: run keyscope migrate`];
  if (found.version > KNOWN_VERSION && found.minReader > KNOWN_VERSION) {
    return ['to do', `${shown} is newer than this release: upgrade keyscope`];
  }
  const columns = await askColumns(sql);
  if (columns.length > 0) return ['to do', `${shown}, but ${columns.join(', ')} ${CONFUSING}`];
  return ['ok', found.version === KNOWN_VERSION ? shown : `${shown} is newer and compatible`];
}

async function checkStore({ config }: Asked): Promise<Verdict> {
  const begun = performance.now();
  // An unknown entity: no keys and no denial. The keyring applies its `storeTimeoutMs`.
  await config.keyring.list({ limit: 1 }, { entityId: randomUUID() });
  return ['ok', `answers in ${Math.round(performance.now() - begun)} ms`];
}

async function checkClock(sql: CommandSql): Promise<Verdict> {
  const before = Date.now();
  const theirs = await askClock(sql);
  const after = Date.now();
  if (theirs === null) return ['ok', "the database uses this machine's clock"];
  if (!Number.isFinite(theirs)) return ['not known', 'the database returned no time'];
  // The database read its clock between the two.
  const skew = Math.max(before - theirs, theirs - after, 0);
  const ms = `${Math.round(skew)} ms apart from the database's clock`;
  if (skew <= SKEW_MS) return ['ok', ms];
  return ['to do', `${ms}: synchronize both, or keys will expire early or late`];
}

async function checkPrimary(sql: CommandSql): Promise<Verdict> {
  const isPrimary = await askPrimary(sql);
  if (isPrimary === null) return ['ok', 'a file has no replica'];
  if (isPrimary) return ['ok', 'the connection is to the primary'];
  return ['to do', 'the connection is to a replica, which lags: connect to the primary'];
}

async function checkTriggers(sql: CommandSql): Promise<Verdict> {
  const fault = await askTriggerFault(sql);
  return fault === null ? ['ok', 'all exist'] : ['to do', fault];
}

async function checkPool({ config }: Asked): Promise<Verdict> {
  const { connections } = config;
  if (config.sql?.dialect === 'sqlite') return ['ok', 'a file needs no pool'];
  if (connections === undefined) return ['not known', 'the config has no `connections`'];
  const shown = `at most ${connections} connections`;
  if (connections >= LEAST_POOL) return ['ok', shown];
  return ['to do', `${shown}: allow ${LEAST_POOL} or more, because look-ups use up to 4`];
}

async function checkChannel({ config }: Asked): Promise<Verdict> {
  const { store } = config as { readonly store: { readonly channelState?: () => unknown } };
  if (store.channelState === undefined) return ['ok', 'not needed: the store is not a cacheStore'];
  let state = store.channelState();
  // It is up after its first heartbeat.
  for (let round = 0; state === 'starting' && round < 40; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    state = store.channelState();
  }
  if (state === 'up') return ['ok', 'it is up'];
  if (state === 'none') return ['not known', 'the cache has no channel'];
  return ['to do', `it is ${String(state)}: check the errors that onError of the cache gets`];
}

async function checkRecords({ config }: Asked): Promise<Verdict> {
  if (config.store.isInProcess !== true) return ['ok', 'they are stored outside this process'];
  return ['to do', 'they are lost when the process ends: use a store on a file or a server'];
}

/** Roles that anybody can take: PostgreSQL's `public`, and those of Supabase's public API. */
const ANYBODY: readonly string[] = ['public', 'anon', 'authenticated'];

async function checkRights(sql: CommandSql): Promise<Verdict> {
  const roles = await askRights(sql);
  if (roles === null) return ['ok', 'a file has no roles; its permissions decide'];
  if (roles.length === 0) return ['ok', 'only the owner and this user can use the tables'];
  const open = roles.filter((role) => ANYBODY.includes(role));
  const shown = roles.includes('public') ? 'public, which is everybody' : roles.join(', ');
  const others = `others can read or write the tables: ${shown}`;
  if (open.length > 0) return ['to do', `${others}. REVOKE ALL on them FROM ${open.join(', ')}`];
  return ['not known', `${others}. REVOKE any right that you did not intend`];
}

async function checkOrm(): Promise<Verdict> {
  const missing = await missingLines('.');
  if (missing.length > 0) return ['to do', missing.join('; ')];
  return ['ok', 'no config in this folder lets drizzle-kit or Prisma drop the tables'];
}

async function checkPeppers({ config, timeoutMs }: Asked): Promise<Verdict> {
  if (config.store.summarize === undefined) return ['not known', 'the store cannot count keys'];
  const uses = await pepperReport(config.store, { timeoutMs });
  if (uses.length === 0) return ['ok', 'no live keys'];
  const shown = uses.map(({ scheme, pepper, live, lastUsedAt }) => {
    const used = lastUsedAt === null ? 'no use recorded' : `last used ${lastUsedAt.toISOString()}`;
    return `${pepper ?? `none (${scheme})`}: ${live} live ${live === 1 ? 'key' : 'keys'}, ${used}`;
  });
  const what = shown.join('; ');
  const isMissing = uses.some((use) => isConfigured(use.pepper, config) === false);
  const other = 'keys whose pepper is not configured work only in a keyring that has it';
  if (isMissing) return ['to do', `${what}; ${other}`];
  if (config.peppers === undefined)
    return ['not known', `${what}; the config has no \`peppers\` to compare with`];
  return ['ok', what];
}

// ── The keyring's `deployment`, compared with the seals of stored keys ──────────────────────────

/** The number of keys to compare. */
const SAMPLE = 50;

/** The number of rows to find them in, because a table may have keys of other prefixes. */
const ROWS = 1_000;

/** Whether the seal of a row matches. */
type Seal = 'sound' | 'broken' | 'not known';

/** Compares some seals: a wrong deployment breaks all of them, an edited row only its own. */
async function checkSeals(config: ChosenConfig): Promise<Verdict> {
  const { store } = config;
  if (store.listAll === undefined) return ['not known', 'the store cannot list its keys'];
  const { items } = await store.listAll({ after: null, limit: ROWS }, { fresh: true });
  if (items.length === 0) return ['ok', 'no keys yet'];
  const rows = items.filter((row) => isObject(row) && String(row.digest).startsWith('h1.'));
  const { prefix } = config.keyring;
  const own = rows.filter((row) => row.prefix === prefix).slice(0, SAMPLE);
  const seals = new Map<string, Seal>();
  for (const row of own) seals.set(row.keyId, await sealOf(config, row));
  const broken = [...seals].filter(([, seal]) => seal === 'broken').map(([keyId]) => keyId);
  const sound = [...seals.values()].filter((seal) => seal === 'sound').length;
  if (broken.length === 0 && sound === 0) return ['not known', 'no key has a seal to compare'];
  if (broken.length === 0) return ['ok', `the seals of ${sound} keys match`];
  if (sound > 0) {
    const cause = 'rows were edited by hand, or made with another secret or `deployment`';
    const advice = 'Revoke those that you cannot explain';
    return ['to do', `${cause}. ${advice}: ${broken.join(' ')}`];
  }
  const instead =
    'check that `deployment` and the secret of each pepper are the ones the keys were made with';
  return ['to do', `none of ${broken.length} seals match: ${instead}`];
}

async function sealOf({ keyring }: ChosenConfig, row: KeyRecord): Promise<Seal> {
  const { keyId, entityId } = row;
  const info = await keyring.get(keyId, { entityId });
  if (info === null || !('tampered' in info) || info.state === 'orphaned') return 'not known';
  if (!info.tampered) return 'sound';
  // A key that was revoked since lets nobody in.
  return info.state === 'revoked' ? 'not known' : 'broken';
}

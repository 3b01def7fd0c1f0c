/**
 * From a header to a caller who holds one scope, compared with a hand-written check and with the
 * packages that people use: `node bench/verify.ts`. Each is measured by turns with the plain
 * check, the two alone in a process, because a peer's objects make our calls slower, and its
 * garbage is collected on our time.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CACHED, type Contender, KEYSCOPE, type Open, OWN, PEPPERED, PLAIN } from './contenders.ts';
import { type Case, drawer, type Figure, measure } from './harness.ts';
import { anotherKey, type Headers, LACKING, NEEDED } from './keys.ts';
import { betterAuth } from './peers/better-auth.ts';
import { jose } from './peers/jose.ts';
import { missing } from './peers/load.ts';
import { prefixedApiKey } from './peers/prefixed-api-key.ts';
import { number, publish, quick, type Row, unbounded } from './report.ts';

const ROUNDS = quick ? 20 : 80;
const KEYS = 1_000;
/** Headers in one call: enough that the call itself does not count. */
const LIST = 16;
const FLAG = '--pair';
/** Rows that the summary does not show. */
const LEFT_OUT: readonly string[] = [CACHED, 'jose, JWT with HS256'];
const MARK = 'figures: ';

const CONTENDERS: Readonly<Record<string, Open>> = {
  ...OWN,
  'prefixed-api-key and a Map': prefixedApiKey,
  'better-auth in memory': betterAuth,
  'jose, JWT with HS256': (count) => jose(count, 'HS256'),
  'jose, JWT with RS256': (count) => jose(count, 'RS256'),
};

// ── A pair, in its own process ───────────────────────────────────────────────────────────────────

async function checkContender(contender: Contender, name: string): Promise<void> {
  const { values, enter, id } = contender;
  for (const index of [7, values.count - 1]) {
    const entered = await enter([values.headers(index)], NEEDED);
    assert.equal(entered, id(index), `${name}: lets in whose key it is`);
  }
  const refused = async (headers: Headers, scope: string, why: string) =>
    assert.rejects(async () => enter([headers], scope), Error, `${name}: refuses ${why}`);
  const { authorization } = values.headers(8);
  await refused({ authorization: anotherKey(authorization) }, NEEDED, 'another key');
  await refused({ authorization: authorization.replace('Bearer', 'Basic') }, NEEDED, 'a scheme');
  await refused(values.headers(8), LACKING, 'a scope that was not granted');
}

function caseOf(name: string, contender: Contender): Case<readonly Headers[]> {
  const draw = drawer(2);
  const { values, enter } = contender;
  return {
    name,
    batch: LIST,
    check: () => checkContender(contender, name),
    prepare: () => Array.from({ length: LIST }, () => values.headers(draw(values.count))),
    run: (list) => enter(list, NEEDED),
  };
}

async function measurePair(name: string): Promise<void> {
  const cases: Case<readonly Headers[]>[] = [];
  for (const each of [PLAIN, name]) {
    const contender = await Promise.resolve(CONTENDERS[each]?.(KEYS)).catch(missing);
    if (!contender) return;
    cases.push(caseOf(each, contender));
  }
  const figures = await measure(cases, ROUNDS);
  console.log(MARK + JSON.stringify([figures.get(PLAIN), figures.get(name)]));
}

// ── All pairs ────────────────────────────────────────────────────────────────────────────────────

function runPair(name: string): readonly [Figure, Figure] | null {
  const file = fileURLToPath(import.meta.url);
  const args = [file, ...process.argv.slice(2), FLAG, name];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${name}: its process ended with ${status}`);
  const line = stdout.split('\n').find((text) => text.startsWith(MARK));
  if (line === undefined) console.log(stdout);
  return line === undefined ? null : (JSON.parse(line.slice(MARK.length)) as [Figure, Figure]);
}

function main(): void {
  const rows: (Row & { readonly micros: number })[] = [];
  for (const name of Object.keys(CONTENDERS).filter((each) => each !== PLAIN)) {
    const pair = runPair(name);
    if (pair === null) continue;
    const [plain, own] = pair;
    const micros = own.ns / 1000;
    const ratio = `${number(own.ns / plain.ns)} ×`;
    const spread = `${Math.round(100 * own.spread)} %`;
    const cells = [micros, plain.ns / 1000, ratio, spread];
    const row = { name, cells, micros, verdict: unbounded(micros, 'µs') };
    const inSummary = `A check, from the header to a caller: ${name}`;
    rows.push(LEFT_OUT.includes(name) ? row : { ...row, inSummary });
  }
  const isOurs = ({ name }: Row): boolean => [KEYSCOPE, PEPPERED, CACHED].includes(name);
  rows.sort(
    (one, other) => Number(isOurs(other)) - Number(isOurs(one)) || other.micros - one.micros,
  );
  publish({
    name: 'verify',
    title: 'Compared with a hand-written check and its peers',
    about:
      'Microseconds from a header to a caller who holds one scope, with ' +
      `${KEYS.toLocaleString('en-US')} keys in memory. The plain check is \`bench/by-hand.ts\`: ` +
      'a regular expression, SHA-256, `Map.get`, expiry, revocation and `Set.has`, synchronous. ' +
      'It was measured by turns with each row, alone in one process.',
    tables: [
      {
        head: ['µs', 'a check', 'plain check', 'of the plain check', 'spread'],
        rows: rows.map(({ micros: _, ...row }) => row),
      },
    ],
  });
}

const own = process.argv.indexOf(FLAG);
if (own > 0) await measurePair(process.argv[own + 1] ?? '');
else main();

/**
 * The cost of refusing a stranger's request, compared with admitting one: `node
 * bench/refusals.ts`. Every refusal is caught and its code is read, as a route does.
 */
import assert from 'node:assert/strict';
import type { KeyRecord } from 'keyscope';
import { createKeyring, definePolicy, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type Case, drawer, measure } from './harness.ts';
import {
  catalog,
  type Headers,
  HeaderValues,
  LACKING,
  NEEDED,
  newKeys,
  PREFIX,
  recordOf,
} from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';

const ROUNDS = quick ? 20 : 80;
const KEYS = 1_000;
const LIST = 16;
const ADMITTED = 'an admitted key';

type Request = Partial<Headers>;
type Operation = 'listThreats' | 'listReports';

/** A kind of request. Fields that are absent are those of an admitted one. */
interface Kind {
  /** Why it is refused; null if it is admitted. */
  readonly reason: string | null;
  /** How often it asks the store. */
  readonly lookUps: 0 | 1;
  /** Turns a good key into what is sent; null for nothing. */
  readonly send?: (key: string) => string | null;
  readonly stored?: Partial<KeyRecord>;
  readonly isUnknown?: true;
  readonly operation?: Operation;
}

const otherDigit = (digit: string): string => (digit === '0' ? '1' : '0');

const KINDS: Readonly<Record<string, Kind>> = {
  [ADMITTED]: { reason: null, lookUps: 1 },
  'scope missing': { reason: 'scope_missing', lookUps: 1, operation: 'listReports' },
  'revoked key': { reason: 'revoked', lookUps: 1, stored: { revokedAt: 1_700_000_000_000 } },
  'unknown key': { reason: 'unknown_key', lookUps: 1, isUnknown: true },
  'wrong checksum': {
    reason: 'wrong_checksum',
    lookUps: 0,
    send: (key) => key.replace(/.$/, otherDigit),
  },
  garbage: { reason: 'malformed_key', lookUps: 0, send: (key) => key.replace(/.(?=.{9}$)/, '-') },
  'no credential': { reason: 'no_header', lookUps: 0, send: () => null },
};

let lookUps = 0;
const store = memoryStore();
const policy = definePolicy(catalog, { listThreats: [NEEDED], listReports: [LACKING] });
const keyring = createKeyring({
  prefix: PREFIX,
  policy,
  peppers: 'none',
  store: {
    ...store,
    findByDigest(digests) {
      lookUps += 1;
      return store.findByDigest(digests);
    },
  },
});
let stored = 0;

/** Makes keys of a kind; returns what makes a request with one of them. */
function requestsOf(kind: Kind): (index: number) => Request {
  const { send = (key) => key, isUnknown = false } = kind;
  const made = new HeaderValues(newKeys(KEYS), KEYS);
  const sent: string[] = [];
  for (let index = 0; index < KEYS; index++) {
    const key = made.key(index);
    const text = send(key);
    if (text !== null) sent.push(text);
    if (isUnknown) continue;
    void store.insert({ ...recordOf(stored, key), ...kind.stored });
    stored += 1;
  }
  const headers = new HeaderValues(sent, KEYS);
  return (index) => (sent.length === 0 ? {} : headers.headers(index));
}

async function enter(list: readonly Request[], operation: Operation): Promise<unknown> {
  let last: unknown;
  for (const headers of list) {
    try {
      last = await keyring.admit({ headers }, { operation });
    } catch (error) {
      last = isAccessError(error) && error.code;
    }
  }
  return last;
}

function caseOf(name: string, kind: Kind): Case<readonly Request[]> {
  const requestOf = requestsOf(kind);
  const { operation = 'listThreats', reason } = kind;
  const draw = drawer(2);
  async function check(): Promise<void> {
    const before = lookUps;
    for (const index of [7, KEYS - 1]) {
      const admitted = keyring.admit({ headers: requestOf(index) }, { operation });
      if (reason === null) await admitted;
      else await assert.rejects(admitted, { reason });
    }
    assert.equal(lookUps - before, 2 * kind.lookUps, `${name}: look-ups`);
  }
  return {
    name,
    batch: LIST,
    check,
    prepare: () => Array.from({ length: LIST }, () => requestOf(draw(KEYS))),
    run: (list) => enter(list, operation),
  };
}

const cases = Object.entries(KINDS).map(([name, kind]) => caseOf(name, kind));
const figures = await measure(cases, ROUNDS);
const admitted = figures.get(ADMITTED)?.ns ?? Number.NaN;
const rows = Object.entries(KINDS).map(([name, kind]): Row & { readonly ratio: number } => {
  const { ns, spread } = figures.get(name) ?? { ns: Number.NaN, spread: Number.NaN };
  const ratio = ns / admitted;
  const cells = [ns, `${number(ratio)} ×`, `${Math.round(100 * spread)} %`];
  if (name === ADMITTED) return { name, cells, ratio };
  const verdict = atMost(ratio, kind.lookUps === 0 ? 0.8 : 1.5, '×');
  return { name, cells, ratio, verdict };
});
publish({
  name: 'refusals',
  title: 'Requests of strangers',
  about:
    '`admit` from a header to an error that was caught, with keys in memory, all kinds by turns. ' +
    'A key with a wrong checksum never reaches the store.',
  tables: [
    {
      head: ['', 'ns', `of ${ADMITTED}`, 'spread'],
      rows: rows
        .toSorted((one, other) => other.ratio - one.ratio)
        .map(({ ratio: _, ...row }) => row),
    },
  ],
});

/**
 * Making keys: `node bench/issue.ts`. Into an empty store each round: the figure is a key's and not
 * a growing table's.
 */
import assert from 'node:assert/strict';
import { createKeyring, type Peppers } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { check, issue, type Keys } from './by-hand.ts';
import { type Case, measure } from './harness.ts';
import { catalog, ENTITY, EXPIRES, NEEDED, PEPPERS, PREFIX, SCOPES } from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 150;
const CALLS = 256;
const BY_HAND = 'by hand';
const OURS = 'keyscope';
const prepare = () => undefined;

function byHand(): Case {
  const known = new Set<string>(catalog.all);
  const wish = { name: 'integration', entity: ENTITY, scopes: SCOPES, expiresAt: EXPIRES };
  let keys: Keys = new Map();
  return {
    name: BY_HAND,
    over: BY_HAND,
    calls: CALLS,
    batch: 1,
    check() {
      const { key, caller } = issue(keys, known, wish);
      assert.equal(check(keys, { authorization: `Bearer ${key}` }, NEEDED), caller);
    },
    renew: () => {
      keys = new Map();
    },
    prepare,
    run: () => issue(keys, known, wish),
  };
}

function ours(name: string, peppers: Peppers): Case {
  const input = { name: 'integration', scopes: SCOPES, expiresAt: new Date(EXPIRES) };
  const authority = { entityUuid: ENTITY, scopes: 'all' } as const;
  const fresh = () => createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers });
  let keyring = fresh();
  return {
    name,
    over: BY_HAND,
    calls: CALLS,
    batch: 1,
    async check() {
      const { key, info } = await keyring.issue(input, authority);
      assert.equal((await keyring.verify(key)).keyId, info.keyId);
    },
    renew: () => {
      keyring = fresh();
    },
    prepare,
    run: () => keyring.issue(input, authority),
  };
}

const figures = await measure(
  [byHand(), ours(OURS, 'none'), ours(`${OURS}, pepper and seal`, PEPPERS)],
  ROUNDS,
);
const speed = figures.find(({ name }) => name === OURS)?.ratio ?? Number.NaN;
publish({
  name: 'issue',
  title: 'Issue',
  about:
    'Makes a key with four scopes, checks what was asked for, and keeps its digest in memory. ' +
    'By hand that is `issue` in `bench/by-hand.ts`: `randomBytes`, `randomUUID`, SHA-256 and ' +
    '`Map.set`.',
  unit: 'ops/s',
  base: 'by hand',
  rows: figures.map((figure) =>
    rowOf(figure, 'ops/s', { name: figure.name, ours: figure.name.startsWith(OURS) }),
  ),
  aims: [aim('issue on the memory store, of the same by hand', 1 / speed, '≥', 0.5, '×')],
});

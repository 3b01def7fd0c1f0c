/**
 * Making keys: `node bench/issue.ts`. Into an empty store each round: the figure is a key's and not
 * a growing table's.
 */
import assert from 'node:assert/strict';
import { createKeyring, type Peppers } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { measureApart, type Pairs } from './apart.ts';
import { check, issue, type Keys } from './by-hand.ts';
import type { Case } from './harness.ts';
import { catalog, ENTITY, EXPIRES, NEEDED, PEPPERS, PREFIX, SCOPES } from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 100;
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

const SEALED = `${OURS}, pepper and seal`;
const PAIRS: Pairs = {
  [OURS]: () => [byHand(), ours(OURS, 'none')],
  [SEALED]: () => [byHand(), ours(SEALED, PEPPERS)],
};

const figures = await measureApart(import.meta.url, PAIRS, ROUNDS);
if (figures !== null) {
  const [hand, plain] = figures.get(OURS) ?? [];
  const [, sealed] = figures.get(SEALED) ?? [];
  const speed = plain?.ratio ?? Number.NaN;
  publish({
    name: 'issue',
    title: 'Issue',
    about:
      'Makes a key with four scopes, checks what was asked for, and keeps its digest in memory. ' +
      'By hand that is `issue` in `bench/by-hand.ts`: `randomBytes`, `randomUUID`, SHA-256 and ' +
      '`Map.set`.',
    unit: 'ops/s',
    base: 'by hand',
    rows: [hand, plain, sealed].flatMap((figure) => {
      if (figure === undefined) return [];
      return [rowOf(figure, 'ops/s', { name: figure.name, ours: figure.name !== BY_HAND })];
    }),
    aims: [aim('issue on the memory store, of the same by hand', 1 / speed, '≥', 0.3, '×')],
  });
}

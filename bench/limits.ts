/** The largest record, catalog and policy: `node bench/limits.ts`. */
import assert from 'node:assert/strict';
import { createKeyring, definePolicy, defineScopes, type KeyRecord, type Peppers } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type Case, measure } from './harness.ts';
import { ENTITY, idOf, PEPPERS, PREFIX } from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';

const ROUNDS = quick ? 10 : 40;
const ENTITIES = 1_000;
const SCOPES = 256;
const WITHDRAWN = 998;

// ── The largest record ───────────────────────────────────────────────────────────────────────────

const actions = Object.fromEntries(
  Array.from({ length: SCOPES }, (_, index) => [`action_${index}`, 'Does something.']),
);

/** Verifies the largest key that can be issued, whose record is another object each time. */
async function largestKey(name: string, peppers: Peppers): Promise<Case<KeyRecord>> {
  const catalog = defineScopes({ threats: actions });
  const store = memoryStore();
  const issuing = createKeyring({ prefix: PREFIX, catalog, store, peppers });
  const others = Array.from({ length: ENTITIES - 1 }, (_, index) => idOf(index + 1));
  const accessibleEntities = [ENTITY, ...others];
  const { key, info } = await issuing.issue(
    { name: 'largest', scopes: catalog.all, accessibleEntities, expiresAt: 'never' },
    { entityId: ENTITY, scopes: 'all', entities: accessibleEntities },
  );
  for (const entityId of others.slice(0, WITHDRAWN)) {
    await issuing.withdraw(info.keyId, { entityId });
  }
  const stored = (await store.findById(info.keyId)) as KeyRecord;
  let next = stored;
  const reading = { ...store, findByDigest: () => [next] };
  const verifying = createKeyring({ prefix: PREFIX, catalog, store: reading, peppers });
  return {
    name,
    async check() {
      assert.equal(stored.accessibleEntities.length, ENTITIES);
      assert.equal(stored.withdrawn.length, WITHDRAWN);
      const { scopes, keyId } = await verifying.verify(key);
      assert.equal(scopes.length, SCOPES);
      assert.equal(keyId, info.keyId);
    },
    prepare: () => structuredClone(stored),
    run(record) {
      next = record;
      return verifying.verify(key);
    },
  };
}

// ── The largest table ────────────────────────────────────────────────────────────────────────────

/** Makes `count` operations, each with its own scope, ten to a resource. */
function tablesOf(count: number) {
  const resources: Record<string, Record<string, string>> = {};
  const policy: Record<string, readonly `${string}:${string}`[]> = {};
  for (let index = 0; index < count; index++) {
    const resource = `resource_${Math.floor(index / 10)}`;
    const action = `action_${index % 10}`;
    resources[resource] = { ...resources[resource], [action]: 'Does something.' };
    policy[`operation${index}`] = [`${resource}:${action}`];
  }
  return { resources, policy };
}

function defining(count: number): readonly Case<null>[] {
  const { resources, policy } = tablesOf(count);
  const catalog = defineScopes(resources);
  const common = { prepare: () => null };
  return [
    {
      ...common,
      name: `defineScopes, ${count}`,
      check: () => assert.equal(defineScopes(resources).all.length, count),
      run: () => defineScopes(resources),
    },
    {
      ...common,
      name: `definePolicy, ${count}`,
      check: () => assert.equal(definePolicy(catalog, policy).operations.length, count),
      run: () => definePolicy(catalog, policy),
    },
  ];
}

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

const records = await measure(
  [await largestKey('SHA-256', 'none'), await largestKey('pepper and seal', PEPPERS)],
  ROUNDS,
);
const tables = await measure([...defining(100), ...defining(1_000)], ROUNDS);
const msOf = (name: string): number => (tables.get(name)?.ns ?? Number.NaN) / 1e6;

const recordRows = Array.from(records, ([name, { ns, spread }]): Row => {
  const cells = [ns / 1e6, `${Math.round(100 * spread)} %`];
  return { name, cells, verdict: atMost(ns / 1e6, 1, 'ms') };
});
const tableRows = ['defineScopes', 'definePolicy'].map((name): Row => {
  const few = msOf(`${name}, 100`);
  const many = msOf(`${name}, 1000`);
  const verdict = atMost(many / few, 12, '×');
  return { name, cells: [few, many, `${number(many / few)} ×`], verdict };
});
publish({
  name: 'limits',
  title: 'At the limits',
  about:
    `The first verification of a record with ${ENTITIES.toLocaleString('en-US')} entities, ` +
    `${SCOPES} scopes and ${WITHDRAWN} withdrawn entities, as a store hands it out: an object ` +
    'that nobody has checked before. And a catalog and a policy of 100 and of 1,000 operations.',
  tables: [
    { head: ['first verification, at the limits', 'ms', 'spread'], rows: recordRows.toReversed() },
    { head: ['ms', '100', '1,000', 'ratio'], rows: tableRows },
  ],
});

/**
 * With ten times the input, a request or a cold start takes ten times the steps, not a hundred
 * times, and a long text in an event takes no more steps than a short one. The tests count steps,
 * because times depend on the machine.
 */
import {
  coversScopes,
  createKeyring,
  definePolicy,
  defineScopes,
  digestKey,
  equalScopes,
  generateKey,
  type KeyRecord,
  type KeyStore,
  normalizeScopes,
  type Principal,
  unionScopes,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { createContextReader } from '../../src/core/events.js';
import { LONG_TEXTS, MEGABYTE, repeated } from '../support/long-texts.ts';
import { RECORD } from '../support/records.ts';
import { stepsOf } from '../support/steps.ts';

const SMALL = 100;
const LARGE = 1_000;
/** The most growth for ten times the input, with some allowance for sorting. */
const MOST = 12;

type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Makes this many scopes, ten per resource. */
function descriptionsOf(count: number): Descriptions {
  const resources = Array.from({ length: count / 10 }, (_, i) => `resource${i}`);
  const actions = Array.from({ length: 10 }, (_, i) => [`act${i}`, 'Does it.'] as const);
  return Object.fromEntries(resources.map((name) => [name, Object.fromEntries(actions)]));
}

const catalogOf = (count: number) => defineScopes(descriptionsOf(count));

/** One operation per scope, in a different order than the catalog. */
const tableOf = <S extends string>(all: readonly S[]): Readonly<Record<string, readonly S[]>> =>
  Object.fromEntries(all.map((scope, i) => [`operation${i}`, [all[all.length - 1 - i] ?? scope]]));

function policyOf(count: number) {
  const catalog = catalogOf(count);
  return definePolicy(catalog, tableOf(catalog.all));
}

const entity = (i: number): string =>
  `${i.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** A key that no keyring has read before. All of its entities except two have withdrawn. */
function freshKey(entities: number, scopes: number) {
  const catalog = catalogOf(SMALL * 10);
  const key = generateKey({ prefix: 'acme' });
  const accessibleEntities = Array.from({ length: entities }, (_, i) => entity(i));
  const record: KeyRecord = {
    ...RECORD,
    digest: digestKey(key),
    hint: key.slice(-4),
    seal: null,
    entityId: entity(0),
    accessibleEntities,
    withdrawn: accessibleEntities.slice(2),
    scopes: catalog.all.slice(0, scopes),
  };
  const store: KeyStore = { ...memoryStore(), findByDigest: () => [record] };
  return { keyring: createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' }), key };
}

/** Each case prepares an input of `count` elements first; only its use is counted. */
const CASES: Readonly<Record<string, (count: number) => () => unknown>> = {
  defineScopes(count) {
    const descriptions = descriptionsOf(count);
    return () => defineScopes(descriptions);
  },
  definePolicy(count) {
    const catalog = catalogOf(count);
    const table = tableOf(catalog.all);
    return () => definePolicy(catalog, table);
  },
  'catalog.expand'(count) {
    const catalog = catalogOf(count);
    return () => catalog.expand([...catalog.all, 'resource1:*', '*:act1', '*:*']);
  },
  'catalog.difference'(count) {
    const catalog = catalogOf(count);
    return () => catalog.difference(['*:*'], [...catalog.all.slice(1), 'resource1:*']);
  },
  'policy.leastScopes'(count) {
    const policy = policyOf(count);
    return () => policy.leastScopes(policy.operations);
  },
  'policy.unmapped'(count) {
    const policy = policyOf(count);
    return () => policy.unmapped(policy.operations);
  },
  normalizeScopes(count) {
    const { all } = catalogOf(count);
    return () => normalizeScopes([...all, 'resource1:*']);
  },
  coversScopes(count) {
    const { all } = catalogOf(count);
    return () => coversScopes(all, all);
  },
  unionScopes(count) {
    const { all } = catalogOf(count);
    return () => unionScopes(all, ['other:read', ...all]);
  },
  equalScopes(count) {
    const { all } = catalogOf(count);
    return () => equalScopes(all, all.toReversed());
  },
};

describe('ten times the input takes ten times the steps', () => {
  it.each(Object.entries(CASES))('%s', (_, prepare) => {
    const small = stepsOf(prepare(SMALL));
    const large = stepsOf(prepare(LARGE));
    // Proves that steps are counted.
    expect(small).toBeGreaterThanOrEqual(SMALL);
    expect(large / small).toBeLessThanOrEqual(MOST);
  });

  // The code searched for each of 1,000 entities among 998 that had withdrawn: 5 ms a request.
  it('verify, for a key that was not read before', async () => {
    const verifying = (entities: number, scopes: number) => {
      const { keyring, key } = freshKey(entities, scopes);
      let verified: PromiseLike<Principal> | undefined;
      const steps = stepsOf(() => {
        verified = keyring.verify(key);
      });
      return { steps, verified };
    };
    verifying(1, 1);
    const small = verifying(100, 25);
    const large = verifying(1_000, 250);
    expect((await large.verified)?.accessibleEntities).toEqual([entity(0), entity(1)]);
    expect((await small.verified)?.scopes).toHaveLength(25);
    expect(small.steps).toBeGreaterThanOrEqual(100);
    expect(large.steps / small.steps).toBeLessThanOrEqual(MOST);
  });

  it('policy.allowed, for a caller with every scope', async () => {
    const allowed = async (count: number) => {
      const { keyring, key } = freshKey(3, count);
      const caller = await keyring.verify(key);
      const { all } = catalogOf(SMALL * 10);
      const policy = definePolicy(catalogOf(SMALL * 10), tableOf(all.slice(0, count)));
      expect(policy.allowed(caller)).toHaveLength(count);
      return stepsOf(() => policy.allowed(caller));
    };
    const small = await allowed(25);
    expect((await allowed(250)) / small).toBeLessThanOrEqual(MOST);
  });
});

// The whole text was masked before it was cut: one MCP tool name of 1 MB held up the process for
// a third of a second, a body of 4 MiB for more than one.
describe('the context of an event takes no more steps for 1 MB than for 10,000 characters', () => {
  const read = createContextReader('acme');

  it.each(LONG_TEXTS)('of %j', (part) => {
    const stepsFor = (length: number): number => {
      const text = repeated(part, length);
      return stepsOf(() => read({ [text]: text }));
    };
    const few = stepsFor(10_000);
    // Proves that steps are counted.
    expect(few).toBeGreaterThan(8_000);
    expect(stepsFor(MEGABYTE)).toBeLessThanOrEqual(1.1 * few);
  });

  it('in texts that the event does not show', () => {
    const text = 'a'.repeat(10_000);
    const stepsFor = (count: number): number => {
      const texts = Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, text]));
      return stepsOf(() => read(texts));
    };
    expect(stepsFor(1_000)).toBeLessThanOrEqual(1.1 * stepsFor(8));
  });
});

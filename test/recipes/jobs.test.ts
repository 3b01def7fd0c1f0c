/** The recipe for background jobs: what a queue keeps, and what still counts when a job runs. */
import type { Admission, Keyring } from 'keyscope';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AUTHORITY,
  bearer,
  HOUR,
  OTHER,
  OWN,
  PLAIN,
  setUp,
  tampering,
  thrown,
  wrap,
} from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Caller {
  readonly keyId: string;
  readonly ownerUuid: string;
  readonly entityId: string;
}
interface Printed {
  callerOf(admission: Admission): Caller;
  mayStill(keyring: unknown, operation: string, caller: Caller): Promise<boolean>;
}

const GRANT = { ...AUTHORITY, entities: [OTHER] } as const;

let recipes: Recipes;
let printed: Printed;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['jobs.ts']);
  printed = (await recipes.load('jobs.ts')) as Printed;
});
afterAll(() => recipes.remove());

/** Queues a job for a new key, as text, about `entityId`. */
async function queue(entityId: string = OWN) {
  const { keyring, clock, store } = setUp();
  const input = { ...PLAIN, expiresAt: new Date(clock.now() + 2 * HOUR) };
  const granted = { ...input, accessibleEntities: [OTHER] };
  const { key, info } = await keyring.issue(granted, GRANT);
  const asked = { operation: 'list', entityId } as const;
  const admission = await keyring.admit({ headers: { authorization: bearer(key) } }, asked);
  const queued = JSON.stringify(printed.callerOf(admission));
  const runs = (operation = 'list', by: unknown = keyring) =>
    printed.mayStill(by, operation, JSON.parse(queued) as Caller);
  return { keyring, clock, store, key, keyId: info.keyId, queued, runs };
}

describe('a job', () => {
  test('runs for the key and the entity that queued it, and keeps no key', async () => {
    const { runs, key, queued } = await queue(OTHER);
    expect(await runs()).toBe(true);
    expect(queued).not.toContain(key.slice(-32));
  });

  test('does not run an operation that the key has no scope for', async () => {
    const { runs } = await queue();
    expect(await runs('triage')).toBe(false);
    await expect(runs('misspelt')).rejects.toThrow(TypeError);
  });

  type Ending = (keyring: Keyring, keyId: string) => Promise<unknown>;
  test.each<[string, Ending]>([
    ['revoked', (keyring, keyId) => keyring.revoke(keyId, AUTHORITY)],
    ['suspended', (keyring, keyId) => keyring.suspend(keyId, AUTHORITY)],
    ['rotated', (keyring, keyId) => keyring.rotate(keyId, { overlapMs: 0 }, GRANT)],
    ['withdrawn from', (keyring, keyId) => keyring.withdraw(keyId, { entityId: OTHER })],
  ])('does not run after its key was %s', async (_, end) => {
    const { runs, keyring, keyId } = await queue(OTHER);
    await end(keyring as unknown as Keyring, keyId);
    expect(await runs()).toBe(false);
  });

  test('does not run after its key expired', async () => {
    const { runs, clock } = await queue();
    clock.advance(2 * HOUR);
    expect(await runs()).toBe(false);
  });

  test('does not run for a row that was edited', async () => {
    const { runs, store } = await queue();
    const scopes = ['threats:read', 'threats:write'];
    const edited = tampering(store, (row) => ({ ...row, scopes }));
    const { keyring } = setUp({ store: edited });
    expect(await runs('triage', keyring)).toBe(false);
  });

  test('does not run for an entity that the key cannot address', async () => {
    const { keyring, keyId } = await queue();
    const elsewhere = { keyId, ownerUuid: OTHER, entityId: OTHER };
    expect(await printed.mayStill(keyring, 'list', elsewhere)).toBe(false);
    const beyond = { keyId, ownerUuid: OWN, entityId: '0c0c0c0c-0000-4000-8000-00000000000c' };
    expect(await printed.mayStill(keyring, 'list', beyond)).toBe(false);
  });

  test('fails in an outage, for the queue to retry', async () => {
    const { runs, store } = await queue();
    const broken = wrap(store, () => Promise.reject(new Error('away')));
    const { keyring } = setUp({ store: broken });
    expect(await thrown(() => runs('list', keyring))).toMatchObject({ name: 'StoreError' });
  });
});

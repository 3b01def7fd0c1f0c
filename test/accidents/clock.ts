/**
 * A wall clock that jumps forward by a day and then back to an hour before the actual time. Affects
 * only this process, where everything that reads the time sees it.
 */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { createKeyring, isAccessError, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import type { Accident, Stage } from './accident.ts';
import { authority, catalog, peppers } from './stream.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const trueNow = Date.now;

let stepMs = 0;

/** A key that expires in two hours, and the outcome of `verify` for it. */
async function expiring(store: KeyStore) {
  const keyring = createKeyring({ prefix: 'acme', catalog, peppers, store });
  const expiresAt = new Date(trueNow() + 2 * HOUR);
  const { key } = await keyring.issue(
    { name: 'n', scopes: ['threats:read'], expiresAt },
    authority,
  );
  return async (): Promise<string> => {
    try {
      await keyring.verify(key);
      return 'passed';
    } catch (error) {
      return isAccessError(error) ? String(error.reason) : 'unavailable';
    }
  };
}

async function stageOf(open: () => KeyStore): Promise<Stage> {
  // Before anything else is created: keyrings keep a reference to the function.
  Date.now = () => trueNow() + stepMs;
  const store = open();
  const answer = await expiring(store);
  return {
    managing: store,
    guarding: store,
    async strike() {
      stepMs = DAY;
      assert.equal(await answer(), 'expired');
    },
    async mend() {
      stepMs = -HOUR;
      // The store recorded nothing about it, so by this clock the key has three hours left.
      assert.equal(await answer(), 'passed');
    },
    async close() {
      Date.now = trueNow;
    },
  };
}

const STORES: Readonly<Record<string, () => KeyStore>> = {
  SQLite: () => sqliteStore(new DatabaseSync(':memory:')),
  Memory: memoryStore,
};

export const CLOCK: readonly Accident[] = Object.entries(STORES).map(([engine, open]) => ({
  engine,
  name: 'the clock goes forward by a day, and after 3 s back to an hour before',
  lastsMs: 3_000,
  open: () => stageOf(open),
}));

/** The state of a key: exactly the states of the core. */
import type { KeyRecord, KeyState, KeyStore } from 'keyscope';
import { createKeyring, digestKey } from 'keyscope';
import { keyInfoJsonSchema, keyInfoSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, test } from 'vitest';
import { RECORD } from '../support/records.ts';
import { catalog, KEY, NOW } from '../support/schemas.ts';

const plain = digestKey(KEY);

/** A row for each state. Without a pepper, every field except the prefix counts as genuine. */
const ROWS: Readonly<Partial<Record<KeyState, Partial<KeyRecord>>>> = {
  live: { digest: plain },
  revoked: { digest: plain, revokedAt: NOW, suspendedAt: NOW },
  suspended: { digest: plain, suspendedAt: NOW },
  retired: { digest: plain, retireAt: NOW },
  expired: { digest: plain, expiresAt: NOW },
  orphaned: { digest: 'h1.gone$00' },
};

test('every state of a key that can be read is accepted', async () => {
  for (const [state, change] of Object.entries(ROWS)) {
    const row = { ...RECORD, seal: null, ...change };
    const store: KeyStore = { ...memoryStore(), findById: () => row };
    const options = { prefix: 'acme', catalog, store, peppers: 'none', now: () => NOW } as const;
    const keyring = createKeyring(options);
    const info = await keyring.get(row.keyId, { entityId: row.entityId });
    expect(info?.state).toBe(state);
    expect(keyInfoSchema.parse(info).state).toBe(state);
  }
});

test('the JSON Schema lists them all', () => {
  const beyond: readonly KeyState[] = ['damaged', 'unknown_format'];
  const { properties } = keyInfoJsonSchema as { properties: { state: { enum: string[] } } };
  expect([...properties.state.enum].sort()).toEqual([...Object.keys(ROWS), ...beyond].sort());
});

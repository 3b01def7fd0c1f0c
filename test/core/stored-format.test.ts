/** Stored records keep their meaning in every later version: vectors. */
import { createKeyring, type KeyRecord, type KeyState } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { isSealed, revokedText, sealedText } from '../../src/core/seal.js';
import { readPeppers, type Scheme } from '../../src/core/secret.js';
import { catalog } from '../support/keyring.ts';
import { outcome } from '../support/outcome.ts';
import {
  referenceDigest,
  referenceRevocationSeal,
  referenceSeal,
} from '../support/reference-seal.ts';
import {
  failures,
  type PepperVector,
  pepperOf,
  readVectors,
  type Vector,
} from '../support/vectors.ts';

type StoredVector = Vector & {
  readonly key: string;
  readonly pepper: PepperVector | null;
  readonly deployment: string;
  readonly record: KeyRecord;
  /** Or the reason for the refusal. */
  readonly result: string;
  readonly tampered?: boolean;
  readonly entities?: readonly string[];
};

const { tests } = readVectors<{ tests: readonly StoredVector[] }>('records');
const NOW = Date.parse('2026-06-01');

const having = (flag: string) => tests.filter(({ flags }) => flags.includes(flag));
/** The records with a seal that a release wrote: not forged, and with only known fields. */
const exact = having('Peppered').filter(
  ({ flags, record }) => !flags.includes('Forged') && !('zone' in record) && record.seal !== null,
);

/** A keyring over a store with only this record. */
async function keyringOf({ key, pepper, deployment, record }: StoredVector) {
  const store = memoryStore();
  await store.insert(record);
  const peppers = pepper === null ? 'none' : [pepperOf(pepper)];
  const prefix = key.slice(0, -33);
  return createKeyring({ prefix, catalog, store, peppers, deployment, now: () => NOW });
}

function schemeOf({ pepper, deployment, record }: StoredVector): Scheme {
  const binding = { prefix: record.prefix, deployment };
  return readPeppers(pepper === null ? 'none' : [pepperOf(pepper)], binding)[0];
}

describe('a record that was stored long ago', () => {
  // In every other test, the code that wrote a seal also checks it. Only this test detects a change
  // of the encoding, which would end every key in use.
  it('verifies, or is refused for the same reason, for as long as keyscope exists', async () => {
    const failed = await failures(tests, async (vector) => {
      const { key, record, result } = vector;
      const keyring = await keyringOf(vector);
      if (result !== 'live') {
        expect(await outcome(() => keyring.verify(key))).toBe(`invalid_token ${result}`);
        return;
      }
      const principal = await keyring.verify(key);
      expect(principal).toMatchObject({ keyId: record.keyId, scopes: record.scopes });
      expect(principal.accessibleEntities).toEqual(vector.entities ?? record.accessibleEntities);
    });
    expect(failed).toEqual([]);
    expect(tests.length).toBeGreaterThan(40);
  });

  const states: Readonly<Record<string, KeyState>> = {
    record_tampered: 'damaged',
    keyless: 'live',
  };

  it('has the same state in management, which shows whether it was edited', async () => {
    const failed = await failures(tests, async (vector) => {
      const { record, result, tampered = false } = vector;
      // A mark without a seal to vouch for it was set by an attacker.
      const isForged = result === 'revoked' && tampered && record.seal !== null;
      const keyring = await keyringOf(vector);
      const shown = await keyring.get(record.keyId, { entityId: record.entityId });
      expect(shown?.state).toBe(isForged ? 'damaged' : (states[result] ?? result));
      // An unreadable record is shown only with its ids and its state.
      if (result !== 'unknown_format') expect(shown).toMatchObject({ tampered });
    });
    expect(failed).toEqual([]);
  });

  it('has exactly the seal that is computed today, also after a revocation', async () => {
    const failed = await failures(exact, (vector) => {
      const { record } = vector;
      const { seal, revocationSeal } = schemeOf(vector);
      const isRevoked = record.revokedAt !== null;
      const today = isRevoked ? revocationSeal?.(revokedText(record)) : seal?.(sealedText(record));
      expect(today).toBe(record.seal);
      expect(isSealed(record, schemeOf(vector))).toBe(true);
    });
    expect(failed).toEqual([]);
    expect(exact.length).toBeGreaterThan(25);
    expect(exact.filter(({ record }) => record.revokedAt !== null)).toHaveLength(3);
  });

  it('has the digest and the seal that another implementation computes', async () => {
    const failed = await failures(exact, ({ key, pepper, deployment, record }) => {
      const given = pepper === null ? null : pepperOf(pepper);
      expect(record.digest).toBe(referenceDigest(key, given));
      expect(record.hint).toBe(record.trust === null ? key.slice(-4) : '');
      const sealer = {
        pepper: pepperOf(pepper as PepperVector),
        prefix: record.prefix,
        deployment,
      };
      const isRevoked = record.revokedAt !== null;
      const seal = isRevoked ? referenceRevocationSeal : referenceSeal;
      expect(record.seal).toBe(seal(sealer, record));
    });
    expect(failed).toEqual([]);
  });

  // Every forgery, undone, is the sealed record.
  it('is distinguished from every forgery by its seal alone', () => {
    const forged = having('Forged');
    expect(forged.length).toBeGreaterThan(8);
    for (const vector of forged) {
      expect(isSealed(vector.record, schemeOf(vector)), vector.comment).toBe(false);
    }
  });
});

/**
 * The order of the steps, tested with rows that are refused for several reasons at once: the first
 * one in the order is reported.
 */
import type { KeyRecord, KeyState, Principal } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { sealOf } from '../../src/core/seal.js';
import { readPeppers } from '../../src/core/secret.js';
import { AUTHORITY, bearer, issue, OWN, PEPPER, rowOf, START, setUp } from '../support/keyring.ts';
import { outcome } from '../support/outcome.ts';

const [SCHEME] = readPeppers([PEPPER], { prefix: 'acme', deployment: '' });

/** In the order of the steps: the reason for a refusal, and the edit that causes it. */
const FAULTS = [
  ['unknown_format', { format: 2 }],
  ['revoked', { revokedAt: START - 1 }],
  // Under a pepper that is not configured.
  ['orphaned', { digest: `h1.gone$${'0'.repeat(64)}` }],
  ['record_tampered', { seal: '0'.repeat(64) }],
  ['suspended', { suspendedAt: START - 1 }],
  ['retired', { retireAt: START }],
  ['expired', { expiresAt: START }],
] as const satisfies readonly (readonly [string, Partial<KeyRecord>])[];

type Fault = (typeof FAULTS)[number][0];

/** Every combination of reasons, in the order of the steps. */
const COMBINATIONS: readonly (readonly Fault[])[] = Array.from(
  { length: 2 ** FAULTS.length },
  (_, bits) =>
    FAULTS.filter((_fault, index) => (bits & (1 << index)) !== 0).map(([fault]) => fault),
);

/** A row with exactly these faults: its seal is valid unless that is one of them. */
function rowWith(live: KeyRecord, faults: readonly Fault[]): KeyRecord {
  const edits = FAULTS.filter(([fault]) => faults.includes(fault)).map(([, edit]) => edit);
  let row = live;
  for (const edit of edits) row = { ...row, ...edit };
  if (faults.includes('record_tampered')) return row;
  return { ...row, seal: sealOf(row, SCHEME) };
}

/** A key, and keyrings over its row with faults. */
async function prepared() {
  const store = memoryStore();
  const { keyring } = setUp({ store });
  const { key, info } = await issue(keyring);
  const principal: Principal = await keyring.verify(key);
  const live = await rowOf(store, info.keyId);
  const over = (faults: readonly Fault[]) => {
    const row = rowWith(live, faults);
    const edited = { ...memoryStore(), findByDigest: () => [row], findById: () => row };
    const tokens = { verify: async () => principal };
    return setUp({ store: edited, tokens }).keyring;
  };
  return { key, keyId: info.keyId, over };
}

const expected = (faults: readonly Fault[], code = 'invalid_token'): string =>
  faults.length === 0 ? 'passed' : `${code} ${String(faults[0])}`;

describe('the steps of verify', () => {
  it('report the first of several reasons', async () => {
    const { key, over } = await prepared();
    // A key is looked up by its digest, so an orphaned row is never found.
    const found = COMBINATIONS.filter((faults) => !faults.includes('orphaned'));
    expect(found).toHaveLength(64);
    for (const faults of found) {
      const what = await outcome(() => over(faults).verify(key));
      expect(what, faults.join()).toBe(expected(faults));
    }
  });

  it('report the first of several reasons for the key behind a token', async () => {
    const { over } = await prepared();
    for (const faults of COMBINATIONS) {
      const what = await outcome(() => over(faults).authenticate(bearer('a.b.c')));
      expect(what, faults.join()).toBe(expected(faults));
    }
  });

  it('report the first of several reasons to the caller of rotate', async () => {
    const { keyId, over } = await prepared();
    expect(COMBINATIONS).toHaveLength(128);
    for (const faults of COMBINATIONS.filter(({ length }) => length > 0)) {
      const what = await outcome(() => over(faults).rotate(keyId, { overlapMs: 0 }, AUTHORITY));
      expect(what, faults.join()).toBe(expected(faults, 'conflict'));
    }
  });
});

describe('the state of a key', () => {
  // A mark is only a claim: if this keyring cannot check the seal, it does not say "revoked".
  const states: readonly (readonly [Fault, KeyState])[] = [
    ['unknown_format', 'unknown_format'],
    ['orphaned', 'orphaned'],
    ['record_tampered', 'damaged'],
    ['revoked', 'revoked'],
    ['suspended', 'suspended'],
    ['retired', 'retired'],
    ['expired', 'expired'],
  ];

  it('is the first that applies, in the order of the steps', async () => {
    const { keyId, over } = await prepared();
    for (const faults of COMBINATIONS) {
      const [, state] = states.find(([fault]) => faults.includes(fault)) ?? ['', 'live'];
      const shown = await over(faults).get(keyId, { entityId: OWN });
      expect(shown?.state, faults.join()).toBe(state);
    }
  });
});

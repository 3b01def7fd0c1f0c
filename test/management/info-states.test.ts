/**
 * The state of a key: every combination of its marks, seal, format, pepper and the clock, against
 * the order of the states.
 */
import type { KeyState } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  PEPPER,
  PEPPER_2,
  PLAIN,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';
import { EXPIRY, RETIREMENT } from '../support/lives.ts';
import { outcome } from '../support/outcome.ts';

/** The circumstances of a key. */
interface Circumstances {
  /** By `revoke`, or by an attacker who wrote the mark into the row. */
  readonly revoked: 'no' | 'by revoke' | 'by hand';
  readonly format: 1 | 2;
  /** Whether the key's pepper is configured. */
  readonly isPeppered: boolean;
  /** Whether a sealed field was edited. */
  readonly isEdited: boolean;
  /** Whether fields are malformed. */
  readonly isMalformed: boolean;
  readonly isSuspended: boolean;
  readonly isRetired: boolean;
  readonly isExpired: boolean;
}

function* combinations(): Generator<Circumstances> {
  const both = [false, true];
  for (const revoked of ['no', 'by revoke', 'by hand'] as const)
    for (const format of [1, 2] as const)
      for (const isPeppered of both)
        for (const isEdited of both)
          for (const isMalformed of both)
            for (const isSuspended of both)
              for (const isRetired of both)
                for (const isExpired of both) {
                  const row = { revoked, format, isPeppered, isEdited, isMalformed };
                  yield { ...row, isSuspended, isRetired, isExpired };
                }
}

/** A mark is only a claim: it counts only if its seal can be checked and matches. */
function isSealedRevocation(given: Circumstances): boolean {
  const { revoked, format, isPeppered, isEdited, isMalformed } = given;
  const isReadable = format === 1 && !isMalformed && isPeppered;
  return revoked === 'by revoke' && isReadable && !isEdited;
}

/** The states in their order, and when each of them applies. */
const ORDER: readonly (readonly [KeyState, (given: Circumstances) => boolean])[] = [
  ['revoked', isSealedRevocation],
  ['unknown_format', ({ format }) => format === 2],
  ['damaged', ({ isMalformed }) => isMalformed],
  ['orphaned', ({ isPeppered }) => !isPeppered],
  ['damaged', ({ revoked, isEdited }) => isEdited || revoked === 'by hand'],
  ['suspended', ({ isSuspended }) => isSuspended],
  ['retired', ({ isRetired }) => isRetired],
  ['expired', ({ isExpired }) => isExpired],
  ['live', () => true],
];

/** The reason for which `verify` refuses it; `passed` if it does not. */
const REFUSALS: Readonly<Record<KeyState, string>> = {
  revoked: 'invalid_token revoked',
  unknown_format: 'invalid_token unknown_format',
  // The row cannot be found from the string.
  orphaned: 'invalid_token unknown_key',
  damaged: 'invalid_token record_tampered',
  suspended: 'invalid_token suspended',
  retired: 'invalid_token retired',
  expired: 'invalid_token expired',
  live: 'passed',
};

function stateOf(given: Circumstances): KeyState {
  const first = ORDER.find(([, holds]) => holds(given));
  return first?.[0] ?? 'live';
}

/** Undefined if the row cannot be read. */
function isTampered(given: Circumstances): boolean | undefined {
  const { revoked, format, isPeppered, isEdited, isMalformed } = given;
  if (format === 2 || isMalformed) return undefined;
  if (!isPeppered) return false;
  return isEdited || revoked === 'by hand';
}

/** A key in these circumstances, and the keyring that reads it. */
async function arrange(given: Circumstances) {
  const inner = memoryStore();
  const { keyring: first, clock } = setUp({ store: inner });
  const { key, info } = await first.issue({ ...PLAIN, expiresAt: new Date(EXPIRY) }, AUTHORITY);
  if (given.revoked === 'by revoke') await first.revoke(info.keyId, AUTHORITY);
  const edit = {
    ...(given.revoked === 'by hand' ? { revokedAt: START } : {}),
    ...(given.isEdited ? { name: 'another' } : {}),
    ...(given.isMalformed ? { scopes: ['*:*'] } : {}),
    ...(given.isSuspended ? { suspendedAt: START } : {}),
    ...(given.isRetired ? { retireAt: RETIREMENT } : {}),
    format: given.format,
  };
  if (given.isRetired) clock.set(RETIREMENT);
  if (given.isExpired) clock.set(EXPIRY);
  const peppers = [given.isPeppered ? PEPPER : PEPPER_2];
  const store = tampering(inner, (row) => ({ ...row, ...edit }));
  const { keyring } = setUp({ store, peppers, now: clock.now });
  return { inner, keyring, key, keyId: info.keyId };
}

describe('the state of a key', () => {
  it('is the first that applies, equally in list, get and verify', async () => {
    const seen = new Map<KeyState, number>();
    for (const given of combinations()) {
      const why = JSON.stringify(given);
      const state = stateOf(given);
      const { keyring, key, keyId } = await arrange(given);
      const info = await keyring.get(keyId, AUTHORITY);
      expect(info, why).toMatchObject({ keyId, state });
      const tampered = info !== null && 'tampered' in info ? info.tampered : undefined;
      expect(tampered, why).toBe(isTampered(given));
      expect((await keyring.list({}, AUTHORITY)).keys, why).toEqual([info]);
      const refusal = given.isPeppered ? REFUSALS[state] : REFUSALS.orphaned;
      expect(await outcome(() => keyring.verify(key)), why).toBe(verifying(given, refusal));
      seen.set(state, (seen.get(state) ?? 0) + 1);
    }
    const counts = Object.fromEntries(seen);
    expect(counts).toEqual({
      revoked: 8,
      unknown_format: 192,
      damaged: 128,
      orphaned: 48,
      suspended: 4,
      retired: 2,
      expired: 1,
      live: 1,
    });
  });

  // `verify` reads the row first, and reports an unreadable row as such, revoked or not.
  function verifying(given: Circumstances, refusal: string): string {
    const { revoked, isPeppered, isMalformed, format } = given;
    if (!isPeppered) return refusal;
    if (format === 2) return REFUSALS.unknown_format;
    if (isMalformed) return REFUSALS.damaged;
    // For `verify`, the mere presence of the mark is enough to refuse.
    return revoked === 'no' ? refusal : REFUSALS.revoked;
  }

  it('becomes revoked after revoke, whatever it was before', async () => {
    const unrevoked = [...combinations()].filter(({ revoked }) => revoked === 'no');
    for (const given of unrevoked) {
      const { inner, keyring, keyId } = await arrange(given);
      await keyring.revoke(keyId, AUTHORITY);
      expect(await rowOf(inner, keyId)).toMatchObject({ revokedAt: expect.any(Number) as unknown });
      const info = await keyring.get(keyId, AUTHORITY);
      expect(info, JSON.stringify(given)).toMatchObject({ state: 'revoked' });
    }
  });

  it('never becomes damaged by an edit without a pepper, as nothing vouches for it', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner, peppers: 'none' });
    const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
    const edited = tampering(inner, (row) => ({ ...row, scopes: ['threats:write'] }));
    const through = setUp({ store: edited, peppers: 'none' }).keyring;
    expect(await through.get(info.keyId, AUTHORITY)).toMatchObject({
      state: 'live',
      tampered: false,
      scopes: ['threats:write'],
    });
    expect((await through.verify(key)).scopes).toEqual(['threats:write']);
    // But without a pepper, this keyring cannot have made a seal.
    const sealed = tampering(inner, (row) => ({ ...row, seal: '0'.repeat(64) }));
    const odd = setUp({ store: sealed, peppers: 'none' }).keyring;
    expect(await odd.get(info.keyId, AUTHORITY)).toMatchObject({
      state: 'damaged',
      tampered: true,
    });
  });
});

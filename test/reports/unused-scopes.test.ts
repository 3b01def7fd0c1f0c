/** The scopes that a key does not use, and when they are unknown. */
import type { KeyInfo } from 'keyscope';
import { unusedScopes } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  bearer,
  HOUR,
  issue,
  PLAIN,
  START,
  setUp,
  tampering,
  untyped,
} from '../support/keyring.ts';

const scopes = ['threats:read', 'threats:write', 'decoys:read'] as const;
const unusedForMs = 10;

/** A key with three scopes, and its report by the keyring's clock. */
async function threeScopes() {
  const { keyring, clock } = setUp();
  const { key, info } = await keyring.issue({ ...PLAIN, scopes }, AUTHORITY);
  const use = (operation: 'list' | 'triage' | 'whoami') =>
    keyring.admit(bearer(key), { operation });
  const unused = async () => {
    await keyring.flush();
    const found = (await keyring.get(info.keyId, AUTHORITY)) as KeyInfo;
    return unusedScopes(found, { unusedForMs, now: clock.now });
  };
  return { clock, use, unused };
}

describe('unusedScopes', () => {
  it('returns the scopes that were unused for the given time, to the millisecond', async () => {
    const { clock, use, unused } = await threeScopes();
    clock.advance(9);
    await use('triage');
    // The key is younger than the given time, so no scope counts as unused.
    expect(await unused()).toEqual({ known: true, scopes: [] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: true, scopes: ['decoys:read'] });
    await use('list');
    clock.advance(8);
    expect(await unused()).toEqual({ known: true, scopes: ['decoys:read'] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: true, scopes: ['threats:write', 'decoys:read'] });
    // An operation that needs no scope counts as use of the key, but of no scope.
    clock.advance(1);
    await use('whoami');
    expect(await unused()).toEqual({ known: true, scopes });
  });

  // A key that was used daily looked unused, because its usage could not be written.
  it('returns unknown unless the key was used within that time', async () => {
    const { clock, use, unused } = await threeScopes();
    clock.advance(HOUR);
    expect(await unused()).toEqual({ known: false });
    await use('list');
    clock.advance(unusedForMs - 1);
    expect(await unused()).toEqual({ known: true, scopes: ['threats:write', 'decoys:read'] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: false });
  });

  it('uses Date.now by default', async () => {
    const { keyring } = setUp({ now: () => Date.now() });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'whoami' });
    await keyring.flush();
    const found = (await keyring.get(info.keyId, AUTHORITY)) as KeyInfo;
    expect(unusedScopes(found, { unusedForMs: HOUR })).toEqual({ known: true, scopes: [] });
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + HOUR + 1);
    expect(unusedScopes(found, { unusedForMs: HOUR })).toEqual({ known: false });
    vi.restoreAllMocks();
  });

  it('does not change the key, and returns a frozen result', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    const used = { ...info, lastUsedAt: new Date(START) };
    const before = structuredClone(used);
    const answer = unusedScopes(used, { unusedForMs, now: () => START + 5 });
    expect(used).toEqual(before);
    expect(answer.known && Object.isFrozen(answer) && Object.isFrozen(answer.scopes)).toBe(true);
  });

  it.each([
    ['nothing', undefined, /unusedScopes: pass an object/],
    ['a missing time', {}, /unusedForMs: pass a whole number from 1/],
    ['a time of 0', { unusedForMs: 0 }, /unusedForMs/],
    ['a negative time', { unusedForMs: -1 }, /unusedForMs/],
    ['a time as text', { unusedForMs: '1' }, /unusedForMs/],
    ['a fraction of a millisecond', { unusedForMs: 0.5 }, /unusedForMs/],
    ['a time as the clock', { unusedForMs, now: START }, /^now: pass a function/],
    ['another field', { unusedForMs, since: START }, /unknown field "since"/],
  ])('refuses %s with a TypeError', async (_what, options, message) => {
    const { info } = await issue(setUp().keyring);
    expect(complaint(() => unusedScopes(info, untyped(options)))).toMatch(message);
  });

  it('throws on anything that is not a readable key', async () => {
    const damaged = tampering(memoryStore(), (row) => ({ ...row, scopesUsed: { 'a:b': 'c' } }));
    const { keyring } = setUp({ store: damaged });
    const { info } = await issue(keyring);
    const json: unknown = JSON.parse(JSON.stringify(info));
    const found = await keyring.get(info.keyId, AUTHORITY);
    expect(found?.state).toBe('damaged');
    const odd: readonly unknown[] = [
      ...[undefined, null, 'key', [], {}, json, found],
      { ...info, lastUsedAt: 5 },
      { ...info, lastUsedAt: undefined },
      { ...info, lastUsedAt: new Date(Number.NaN) },
      { ...info, scopesUsed: { 'threats:read': 5 } },
      { ...info, scopesUsed: undefined },
    ];
    for (const each of odd) {
      const act = () => unusedScopes(untyped(each), { unusedForMs });
      expect(complaint(act)).toMatch(/^unusedScopes: pass a KeyInfo with Dates/);
    }
  });
});

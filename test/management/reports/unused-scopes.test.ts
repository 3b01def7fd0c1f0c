/** Which scopes a key could do without, and when nobody can say. */
import type { KeyInfo } from 'keyscope';
import { unusedScopes } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import {
  AUTHORITY,
  bearer,
  HOUR,
  issue,
  PLAIN,
  policy,
  START,
  setUp,
  tampering,
  untyped,
} from '../../support/keyring.ts';

const scopes = ['threats:read', 'threats:write', 'decoys:read'] as const;
const unusedForMs = 10;

/** A key with three scopes, and what is said of it by the keyring's clock. */
async function threeScopes() {
  const { keyring, clock } = setUp();
  const { key, info } = await keyring.issue({ ...PLAIN, scopes }, AUTHORITY);
  const use = (operation: 'list' | 'triage' | 'whoami') =>
    keyring.admit(bearer(key), { policy, operation });
  const unused = async () => {
    await keyring.flush();
    const found = (await keyring.get(info.keyId, AUTHORITY)) as KeyInfo;
    return unusedScopes(found, { unusedForMs, now: clock.now });
  };
  return { clock, use, unused };
}

describe('unusedScopes', () => {
  it('names the granted scopes not exercised for so long, to the millisecond', async () => {
    const { clock, use, unused } = await threeScopes();
    clock.advance(9);
    await use('triage');
    // Younger than the time asked about: nothing is said against it.
    expect(await unused()).toEqual({ known: true, scopes: [] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: true, scopes: ['decoys:read'] });
    await use('list');
    clock.advance(8);
    expect(await unused()).toEqual({ known: true, scopes: ['decoys:read'] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: true, scopes: ['threats:write', 'decoys:read'] });
    // An operation that needs no scope is use of the key and of no scope.
    clock.advance(1);
    await use('whoami');
    expect(await unused()).toEqual({ known: true, scopes });
  });

  // A key used daily looked unused, because its usage could not be written.
  it('says of a key that it is unknown unless it was used within that time', async () => {
    const { clock, use, unused } = await threeScopes();
    clock.advance(HOUR);
    expect(await unused()).toEqual({ known: false });
    await use('list');
    clock.advance(unusedForMs - 1);
    expect(await unused()).toEqual({ known: true, scopes: ['threats:write', 'decoys:read'] });
    clock.advance(1);
    expect(await unused()).toEqual({ known: false });
  });

  it('has Date.now for a clock unless one is given', async () => {
    const { keyring } = setUp({ now: () => Date.now() });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { policy, operation: 'whoami' });
    await keyring.flush();
    const found = (await keyring.get(info.keyId, AUTHORITY)) as KeyInfo;
    expect(unusedScopes(found, { unusedForMs: HOUR })).toEqual({ known: true, scopes: [] });
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + HOUR + 1);
    expect(unusedScopes(found, { unusedForMs: HOUR })).toEqual({ known: false });
    vi.restoreAllMocks();
  });

  it('changes nothing of the key, and answers with what nobody can change', async () => {
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
    ['no time', {}, /unusedForMs: pass a whole number from 1/],
    ['no time at all', { unusedForMs: 0 }, /unusedForMs/],
    ['a negative time', { unusedForMs: -1 }, /unusedForMs/],
    ['a time as text', { unusedForMs: '1' }, /unusedForMs/],
    ['part of a millisecond', { unusedForMs: 0.5 }, /unusedForMs/],
    ['a time for a clock', { unusedForMs, now: START }, /^now: pass a function/],
    ['another field', { unusedForMs, since: START }, /unknown field "since"/],
  ])('refuses %s with a TypeError', async (_what, options, message) => {
    const { info } = await issue(setUp().keyring);
    expect(complaint(() => unusedScopes(info, untyped(options)))).toMatch(message);
  });

  it('refuses what is no key that can be read', async () => {
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

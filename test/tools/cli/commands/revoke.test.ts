/** Which keys `keyscope revoke` offers when options select them. */
import { describe, expect, it } from 'vitest';
import { run as revoke } from '../../../../src/tools/cli/commands/revoke.js';
import { callOf } from '../../../support/calls.ts';
import { AUTHORITY, HOUR, PLAIN, setUp } from '../../../support/keyring.ts';

const ADA = { ...AUTHORITY, actor: 'ada' } as const;

/** Makes a key in each state that ada created. */
async function arrange() {
  const { keyring, store, clock, events } = setUp();
  const issue = async (expiresAt: Date | 'never' = 'never'): Promise<string> => {
    const { info } = await keyring.issue({ ...PLAIN, expiresAt }, ADA);
    return info.keyId;
  };
  const ids = {
    live: await issue(),
    suspended: await issue(),
    retired: await issue(),
    expired: await issue(new Date(clock.now() + HOUR)),
    revoked: await issue(),
  };
  await keyring.suspend(ids.suspended, ADA);
  await keyring.rotate(ids.retired, { overlapMs: 0 }, { ...AUTHORITY, actor: 'bob' });
  await keyring.revoke(ids.revoked, ADA);
  clock.advance(HOUR);
  events.length = 0;
  return { keyring, store, events, ids };
}

describe('keyscope revoke --created-by', () => {
  it('offers no key that has ended', async () => {
    const given = await arrange();
    const { ids, events } = given;
    const { call, said, asked } = callOf(given, '', { 'created-by': 'ada' });
    await revoke(call);
    expect(asked).toEqual(['Revoke these 2 keys, for good?']);
    const shown = said.flatMap((line) => /key id ([-0-9a-f]+)/.exec(line)?.[1] ?? []).sort();
    expect(shown).toEqual([ids.live, ids.suspended].sort());
    const ended = events.flatMap((event) => (event.type === 'key.revoked' ? event.keyId : []));
    expect(ended.sort()).toEqual(shown);
  });

  it('offers keys that have retired or expired if --state names them', async () => {
    const given = await arrange();
    const { keyring, ids } = given;
    const options = { 'created-by': 'ada', state: 'retired,expired' };
    const { call, asked } = callOf(given, '', options);
    await revoke(call);
    expect(asked).toEqual(['Revoke these 2 keys, for good?']);
    for (const keyId of [ids.retired, ids.expired]) {
      expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked' });
    }
    expect(await keyring.get(ids.live, AUTHORITY)).toMatchObject({ state: 'live' });
  });
});

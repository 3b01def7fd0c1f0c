/** `revoke --lineage` and `scan --revoke --lineage`, when a lineage is unknown. */
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { run as revoke } from '../../../src/tools/cli/commands/revoke.js';
import { createRevocation } from '../../../src/tools/cli/scan/known-keys.js';
import { callOf } from '../../support/calls.ts';
import { AUTHORITY, denied, type Ring, rowOf, setUp, tampering } from '../../support/keyring.ts';
import { idsOfChain, leftIn } from '../../support/lineages.ts';

/** Two keys whose rows were edited around one that was not, each with a rotation. */
async function arrange() {
  const inner = memoryStore();
  const sound = setUp({ store: inner }).keyring;
  const [first = '', firstNext = ''] = await idsOfChain(sound, 2);
  const [second = '', secondNext = ''] = await idsOfChain(sound, 2);
  const [third = ''] = await idsOfChain(sound, 1);
  const store = tampering(inner, (row) =>
    [first, third].includes(row.keyId) ? { ...row, name: 'other' } : row,
  );
  const { keyring } = setUp({ store });
  return { inner, store, keyring, ids: { first, firstNext, second, secondNext, third } };
}

type Arranged = Awaited<ReturnType<typeof arrange>>;

/** The ids in the lines that say what was revoked. */
function revokedIn(said: readonly string[]): string[] {
  const lines = said.filter((line) => line.startsWith('Revoked: '));
  return lines.flatMap((line) => line.match(/[0-9a-f-]{36}/g) ?? []).sort();
}

const ON = { entity: AUTHORITY.entityId, lineage: true } as const;

describe('keyscope revoke --lineage', () => {
  it('says which keys it ended before it reports that there may be more', async () => {
    const given = await arrange();
    const { ids } = given;
    const { call, said } = callOf(given, ids.first, ON);
    const error = await denied(() => revoke(call), 'conflict', 'lineage_unknown');
    expect(error.message).toContain('look for keys rotated from it');
    expect(revokedIn(said)).toEqual([ids.first, ids.firstNext].sort());
  });

  it('goes on after a key whose lineage is unknown, if it selects keys', async () => {
    const given = await arrange();
    const { ids, inner } = given;
    const { call, said, lines } = callOf(given, '', { ...ON, state: 'damaged,live' });
    const error = await denied(() => revoke(call), 'conflict', 'lineage_unknown');
    expect([ids.first, ids.third]).toContain(error.keyId);
    expect(await leftIn(inner)).toEqual([]);
    expect(revokedIn(said)).toEqual(Object.values(ids).sort());
    for (const id of Object.values(ids)) expect(lines.join('\n')).toContain(id);
    expect(await rowOf(inner, ids.second)).toMatchObject({ endedBy: 'eve', endReason: 'leaked' });
  });

  it('succeeds for keys whose lineages are known, and says if all had ended', async () => {
    const given = await arrange();
    const { ids } = given;
    const once = callOf(given, ids.secondNext, ON);
    await revoke(once.call);
    expect(revokedIn(once.said)).toEqual([ids.second, ids.secondNext].sort());
    const twice = callOf(given, ids.second, ON);
    await revoke(twice.call);
    expect(twice.said).toContain('Revoked: none; all had ended before.');
  });
});

describe('keyscope scan --revoke', () => {
  async function scan(given: Arranged, options: object, keyIds: readonly string[]) {
    const { call, said } = callOf(given, '', options);
    const revocation = createRevocation(call, false);
    for (const keyId of keyIds) revocation.add(await given.keyring.get(keyId, AUTHORITY));
    const carryOut = (keyring: Ring = given.keyring) => revocation.carryOut(keyring);
    return { carryOut, said };
  }

  it('ends every key that it found with --lineage, also after an unknown lineage', async () => {
    const given = await arrange();
    const { ids, inner } = given;
    const found = [ids.first, ids.second, ids.third];
    const { carryOut, said } = await scan(given, { lineage: true }, found);
    const error = await denied(() => carryOut(), 'conflict', 'lineage_unknown');
    expect(error.keyId).toBe(ids.first);
    expect(revokedIn(said)).toEqual(Object.values(ids).sort());
    expect(await leftIn(inner)).toEqual([]);
  });

  it('ends only the keys that it found without --lineage', async () => {
    const given = await arrange();
    const { ids, inner } = given;
    const { carryOut, said } = await scan(given, {}, [ids.first, ids.second]);
    await carryOut();
    expect(revokedIn(said)).toEqual([ids.first, ids.second].sort());
    expect(await leftIn(inner)).toEqual([ids.firstNext, ids.secondNext, ids.third].sort());
  });
});

/** `keyscope scan` with a config: look-ups of the keys found, and their revocation. */
import { writeFileSync } from 'node:fs';
import { generateKey } from 'keyscope';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENTITY,
  hasTerminal,
  issueIn,
  openPlace,
  type Place,
  sqliteConfig,
  talk,
} from '../../support/command.ts';
import { chanceFrom, nearKeyFrom } from '../../support/planted-keys.ts';

const CONFIG = sqliteConfig('', "prefixes: ['acme'],");

let place: Place;
beforeAll(() => {
  place = openPlace(CONFIG);
});
afterAll(() => place.remove());

const ON = ['--entity', ENTITY];

/** Creates a key and writes it to a file. */
async function leak(name: string): Promise<{ readonly key: string; readonly keyId: string }> {
  const issued = await issueIn(place, name);
  writeFileSync(place.file('leaked.txt'), `${issued.key}\n${issued.key}\n`);
  return issued;
}

async function stateOf(keyId: string): Promise<unknown> {
  const { stdout } = await place.run(['show', keyId, ...ON, '--json']);
  const { state, endedBy, endReason } = JSON.parse(stdout) as Record<string, unknown>;
  return { state, endedBy, endReason };
}

describe('a key that scan finds', () => {
  it('is shown with its state and owner, or as unknown to the keyring', async () => {
    const { key, keyId } = await leak('CI');
    const unknown = generateKey({ prefix: 'acme' });
    const both = `${key} ${unknown}`;
    const text = await place.run(['scan', '-'], both);
    expect(text.exit).toBe(1);
    const [first = '', second = ''] = text.stdout.split('\n');
    expect(first).toContain(
      `: acme_…${key.slice(-4)} checksum right; live, key id ${keyId}, entity ${ENTITY} “CI`,
    );
    const right = `: acme_…${unknown.slice(-4)} checksum right`;
    expect(second).toContain(`${right}; unknown to the keyring`);
    const { stdout } = await place.run(['scan', '-', '--json'], both);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { known: { keyId, entityId: ENTITY, state: 'live' } },
      { known: null },
    ]);
    for (const each of [text, { stdout, stderr: '' }]) {
      for (const secret of [key, unknown]) {
        expect(each.stdout + each.stderr).not.toContain(secret.slice(5, 20));
      }
    }
  });

  it('is not looked up and not revoked if its checksum is wrong', async () => {
    const near = nearKeyFrom(chanceFrom(3));
    const ran = await place.run(['scan', '-', '--revoke', '--yes'], near);
    const line = `-:1: acme_…${near.slice(-4)} checksum wrong: not a key\n`;
    expect([ran.exit, ran.stdout]).toEqual([0, line]);
    const { stdout } = await place.run(['scan', '-', '--json'], near);
    expect(JSON.parse(stdout)).not.toHaveProperty('known');
  });

  it('is not looked up with --prefix alone', async () => {
    const { key } = await leak('CI');
    place.write('broken.mjs', 'throw new Error("was loaded");');
    const offline = await place.run(['scan', '-', '--prefix', 'acme'], key);
    expect(offline.stdout).toBe(`-:1: acme_…${key.slice(-4)} checksum right\n`);
    const asked = await place.run(['scan', '-', '--prefix', 'acme', '--config', 'broken.mjs'], key);
    expect([asked.exit, asked.stdout]).toEqual([3, '']);
  });

  // Such a scan found nothing, and ended with 0.
  it('is not looked for under a prefix that the config does not have', async () => {
    const { key } = await leak('CI');
    for (const more of [
      ['--revoke', '--yes'],
      ['--config', 'keyscope.config.mjs'],
    ]) {
      const ran = await place.run(['scan', '-', '--prefix', 'acme,acne', ...more], key);
      expect([ran.exit, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).toContain(
        '`prefixes` of the config has acme, not acne. Did you mean acme?',
      );
    }
  });

  it('is revoked once with --revoke --yes, with the actor on record', async () => {
    const { keyId } = await leak('CI');
    const ran = await place.run(['scan', 'leaked.txt', '--revoke', '--yes', '--actor', 'ada']);
    expect(ran.exit).toBe(1);
    expect(ran.stderr.match(/Revoked:/g)).toHaveLength(1);
    expect(ran.stderr).toContain(`Revoked: ${keyId}.`);
    expect(await stateOf(keyId)).toEqual({
      state: 'revoked',
      endedBy: 'ada',
      endReason: 'found by keyscope scan',
    });
    const again = await place.run(['scan', 'leaked.txt', '--revoke', '--yes']);
    expect(again.stdout).toContain('; revoked, key id ');
    expect(again.stderr).not.toContain('Revoked:');
  });

  it('is revoked with its lineage and your reason', async () => {
    const { keyId } = await leak('CI');
    const made = await place.run(['rotate', keyId, ...ON, '--overlap', '7d', '--yes', '--json']);
    const { info } = JSON.parse(made.stdout) as { readonly info: { readonly keyId: string } };
    const options = ['--revoke', '--yes', '--lineage', '--reason', 'on GitHub'];
    const ran = await place.run(['scan', 'leaked.txt', ...options]);
    expect(ran.stderr).toContain(info.keyId);
    for (const each of [keyId, info.keyId]) {
      expect(await stateOf(each)).toMatchObject({ state: 'revoked', endReason: 'on GitHub' });
    }
  });

  it('is not even searched for with --revoke if the command cannot ask', async () => {
    const { keyId } = await leak('CI');
    const ran = await place.run(['scan', 'leaked.txt', '--revoke']);
    expect([ran.exit, ran.stdout]).toEqual([2, '']);
    expect(await stateOf(keyId)).toMatchObject({ state: 'live' });
  });

  it.skipIf(!hasTerminal)('is revoked on a terminal only after a yes', async () => {
    const { keyId } = await leak('CI');
    const line = `cd '${place.file('')}' && ${place.line(['scan', 'leaked.txt', '--revoke'])}`;
    const declined = await talk(line, [['for good? [y/N]', 'n\n']]);
    expect(declined.stdout).toContain('Nothing was changed.');
    expect([declined.exit, await stateOf(keyId)]).toMatchObject([1, { state: 'live' }]);
    const agreed = await talk(line, [['for good? [y/N]', 'y\n']]);
    expect(agreed.stdout).toContain('“CI” (live), for good?');
    expect([agreed.exit, await stateOf(keyId)]).toMatchObject([1, { state: 'revoked' }]);
  });
});

describe('a config', () => {
  it('without prefixes has those of its keyrings', async () => {
    const other = "const other = createKeyring({ prefix: 'acme_test', catalog, store, peppers });";
    const both = sqliteConfig(other).replace(
      '      keyring,\n',
      '      keyring: [keyring, other],\n',
    );
    place.write('both.mjs', both);
    const rules = await place.run(['rules', 'gitleaks', '--config', 'both.mjs']);
    for (const prefix of ['acme', 'acme_test'])
      expect(rules.stdout).toContain(`${prefix}_[0-9A-Za-z]{26}[0-4][0-9A-Za-z]{5}`);
    const scan = await place.run(['scan', '--config', 'both.mjs']);
    expect({ exit: scan.exit, stdout: scan.stdout }).toEqual({ exit: 2, stdout: '' });
    expect(scan.stderr).toContain('the config has keyrings for acme, acme_test. Choose one.');
    const chosen = await place.run(['scan', '--config', 'both.mjs', '--prefix', 'acme_test']);
    expect([0, 1]).toContain(chosen.exit);
  });

  it('prints rules', async () => {
    const wrong = await place.run(['rules', 'gitleak']);
    expect([wrong.exit, wrong.stderr]).toEqual([2, expect.stringContaining('mean gitleaks?')]);
    const json = await place.run(['rules', 'semgrep', '--prefix', 'a', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ scanner: 'semgrep' });
  });
});

/** The command where organizations have ids that are not UUIDs. */
import { existsSync } from 'node:fs';
import type { IssuedKey } from 'keyscope';
import { afterEach, describe, expect, it } from 'vitest';
import { openPlace, type Place, shell, sqliteConfig } from '../../support/command.ts';

const TEXT_IDS = sqliteConfig().replace(
  'peppers, deployment }',
  "peppers, deployment, entityIds: 'text' }",
);
const NEW = ['--name', 'CI', '--scopes', 'threats:read', '--expires', '90d'];

let place: Place;
afterEach(() => place.remove());

describe('an organization without a UUID', () => {
  it.each(['-x', 'NULL', '~|a:b@c.example', '__proto__'])('has keys: %s', async (id) => {
    place = openPlace(TEXT_IDS);
    const on = `--entity=${id}`;
    const issued = await place.run(['issue', on, ...NEW, '--entities', 'guest', '--json']);
    expect(issued.exit, issued.stderr).toBe(0);
    const { info } = JSON.parse(issued.stdout) as IssuedKey;
    expect(info).toMatchObject({ entityId: id, accessibleEntities: [id, 'guest'] });
    const shown = await place.run(['show', info.keyId, on, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ entityId: id });
    const guests = await place.run(['list', '--entity', 'guest', '--addressing', '--json']);
    expect(guests.stdout).toContain(info.keyId);
    expect((await place.run(['list', '--json'])).stdout).toContain(info.keyId);
    expect((await place.run(['list', '--entity', 'GUEST', '--addressing'])).stdout).toBe('');
    expect((await place.run(['revoke', info.keyId, on, '--yes'])).exit).toBe(0);
    expect((await place.run(['list', on, '--state', 'revoked'])).stdout).toContain(info.keyId);
  });

  it.skipIf(!existsSync('/dev/full'))('gets a command that a shell reads as it is', async () => {
    place = openPlace(TEXT_IDS);
    const folder = place.file('');
    const issue = place.line(['issue', '--entity=-a|b', ...NEW]);
    const { stderr } = await shell(`${issue} >/dev/full`, folder);
    const [, revoke = ''] = / Revoke it: keyscope (revoke .*)\.?$/m.exec(stderr) ?? [];
    expect(revoke).toContain(" --entity='-a|b'");
    const revoked = await shell(`${place.line([])} ${revoke} --yes`, folder);
    expect(revoked).toMatchObject({ exit: 0 });
  });
});

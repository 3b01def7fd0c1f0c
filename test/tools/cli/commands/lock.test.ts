/** `keyscope lock --check --keys`: which keys may do more than the lock says. */
import { writeFileSync } from 'node:fs';
import { createKeylessVerifier } from 'keyscope/keyless';
import { formatLock, lockOf } from 'keyscope/lock';
import { expect, it } from 'vitest';
import { run as lock } from '../../../../src/tools/cli/commands/lock.js';
import { callOf } from '../../../support/calls.ts';
import { folder } from '../../../support/folder.ts';
import { AUDIENCE, ENTRY, TRUST } from '../../../support/keyless.ts';
import { AUTHORITY, PLAIN, setUp } from '../../../support/keyring.ts';

it('names the keys without a secret, too, that a new route is open to', async () => {
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY] });
  const { keyring, store } = setUp({ tokens });
  const { info } = await keyring.issue({ ...PLAIN, name: 'by hand' }, AUTHORITY);
  const input = { ...PLAIN, trust: TRUST };
  const job = await keyring.issueKeyless({ ...input, name: 'Deploy' }, AUTHORITY);
  const idle = await keyring.issueKeyless({ ...input, name: 'Idle' }, AUTHORITY);
  await keyring.suspend(idle.info.keyId, AUTHORITY);
  const own = folder();
  try {
    const file = own.file('keyscope.lock.json');
    writeFileSync(file, formatLock(lockOf({ keyring, routes: [] })));
    const routes = async () => [{ method: 'GET', path: '/threats', operations: ['list'] }];
    const { call, lines } = callOf({ store, keyring, routes }, '', {
      check: true,
      keys: true,
      file,
    });
    expect(await lock(call)).toBe(1);
    const text = lines.join('\n');
    expect(text).toContain('Live keys that may do more (2)');
    expect(text).toMatch(new RegExp(`\`acme_…${info.hint}\` \`by hand\` .*\`GET /threats\``));
    expect(text).toMatch(
      new RegExp(`\`\\(keyless\\)\` \`Deploy\` .*\`${job.info.keyId}\`.*\`GET /threats\``),
    );
    expect(text).not.toContain('Idle');
  } finally {
    own.remove();
  }
});

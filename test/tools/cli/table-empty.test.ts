/** An empty table: the commands that list keys say that there are none. */
import { describe, expect, it } from 'vitest';
import { run as expiring } from '../../../src/tools/cli/commands/expiring.js';
import { list } from '../../../src/tools/cli/commands/keys.js';
import { run as peppers } from '../../../src/tools/cli/commands/peppers.js';
import { run as unused } from '../../../src/tools/cli/commands/unused.js';
import { callOf } from '../../support/calls.ts';
import { AUTHORITY, HOUR, issue, OWN, PLAIN, setUp } from '../../support/keyring.ts';

const COMMANDS = Object.entries({ list, expiring, unused, peppers });

/** The options under which every command finds the keys of the test. */
const GIVEN = { entity: OWN, within: '365d', actor: undefined, reason: undefined };

describe('keyscope', () => {
  it.each(COMMANDS)('%s says so on standard error if it has no key to list', async (_name, run) => {
    const { call, said, lines } = callOf(setUp(), '', GIVEN);
    await run(call);
    expect(said).toContain('No keys.');
    expect(lines.join('\n')).toMatch(/^(?:|KEY ID .*|PEPPER .*)$/);
  });

  it.each(COMMANDS)('%s says nothing if it lists a key', async (_name, run) => {
    const service = setUp();
    await issue(service.keyring);
    const expiresAt = new Date(Date.now() + HOUR);
    await service.keyring.issue({ ...PLAIN, expiresAt }, AUTHORITY);
    const { call, said, lines } = callOf(service, '', GIVEN);
    await run(call);
    expect(said).not.toContain('No keys.');
    expect(lines.length).toBeGreaterThan(1);
  });
});

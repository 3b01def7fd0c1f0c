/** How the subcommands show a key without a secret. */
import { createKeylessVerifier } from 'keyscope/keyless';
import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/tools/cli/call.js';
import { run as expiring } from '../../../src/tools/cli/commands/expiring.js';
import { list, resume, show, suspend } from '../../../src/tools/cli/commands/keys.js';
import { run as unused } from '../../../src/tools/cli/commands/unused.js';
import { callOf } from '../../support/calls.ts';
import { AUDIENCE, ENTRY, TRUST } from '../../support/keyless.ts';
import { AUTHORITY, OTHER, OWN, PLAIN, setUp } from '../../support/keyring.ts';
import { captureOutput } from '../../support/output.ts';

const DAY = 86_400_000;

/** Makes a key without a secret that expires tomorrow, and addresses another organization. */
async function arrange() {
  const tokens = createKeylessVerifier({ audience: AUDIENCE, issuers: [ENTRY] });
  const { keyring, store } = setUp({ tokens, now: Date.now });
  const expiresAt = new Date(Date.now() + DAY);
  const input = { ...PLAIN, name: 'Deploy', expiresAt, trust: TRUST, accessibleEntities: [OTHER] };
  const authority = { ...AUTHORITY, entities: [OTHER] };
  const { info } = await keyring.issueKeyless(input, authority);
  const run = async (
    command: (call: Call) => Promise<unknown>,
    operand: string,
    options: object,
  ) => {
    const { call, lines, asked } = callOf({ store, keyring }, operand, { entity: OWN, ...options });
    await command(call);
    return { text: lines.join('\n'), asked };
  };
  return { keyring, store, info, run };
}

describe('a key without a secret', () => {
  it.each<[string, (call: Call) => Promise<unknown>, object]>([
    ['list', list, {}],
    ['list --addressing', list, { entity: OTHER, addressing: true }],
    ['expiring', expiring, {}],
    ['unused', unused, {}],
  ])('is (keyless) in the table of %s', async (_what, command, options) => {
    const { info, run } = await arrange();
    const { text } = await run(command, '', options);
    expect(text).toMatch(new RegExp(`^${info.keyId} +\\(keyless\\) .*Deploy$`, 'm'));
    expect(text).not.toContain('…');
  });

  it('is (keyless) in questions', async () => {
    const { info, run } = await arrange();
    const { asked, text } = await run(suspend, info.keyId, {});
    expect(asked).toEqual(['Suspend (keyless) “Deploy” (live)?']);
    expect(text).toMatch(/\(keyless\) +suspended/);
    expect((await run(resume, info.keyId, {})).text).toMatch(/\(keyless\) +live/);
  });

  it('is shown with its trust, as fields and as JSON', async () => {
    const { keyring, store, info, run } = await arrange();
    const { text } = await run(show, info.keyId, {});
    const claims = '"claims":{"ref":"refs/heads/main","repository_id":"123"}';
    expect(text).toMatch(/^trust +\{/m);
    expect(text).toContain(`{${claims},"issuer":"https://ci.example"}`);
    expect(text).not.toMatch(/^hint/m);
    const { call } = callOf({ store, keyring }, info.keyId, { entity: OWN });
    const { output, lines } = captureOutput(80, true);
    await show({ ...call, output });
    expect(JSON.parse(lines.join(''))).toMatchObject({ trust: TRUST, hint: '' });
  });
});

describe('any other key', () => {
  it('is shown by its prefix and last four characters, without a trust', async () => {
    const { keyring, run } = await arrange();
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    expect((await run(list, '', {})).text).toContain(`acme_…${info.hint} `);
    expect((await run(show, info.keyId, {})).text).not.toMatch(/^trust/m);
  });
});

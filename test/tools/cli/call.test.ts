/** Which keyring of the config a command uses, and which prefixes it looks for. */
import { writeFileSync } from 'node:fs';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, test } from 'vitest';
import { chooseKeyring } from '../../../src/tools/cli/call.js';
import { EXIT } from '../../../src/tools/cli/command-error.js';
import { run as runRules } from '../../../src/tools/cli/commands/rules.js';
import { run as runScan } from '../../../src/tools/cli/commands/scan.js';
import { run as runScopes } from '../../../src/tools/cli/commands/scopes.js';
import { keyringsOf } from '../../../src/tools/cli/define-config.js';
import { callOf } from '../../support/calls.ts';
import { folder } from '../../support/folder.ts';
import { issue, setUp, thrown } from '../../support/keyring.ts';

const store = memoryStore();
const one = setUp({ store }).keyring;
const two = setUp({ store, prefix: 'acme_test' }).keyring;
const ONE = { store, keyring: one };
const BOTH = { store, keyring: [one, two] };

const CHOOSE = {
  kind: 'usage',
  exit: EXIT.usage,
  message: '--prefix: the config has keyrings for acme, acme_test. Choose one.',
};

test('a command takes the only keyring of the config, or that of --prefix', async () => {
  for (const [service, options, expected] of [
    [ONE, {}, one],
    [{ store, keyring: [one] }, {}, one],
    [ONE, { prefix: 'acme' }, one],
    [BOTH, { prefix: 'acme' }, one],
    [BOTH, { prefix: 'acme_test' }, two],
  ] as const) {
    const { call } = callOf(service, '', options);
    const config = await call.config();
    expect(chooseKeyring(call, config)).toEqual({ ...config, keyring: expected });
    expect(chooseKeyring(call, config).keyring).toBe(expected);
  }
});

test('the keyrings of a config are a list, even if there is one', async () => {
  expect(keyringsOf(await callOf(ONE, '', {}).call.config())).toEqual([one]);
  expect(keyringsOf(await callOf(BOTH, '', {}).call.config())).toEqual([one, two]);
});

test.each([
  [{}, BOTH, CHOOSE.message],
  [{ prefix: 'acme_' }, BOTH, CHOOSE.message],
  [{ prefix: 'acme,acme_test' }, BOTH, CHOOSE.message],
  [{ prefix: 'acne' }, ONE, '--prefix: the config has keyrings for acme. Choose one.'],
])('%j is an error that names the prefixes', async (options, service, message) => {
  const { call, lines } = callOf(service, '', options);
  expect(await thrown(() => runScopes(call))).toMatchObject({ ...CHOOSE, message });
  expect(lines).toEqual([]);
});

test('rules are for the prefixes of all keyrings, of the config or of --prefix', async () => {
  for (const [service, options, expected] of [
    [BOTH, {}, ['acme', 'acme_test']],
    [ONE, {}, ['acme']],
    [{ ...BOTH, prefixes: ['old'] }, {}, ['old']],
    [BOTH, { prefix: 'acme_test' }, ['acme_test']],
  ] as const) {
    const { call, lines } = callOf(service, 'gitleaks', options);
    await runRules(call);
    const keywords = lines.join('\n').matchAll(/^keywords = \["(.*)_"\]$/gm);
    expect(Array.from(keywords, ([, prefix]) => prefix)).toEqual(expected);
  }
});

test('scan looks for the prefix of the keyring; with several, for that of --prefix', async () => {
  const own = folder();
  try {
    const keys = await Promise.all([one, two].map(issue));
    writeFileSync(own.file('keys.txt'), keys.map(({ key }) => `${key}\n`).join(''));
    for (const [service, options, expected] of [
      [ONE, {}, [0]],
      [BOTH, { prefix: 'acme', config: 'x' }, [0]],
      [BOTH, { prefix: 'acme_test', config: 'x' }, [1]],
    ] as const) {
      const { call, lines } = callOf(service, own.file('keys.txt'), options);
      expect(await runScan(call)).toBe(EXIT.refused);
      const found = keys.filter(({ info }) => lines.join('\n').includes(info.keyId));
      expect(found).toEqual(expected.map((index) => keys[index]));
    }
    const { call } = callOf(BOTH, own.file('keys.txt'), {});
    expect(await thrown(() => runScan(call))).toMatchObject(CHOOSE);
  } finally {
    own.remove();
  }
});

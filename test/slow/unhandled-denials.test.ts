/** An unhandled denial ends a process, like any rejection; a handled one does not. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const SET_UP = `
  import { createKeyring, definePolicy, defineScopes } from 'keyscope';
  import { memoryStore } from 'keyscope/stores/memory';
  const catalog = defineScopes({ threats: { read: 'List threats.' } });
  const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
  const keyring = createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers: 'none' });
  const admit = (header) => keyring.admit([header], { operation: 'listThreats' });
  process.on('exit', (code) => console.log('ended with', code));
`;

function run(code: string) {
  const script = `${SET_UP}\n${code}\nsetTimeout(() => {}, 50);`;
  const args = ['--input-type=module', '--eval', script];
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { stdout, stderr } = spawnSync(process.execPath, args, options);
  return { stdout, stderr };
}

const CALLS = {
  'no credential': 'keyring.authenticate(undefined)',
  garbage: "keyring.authenticate('Bearer x')",
  'an invalid key': "keyring.verify('x')",
  'admission of garbage': "admit('Bearer x')",
} as const;

test.each(Object.entries(CALLS))('%s: is reported if nobody handles it', (_, call) => {
  const { stdout, stderr } = run(`void ${call};`);
  expect(stderr).toMatch(
    /AccessError: \w.+\.\] \{\n {2}code: '(?:missing_credentials|invalid_token)'/,
  );
  expect(stdout).toBe('ended with 1\n');
});

test.each(Object.entries(CALLS))('%s: is not reported if it is handled', (_, call) => {
  const handled = `await ${call}.catch(({ code }) => console.log(code));`;
  const { stdout, stderr } = run(handled);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^(?:missing_credentials|invalid_token)\nended with 0\n$/);
});

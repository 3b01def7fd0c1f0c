/** Next: the contract and the app of docs/frameworks.md, from one `next build`. */
import { spawn } from 'node:child_process';
import { beforeAll, describe, test } from 'vitest';
import { runContract } from './contract.ts';
import { expectGuarded, QUERY } from './guarded.ts';
import { binary, buildNext, describeInstalled, RUNNING } from './installed.ts';
import { untilPrinted } from './printed.ts';

describeInstalled('Next', () => {
  beforeAll(buildNext, 300_000);

  describe('the contract', () => runContract('Next', [process.execPath], 'next'));

  // Node's own server can be configured to join both lines. Then the guard sees them and refuses.
  describe('the contract, behind a server that joins lines', () =>
    runContract('Next, lines joined', [process.execPath], 'next-joined'));

  test('the example app, run by next start, shares one keyring between two routes', async () => {
    const child = spawn(binary('next'), ['start', '.project/next', '--port', '0'], RUNNING);
    try {
      const [url = ''] = await untilPrinted(child, [/(http:\/\/localhost:\d+)[\s\S]*Ready/]);
      const key = await (await fetch(`${url}/key`, { method: 'POST' })).text();
      await expectGuarded((path, init) => fetch(url + path, init), key, QUERY);
    } finally {
      child.kill();
    }
  });
});

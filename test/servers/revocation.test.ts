/**
 * How long a key that one process revoked still works in another that caches look-ups: with the
 * channel up, and with it down. Prints a table. What is asserted holds on any machine: no
 * verification that began later than the promise let it in; and with the channel up the promise,
 * which is longer than this test, is not what ended it.
 */
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { cacheStore } from 'keyscope/cache';
import { LRUCache } from 'lru-cache';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../examples/platform/store.ts';
import { keyringOver } from '../support/crash.ts';
import { makeScratch } from '../support/scratch.ts';
import { describeOn, type Server } from '../support/servers.ts';
import { AUTHORITY, INPUT } from '../support/sqlite.ts';

const timeout = 120_000;
// With the channel down each takes as long as the promise.
const ROUNDS = { up: 30, down: 10 } as const;
// With the channel up nothing but the channel can end a key within this test.
const PROMISE = { up: 30_000, down: 400 } as const;
type Channel = keyof typeof PROMISE;

const time = () => performance.timeOrigin + performance.now();
const path = (name: string) => fileURLToPath(new URL(`../support/${name}`, import.meta.url));

const lines: string[] = [];
const ms = (value: number) => `${value.toFixed(1)} ms`.padStart(10);
afterAll(() => {
  const head = `${'store'.padEnd(10)}${'channel'.padEnd(9)}${'promise'.padStart(10)}${'median'.padStart(10)}${'longest'.padStart(10)}`;
  if (lines.length > 0)
    console.log(
      `\nrevocation in another process, ${ROUNDS.up} keys with the channel up, ${ROUNDS.down} with it down\n${[head, ...lines].join('\n')}`,
    );
});

function start(address: string, channel: Channel) {
  const argv = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    path('typescript.ts'),
    path('cached-child.ts'),
  ];
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [...argv, address, String(PROMISE[channel]), channel],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    hear: async (): Promise<unknown[]> => JSON.parse(String((await said.next()).value)),
    send: (line: string) => child.stdin.write(`${line}\n`),
    async stop() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}

async function lags(address: string, channel: Channel): Promise<number[]> {
  const { store, invalidation, close } = await openStore(address);
  const cache = new LRUCache<string, object>({ max: 100 });
  const options = {
    cache,
    maxStalenessMs: PROMISE[channel],
    ...(channel === 'up' && invalidation && { invalidation }),
  };
  const keyring = keyringOver(cacheStore(store, options));
  const child = start(address, channel);
  const seen: number[] = [];
  try {
    expect(await child.hear()).toEqual(['ready']);
    // The first two rounds warm up: connections are made, and the channel is subscribed to.
    for (let round = -2; round < ROUNDS[channel]; round++) {
      const { key, info } = await keyring.issue(INPUT, AUTHORITY);
      child.send(key);
      expect(await child.hear()).toEqual(['let in']);
      await keyring.revoke(info.keyId, AUTHORITY);
      const revoked = time();
      const [last, refused] = (await child.hear()) as [number, number];
      if (round < 0) continue;
      expect(last - revoked).toBeLessThan(PROMISE[channel]);
      seen.push(Math.max(0, refused - revoked));
    }
    return seen.sort((a, b) => a - b);
  } finally {
    await child.stop();
    await keyring.flush();
    await close();
  }
}

const CASES: readonly (readonly [Server, readonly Channel[]])[] = [
  ['postgres', ['up', 'down']],
  ['mysql', ['down']],
  ['redis', ['up', 'down']],
];

for (const [server, channels] of CASES) {
  (await describeOn(server))(server, () => {
    test.each(channels)(
      'a key that another process revoked is refused in time, the channel %s',
      { timeout },
      async (channel) => {
        const { address, remove } = await makeScratch(server);
        try {
          const seen = await lags(address, channel);
          const figures = [
            PROMISE[channel],
            seen[Math.floor(seen.length / 2)] ?? 0,
            seen.at(-1) ?? 0,
          ]
            .map(ms)
            .join('');
          lines.push(`${server.padEnd(10)}${channel.padEnd(9)}${figures}`);
        } finally {
          await remove();
        }
      },
    );
  });
}

/** A second instance of the service, in another process, on the same database. */
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createServer } from '../../../console/server.ts';
import type { Platform } from '../boot.ts';
import { ENTITY, MAX_STALENESS_MS, openPlatform } from '../boot.ts';
import { listen, stop } from '../listen.ts';
import { statusOf } from './rest.ts';
import { assertSame, Surprise, say } from './surprise.ts';

/** Not where the server listens: its own name is configuration. */
export const PUBLIC_URL = 'https://deception.example';

const DEMO = fileURLToPath(new URL('../demo.ts', import.meta.url));

/** What `--instance` runs: the same service once more. Runs until its input ends. */
export async function runInstance(folder: string, store: string): Promise<void> {
  const platform = await openPlatform(folder, { store, publicUrl: PUBLIC_URL });
  const server = createServer(platform);
  console.log(await listen(server, 0));
  for await (const _ of process.stdin);
  await stop(server);
  await platform.close();
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

function startInstance(folder: string, store: string): Child {
  const flags = [DEMO, '--instance', folder, '--store', store];
  const argv = [...process.execArgv, ...flags];
  return spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The address that an instance says it is at, or a surprise where it ends before. */
async function addressOf(child: Child, closed: Promise<unknown>): Promise<string> {
  const said = once(createInterface({ input: child.stdout }), 'line');
  const first = await Promise.race([said, closed.then(() => [])]);
  const url: unknown = first[0];
  if (typeof url !== 'string') throw new Surprise('the other instance did not start');
  return url;
}

/** Waits until an instance refuses a key. @returns How long that took, in milliseconds. */
async function untilRefused(url: string, key: string): Promise<number> {
  const revoked = performance.now();
  while ((await statusOf(url, key)) === 200) {
    if (performance.now() - revoked > 2 * MAX_STALENESS_MS)
      throw new Surprise('the other instance still lets it in');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return performance.now() - revoked;
}

/** A key that one instance revokes ends in the other. `base`: where the first one is. */
export async function walkTwoInstances(
  base: string,
  { keyring }: Platform,
  folder: string,
  store: string,
): Promise<void> {
  say('12. Two instances on one database: a key that one of them revokes ends in the other');
  const child = startInstance(folder, store);
  const closed = once(child, 'close');
  try {
    const other = await addressOf(child, closed);
    const authority = { entityUuid: ENTITY, scopes: 'all', actor: 'walk' } as const;
    const input = { name: 'Two', scopes: [], expiresAt: 'never' } as const;
    const { key, info } = await keyring.issue(input, authority);
    assertSame([await statusOf(base, key), await statusOf(other, key)], [200, 200]);
    await keyring.revoke(info.keyId, authority);
    assertSame(await statusOf(base, key), 401);
    const ms = Math.ceil(await untilRefused(other, key));
    say(`   refused by the other instance ${ms} ms after revoke answered`);
  } finally {
    child.stdin.end();
    await closed;
  }
}

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

/** The configured public URL, which is not the address that the server listens on. */
export const PUBLIC_URL = 'https://deception.example';

const DEMO = fileURLToPath(new URL('../demo.ts', import.meta.url));

/** Runs a second instance of the service, for `--instance`, until its input ends. */
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

/** Returns the address that an instance prints. @throws Surprise if it ends without one. */
async function addressOf(child: Child, closed: Promise<unknown>): Promise<string> {
  const said = once(createInterface({ input: child.stdout }), 'line');
  const first = await Promise.race([said, closed.then(() => [])]);
  const url: unknown = first[0];
  if (typeof url !== 'string') throw new Surprise('the second instance did not start');
  return url;
}

/** Waits until an instance refuses a key. @returns The time it took, in milliseconds. */
async function untilRefused(url: string, key: string): Promise<number> {
  const revoked = performance.now();
  while ((await statusOf(url, key)) === 200) {
    if (performance.now() - revoked > 2 * MAX_STALENESS_MS)
      throw new Surprise('the second instance still accepts the key');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return performance.now() - revoked;
}

/** Checks that a key revoked in one instance ends in the other. `base` is the first one's URL. */
export async function walkTwoInstances(
  base: string,
  { keyring }: Platform,
  folder: string,
  store: string,
): Promise<void> {
  say('13. Two instances on one database: revoke a key in one, and the other refuses it');
  const child = startInstance(folder, store);
  const closed = once(child, 'close');
  try {
    const other = await addressOf(child, closed);
    const authority = { entityId: ENTITY, scopes: ['*:*'], actor: 'walk' };
    const input = { name: 'Two', scopes: [], expiresAt: 'never' } as const;
    const { key, info } = await keyring.issue(input, authority);
    assertSame([await statusOf(base, key), await statusOf(other, key)], [200, 200]);
    await keyring.revoke(info.keyId, authority);
    assertSame(await statusOf(base, key), 401);
    const ms = Math.ceil(await untilRefused(other, key));
    say(`   the second instance refused it ${ms} ms after revoke returned`);
  } finally {
    child.stdin.end();
    await closed;
  }
}

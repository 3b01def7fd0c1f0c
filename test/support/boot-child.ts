/**
 * A child process that starts the reference service: `boot-child.ts`. For each folder that it
 * receives, it opens the platform there and makes a key. It answers `up` with the digests of the
 * pepper and the signing key, or the error.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function start(folder: string): Promise<string> {
  try {
    const platform = await openPlatform(folder);
    const input = { name: 'test', scopes: [], expiresAt: 'never' } as const;
    const { key } = await platform.keyring.issue(input, { entityId: ENTITY, scopes: 'all' });
    await platform.keyring.verify(key);
    const jwks = JSON.stringify(platform.tokens.jwks);
    await platform.close();
    const pepper = readFileSync(join(folder, 'pepper'), 'utf8');
    return `up ${digest(pepper)} ${digest(jwks)}`;
  } catch (error) {
    return String(error);
  }
}

console.log('ready');
for await (const folder of createInterface({ input: process.stdin })) {
  console.log(await start(folder));
}

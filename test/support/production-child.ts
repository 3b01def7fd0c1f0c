/**
 * Runs the service of `examples/production` unchanged, in a separate process. Makes a key, and
 * prints its address and the key. `revoke` on standard input revokes the key.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { keyring, server } from '../../examples/production/server.ts';

const entityId = '0a0a0a0a-0000-4000-8000-00000000000a';
const expiresAt = new Date(Date.now() + 86_400_000);
const input = { name: 'test', scopes: ['projects:read'], expiresAt } as const;

if (!server.listening) await once(server, 'listening');
const { key, info } = await keyring.issue(input, { entityId, scopes: 'all' });
const { port } = server.address() as AddressInfo;
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, key }));
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'revoke') await keyring.revoke(info.keyId, { entityId });
}

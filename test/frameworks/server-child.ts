/**
 * Starts a server of the examples, and prints a key of its keyring, which exists only in that
 * process: `server-child.ts <folder>`.
 */
const folder = process.argv[2] ?? '';
const { keyring } = await import('./.project/keys.ts');
await import(`./.project/${folder}/server.ts`);
const entityId = 'aaaaaaaa-0000-4000-8000-00000000000a';
const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
const { key } = await keyring.issue(input, { entityId, scopes: 'all' });
console.log(`Key ${key}`);

export {};

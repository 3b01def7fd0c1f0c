/**
 * Child process that runs an example's server and issues a key from its in-memory keyring:
 * `server-child.ts <folder>`.
 */
const folder = process.argv[2] ?? '';
const { keyring } = await import('./.project/keys.ts');
await import(`./.project/${folder}/server.ts`);
const entityUuid = 'aaaaaaaa-0000-4000-8000-00000000000a';
const input = { name: 'test', scopes: ['threats:read'], expiresAt: 'never' } as const;
const { key } = await keyring.issue(input, { entityUuid, scopes: 'all' });
console.log(`Key ${key}`);

export {};

/** Issues a key for the example's own route. */
import { keyring } from '../../../keys';

export async function POST(): Promise<Response> {
  const entityId = 'aaaaaaaa-0000-4000-8000-00000000000a';
  const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityId, scopes: 'all' });
  return new Response(key);
}

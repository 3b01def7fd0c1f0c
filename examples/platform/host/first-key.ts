/** The key with which you can try the platform. */
import { ENTITY, type Platform } from './boot.ts';
import { shownPath } from './whereabouts.ts';

const SCOPES = [
  'threats:read',
  'interactions:read',
  'decoys:read',
  'canaries:read',
  'reports:read',
] as const;

function instructions(key: string, url: string): string {
  return `Your key (${SCOPES.join(' ')}). Copy it now; you will not see it again:

  export KEY=${key}

Try:

  curl -i -H "Authorization: Bearer $KEY" ${url}/me
      200: the key's entity, id and scopes, and the entities that it can address

  curl -i -H "Authorization: Bearer $KEY" "${url}/threats?limit=2"
      200: two threats, and "next" for the next page

  curl -i -H "Authorization: Bearer $KEY" ${url}/users
      403: insufficient_scope, because the key lacks users:read`;
}

/**
 * Creates a key if the entity has none, and returns instructions for it. On later runs, it returns
 * a sentence that the key was shown before.
 */
export async function firstKey(platform: Platform, url: string, folder: string): Promise<string> {
  const { keyring } = platform;
  const authority = { entityId: ENTITY, scopes: ['*:*'], actor: 'first-key' };
  const { keys } = await keyring.list({ limit: 1 }, authority);
  if (keys.length > 0) {
    const another =
      platform.keys === 'file'
        ? `To start over: rm -r ${shownPath(folder)}`
        : 'You can create another one in the console: npm run demo';
    return `Your key was shown on the first run and cannot be shown again. ${another}`;
  }
  const input = { name: 'Demo', scopes: SCOPES, expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, authority);
  return instructions(key, url);
}

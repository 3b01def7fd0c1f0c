/** The key that newcomers try the platform with. */
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
  return `Your key, shown this once (${SCOPES.join(' ')}):

  export KEY=${key}

Try:

  curl -i -H "Authorization: Bearer $KEY" ${url}/me
      200: the key's entity, id, scopes and the entities that it can address

  curl -i -H "Authorization: Bearer $KEY" "${url}/threats?limit=2"
      200: two threats, and "next" for the page after

  curl -i -H "Authorization: Bearer $KEY" ${url}/users
      403: insufficient_scope, and which scope is missing: users:read`;
}

/**
 * Makes a key if the entity has none, and says what to do with it; on later runs, says that it was
 * shown.
 */
export async function firstKey(platform: Platform, url: string, folder: string): Promise<string> {
  const { keyring } = platform;
  const authority = { entityUuid: ENTITY, scopes: 'all', actor: 'first-key' } as const;
  const { keys } = await keyring.list({ limit: 1 }, authority);
  if (keys.length > 0) {
    const another =
      platform.keys === 'file'
        ? `Afresh: rm -r ${shownPath(folder)}`
        : 'Others are made in the console of npm run demo';
    return `The key was shown on the first run and cannot be shown again. ${another}`;
  }
  const input = { name: 'Demo', scopes: SCOPES, expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, authority);
  return instructions(key, url);
}

/** A CI job that acts as a key without a secret. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { githubActions, githubTrust, type KeylessIssuer } from 'keyscope/keyless';
import { ENTITY, type Platform } from '../boot.ts';
import { audiences } from '../tokens.ts';
import { ask, REFUSED } from './rest.ts';
import { say } from './surprise.ts';

/** A stand-in for GitHub Actions, with a key pair of its own. */
export interface Ci {
  /** The entry of the service's list, in place of `githubActions()`. */
  readonly issuer: KeylessIssuer;
  /** Returns the token that a job of a branch asks for. */
  tokenOf(branch: string, audience: string, now: number): Promise<string>;
}

/** The repository of the jobs. */
const REPOSITORY = { repositoryId: '123456', ownerId: '7890' };

export async function startCi(): Promise<Ci> {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const { issuer, ...entry } = githubActions();
  return {
    issuer: { ...entry, issuer, jwks: { keys: [await exportJWK(publicKey)] } },
    tokenOf(branch, audience, now) {
      const issuedAt = Math.floor(now / 1000);
      const claims = {
        iss: issuer,
        aud: audience,
        repository_id: REPOSITORY.repositoryId,
        repository_owner_id: REPOSITORY.ownerId,
        ref: `refs/heads/${branch}`,
        event_name: 'push',
        iat: issuedAt,
        exp: issuedAt + 300,
      };
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', typ: 'JWT' }).sign(privateKey);
    },
  };
}

/** Lets a job act as a key whose text nobody holds, until that is suspended. */
export async function walkCi(base: string, platform: Platform, ci: Ci): Promise<void> {
  const { keyring, publicUrl, now } = platform;
  const authority = { entityId: ENTITY, scopes: ['*:*'], actor: 'walk' };
  say('12. Without a secret: a CI job on main acts as a key whose text nobody holds');
  const trust = githubTrust({ ...REPOSITORY, branch: 'main' });
  const input = { name: 'Deploy', scopes: ['threats:read'], expiresAt: 'never', trust } as const;
  const { keyId } = (await keyring.issueKeyless(input, authority)).info;
  const audience = `${audiences(publicUrl).rest}#${keyId}`;
  const token = await ci.tokenOf('main', audience, now());
  const me = { entity_uuid: ENTITY, key_id: keyId, scopes: ['threats:read'] };
  await ask(`${base}/me`, token, { status: 200, body: me }, 'token of main');

  const another = await ci.tokenOf('feature', audience, now());
  await ask(`${base}/me`, another, REFUSED, 'token of another branch');

  await keyring.suspend(keyId, authority);
  await ask(`${base}/me`, token, REFUSED, 'token of main after suspend');
}

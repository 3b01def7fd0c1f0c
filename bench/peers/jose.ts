/**
 * jose with a token a caller instead of a key: no look-up, and no revocation before the token
 * expires. The key is imported once. HS256 is the fastest it has, with one secret for signing and
 * verifying; RS256 is the fastest to verify of those where they differ.
 */
import { generateKeyPair, generateSecret, jwtVerify, SignJWT } from 'jose';
import { HttpError } from '../by-hand.ts';
import type { Contender } from '../contenders.ts';
import { ENTITY, type Headers, HeaderValues, idOf, SCOPES } from '../keys.ts';

const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;
const issuer = 'https://acme.example';
const audience = 'https://api.acme.example';

async function generateKeys(alg: 'HS256' | 'RS256') {
  if (alg === 'RS256') return generateKeyPair(alg);
  const secret = await generateSecret(alg);
  return { privateKey: secret, publicKey: secret };
}

export async function jose(count: number, alg: 'HS256' | 'RS256'): Promise<Contender> {
  const { privateKey, publicKey } = await generateKeys(alg);
  const claims = { scope: SCOPES.join(' '), entity: ENTITY };
  const sign = (i: number) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(idOf(i))
      .setExpirationTime('1 day')
      .sign(privateKey);
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) tokens.push(await sign(i));
  const options = { issuer, audience, algorithms: [alg] };
  async function enter(list: readonly Headers[], scope: string): Promise<string> {
    let id = '';
    for (const { authorization } of list) {
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) throw new HttpError(401, 'Unauthorized');
      const { payload } = await jwtVerify<{ scope: string }>(token, publicKey, options);
      if (!payload.scope.split(' ').includes(scope)) throw new HttpError(403, 'Forbidden');
      id = payload.sub ?? '';
    }
    return id;
  }
  return { values: new HeaderValues(tokens, count), enter, id: idOf };
}

/**
 * jose with a token a caller instead of a key: no look-up, and no revocation before the token
 * expires. The key is imported once. HS256 is the fastest it has, with one secret for whoever signs
 * and whoever verifies; RS256 is the fastest to verify of those where they differ.
 */
import { generateKeyPair, generateSecret, jwtVerify, SignJWT } from 'jose';
import type { Door } from '../doors.ts';
import { ENTITY, type Headers, HeaderValues, idOf, SCOPES } from '../keys.ts';
import { HttpError } from '../plain.ts';

const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;
const [issuer, audience] = ['https://acme.example', 'https://api.acme.example'];

export async function jose(count: number, alg: 'HS256' | 'RS256'): Promise<Door> {
  const secret = alg === 'HS256' ? await generateSecret(alg) : null;
  const pair =
    secret === null ? await generateKeyPair(alg) : { privateKey: secret, publicKey: secret };
  const claims = { scope: SCOPES.join(' '), entity: ENTITY };
  const sign = (i: number) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(idOf(i))
      .setExpirationTime('1 day')
      .sign(pair.privateKey);
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) tokens.push(await sign(i));
  const options = { issuer, audience, algorithms: [alg] };
  const enter = async (list: readonly Headers[], scope: string) => {
    let id = '';
    for (const { authorization } of list) {
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) throw new HttpError(401, 'Unauthorized');
      const { payload } = await jwtVerify<{ scope: string }>(token, pair.publicKey, options);
      if (!payload.scope.split(' ').includes(scope)) throw new HttpError(403, 'Forbidden');
      id = payload.sub ?? '';
    }
    return id;
  };
  return { values: new HeaderValues(tokens, count), enter, id: idOf };
}

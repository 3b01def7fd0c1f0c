/**
 * What tokens cost beside bare jose: `npm run bench:jwt`. Figures of one run, in rounds whose order is drawn anew.
 * Prints ratios and aims; asserts no time.
 */
import assert from 'node:assert/strict';
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { createKeyring } from 'keyscope';
import { createTokenIssuer, createTokenVerifier, type TokenAlgorithm } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import type { Case } from './harness.ts';
import { measure, table } from './harness.ts';
import { catalog, ENTITY, PREFIX, SCOPES } from './keys.ts';

const ROUNDS = process.argv.includes('--quick') ? 10 : 40;
const [issuer, audience] = ['https://acme.example', 'https://api.acme.example'];
const peppers = [{ id: 'bench', secret: 'for the bench alone, and not random at all' }];

async function casesOf(alg: TokenAlgorithm): Promise<readonly Case[]> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const [privateKey, publicKey] = [await exportJWK(pair.privateKey), await exportJWK(pair.publicKey)];
  const jwks = { keys: [{ ...publicKey, alg, kid: 'bench', use: 'sig' }] };
  const tokens = createTokenIssuer({ issuer, audience, privateKey: pair.privateKey, alg, kid: 'bench' });
  const verifier = createTokenVerifier({ issuer, audience, jwks, algorithms: [alg], catalog });
  const store = memoryStore();
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers, tokens: verifier });
  const input = { name: 'bench', scopes: [...SCOPES], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityUuid: ENTITY });
  const principal = await keyring.verify(key);
  const { accessToken } = await tokens.exchange(principal);
  const bare = createLocalJWKSet(jwks);
  const requiredClaims = ['iss', 'aud', 'exp', 'iat', 'jti', 'sub', 'client_id', 'scope'];
  const options = { issuer, audience, algorithms: [alg], typ: 'at+jwt', requiredClaims };
  const { keyId, entityUuid, accessibleEntities, scopes } = principal;
  const sign = () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      client_id: keyId,
      scope: scopes.join(' '),
      entity_uuid: entityUuid,
      accessible_entities: accessibleEntities,
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'bench' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(keyId)
      .setIssuedAt(now)
      .setExpirationTime(now + 900)
      .setJti(crypto.randomUUID())
      .sign(pair.privateKey);
  };
  assert.equal(typeof privateKey.kty, 'string');
  const batch = alg.startsWith('RS') ? 40 : 60;
  const repeat = (act: () => Promise<unknown>) => async () => {
    for (let i = 0; i < batch; i++) await act();
  };
  const make = (name: string, over: string | null, act: () => Promise<unknown>): Case => ({
    name: `${alg}, ${name}`,
    over: over === null ? null : `${alg}, ${over}`,
    batch,
    check: async () => assert.ok(await act()),
    prepare: () => {},
    run: repeat(act),
  });
  return [
    make('jose jwtVerify', null, () => jwtVerify(accessToken, bare, options)),
    make('verify', 'jose jwtVerify', () => verifier.verify(accessToken)),
    make('keyring, parent looked up', 'jose jwtVerify', () => keyring.authenticate(`Bearer ${accessToken}`)),
    make('jose SignJWT', null, sign),
    make('exchange', 'jose SignJWT', () => tokens.exchange(principal)),
  ];
}

const cases = (await Promise.all((['ES256', 'EdDSA', 'RS256'] as const).map(casesOf))).flat();
const figures = await measure(cases, ROUNDS);
const rows = figures.map(({ name, ns, ratio, spread }) => {
  const speed = ratio === null ? '' : `${(1 / ratio).toFixed(2)} ×`;
  return [name, `${(ns / 1000).toFixed(1)} µs`, `±${Math.round(50 * spread)} %`, speed];
});
console.log(table(['job', 'median', 'spread', 'speed of bare'], rows));
for (const { name, ratio } of figures) {
  if (name.endsWith(', verify') && ratio !== null)
    console.log(`${name}: ${(1 / ratio).toFixed(2)} × the speed of jwtVerify (aim 0.9)`);
}

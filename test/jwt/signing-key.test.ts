/**
 * The signing keys of tokens: every common form of a key, and the errors for unusable ones.
 */
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type JsonWebKey,
} from 'node:crypto';
import type { CryptoKey } from 'jose';
import { exportJWK, generateKeyPair, importJWK, jwtVerify } from 'jose';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { describe, expect, it } from 'vitest';
import {
  ALGS,
  type Alg,
  AUDIENCE,
  expectAccepted,
  FIRST,
  ISSUER,
  KEY_ID,
  makePair,
  type Pair,
  principal,
} from '../support/jwt.ts';
import { catalog, START, thrown, untyped } from '../support/keyring.ts';

const signing = { issuer: ISSUER, audience: AUDIENCE, now: () => START };
const withKey = (alg: Alg, privateKey: unknown) =>
  createTokenIssuer({ ...signing, alg, kid: 'k1', privateKey: untyped<string>(privateKey) });

const ec = createPrivateKey({ key: FIRST.privateKey as JsonWebKey, format: 'jwk' });
const pem = String(ec.export({ type: 'pkcs8', format: 'pem' }));
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
const ed25519 = generateKeyPairSync('ed25519').privateKey;
const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
const { d: _private, ...publicHalf } = FIRST.privateKey;

// Keys of Web Crypto and of Node, and texts.
const REFUSED: readonly (readonly [string, Alg, unknown])[] = [
  ['a public CryptoKey', 'ES256', (await generateKeyPair('ES256')).publicKey],
  ['a CryptoKey of another curve', 'ES256', (await generateKeyPair('ES384')).privateKey],
  ['a CryptoKey for key agreement', 'ES256', (await generateKeyPair('ECDH-ES')).privateKey],
  ['a CryptoKey of another kind', 'EdDSA', (await generateKeyPair('ES256')).privateKey],
  ['a CryptoKey of another padding', 'PS256', (await generateKeyPair('RS256')).privateKey],
  ['a CryptoKey of another hash', 'RS256', (await generateKeyPair('RS384')).privateKey],
  [
    'a CryptoKey of 1,024 bits',
    'RS256',
    small.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['sign']),
  ],
  ['a public JWK', 'ES256', publicHalf],
  ['a JWK for another algorithm', 'EdDSA', FIRST.privateKey],
  ['a JWK with another alg', 'ES256', { ...FIRST.privateKey, alg: 'ES384' }],
  ['a JWK for encryption', 'ES256', { ...FIRST.privateKey, use: 'enc' }],
  ['an incomplete JWK', 'ES256', { d: 'x' }],
  ['a JWK of 1,024 bits', 'RS256', { kty: 'RSA', d: 'x', n: 'x'.repeat(171) }],
  ['a JWK as text', 'ES256', JSON.stringify(FIRST.privateKey)],
  ['a pair', 'ES256', { privateKey: ec, publicKey: createPublicKey(ec) }],
  ['a public KeyObject', 'ES256', createPublicKey(ec)],
  ['a secret KeyObject', 'ES256', createSecretKey(Buffer.alloc(32))],
  ['a KeyObject of another curve', 'ES256', p384],
  ['a KeyObject of another kind', 'ES256', ed25519],
  ['a KeyObject of 1,024 bits', 'PS256', small],
  [
    'a KeyObject without a JWK form',
    'PS256',
    generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey,
  ],
  ['the PEM of a public key', 'ES256', createPublicKey(ec).export({ type: 'spki', format: 'pem' })],
  ['the PEM of SEC 1', 'ES256', ec.export({ type: 'sec1', format: 'pem' })],
  [
    'an encrypted PEM',
    'ES256',
    ec.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
  ],
  ['a PEM without its line breaks', 'ES256', pem.replaceAll('\n', '\\n')],
  ['an empty text', 'ES256', ''],
  ['undefined', 'ES256', undefined],
  ['a number', 'ES256', 7],
];
const LATER: readonly (readonly [string, Alg, unknown])[] = [
  ['a PEM of another curve', 'ES256', p384.export({ type: 'pkcs8', format: 'pem' })],
  ['a PEM of another kind', 'ES256', ed25519.export({ type: 'pkcs8', format: 'pem' })],
  ['a PEM of 1,024 bits', 'RS256', small.export({ type: 'pkcs8', format: 'pem' })],
  ['a truncated PEM', 'ES256', pem.replace(/\n[^\n]*\n(?=-)/, '\n')],
  ['a PEM without a key', 'ES256', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
  ['an invalid JWK', 'ES256', { ...FIRST.privateKey, d: 'x' }],
  ['a JWK for another use', 'ES256', { ...FIRST.privateKey, key_ops: ['verify'] }],
];

/** The same key in every form, by the name of the form. */
async function formsOf({ alg, privateKey }: Pair) {
  const keyObject = createPrivateKey({ key: privateKey as JsonWebKey, format: 'jwk' });
  const pemText = String(keyObject.export({ type: 'pkcs8', format: 'pem' }));
  const imported = (extractable: boolean) =>
    importJWK(privateKey, alg, { extractable }) as Promise<CryptoKey>;
  return {
    jwk: privateKey,
    keyObject,
    pem: pemText,
    'pem with other spaces': `\n ${pemText.replaceAll('\n', '\r\n')} `,
    cryptoKey: await imported(true),
    'cryptoKey that is not extractable': await imported(false),
  };
}

describe('a signing key', () => {
  // Regression: only JWKs and extractable CryptoKeys worked, but neither jose's default nor files.
  it.each(ALGS)('signs with %s in every form, and publishes only its public part', async (alg) => {
    const pair = await makePair(alg);
    const publicKey = await importJWK(pair.publicKey, alg);
    for (const [form, privateKey] of Object.entries(await formsOf(pair))) {
      const otherKeys = [FIRST.publicKey];
      const issuer = createTokenIssuer({ ...signing, alg, kid: alg, privateKey, otherKeys });
      const { accessToken } = await issuer.exchange(principal);
      const currentDate = new Date(START);
      const { payload } = await jwtVerify(accessToken, publicKey, { currentDate });
      expect([form, payload.sub]).toEqual([form, KEY_ID]);
      if (form === 'cryptoKey that is not extractable') {
        await expect(issuer.jwks()).rejects.toThrow(/^jwks: the private key is not extractable/);
      } else {
        const jwks = { keys: [pair.publicKey, FIRST.publicKey] };
        expect([form, await issuer.jwks()]).toEqual([form, jwks]);
      }
    }
  });

  it('may be non-extractable, as by default in jose, if you publish the public part', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const issuer = createTokenIssuer({ ...signing, alg: 'ES256', kid: 'first', privateKey });
    const error = await thrown(() => issuer.jwks());
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toContain(
      "{ keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] }",
    );
    const published = { ...(await exportJWK(publicKey)), kid: 'first', alg: 'ES256', use: 'sig' };
    const jwks = { keys: [published] };
    const { accessToken } = await issuer.exchange(principal);
    const verifier = createTokenVerifier({ ...signing, jwks, algorithms: ['ES256'], catalog });
    await expectAccepted(verifier, accessToken);
  });

  const kind = String.raw`\w+ \([\w ,;-]+\)`;
  const forms = String.raw`a JWK object, a CryptoKey, [\w ,#()]+ breaks`;
  const instead = new RegExp(`^privateKey: pass a private key for ${kind}: ${forms}$`);

  it.each(REFUSED)(
    'that is %s is rejected at start-up without quoting it',
    (_what, alg, privateKey) => {
      expect(() => withKey(alg, privateKey)).toThrow(TypeError);
      expect(() => withKey(alg, privateKey)).toThrow(instead);
    },
  );

  it.each(LATER)(
    'that is %s is rejected on first use with the same message',
    async (_what, alg, privateKey) => {
      const issuer = withKey(alg, privateKey);
      const uses = [
        () => issuer.exchange(principal),
        () => issuer.jwks(),
        () => issuer.exchange(principal),
      ];
      for (const use of uses) {
        const error = await thrown(use);
        if (!(error instanceof TypeError)) throw error;
        expect(error.message).toMatch(instead);
        // No cause, because it might quote the key.
        expect(Reflect.ownKeys(error).sort()).toEqual(['message', 'stack']);
      }
    },
  );
});

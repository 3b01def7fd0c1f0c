/**
 * The subject of the targets: a keyring with a live key, an ended one, and a token of the first.
 */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createKeyring, defineScopes } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import { timed } from './judge.ts';

export const START = 1_700_000_000_000;
export const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';
export const AUTHORITY = { entityId: OWN, entities: [OTHER], scopes: 'all' } as const;

export const catalog = defineScopes(
  {
    threats: { read: 'Read.', write: 'Write.' },
    constructor: { read: 'Read.' },
    users: { read: 'Read.', delete: 'Delete.' },
  },
  { reserved: ['users:*', '*:delete'] },
);

/** The options of every keyring here. */
export const base = {
  prefix: 'acme',
  catalog,
  peppers: [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }],
  now: () => START,
};

// ── Tokens ───────────────────────────────────────────────────────────────────────────────────────

export const issuer = 'https://acme.example';
export const audience = 'https://api.acme.example';

const pair = generateKeyPairSync('ed25519');
const jwkOf = (half: KeyObject) => ({ ...half.export({ format: 'jwk' }) });

export const jwk = { ...jwkOf(pair.publicKey), kid: 'k' };

/** Returns the signature of the issuer's key. */
export function signatureOf(text: string): string {
  return sign(null, Buffer.from(text), pair.privateKey).toString('base64url');
}

export const verifier = timed(
  createTokenVerifier({
    issuer,
    audience,
    now: base.now,
    catalog,
    jwks: { keys: [jwk] },
    algorithms: ['EdDSA'],
  }),
);

const tokenIssuer = createTokenIssuer({
  issuer,
  audience,
  now: base.now,
  privateKey: jwkOf(pair.privateKey),
  alg: 'EdDSA',
  kid: 'k',
});

// ── Keys ─────────────────────────────────────────────────────────────────────────────────────────

export const store = memoryStore();
export const ring = timed(createKeyring({ ...base, store, tokens: verifier }));
export type Ring = typeof ring;

export const INPUT = {
  name: 'live',
  expiresAt: new Date(START + 1e9),
  accessibleEntities: [OTHER],
  metadata: { a: 'b' },
};

const live = await ring.issue({ ...INPUT, scopes: ['threats:*'] }, AUTHORITY);
const ended = await ring.issue({ ...INPUT, scopes: ['threats:read'] }, AUTHORITY);
await ring.revoke(ended.info.keyId, AUTHORITY);
const exchanged = await tokenIssuer.exchange(await ring.verify(live.key));

export const LIVE = live.key;
export const LIVE_ID = live.info.keyId;
export const ENDED = ended.key;
export const LIVE_TOKEN = exchanged.accessToken;

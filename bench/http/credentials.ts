/** The keys and tokens that the servers know: by hand, ours, and JWTs. */
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { SignJWT } from 'jose';
import { createKeyring, definePolicy, type Keyring, type Policy } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type Caller, check, digest, issue, type Keys } from '../by-hand.ts';
import { catalog, ENTITY, EXPIRES, type Headers, NEEDED, PREFIX, SCOPES } from '../keys.ts';
import type { Credentials } from './route.ts';

const COUNT = 1000;

export interface PlainKeys {
  readonly entityOf: (headers: IncomingHttpHeaders) => string;
  readonly find: (key: string) => Caller | undefined;
  readonly tokens: readonly string[];
  readonly credentials: Credentials;
}

export function plainKeys(): PlainKeys {
  const keys: Keys = new Map();
  const known = new Set(catalog.all);
  const make = (scopes: readonly string[]) =>
    issue(keys, known, { name: 'bench', entity: ENTITY, expiresAt: EXPIRES, scopes }).key;
  const tokens = Array.from({ length: COUNT }, () => make(SCOPES));
  const underScoped = make(['decoys:read']);
  const find = (key: string): Caller | undefined => keys.get(digest(key));
  const entityOf = (headers: IncomingHttpHeaders) =>
    check(keys, headers as Partial<Headers>, NEEDED).entity;
  return { entityOf, find, tokens, credentials: { tokens, underScoped, guarded: true } };
}

/** Sent to servers that do not look, too: a header costs something to read. */
export function unread(): Credentials {
  return { tokens: plainKeys().tokens, guarded: false };
}

export interface Guarding {
  readonly policy: Policy<'listThreats'>;
  readonly keyring: Keyring<typeof catalog>;
  readonly realm: string;
}

export interface OurKeys {
  readonly guarding: Guarding;
  readonly credentials: Credentials;
}

export async function ourKeys(): Promise<OurKeys> {
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  const keyring = createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers: 'none' });
  async function make(scopes: typeof SCOPES): Promise<string> {
    const input = { name: 'bench', scopes, expiresAt: new Date(EXPIRES) };
    const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
    return key;
  }
  const tokens = await Promise.all(Array.from({ length: COUNT }, () => make(SCOPES)));
  return {
    guarding: { policy, keyring, realm: 'bench' },
    credentials: { tokens, underScoped: await make(['decoys:read']), guarded: true },
  };
}

export interface Jwts {
  readonly options: object;
  readonly credentials: Credentials;
}

export async function jwts(): Promise<Jwts> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const issuer = 'https://issuer.example/';
  const audience = 'https://api.example';
  const make = (scope: string, subject: string) =>
    new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  const tokens = await Promise.all(
    Array.from({ length: COUNT }, (_, i) => make(SCOPES.join(' '), `client ${i}`)),
  );
  const jwk = publicKey.export({ format: 'jwk' });
  return {
    options: { issuer, audience, publicKey: jwk },
    credentials: { tokens, underScoped: await make('decoys:read', 'client'), guarded: true },
  };
}

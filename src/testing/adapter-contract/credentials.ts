/**
 * Tests that an adapter lets in a key in a single `Authorization: Bearer` line, and nothing else.
 */
import type { AccessError } from '../../core/errors.js';
import { hasScopes, type Principal } from '../../core/principal.js';
import { check } from '../assertions.js';
import type { AdapterFixture } from './contract-client.js';
import { MALFORMED, MISSING } from './denials.js';
import { bearer, type HeaderLine, headerValues } from './http-exchange.js';
import { assertDenied, assertLetIn } from './request-assertions.js';
import { FOREIGN, OTHER, OWN } from './service.js';

const BASIC: HeaderLine = ['Authorization', 'Basic YTpi'];

/**
 * Sends keys that may use the routes. The handler must run once, with the keyring's own principal
 * and the entity that the guard checked.
 *
 * Catches: a copied or missing principal, and case-sensitive comparison of the scheme or the header
 * name.
 */
export async function letsKeysIn(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read', 'reports:write']);
  const own = { keyId, entityId: OWN };
  const { principal } = await assertLetIn(fixture, own, {
    what: 'a key with the scope',
    path: '/reports',
    lines: [bearer(key)],
  });
  check(
    isGenuine(principal),
    'the handler must get the principal that admit returned: hasScopes rejects copies',
  );
  await assertLetIn(fixture, own, {
    what: 'a scheme in lower case',
    path: '/reports',
    lines: [['authorization', `bearer ${key}`]],
  });
  const bare = await fixture.issue([]);
  const bareCaller = { keyId: bare.keyId, entityId: OWN };
  await assertLetIn(fixture, bareCaller, {
    what: 'a key without scopes, for an operation that needs none',
    path: '/whoami',
    lines: [bearer(bare.key)],
  });
}

/** Whether guards accept the principal. They reject copies. */
function isGenuine(principal: Principal): boolean {
  try {
    return hasScopes(principal, 'reports:read', 'reports:write');
  } catch {
    return false;
  }
}

/**
 * Reads the answers to a key. They must forbid caching, or the next caller could get this one's
 * data.
 *
 * Catches: sending no-store with denials only.
 */
export async function storesNoAnswer(fixture: AdapterFixture): Promise<void> {
  const { key } = await fixture.issue(['reports:read']);
  for (const path of ['/whoami', '/reports']) {
    const answer = await fixture.send('GET', path, bearer(key));
    const cache = headerValues(answer, 'Cache-Control').join(', ');
    const forbids = /(?:^|,)[ \t]*no-store[ \t]*(?:,|$)/i.test(cache);
    const wanted = `GET ${path} with a key: the answer must have Cache-Control: no-store`;
    check(forbids, `${wanted}, not ${JSON.stringify(cache)}`);
  }
}

/**
 * Sends no credential. Status, headers and body must match `toResponse` byte for byte.
 *
 * Catches: custom answers, a charset added to the content type, and challenges quoted by hand.
 */
export async function deniesWithoutCredential(fixture: AdapterFixture): Promise<void> {
  await fixture.issue(['reports:read']);
  for (const path of ['/whoami', '/reports', `/reports?entity=${OWN}`]) {
    await assertDenied(fixture, MISSING, { what: `GET ${path}`, path, lines: [] });
  }
}

/**
 * Sends a valid key under other schemes, without a scheme, and next to a second credential. The
 * denial must say whether the credential is missing or malformed.
 *
 * Catches: taking anything after the first space as the key, and parsing headers by hand.
 */
export async function deniesOtherCredentials(fixture: AdapterFixture): Promise<void> {
  const { key } = await fixture.issue(['reports:read']);
  const other = await fixture.issue(['reports:read']);
  const deny = (value: string, error: AccessError, what: string) => {
    const lines: HeaderLine[] = [['Authorization', value]];
    return assertDenied(fixture, error, { what, path: '/reports', lines });
  };
  for (const scheme of ['Basic', 'Digest', 'Token', 'ApiKey', 'Bearers']) {
    await deny(`${scheme} ${key}`, MISSING, `the scheme ${scheme}`);
  }
  await deny(`Basic ${btoa(`${key}:`)}`, MISSING, 'a key as the user name of Basic');
  await deny(key, MISSING, 'a key without a scheme');
  await deny('Bearer', MALFORMED, 'a bare Bearer');
  await deny(`Bearer ${key} ${key}`, MALFORMED, 'two keys in one credential');
  await deny(`Bearer ${key}, Bearer ${other.key}`, MALFORMED, 'two credentials in one line');
  await deny(`Basic YTpi, Bearer ${key}`, MALFORMED, 'two schemes in one line');
}

/**
 * Sends a valid key followed by 16 KiB. The adapter must not shorten it to the key.
 *
 * Catches: truncating a credential to fit.
 */
export async function deniesLongCredentials(fixture: AdapterFixture): Promise<void> {
  const { asked, overHttp } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  const line = bearer(key + 'x'.repeat(16_384));
  // Many servers, Node's included, reject a line of this length themselves (RFC 6585 §5), so the
  // adapter never gets the request.
  asked.length = 0;
  const { status } = await fixture.send('GET', '/reports', line);
  if (overHttp && asked.length === 0 && (status === 431 || status === 400)) return;
  await assertDenied(fixture, MALFORMED, {
    what: 'a credential of more than 16 KiB',
    path: '/reports',
    lines: [line],
  });
}

/**
 * Sends two `Authorization` lines: the same key twice, two keys, and a key with something else, in
 * either order. The adapter must deny the request, because it cannot know which line counts.
 *
 * Catches: passing on `req.headers`, where Node keeps only the first line; using the last line.
 */
export async function deniesTwoLines(fixture: AdapterFixture): Promise<void> {
  const first = await fixture.issue(['reports:read']);
  const second = await fixture.issue(['reports:read']);
  const one = bearer(first.key);
  const other = bearer(second.key);
  const deny = (what: string, ...lines: readonly HeaderLine[]) =>
    assertDenied(fixture, MALFORMED, {
      what: `two Authorization lines, ${what}`,
      path: '/reports',
      lines,
    });
  await deny('one key twice', one, one);
  await deny('two keys', one, other);
  await deny('two keys in the other order', other, one);
  await deny('Basic and a key', BASIC, one);
  await deny('a key and Basic', one, BASIC);
}

/** Headers that other services read keys from. */
const OTHER_HEADERS = [
  'X-API-Key',
  'Api-Key',
  'X-Auth-Token',
  'X-Forwarded-Authorization',
  'Proxy-Authorization',
];

/**
 * Sends a valid key in the query, in cookies and in headers that other services use, alone and next
 * to another scheme. The adapter must not read it there.
 *
 * Catches: reading keys from places that end up in logs and histories, or that a browser sends
 * automatically.
 */
export async function readsOneHeader(fixture: AdapterFixture): Promise<void> {
  const { key } = await fixture.issue(['reports:read']);
  const deny = (what: string, path: string, ...lines: readonly HeaderLine[]) =>
    assertDenied(fixture, MISSING, { what, path, lines });
  for (const name of ['access_token', 'api_key', 'apikey', 'key', 'token', 'authorization']) {
    await deny(`a key in the query as ${name}`, `/reports?${name}=${key}`);
  }
  for (const name of OTHER_HEADERS) {
    for (const value of [key, `Bearer ${key}`]) {
      await deny(`a key in ${name}`, '/reports', [name, value]);
      await deny(`a key in ${name} next to Basic`, '/reports', BASIC, [name, value]);
    }
  }
  for (const name of ['access_token', 'authorization', 'key', 'token']) {
    await deny(`a key in the cookie ${name}`, '/reports', ['Cookie', `${name}=${key}`]);
  }
}

/** Headers, without their `X-`, in which a proxy, a test or an attacker names a caller. */
const CALLER_HEADERS = [
  'User',
  'User-Id',
  'Key-Id',
  'Entity',
  'Entity-Uuid',
  'Organization',
  'Tenant',
  'Tenant-Id',
  'Internal',
];

/**
 * Sends headers that name a caller, an entity or scopes. Without a key they must let nobody in;
 * with a key they must change nothing.
 *
 * Catches: trusting a caller or an entity because an unauthenticated header names it.
 */
export async function believesNoOther(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read']);
  const other = await fixture.issue(['reports:read'], OTHER);
  const own = { keyId, entityId: OWN };
  for (const value of [other.keyId, OTHER, FOREIGN, '1', 'true']) {
    const forged: HeaderLine[] = [
      ...CALLER_HEADERS.map((name): HeaderLine => [`X-${name}`, value]),
      ['X-Scopes', 'reports:read'],
      ['X-Forwarded-User', value],
      ['X-Authenticated', 'true'],
    ];
    await assertDenied(fixture, MISSING, {
      what: `headers that name a caller as ${value}`,
      path: '/reports',
      lines: forged,
    });
    await assertLetIn(fixture, own, {
      what: `headers that name another caller, ${value}`,
      path: '/reports',
      lines: [bearer(key), ...forged],
    });
  }
}

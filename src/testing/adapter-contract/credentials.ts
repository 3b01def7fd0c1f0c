/**
 * Tests of whom an adapter lets in: a key in one `Authorization: Bearer` line, and nothing else.
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
 * Sends keys that may use the routes. The handler must run once, with the principal that the
 * keyring made and the entity that was checked.
 *
 * Catches: a copied or missing principal, a scheme or a header name that is compared
 * case-sensitively.
 */
export async function letsKeysIn(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read', 'reports:write']);
  const own = { keyId, entityUuid: OWN };
  const { principal } = await assertLetIn(fixture, own, {
    what: 'a key that holds the scope',
    path: '/reports',
    lines: [bearer(key)],
  });
  check(
    isGenuine(principal),
    'the handler must get the principal itself, which guards such as hasScopes accept, not a copy',
  );
  await assertLetIn(fixture, own, {
    what: 'a scheme in lower case',
    path: '/reports',
    lines: [['authorization', `bearer ${key}`]],
  });
  const bare = await fixture.issue([]);
  const bareCaller = { keyId: bare.keyId, entityUuid: OWN };
  await assertLetIn(fixture, bareCaller, {
    what: 'a key without scopes where none is needed',
    path: '/whoami',
    lines: [bearer(bare.key)],
  });
}

/** Whether guards accept it. They accept no copy. */
function isGenuine(principal: Principal): boolean {
  try {
    return hasScopes(principal, 'reports:read', 'reports:write');
  } catch {
    return false;
  }
}

/**
 * Looks at the answers that a key gets. They must say that no cache may keep them: the next caller
 * would get what this one may see.
 *
 * Catches: no-store only on denials.
 */
export async function storesNoAnswer(fixture: AdapterFixture): Promise<void> {
  const { key } = await fixture.issue(['reports:read']);
  for (const path of ['/whoami', '/reports']) {
    const answer = await fixture.send('GET', path, bearer(key));
    const cache = headerValues(answer, 'Cache-Control').join(', ');
    const forbids = /(?:^|,)[ \t]*no-store[ \t]*(?:,|$)/i.test(cache);
    const wanted = 'the answer to a key must carry Cache-Control: no-store';
    check(forbids, `${wanted}, not ${JSON.stringify(cache)}`);
  }
}

/**
 * Sends no credential. Status, headers and body must be what `toResponse` makes of the denial,
 * byte for byte.
 *
 * Catches: custom answers instead of `toResponse`'s, a charset added to the type, a challenge
 * quoted by hand.
 */
export async function deniesWithoutCredential(fixture: AdapterFixture): Promise<void> {
  await fixture.issue(['reports:read']);
  for (const path of ['/whoami', '/reports', `/reports?entity=${OWN}`]) {
    await assertDenied(fixture, MISSING, { what: `GET ${path}`, path, lines: [] });
  }
}

/**
 * Sends a good key in other schemes, without a scheme and beside a second credential. None of
 * these is a key in `Authorization: Bearer`, and the denial must say which kind of mistake it is.
 *
 * Catches: adapters that take anything after the first space for the key, or parse headers by hand.
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
  await deny(`Basic ${btoa(`${key}:`)}`, MISSING, 'a key as the name of a user');
  await deny(key, MISSING, 'a key without a scheme');
  await deny('Bearer', MALFORMED, 'a bare Bearer');
  await deny(`Bearer ${key} ${key}`, MALFORMED, 'two keys in one credential');
  await deny(`Bearer ${key}, Bearer ${other.key}`, MALFORMED, 'two credentials in one line');
  await deny(`Basic YTpi, Bearer ${key}`, MALFORMED, 'two schemes in one line');
}

/**
 * Sends a good key with 16 KiB behind it. It must not be shortened to the key.
 *
 * Catches: a credential truncated to fit.
 */
export async function deniesLongCredentials(fixture: AdapterFixture): Promise<void> {
  const { asked, overHttp } = fixture;
  const { key } = await fixture.issue(['reports:read']);
  const line = bearer(key + 'x'.repeat(16_384));
  // Many servers, including Node's, refuse a line of this length (RFC 6585 §5): then there is no
  // request to deny.
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
 * Sends two `Authorization` lines: the same key twice, two keys, a key and something else, in
 * either order. The request must be denied, because nobody can say which of them counts.
 *
 * Catches: `req.headers` passed on, in which Node keeps only the first line; using the last line.
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
  await deny('two keys, the other way round', other, one);
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
 * Sends a good key in the query, in cookies and in the headers of other services, by itself and
 * beside another scheme. It must not be read there.
 *
 * Catches: keys read from places that end up in logs and histories, or that a browser sends
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
      await deny(`a key in ${name} beside Basic`, '/reports', BASIC, [name, value]);
    }
  }
  for (const name of ['access_token', 'authorization', 'key', 'token']) {
    await deny(`a key in the cookie ${name}`, '/reports', ['Cookie', `${name}=${key}`]);
  }
}

/** Headers by which a proxy, a test or an attacker names a caller, after `X-`. */
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
 * Sends headers that name a caller, an entity or scopes. Without a key they must let nobody in,
 * and beside a key they must change nothing.
 *
 * Catches: trusting a caller that a header names, whoever has written it, and entities that nobody
 * checks.
 */
export async function believesNoOther(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read']);
  const other = await fixture.issue(['reports:read'], OTHER);
  const own = { keyId, entityUuid: OWN };
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

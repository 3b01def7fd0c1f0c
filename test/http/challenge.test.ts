/** Responses to errors: every code, the challenge read back by another parser, quoting. */
import fc from 'fast-check';
import {
  AccessError,
  type AccessErrorCode,
  type ChallengeOptions,
  createKeyring,
  type DenialReason,
  defineScopes,
  generateKey,
  InputError,
  isAccessError,
  StoreError,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { thrown, untyped } from '../support/keyring.ts';
import { uuid } from '../support/vectors.ts';

/**
 * Reads a challenge by RFC 9110 §11.6.1, one parameter after the other. It shares no code with the
 * writer. It throws on anything that is not one scheme with parameters, each name once.
 */
function readChallenge(value: string): {
  readonly scheme: string;
  readonly params: ReadonlyMap<string, string>;
} {
  const [, scheme = '', list = ''] = /^([!#$%&'*+\-.^_`|~\w]+) (.+)$/s.exec(value) ?? [];
  const params = new Map<string, string>();
  let rest = list;
  while (rest !== '') {
    const found = /^([\w-]+)="((?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*)"(?:, |$)/.exec(
      rest,
    );
    if (found === null || params.has(found[1] as string))
      throw new Error(`no challenge: ${JSON.stringify(value)}`);
    params.set(found[1] as string, (found[2] as string).replace(/\\(.)/g, '$1'));
    rest = rest.slice(found[0].length);
  }
  if (scheme === '' || params.size === 0) throw new Error(`no challenge: ${JSON.stringify(value)}`);
  return { scheme, params };
}

const KEY = generateKey({ prefix: 'acme' });
const METADATA = 'https://api.example/.well-known/oauth-protected-resource';
const options = { realm: 'acme', resourceMetadata: METADATA };
const scopes = ['threats:read', 'users:write'];
const own = { realm: 'acme' };
const other = { resource_metadata: METADATA };

interface Row {
  readonly code: AccessErrorCode;
  readonly reason: DenialReason;
  readonly status: number;
  readonly title: string;
  /** The challenge's parameters, or null without a challenge. */
  readonly params: Readonly<Record<string, string>> | null;
  /** The members of the body, without status, title and detail. */
  readonly members?: Readonly<Record<string, string>>;
  readonly details?: ConstructorParameters<typeof AccessError>[2];
}
const error = (code: AccessErrorCode) => ({ error: code });
const scope = { scope: scopes.join(' ') };
const TABLE: readonly Row[] = [
  // RFC 6750 §3.1: no error code if the request had no credential.
  {
    code: 'missing_credentials',
    reason: 'no_header',
    status: 401,
    title: 'Unauthorized',
    params: own,
  },
  {
    code: 'invalid_request',
    reason: 'malformed_header',
    status: 400,
    title: 'Bad Request',
    params: { ...own, ...error('invalid_request') },
    members: error('invalid_request'),
  },
  {
    code: 'invalid_token',
    reason: 'unknown_key',
    status: 401,
    title: 'Unauthorized',
    params: { ...own, ...error('invalid_token') },
    members: error('invalid_token'),
  },
  {
    code: 'insufficient_scope',
    reason: 'scope_missing',
    status: 403,
    title: 'Forbidden',
    params: { ...own, ...error('insufficient_scope'), ...scope },
    members: { ...error('insufficient_scope'), ...scope },
    details: { requiredScopes: scopes },
  },
  {
    code: 'entity_forbidden',
    reason: 'entity_not_accessible',
    status: 403,
    title: 'Forbidden',
    params: null,
    members: error('entity_forbidden'),
  },
  {
    code: 'ceiling_exceeded',
    reason: 'scopes_beyond_authority',
    status: 403,
    title: 'Forbidden',
    params: null,
    members: error('ceiling_exceeded'),
    details: { excess: ['users:delete'] },
  },
  {
    code: 'not_found',
    reason: 'no_such_key',
    status: 404,
    title: 'Not Found',
    params: null,
    members: error('not_found'),
  },
  {
    code: 'conflict',
    reason: 'already_ended',
    status: 409,
    title: 'Conflict',
    params: null,
    members: error('conflict'),
  },
];

describe('toResponse', () => {
  it('is tested with every code', () => {
    const all: Readonly<Record<AccessErrorCode, true>> = {
      missing_credentials: true,
      invalid_request: true,
      invalid_token: true,
      insufficient_scope: true,
      entity_forbidden: true,
      ceiling_exceeded: true,
      not_found: true,
      conflict: true,
    };
    expect(TABLE.map(({ code }) => code).sort()).toEqual(Object.keys(all).sort());
  });

  it.each(TABLE)(
    'answers $code with its status, challenge and problem',
    ({ code, reason, status, title, params, members = {}, details = {} }) => {
      const denial = new AccessError(code, reason, { ...details, keyId: uuid(1) });
      for (const given of [options, { realm: 'acme' }]) {
        const response = toResponse(denial, given);
        expect(response.status).toBe(status);
        const { 'WWW-Authenticate': challenge, ...headers } = response.headers;
        expect(headers).toEqual({
          'Content-Type': 'application/problem+json',
          'Cache-Control': 'no-store',
        });
        expect(JSON.parse(response.body)).toEqual({
          type: 'about:blank',
          title,
          status,
          detail: expect.any(String) as unknown,
          ...members,
        });
        if (params === null) expect(challenge).toBeUndefined();
        else {
          const read = readChallenge(challenge ?? '');
          expect(read.scheme).toBe('Bearer');
          const extra = given === options ? other : {};
          expect(Object.fromEntries(read.params)).toEqual({ ...params, ...extra });
          expect([...read.params.keys()][0]).toBe('realm');
        }
        // The reason, the key id and the excess never leave the server.
        const sent = JSON.stringify(response);
        for (const hidden of [reason, uuid(1), 'users:delete']) expect(sent).not.toContain(hidden);
      }
    },
  );

  it('answers a broken store with 503 and Retry-After, without the driver’s text', () => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.7');
    const { status, headers, body } = toResponse(
      new StoreError('store.findByDigest failed', cause),
      options,
    );
    expect(status).toBe(503);
    expect(headers).toEqual({
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'Retry-After': '1',
    });
    expect(JSON.parse(body)).toMatchObject({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
    });
    expect(body).not.toMatch(/store|10\.0\.0\.7|error/);
  });

  it('answers anything else with 500 and no details', () => {
    const pretenders = [
      { code: 'invalid_token' },
      { code: 'invalid_token', name: 'AccessError', reason: 'revoked' },
      Object.assign(new Error('secret'), { code: 'not_found' }),
      Object.assign(new TypeError('secret'), { [Symbol.for('keyscope.AccessError')]: 'true' }),
      Object.assign(new TypeError('secret'), { name: 'InputError', field: 'secret' }),
      new TypeError('authority.entityId: pass a UUID in lower case, not "secret"'),
      { [Symbol.for('keyscope.AccessError')]: true, code: 'toString' },
      { [Symbol.for('keyscope.AccessError')]: true, code: '__proto__' },
      { [Symbol.for('keyscope.AccessError')]: true },
    ];
    for (const thrown of [
      ...pretenders,
      new Error('secret'),
      'secret',
      undefined,
      null,
      0,
      () => 'secret',
      [KEY],
      KEY,
    ]) {
      expect(isAccessError(thrown)).toBe(false);
      const { status, headers, body } = toResponse(thrown, options);
      expect(status).toBe(500);
      expect(headers).toEqual({
        'Content-Type': 'application/problem+json',
        'Cache-Control': 'no-store',
      });
      const names = Object.keys(JSON.parse(body) as object);
      expect(names.sort()).toEqual(['detail', 'status', 'title', 'type']);
      expect(body).not.toContain('secret');
      expect(body).not.toContain(KEY.slice(5));
    }
  });

  it('gives the same bytes for every reason of invalid_token', async () => {
    const reasons: readonly DenialReason[] = [
      'malformed_key',
      'wrong_checksum',
      'unknown_key',
      'unknown_format',
      'orphaned',
      'record_tampered',
      'revoked',
      'suspended',
      'retired',
      'expired',
      'token_refused',
    ];
    const denials: unknown[] = reasons.map(
      (reason, index) => new AccessError('invalid_token', reason, { keyId: uuid(index) }),
    );
    const catalog = defineScopes({ a: { b: 'A sentence.' } });
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
    });
    const authority = { entityId: uuid(1), scopes: 'all' } as const;
    const { key, info } = await keyring.issue(
      { name: 'ci', scopes: [], expiresAt: 'never' },
      authority,
    );
    await keyring.revoke(info.keyId, authority);
    for (const bad of [key, KEY, `${KEY}0`, ''])
      denials.push(await thrown(() => keyring.verify(bad)));
    const bytes = denials.map((denial) => JSON.stringify(toResponse(denial, options)));
    expect(new Set(bytes).size).toBe(1);
  });

  // A quoted key, an entity in upper case and a repeated one had the same sentence, which fitted
  // none of them.
  it('has a specific sentence for each mistake in a malformed request', () => {
    const reasons = ['malformed_header', 'quoted_key', 'malformed_entity', 'repeated_entity'];
    const answers = reasons.map((reason) => {
      const error = new AccessError('invalid_request', reason as DenialReason);
      const { body, ...rest } = toResponse(error, options);
      const { detail, ...members } = JSON.parse(body) as { readonly detail: string };
      expect(error.message).toBe(detail);
      return { detail, rest, members };
    });
    expect(answers.map(({ detail }) => detail)).toEqual([
      'Send one Authorization header: Bearer, a space, one key, nothing else.',
      'Send the key without quotation marks.',
      'Write the entity as a UUID in lower case.',
      'Name one entity, once.',
    ]);
    const [first, ...others] = answers;
    for (const { rest, members } of others)
      expect({ rest, members }).toEqual({ rest: first?.rest, members: first?.members });
  });

  it('gives the reason of no other denial', () => {
    const plain = toResponse(new AccessError('invalid_token', 'unknown_key'), options);
    expect(toResponse(new AccessError('invalid_token', 'quoted_key'), options)).toEqual(plain);
    const odd = new AccessError('invalid_request', untyped('constructor'));
    expect(JSON.parse(toResponse(odd, options).body)).toMatchObject({
      detail: 'Send one bearer credential and at most one entity id.',
    });
  });

  it('recognises an error of another copy of the package by its brand', () => {
    const foreign = {
      [Symbol.for('keyscope.AccessError')]: true,
      code: 'not_found',
      reason: 'no_such_key',
    };
    expect(toResponse(foreign, options)).toEqual(
      toResponse(new AccessError('not_found', 'no_such_key'), options),
    );
  });

  it('answers an error of another version of the package', () => {
    const error = new AccessError('insufficient_scope', 'scope_missing', {
      requiredScopes: untyped('a:b'),
    });
    expect(toResponse(error, { realm: 'r' }).status).toBe(403);
  });

  it('sends the scopes of an error of another copy only if all are valid', () => {
    const requiredScopes = ['threats:read', 'a" b'];
    const error = new AccessError('insufficient_scope', 'scope_missing', { requiredScopes });
    expect(toResponse(error, { realm: 'r' }).headers['WWW-Authenticate']).toBe(
      'Bearer realm="r", error="insufficient_scope"',
    );
  });

  it('shares nothing mutable between calls', () => {
    const denial = new AccessError('not_found', 'no_such_key');
    const first = toResponse(denial, options);
    (first.headers as Record<string, string>)['X-Changed'] = 'yes';
    expect(toResponse(denial, options).headers).not.toHaveProperty('X-Changed');
  });
});

describe('the realm and the URL in a challenge', () => {
  const denial = new AccessError('insufficient_scope', 'scope_missing', { requiredScopes: scopes });
  const challenge = (given: ChallengeOptions) =>
    toResponse(denial, given).headers['WWW-Authenticate'] ?? '';

  it.each([
    ['a quote', 'the "acme" API', 'realm="the \\"acme\\" API"'],
    ['a backslash', 'a\\b', 'realm="a\\\\b"'],
    ['both', '\\"', 'realm="\\\\\\""'],
    ['a trailing backslash', 'a\\', 'realm="a\\\\"'],
    ['a comma and an equals sign', 'a, error="x"', 'realm="a, error=\\"x\\""'],
    ['the empty text', '', 'realm=""'],
  ])('are quoted with %s', (_, realm, written) => {
    expect(challenge({ realm })).toContain(`Bearer ${written}, error=`);
    expect(readChallenge(challenge({ realm })).params.get('realm')).toBe(realm);
  });

  it('are read back unchanged, without an additional parameter', () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(printable, printable, (realm, resourceMetadata) => {
        const value = challenge({ realm, resourceMetadata });
        expect(value).toMatch(/^[ -~]*$/);
        const { params } = readChallenge(value);
        const wanted = {
          realm,
          error: denial.code,
          scope: scopes.join(' '),
          resource_metadata: resourceMetadata,
        };
        expect(Object.fromEntries(params)).toEqual(wanted);
      }),
    );
  });

  it('reach a client unchanged through Headers', () => {
    const { headers } = toResponse(denial, { realm: 'a "b" \\ c' });
    const sent = new Headers(headers).get('www-authenticate') ?? '';
    expect(readChallenge(sent).params.get('realm')).toBe('a "b" \\ c');
  });

  it('are refused with control characters or beyond ASCII, in every position', () => {
    const odd = [
      '\r',
      '\n',
      '\r\nX: y',
      '\0',
      '\t',
      '\u001b',
      '\u007f',
      '\u0080',
      'é',
      '\u212a',
      '\u2028',
      '\ud800',
    ];
    for (const bad of odd) {
      for (const text of [bad, `${bad}acme`, `ac${bad}me`, `acme${bad}`]) {
        expect(complaint(() => toResponse(denial, { realm: text }))).toMatch(
          /^realm: pass printable ASCII/,
        );
        const given = { realm: 'acme', resourceMetadata: text };
        expect(complaint(() => toResponse(denial, given))).toMatch(
          /^resource_?[mM]etadata: pass printable ASCII/,
        );
      }
    }
  });

  it('are checked at the first denial of any kind', () => {
    for (const { code, reason } of TABLE) {
      complaint(() => toResponse(new AccessError(code, reason), { realm: 'a\r\nb' }));
    }
    complaint(() => toResponse(new InputError('name', 'x'), { realm: 'a\r\nb' }));
    complaint(() => toResponse(new StoreError('broken'), { realm: 'a\r\nb' }));
    complaint(() => toResponse(undefined, { realm: 'a\r\nb' }));
  });

  it('may have a million characters', () => {
    const realm = '"\\'.repeat(500_000);
    const value = challenge({ realm });
    expect(value.indexOf('", error=') - 'Bearer realm="'.length).toBe(2 * realm.length);
  });
});

describe('the options of toResponse', () => {
  const denial = new AccessError('not_found', 'no_such_key');

  it.each<[string, unknown, RegExp]>([
    ['missing', undefined, /^toResponse: pass an object/],
    ['null', null, /^toResponse: pass an object/],
    ['a text', 'acme', /^toResponse: pass an object/],
    ['a list', ['acme'], /^toResponse: pass an object/],
    ['empty', {}, /^realm: pass printable ASCII/],
    ['without a realm', { resourceMetadata: METADATA }, /^realm: pass printable ASCII/],
    ['of a realm that is null', { realm: null }, /^realm: pass printable ASCII/],
    ['of a realm that is a number', { realm: 1 }, /^realm: pass printable ASCII/],
    ['of a realm that is a list', { realm: ['acme'] }, /^realm: pass printable ASCII/],
    [
      'of a URL that is null',
      { realm: 'acme', resourceMetadata: null },
      /^resource_?[mM]etadata: pass/,
    ],
    [
      'of a URL object',
      { realm: 'acme', resourceMetadata: new URL(METADATA) },
      /^resource_?[mM]etadata: pass/,
    ],
    ['of an unknown field', { realm: 'acme', scope: 'a' }, /^toResponse: unknown field "scope"/],
  ])('are refused if they are %s', (_, given, message) => {
    expect(complaint(() => toResponse(denial, given as ChallengeOptions))).toMatch(message);
  });

  it('are not quoted if a key was passed as the realm', () => {
    const secret = KEY.slice(5);
    for (const given of [
      { realm: `${KEY}\n` },
      { realm: 'a', resourceMetadata: `${KEY}é` },
      { realm: 'a', [KEY]: 1 },
    ]) {
      expect(complaint(() => toResponse(denial, given))).not.toContain(secret);
    }
  });
});

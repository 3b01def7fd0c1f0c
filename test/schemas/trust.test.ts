/** `issueKeyless`'s input: the schemas and their JSON Schema against the core. */
import fc from 'fast-check';
import fastify from 'fastify';
import type { IssueKeylessInput, Keyring, Trust } from 'keyscope';
import { createKeyring, defineScopes } from 'keyscope';
import {
  issueInputSchema,
  issueInputSchemaFor,
  issueKeylessInputJsonSchema,
  issueKeylessInputSchema,
  issueKeylessInputSchemaFor,
  keyInfoJsonSchema,
  keyInfoSchema,
} from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { PEPPER } from '../support/keyring.ts';
import { runs } from '../support/runs.ts';
import {
  authority,
  catalog,
  createValidator,
  fieldsOfIssues,
  KEY,
  NOW,
  refusedField,
} from '../support/schemas.ts';
import type { Json } from '../support/vectors.ts';

const PLAIN = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;
const TRUST = { issuer: 'https://ci.example', claims: { sub: 'app' } };

/** A verifier that knows every issuer, so that only the shape of a trust decides. */
const KNOWS_ALL = { verify: () => Promise.reject(new Error('unused')), identifies: () => true };

const keyring: Keyring = createKeyring({
  prefix: 'acme',
  catalog,
  store: memoryStore(),
  peppers: [PEPPER],
  tokens: KNOWS_ALL,
  now: () => NOW,
});

const general = issueKeylessInputSchema;
const particular = issueKeylessInputSchemaFor({ catalog }, { now: () => NOW });

/** Returns the trust of the new key, or the field that the core refuses. */
async function issued(trust: unknown): Promise<unknown> {
  let made: Trust | null = null;
  const input = { ...PLAIN, trust } as IssueKeylessInput;
  const field = await refusedField(async () => {
    const { info } = await keyring.issueKeyless(input, authority);
    made = info.trust;
  });
  return field ?? made;
}

/** Checks that both schemas accept exactly what the core accepts, and name the same field. */
async function agree(trust: unknown): Promise<boolean> {
  const made = await issued(trust);
  for (const schema of [general, particular]) {
    const { data, error } = schema.safeParse({ ...PLAIN, trust });
    if (error !== undefined) expect(fieldsOfIssues(error)).toEqual([made]);
    else expect(data?.trust).toEqual(made);
  }
  return typeof made === 'object';
}

// Most parts are right, so that many wholes are.
const most = <T>(arbitrary: fc.Arbitrary<T>) => ({ weight: 20, arbitrary });

const anyName = fc.oneof(
  most(fc.stringMatching(/^\/?[a-z]{3}[ -~]{0,8}$/)),
  fc.constantFrom('sub', '/a/b', '/a~0b', '/a~1', '/a~', '/~2', 'a~', '~', '/', '', '__proto__'),
  fc.constantFrom('iss', '/aud', 'exp', '/iat', 'nbf', '/jti', 'i/ss', '//iss', 'issuer', '/iss/a'),
  fc.constantFrom('\u200b', '\ud800', 'a\nb', KEY, 'toJSON'),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.integer({ min: 126, max: 130 }).map((length) => 'n'.repeat(length)),
);

// V8 13.6 (Node 24) confuses names that JSON escapes when it parses them.
const name = anyName.map((text) => text.replaceAll(/["\\]/g, '-'));

const text = fc.oneof(
  most(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })),
  fc.constantFrom('123', '', KEY, ` ${KEY}`, '\u202e', '\udc00', ' ', 'a\tb'),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.integer({ min: 510, max: 514 }).map((length) => 'v'.repeat(length)),
  fc.constantFrom('é', '日').map((letter) => letter.repeat(500)),
);

const odd = fc.constantFrom(1, null, true, {}, [[]], [1], [null]);
const list = fc.array(text, { maxLength: 10 });
const wanted = fc.oneof(most(text), most(list), odd);
const claims = fc.dictionary(name, wanted, { maxKeys: 10, noNullPrototype: true });

const issuer = fc.oneof(
  most(fc.constantFrom('https://ci.example', 'https://[::1]:8443/a')),
  fc.constantFrom('http://ci.example', 'https://a@b', 'https://a?b', 'https://a#b', 'https://', ''),
  fc.constantFrom('https://[', 'https://a:99999', 'https://é', 'https://a b', 'https://a/%7e\\'),
  fc.constantFrom('HTTPS://a', ' https://a', 'https://a\n', 'https:///a'),
  fc.integer({ min: 244, max: 248 }).map((length) => `https://a/${'p'.repeat(length)}`),
  fc.webUrl(),
  odd,
);

const trusts = fc.oneof(
  most(fc.record({ issuer, claims: fc.oneof(most(claims), odd) })),
  fc.constantFrom(undefined, null, 'trust', [], {}, { ...TRUST, subject: 'a' }, { claims: {} }),
);

describe('issueKeylessInputSchema', () => {
  it('accepts exactly the trusts that issueKeyless accepts, and names the field', async () => {
    const counts = { accepted: 0, refused: 0 };
    const property = fc.asyncProperty(trusts, async (trust) => {
      counts[(await agree(trust)) ? 'accepted' : 'refused'] += 1;
    });
    await fc.assert(property, { numRuns: runs(2000) });
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(200);
  });

  it.each<[string, boolean, unknown]>([
    ['a text', true, 'v'.repeat(512)],
    ['a longer text', false, 'v'.repeat(513)],
    ['eight values', true, [...'abcdefgh']],
    ['nine values', false, [...'abcdefghi']],
    ['one value twice', false, ['a', 'a']],
    ['no value', false, []],
    ['a key', false, KEY],
    ['a key in a list', false, ['a', `x ${KEY}`]],
  ])('decides about a claim with %s: %s', async (_what, expected, value) => {
    expect(await agree({ ...TRUST, claims: { sub: value } })).toBe(expected);
  });

  it.each<[string, boolean]>([
    ['n'.repeat(128), true],
    ['n'.repeat(129), false],
    ['/a~01', true],
    ['/a~', false],
    ['a~', true],
    ['iss', false],
    ['/iss', false],
    ['/iss/a', true],
    ['__proto__', true],
  ])('decides about the claim %s: %s', async (claim, expected) => {
    const table = Object.fromEntries([[claim, 'a']]);
    expect(await agree({ ...TRUST, claims: table })).toBe(expected);
  });

  it('counts claims, and the bytes of the canonical form', async () => {
    const tableOf = (count: number, value: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, value]));
    const trustOf = (table: object) => ({ ...TRUST, claims: table });
    expect(await agree(trustOf(tableOf(8, 'v')))).toBe(true);
    expect(await agree(trustOf(tableOf(9, 'v')))).toBe(false);
    expect(await agree(trustOf({}))).toBe(false);
    const seven = tableOf(7, 'v'.repeat(512));
    const rest = 4096 - JSON.stringify(trustOf({ ...seven, c7: '' })).length;
    expect(await agree(trustOf({ ...seven, c7: 'v'.repeat(rest) }))).toBe(true);
    expect(await agree(trustOf({ ...seven, c7: 'v'.repeat(rest + 1) }))).toBe(false);
    // Two bytes in UTF-8.
    expect(await agree(trustOf({ ...seven, c7: `é${'v'.repeat(rest - 1)}` }))).toBe(false);
  });

  it('needs a trust, which issueInputSchema does not take', () => {
    const keyless = { ...PLAIN, trust: TRUST };
    for (const schema of [issueInputSchema, issueInputSchemaFor({ catalog })]) {
      expect(schema.safeParse(PLAIN).success).toBe(true);
      expect(fieldsOfIssues(schema.safeParse(keyless).error)).toEqual(['input']);
    }
    for (const schema of [general, particular]) {
      expect(schema.safeParse(keyless).success).toBe(true);
      expect(fieldsOfIssues(schema.safeParse(PLAIN).error)).toEqual(['trust']);
    }
  });

  it('quotes nothing of a trust, in messages or paths', () => {
    const secret = KEY.slice('acme_'.length);
    const inside = [KEY, { [KEY]: 'a' }, { sub: KEY }, { sub: [KEY] }, { sub: { [KEY]: 1 } }];
    const odds = [KEY, { ...TRUST, [KEY]: 1 }, { ...TRUST, issuer: KEY }];
    for (const trust of [...odds, ...inside.map((table) => ({ ...TRUST, claims: table }))]) {
      const { error } = general.safeParse({ ...PLAIN, trust });
      expect(`${String(error?.message)}${JSON.stringify(error?.issues)}`).not.toContain(secret);
      expect(fieldsOfIssues(error)).toEqual(['trust']);
    }
  });
});

describe('issueKeylessInputSchemaFor', () => {
  it('checks scopes, justification and expiry as issueInputSchemaFor does', () => {
    for (const [field, change] of [
      ['scopes', { scopes: ['users:*'] }],
      ['justification', { scopes: ['users:read'] }],
      ['expiresAt', { expiresAt: new Date(NOW).toISOString() }],
    ] as const) {
      const { error } = particular.safeParse({ ...PLAIN, trust: TRUST, ...change });
      expect(fieldsOfIssues(error)).toEqual([field]);
    }
    const open = { catalog: defineScopes({ a: { b: 'A sentence.' } }) };
    const input = { ...PLAIN, scopes: ['*:*'], trust: TRUST };
    expect(issueKeylessInputSchemaFor(open).safeParse(input).success).toBe(true);
  });
});

describe('issueKeylessInputJsonSchema', () => {
  // Beyond it: halves of surrogate pairs, keys, the size, URLs that cannot be parsed.
  it('accepts what the schema accepts, and little else', async () => {
    const validate = await createValidator(issueKeylessInputJsonSchema);
    const counts = { both: 0, neither: 0, wider: 0 };
    const property = fc.asyncProperty(trusts, async (trust) => {
      const body = { ...PLAIN, trust };
      const isAccepted = general.safeParse(body).success;
      const isValid = await validate(body as Json);
      if (isAccepted) expect(isValid).toBe(true);
      if (isAccepted) counts.both += 1;
      else counts[isValid ? 'wider' : 'neither'] += 1;
    });
    await fc.assert(property, { numRuns: runs(500) });
    expect(Math.min(counts.both, counts.neither)).toBeGreaterThan(counts.wider);
  });

  it.each<[string, object]>([
    ['no claims', { ...TRUST, claims: {} }],
    ['a claim about the token', { ...TRUST, claims: { '/iss': 'a' } }],
    ['a pointer with an odd ~', { ...TRUST, claims: { '/a~': 'a' } }],
    ['an empty value', { ...TRUST, claims: { sub: '' } }],
    ['one value twice', { ...TRUST, claims: { sub: ['a', 'a'] } }],
    ['an invisible character', { ...TRUST, claims: { sub: '\u200b' } }],
    ['http', { ...TRUST, issuer: 'http://ci.example' }],
    ['a long issuer', { ...TRUST, issuer: `https://${'a'.repeat(248)}` }],
    ['another field', { ...TRUST, subject: 'a' }],
  ])('refuses %s', async (_what, trust) => {
    const validate = await createValidator(issueKeylessInputJsonSchema);
    expect(await validate({ ...PLAIN, trust } as Json)).toBe(false);
  });
});

describe('keyInfoSchema', () => {
  it('shows the trust of a key, and does not refuse that of an edited record', async () => {
    const { info } = await keyring.issueKeyless({ ...PLAIN, trust: TRUST }, authority);
    const validate = await createValidator(keyInfoJsonSchema);
    const shown = JSON.parse(JSON.stringify(info)) as Record<string, unknown>;
    expect(keyInfoSchema.parse(info)).toMatchObject({ trust: TRUST, hint: '' });
    for (const trust of [TRUST, null, {}, { issuer: 1 }, { ...TRUST, subject: ['x'] }]) {
      expect(keyInfoSchema.parse({ ...shown, trust }).trust).toEqual(trust);
      expect(await validate({ ...shown, trust } as Json)).toBe(true);
    }
    expect(await validate({ ...shown, trust: 'text' } as Json)).toBe(false);
  });

  // Fastify writes only the members that a schema names or allows.
  it('lets Fastify answer with the whole trust', async () => {
    const { info } = await keyring.issueKeyless({ ...PLAIN, trust: TRUST }, authority);
    const app = fastify();
    app.get('/', { schema: { response: { 200: keyInfoJsonSchema } } }, () => info);
    const { body } = await app.inject('/');
    expect(JSON.parse(body)).toMatchObject({ trust: TRUST });
  });
});

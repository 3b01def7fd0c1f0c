// What the package does on every runtime: the vectors of the core, a key's whole life, and tokens.
// Plain JavaScript over the package's public names and what every runtime has; no runner and no
// `node:*`. Each suite returns how many checks it made and throws at the first that fails.
import { exportJWK, generateKeyPair } from 'jose';
import {
  createKeyring,
  definePolicy,
  defineScopes,
  digestBackend,
  digestKey,
  generateKey,
  isAccessError,
  isKey,
  isStoreError,
  normalizeScopes,
  parseAuthorization,
  parseKey,
  parseScopes,
  redactKeys,
  toMe,
  toResponse,
} from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { meSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { adapterContract, storeContract } from 'keyscope/testing';

let checks = 0;
function same(actual, expected, what) {
  checks += 1;
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, but got ${got}`);
}

const concat = (parts) =>
  parts
    .map((part) => (typeof part === 'string' ? part : part.repeat[0].repeat(part.repeat[1])))
    .join('');
const label = ({ id, comment }) => `${id}: ${comment}`;

function attempt(act) {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return 'refused';
  }
}
const reasonOf = (promise) =>
  promise.then(
    () => 'accepted',
    (error) => {
      if (isAccessError(error)) return error.reason;
      throw error;
    },
  );

const entityUuid = '0a0a0a0a-0000-4000-8000-00000000000a';
const other = '0b0b0b0b-0000-4000-8000-00000000000b';
const authority = { entityUuid, entities: [other] };
const peppers = [{ id: 'p1', secret: 'a secret of at least thirty-two bytes' }];
const catalog = defineScopes(
  {
    threats: { read: 'List and read threats.', write: 'Update threats.' },
    users: { delete: 'Delete users.' },
  },
  { reserved: ['users:*'] },
);
const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  deleteUser: ['users:delete'],
});

function keys({ keys: { tests } }) {
  for (const vector of tests) {
    const { prefix, key, result, entropy, checksum } = vector;
    const parts = attempt(() => parseKey(key, { prefix }));
    const expected = {
      bad_prefix: 'refused',
      valid: { prefix, secret: `${entropy}${checksum}`, entropy, checksum },
    };
    same(parts, Object.hasOwn(expected, result) ? expected[result] : null, label(vector));
    same(
      attempt(() => isKey(key, { prefix })),
      result === 'bad_prefix' ? 'refused' : result === 'valid',
      label(vector),
    );
  }
  for (let i = 0; i < 100; i++)
    same(isKey(generateKey({ prefix: 'acme' }), { prefix: 'acme' }), true, 'a made key');
}

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
const pepperOf = ({ id, secret, secretHex }) => ({
  id,
  secret: secretHex === undefined ? secret : bytes(secretHex),
});

function digests({ digests: { tests } }) {
  for (const vector of tests.filter(({ flags }) => flags.includes('Digest')))
    same(
      digestKey(vector.key, vector.pepper ? pepperOf(vector.pepper) : 'none'),
      vector.result,
      label(vector),
    );
}

async function records({ records: { tests } }) {
  for (const { id, comment, key, pepper, record } of tests) {
    const store = memoryStore();
    await store.insert(record);
    const options = {
      prefix: key.slice(0, -33),
      catalog,
      store,
      peppers: pepper ? [pepperOf(pepper)] : 'none',
    };
    const principal = await createKeyring({
      ...options,
      now: () => Date.parse('2026-06-01'),
    }).verify(key);
    same(principal.scopes, record.scopes, label({ id, comment }));
  }
}

function scopes({ scopes: { tests, lists } }) {
  for (const vector of tests) {
    const text = vector.generate ? concat(vector.generate) : vector.input;
    if (typeof text !== 'string') continue;
    same(
      attempt(() => normalizeScopes([text])),
      vector.result === 'malformed' ? 'refused' : [text],
      label(vector),
    );
  }
  for (const vector of lists) {
    const list = vector.generateText ? concat(vector.generateText) : (vector.text ?? vector.list);
    same(
      attempt(() => parseScopes(list)),
      vector.result === 'malformed' ? 'refused' : vector.result,
      label(vector),
    );
  }
}

function authorization({ authorization: { tests } }) {
  for (const vector of tests) {
    const { kind, token } = parseAuthorization(
      vector.generate ? concat(vector.generate) : vector.input,
    );
    const { kind: expected, token: text } = vector.result;
    same(kind, expected, label(vector));
    if (text !== undefined)
      same(token, typeof text === 'string' ? text : concat(text.generate), label(vector));
  }
}

async function lifecycle({ lifecycle: { tests } }) {
  const expiry = (time) => (time === null ? 'never' : new Date(time));
  for (const vector of tests) {
    let time = 0;
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers,
      now: () => time,
    });
    const made = [];
    const perform = async ({ issue, rotate, revoke }) => {
      if (issue)
        made.push(
          await keyring.issue(
            { name: 'ci', scopes: [], expiresAt: expiry(issue.expiresAt) },
            authority,
          ),
        );
      if (revoke) await keyring.revoke(made[revoke.key].info.keyId, authority);
      if (!rotate) return;
      const { key, overlapMs, expiresAt } = rotate;
      const input =
        expiresAt === undefined ? { overlapMs } : { overlapMs, expiresAt: expiry(expiresAt) };
      made.push(await keyring.rotate(made[key].info.keyId, input, authority));
    };
    for (const step of vector.steps) {
      time = step.at;
      same(await reasonOf(perform(step)), step.refused ?? 'accepted', label(vector));
    }
    time = vector.verify.at;
    same(await reasonOf(keyring.verify(made[vector.verify.key].key)), vector.result, label(vector));
  }
}

/**
 * From issue to revoke, by way of a fetch request, through a cache and a store that answers late.
 */
async function walk() {
  const slow = Object.fromEntries(
    Object.entries(memoryStore()).map(([name, method]) => [
      name,
      async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return method(...args);
      },
    ]),
  );
  const store = cacheStore(slow, { cache: new Map(), maxStalenessMs: 1_000 });
  const events = [];
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store,
    peppers,
    onEvent: ({ type }) => events.push(type),
  });
  const input = {
    name: 'ci',
    scopes: ['threats:*'],
    expiresAt: 'never',
    accessibleEntities: [other],
  };
  const { key, info } = await keyring.issue(input, authority);
  const request = (credential) =>
    new Request('https://api.example/v1/me', {
      headers: { Authorization: `Bearer ${credential}` },
    });

  const { principal } = await keyring.admit(request(key), { policy, operation: 'whoami' });
  same(meSchema.parse(toMe(principal)), toMe(principal), 'the schema of /me');
  const me = {
    entity_uuid: entityUuid,
    key_id: info.keyId,
    scopes: ['threats:read', 'threats:write'],
  };
  same(toMe(principal), { ...me, accessible_entities: [entityUuid, other] }, '/me');
  const admitted = await keyring.admit(request(key), {
    policy,
    operation: 'listThreats',
    entityUuid: [other],
  });
  same(admitted.entityUuid, other, 'another entity');
  const denial = async (promise) =>
    toResponse(await promise.then(Object, (error) => error), { realm: 'acme' });
  const { status, headers } = await denial(
    keyring.admit(request(key), { policy, operation: 'deleteUser' }),
  );
  const challenge = 'Bearer realm="acme", error="insufficient_scope", scope="users:delete"';
  same([status, headers['WWW-Authenticate']], [403, challenge], 'under-scoped');

  const next = await keyring.rotate(info.keyId, { overlapMs: 60_000 }, authority);
  same((await keyring.authenticate(request(next.key))).keyId, next.info.keyId, 'the successor');
  same(
    (await keyring.authenticate(request(key))).keyId,
    info.keyId,
    'the predecessor, in its overlap',
  );
  for (const { keyId } of [info, next.info]) await keyring.revoke(keyId, authority);
  for (const ended of [key, next.key])
    same(await reasonOf(keyring.verify(ended)), 'revoked', 'revoked');
  same(
    (await denial(keyring.authenticate(request(key)))).status,
    401,
    'the answer to a revoked key',
  );
  same(
    (await denial(keyring.authenticate(new Request('https://api.example/')))).status,
    401,
    'no credential',
  );
  await keyring.flush();
  same((await keyring.get(info.keyId, authority)).lastUsedAt instanceof Date, true, 'usage');
  same(events.length, 7, events.join(' '));
  same(redactKeys(`a ${key} b`, { prefix: 'acme' }), 'a acme_[redacted] b', 'redacted');
  same(JSON.stringify([next, keyring]).includes(next.key), false, 'no key in JSON');
}

async function tokens() {
  for (const alg of ['ES256', 'EdDSA', 'RS256', 'PS256']) {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    const [issuer, audience] = ['https://acme.example', 'https://api.acme.example'];
    const made = createTokenIssuer({
      issuer,
      audience,
      privateKey: await exportJWK(privateKey),
      alg,
      kid: alg,
    });
    const verifier = createTokenVerifier({
      issuer,
      audience,
      jwks: await made.jwks(),
      algorithms: [alg],
      catalog,
    });
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers,
      tokens: verifier,
    });
    const { key, info } = await keyring.issue(
      { name: 'ci', scopes: ['threats:*'], expiresAt: 'never' },
      authority,
    );
    const { accessToken } = await made.exchange(await keyring.verify(key), {
      scopes: ['threats:read'],
    });
    const { keyId, via, scopes: held } = await keyring.authenticate(`Bearer ${accessToken}`);
    same([keyId, via, held], [info.keyId, 'jwt', ['threats:read']], `${alg}: the token`);
    same(
      await reasonOf(verifier.verify(`${accessToken.slice(0, -8)}AAAAAAAA`)),
      'token_refused',
      `${alg}: tampered`,
    );
    await keyring.revoke(info.keyId, authority);
    same(
      await reasonOf(keyring.authenticate(`Bearer ${accessToken}`)),
      'revoked',
      `${alg}: its key revoked`,
    );
  }
}

const ROUTES = { '/whoami': 'whoami', '/reports': 'readReports' };

/** A guard between `Request` and `Response`, which every runtime has. */
function serve({ keyring, policy, handle, ...challenge }) {
  if (!keyring?.admit) throw new TypeError('no keyring');
  toResponse(undefined, challenge);
  for (const operation of Object.values(ROUTES)) policy.requires(operation);
  const answer = async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const input = {
      policy,
      operation: ROUTES[pathname],
      entityUuid: searchParams.getAll('entity'),
    };
    const admission = await keyring.admit(request, input).catch((error) => {
      if (!isAccessError(error) && !isStoreError(error)) throw error;
      return toResponse(error, challenge);
    });
    if ('principal' in admission)
      return { status: 200, body: handle(admission.principal, admission.entityUuid) };
    return admission;
  };
  return {
    async fetch(request) {
      const { status, headers, body } = await answer(request).catch(() => ({
        status: 500,
        body: 'failed',
      }));
      const all = { 'Cache-Control': 'no-store', ...headers };
      return new Response(request.method === 'HEAD' ? null : body, { status, headers: all });
    },
  };
}

/** What is published for tests: the contracts of stores and of adapters. */
async function contracts() {
  const tests = [];
  const register = (name, run) => tests.push([name, run]);
  storeContract(register, memoryStore);
  adapterContract(register, serve);
  for (const [name, run] of tests) {
    await run().catch((error) => {
      throw new Error(`${name}: ${error.message}`);
    });
    checks += 1;
  }
}

export const SUITES = {
  keys,
  digests,
  records,
  scopes,
  authorization,
  lifecycle,
  walk,
  tokens,
  contracts,
};
export { digestBackend };

/** Runs all of them; resolves to suite → number of checks, or the error as text. */
export async function runAll(vectors) {
  const results = {};
  for (const [name, suite] of Object.entries(SUITES)) {
    checks = 0;
    try {
      await suite(vectors);
      results[name] = checks;
    } catch (error) {
      results[name] = `${error?.stack ?? error}`;
    }
  }
  return { digestBackend, results };
}

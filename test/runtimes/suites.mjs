// The suites for every runtime: the vectors of the core, a key's whole life, and tokens. Plain
// JavaScript that uses only the package's public names and what every runtime has, without a runner
// and without `node:*`. Each suite returns the number of its checks, and throws at the first
// failure.
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
import { inspectors, makeErrors, waysOf } from './output.mjs';

let checks = 0;
function same(actual, expected, what) {
  checks += 1;
  const got = JSON.stringify(actual);
  const wanted = JSON.stringify(expected);
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, but got ${got}`);
}

/** Joins a vector's parts: texts, and repeated texts. */
function concat(parts) {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    const [text, times] = part.repeat;
    return text.repeat(times);
  });
  return texts.join('');
}

function label({ id, comment }) {
  return `${id}: ${comment}`;
}

function attempt(act) {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return 'refused';
  }
}

/** Returns the reason of a denial, or a text if there was none. */
async function reasonOf(promise) {
  try {
    await promise;
    return 'accepted';
  } catch (error) {
    if (isAccessError(error)) return error.reason;
    throw error;
  }
}

/** Returns the response to the error of a promise. */
async function denialOf(promise) {
  const error = await promise.catch((reason) => reason);
  return toResponse(error, { realm: 'acme' });
}

const entityId = '0a0a0a0a-0000-4000-8000-00000000000a';
const other = '0b0b0b0b-0000-4000-8000-00000000000b';
const authority = { entityId, entities: [other], scopes: 'all' };
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
    const is = attempt(() => isKey(key, { prefix }));
    same(is, result === 'bad_prefix' ? 'refused' : result === 'valid', label(vector));
  }
  for (let i = 0; i < 100; i++) {
    same(isKey(generateKey({ prefix: 'acme' }), { prefix: 'acme' }), true, 'a made key');
  }
}

function bytes(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

function pepperOf({ id, secret, secretHex }) {
  return { id, secret: secretHex === undefined ? secret : bytes(secretHex) };
}

function digests({ digests: { tests } }) {
  for (const vector of tests.filter(({ flags }) => flags.includes('Digest'))) {
    const pepper = vector.pepper ? pepperOf(vector.pepper) : 'none';
    same(digestKey(vector.key, pepper), vector.result, label(vector));
  }
}

async function records({ records: { tests } }) {
  for (const { id, comment, key, pepper, deployment, record, result } of tests) {
    const store = memoryStore();
    await store.insert(record);
    const keyring = createKeyring({
      prefix: key.slice(0, -33),
      catalog,
      store,
      peppers: pepper ? [pepperOf(pepper)] : 'none',
      deployment,
      now: () => Date.parse('2026-06-01'),
    });
    const outcome = await keyring.verify(key).then(
      ({ scopes }) => scopes,
      ({ reason }) => reason,
    );
    same(outcome, result === 'live' ? record.scopes : result, label({ id, comment }));
  }
}

function scopes({ scopes: { tests, lists } }) {
  for (const vector of tests) {
    const text = vector.generate ? concat(vector.generate) : vector.input;
    if (typeof text !== 'string') continue;
    const normalized = attempt(() => normalizeScopes([text]));
    same(normalized, vector.result === 'malformed' ? 'refused' : [text], label(vector));
  }
  for (const vector of lists) {
    const list = vector.generateText ? concat(vector.generateText) : (vector.text ?? vector.list);
    const parsed = attempt(() => parseScopes(list));
    same(parsed, vector.result === 'malformed' ? 'refused' : vector.result, label(vector));
  }
}

function authorization({ authorization: { tests } }) {
  for (const vector of tests) {
    const input = vector.generate ? concat(vector.generate) : vector.input;
    const { kind, token } = parseAuthorization(input);
    const expected = vector.result;
    same(kind, expected.kind, label(vector));
    if (expected.token === undefined) continue;
    const text =
      typeof expected.token === 'string' ? expected.token : concat(expected.token.generate);
    same(token, text, label(vector));
  }
}

function expiryOf(time) {
  return time === null ? 'never' : new Date(time);
}

/** Returns the entity for a number in the vectors: 1 is the key's own. */
function entityOf(number) {
  return number === 1 ? entityId : `00000000-0000-4000-8000-00000000000${number}`;
}

const wideAuthority = { ...authority, entities: [2, 3, 4].map(entityOf) };

/** Performs one step of a vector, and returns the key if it makes one. */
async function perform({ issue, rotate, withdraw, ...step }, keyring, made) {
  if (issue) {
    const { entities = [], expiresAt } = issue;
    const input = { name: 'ci', scopes: [], accessibleEntities: entities.map(entityOf) };
    const dated = { ...input, expiresAt: expiryOf(expiresAt) };
    made.push(await keyring.issue(dated, wideAuthority));
  }
  if (rotate) {
    const { key, overlapMs, expiresAt, entities } = rotate;
    const input = { overlapMs };
    if (expiresAt !== undefined) input.expiresAt = expiryOf(expiresAt);
    if (entities !== undefined) input.accessibleEntities = entities.map(entityOf);
    made.push(await keyring.rotate(made[key].info.keyId, input, wideAuthority));
  }
  if (withdraw) {
    const theirs = { entityId: entityOf(withdraw.entity) };
    await keyring.withdraw(made[withdraw.key].info.keyId, theirs);
  }
  for (const name of ['revoke', 'revokeLineage', 'suspend', 'resume']) {
    if (step[name]) await keyring[name](made[step[name].key].info.keyId, authority);
  }
}

async function lifecycle({ lifecycle: { tests } }) {
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
    for (const step of vector.steps) {
      time = step.at;
      const reason = await reasonOf(perform(step, keyring, made));
      same(reason, step.refused ?? 'accepted', label(vector));
    }
    const { key, at, entities } = vector.verify;
    time = at;
    const verified = keyring.verify(made[key].key);
    same(await reasonOf(verified), vector.result, label(vector));
    if (entities === undefined) continue;
    const { accessibleEntities } = await verified;
    same(accessibleEntities, entities.map(entityOf), label(vector));
  }
}

/** Makes a store that answers everything with a delay. */
function slowStore() {
  const methods = Object.entries(memoryStore()).map(([name, method]) => {
    const later = async (...args) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return method(...args);
    };
    return [name, later];
  });
  return Object.fromEntries(methods);
}

function requestWith(credential) {
  const headers = { Authorization: `Bearer ${credential}` };
  return new Request('https://api.example/v1/me', { headers });
}

/**
 * Walks a key from issue to revoke, with a fetch request, a cache and a store that answers late.
 */
async function walk() {
  const store = cacheStore(slowStore(), { cache: new Map(), maxStalenessMs: 1_000 });
  const events = [];
  const keyring = createKeyring({
    prefix: 'acme',
    policy,
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
  const issued = await keyring.issue(input, authority);
  await walkThroughDoors(keyring, issued);
  const next = await walkThroughRotation(keyring, issued);
  await keyring.flush();
  const { lastUsedAt } = await keyring.get(issued.info.keyId, authority);
  same(lastUsedAt instanceof Date, true, 'usage');
  same(events.length, 7, events.join(' '));
  same(redactKeys(`a ${issued.key} b`, { prefix: 'acme' }), 'a acme_[redacted] b', 'redacted');
  same(JSON.stringify([next, keyring]).includes(next.key), false, 'no key in JSON');
}

async function walkThroughDoors(keyring, { key, info }) {
  const request = requestWith(key);
  const { principal } = await keyring.admit(request, { operation: 'whoami' });
  same(meSchema.parse(toMe(principal)), toMe(principal), 'the schema of /me');
  const me = {
    entity_uuid: entityId,
    key_id: info.keyId,
    scopes: ['threats:read', 'threats:write'],
    accessible_entities: [entityId, other],
  };
  same(toMe(principal), me, '/me');

  const listing = { operation: 'listThreats', entityId: [other] };
  const admitted = await keyring.admit(request, listing);
  same(admitted.entityId, other, 'another entity');

  const deleting = { operation: 'deleteUser' };
  const { status, headers } = await denialOf(keyring.admit(request, deleting));
  const challenge = 'Bearer realm="acme", error="insufficient_scope", scope="users:delete"';
  same(status, 403, 'under-scoped');
  same(headers['WWW-Authenticate'], challenge, 'under-scoped: the scope in the challenge');
}

/** Rotates and revokes; returns the successor, which is revoked like the key. */
async function walkThroughRotation(keyring, { key, info }) {
  const next = await keyring.rotate(info.keyId, { overlapMs: 60_000 }, authority);
  const successor = await keyring.authenticate(requestWith(next.key));
  same(successor.keyId, next.info.keyId, 'the successor');
  const predecessor = await keyring.authenticate(requestWith(key));
  same(predecessor.keyId, info.keyId, 'the predecessor, in its overlap');

  for (const { keyId } of [info, next.info]) await keyring.revoke(keyId, authority);
  for (const ended of [key, next.key]) {
    same(await reasonOf(keyring.verify(ended)), 'revoked', 'revoked');
  }
  const revoked = await denialOf(keyring.authenticate(requestWith(key)));
  same(revoked.status, 401, 'the answer to a revoked key');
  const without = await denialOf(keyring.authenticate(new Request('https://api.example/')));
  same(without.status, 401, 'no credential');
  return next;
}

async function tokens() {
  for (const alg of ['ES256', 'EdDSA', 'RS256', 'PS256']) await tokensSignedWith(alg);
}

async function tokensSignedWith(alg) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const names = { issuer: 'https://acme.example', audience: 'https://api.acme.example' };
  const exported = await exportJWK(privateKey);
  const made = createTokenIssuer({ ...names, privateKey: exported, alg, kid: alg });
  const jwks = await made.jwks();
  const verifier = createTokenVerifier({ ...names, jwks, algorithms: [alg], catalog });
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store: memoryStore(),
    peppers,
    tokens: verifier,
  });
  const input = { name: 'ci', scopes: ['threats:*'], expiresAt: 'never' };
  const { key, info } = await keyring.issue(input, authority);
  const narrowed = { scopes: ['threats:read'] };
  const { accessToken } = await made.exchange(await keyring.verify(key), narrowed);

  const principal = await keyring.authenticate(`Bearer ${accessToken}`);
  same(principal.keyId, info.keyId, `${alg}: the owner of the token`);
  same(principal.via, 'jwt', `${alg}: the way it came`);
  same(principal.scopes, ['threats:read'], `${alg}: its scopes`);

  const tampered = `${accessToken.slice(0, -8)}AAAAAAAA`;
  same(await reasonOf(verifier.verify(tampered)), 'token_refused', `${alg}: tampered`);
  await keyring.revoke(info.keyId, authority);
  const reason = await reasonOf(keyring.authenticate(`Bearer ${accessToken}`));
  same(reason, 'revoked', `${alg}: its key revoked`);
}

const ROUTES = { '/whoami': 'whoami', '/reports': 'readReports' };

/** Makes a guard from `Request` to `Response`, which every runtime has. */
function serve({ keyring, handle, ...challenge }) {
  if (!keyring?.admit) throw new TypeError('no keyring');
  toResponse(undefined, challenge);
  for (const operation of Object.values(ROUTES)) keyring.policy.requires(operation);

  async function admitted(request) {
    const { pathname, searchParams } = new URL(request.url);
    const operation = ROUTES[pathname];
    const input = { operation, entityId: searchParams.getAll('entity') };
    const { principal, entityId } = await keyring.admit(request, input);
    return { status: 200, body: handle(principal, entityId) };
  }

  function failed(error) {
    if (isAccessError(error) || isStoreError(error)) return toResponse(error, challenge);
    return { status: 500, body: 'failed' };
  }

  return {
    async fetch(request) {
      const { status, headers, body } = await admitted(request).catch(failed);
      const all = { 'Cache-Control': 'no-store', ...headers };
      return new Response(request.method === 'HEAD' ? null : body, { status, headers: all });
    },
  };
}

/** Runs the published contracts of stores and adapters. */
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

/** Checks the runtime's own inspectors on denials and outages. */
async function output() {
  const { errors, secrets, outages } = await makeErrors();
  same(outages, 3, 'outages');
  for (const [name, inspect] of inspectors()) {
    for (const value of errors.flatMap(waysOf)) {
      const text = String(inspect(value));
      const shown = secrets.filter((secret) => text.includes(secret));
      same(shown.length, 0, `${name} shows a secret`);
    }
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
  output,
};
export { digestBackend };

/** Runs all suites; resolves to suite → number of checks, or the error as text. */
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

// Checks how a runtime shows errors: in its inspectors, its console, and its report of an uncaught
// error. None may show any part of a driver's error or of a key.
import { createKeyring, definePolicy, defineScopes, isStoreError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const entityId = '0a0a0a0a-0000-4000-8000-00000000000a';
const authority = { entityId, scopes: 'all' };
const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });

/** In parts, because some runtimes print the lines of the source around an error. */
const CANARY = ['what', 'the', 'driver', 'said'].join('-');

/** Makes an error like a driver: rows and parameters in the text, properties and causes. */
function driverError(digests) {
  const row = { digest: digests[0], canary: CANARY };
  const inner = Object.assign(new Error(`${CANARY}: ${digests[0]}`), { row });
  const parts = { detail: `${CANARY} ${digests[0]}`, parameters: digests, code: CANARY };
  const cause = new AggregateError([inner], CANARY, { cause: inner });
  return Object.assign(new Error(`${CANARY}: ${digests}`, { cause }), parts);
}

async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function bearer(credential) {
  return { Authorization: `Bearer ${credential}` };
}

/** Makes errors of every kind, and lists the secrets that must not show. */
export async function makeErrors() {
  const store = memoryStore();
  const options = { prefix: 'acme', policy, peppers: 'none' };
  const keyring = createKeyring({ ...options, store });
  const digests = [];
  const broken = createKeyring({
    ...options,
    store: {
      ...store,
      findByDigest(asked) {
        digests.push(...asked);
        return Promise.reject(driverError(asked));
      },
    },
    tokens: { verify: () => new Promise(() => {}) },
    storeTimeoutMs: 5,
  });
  const { key, info } = await keyring.issue(
    { name: 'n', scopes: [], expiresAt: 'never' },
    authority,
  );
  const listing = { operation: 'listThreats' };
  const [last] = key.slice(-1);
  const mistyped = key.slice(0, -1) + (last === 'x' ? 'y' : 'x');
  const errors = [
    await errorOf(broken.authenticate(bearer(key))),
    await errorOf(broken.admit(bearer(key), listing)),
    await errorOf(broken.authenticate(bearer(`${key}.${key}.${key}`))),
    await errorOf(keyring.admit(bearer(key), listing)),
    await errorOf(keyring.verify(mistyped)),
    await errorOf(keyring.authenticate({ Authorization: `Basic ${key}` })),
    await errorOf(keyring.authenticate({ Authorization: `Bearer ${key}, Bearer ${key}` })),
    await errorOf(keyring.authenticate()),
    await errorOf(keyring.revoke('0b0b0b0b-0000-4000-8000-00000000000b', authority)),
  ];
  await keyring.revoke(info.keyId, authority);
  errors.push(await errorOf(keyring.verify(key)));
  const secrets = [key, mistyped, key.slice(5, 31), CANARY, ...digests];
  return { errors, secrets: secrets.map(String), outages: errors.filter(isStoreError).length };
}

const EVERYTHING = {
  depth: Number.POSITIVE_INFINITY,
  showHidden: true,
  getters: true,
  showProxy: true,
  iterableLimit: Number.POSITIVE_INFINITY,
  strAbbreviateSize: Number.POSITIVE_INFINITY,
  sorted: true,
};

/** Returns, by name, the functions of this runtime that turn a value into text. */
export function inspectors() {
  const { Bun, Deno, process } = globalThis;
  const util = process?.getBuiltinModule?.('node:util');
  return Object.entries({
    String,
    stack: (error) => String(error.stack),
    JSON: (error) => JSON.stringify(error),
    'JSON of all names': (error) => JSON.stringify(error, Object.getOwnPropertyNames(error)),
    ...(Bun && { Bun: (error) => Bun.inspect(error, EVERYTHING) }),
    ...(Deno && { Deno: (error) => Deno.inspect(error, EVERYTHING) }),
    ...(util && { util: (error) => util.inspect(error, EVERYTHING) }),
    ...(util && { format: (error) => util.format('%s %o %O %j', error, error, error, error) }),
  });
}

/** Wraps an error as loggers and people pass it: alone, inside other values, and as a copy. */
export function waysOf(error) {
  const outer = new Error('outer', { cause: error });
  return [error, { error }, [error], outer, new AggregateError([error]), { ...error }];
}

/** Prints errors with every method of the console. */
export function printAll(errors) {
  for (const error of errors) {
    for (const value of waysOf(error)) {
      for (const name of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'])
        console[name]?.(value);
    }
    console.dir?.(error, EVERYTHING);
    console.error('%s %o %O', error, error, error);
  }
}

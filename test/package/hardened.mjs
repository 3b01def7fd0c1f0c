// Runs the built package with locked prototypes: frozen, and under `--disable-proto=throw`. A
// library that writes to a prototype, or reads `__proto__`, fails here.
import assert from 'node:assert/strict';
import {
  createKeyring,
  definePolicy,
  defineScopes,
  isAccessError,
  toMe,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

for (const intrinsic of [Object, Array, Map, Set, String, Function, Promise, Error]) {
  Object.freeze(intrinsic.prototype);
}

const catalog = defineScopes(
  { constructor: { read: 'A name like any other.' } },
  { reserved: ['constructor:*'] },
);
const policy = definePolicy(catalog, { toString: ['constructor:read'] });
const entityId = '0192f0c1-7a44-7cc3-9d5e-2b8f6a1c4e70';
const peppers = [{ id: 'p1', secret: 'a secret of at least thirty-two bytes' }];
const keyring = createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers });
const metadata = JSON.parse('{ "__proto__": "own", "valueOf": "own" }');

const { key, info } = await keyring.issue(
  {
    name: 'n',
    scopes: ['constructor:read'],
    expiresAt: 'never',
    justification: 'to test',
    metadata,
  },
  { entityId, scopes: 'all' },
);
const { principal } = await keyring.admit(
  { authorization: `Bearer ${key}` },
  { operation: 'toString' },
);
assert.equal(toMe(principal).scopes[0], 'constructor:read');
assert.equal(JSON.stringify(principal.metadata), JSON.stringify(metadata));
assert.equal({}.own, undefined);

const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, { entityId, scopes: 'all' });
await keyring.flush();
await keyring.revoke(next.info.keyId, { entityId });
const error = await keyring.verify(next.key).catch((reason) => reason);
assert.ok(isAccessError(error));
assert.equal(toResponse(error, { realm: 'acme' }).status, 401);
console.log('prototypes locked: issue, admit, rotate, revoke and refuse work');

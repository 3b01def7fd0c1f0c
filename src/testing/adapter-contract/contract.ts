/** The suite that every adapter must pass: `adapterContract`, and the list of tests. */
import type { EntityIds } from '../../core/entity.js';
import { assert } from '../../core/input.js';
import type { RegisterTest } from '../assertions.js';
import { type AdapterFixture, createAdapterFixture } from './contract-client.js';
import {
  believesNoOther,
  deniesLongCredentials,
  deniesOtherCredentials,
  deniesTwoLines,
  deniesWithoutCredential,
  letsKeysIn,
  readsOneHeader,
  storesNoAnswer,
} from './credentials.js';
import {
  deniesOtherEntities,
  deniesWithoutScope,
  handsOnAnyId,
  handsOnTheEntity,
} from './entities.js';
import { deniesWhileStoreIsBroken, failsOnBugs, failsWithItsHandler } from './failures.js';
import { deniesAllKeysAlike } from './refused-keys.js';
import { asksOnce, deniesHead, keepsRequestsApart } from './requests.js';
import type { ServeAdapter } from './serve-adapter.js';
import { createService } from './service.js';
import { REFUSED_AT_SET_UP, refusesToServe } from './set-up.js';

/**
 * Registers about twenty tests that every adapter must pass: it lets in the right callers, its
 * denials match `toResponse` byte for byte, and no failure lets anybody in.
 *
 * `serve` makes a guard from `keyring`, `realm` and `resourceMetadata` and puts it on two routes:
 * `GET /whoami` for the operation `whoami`, and `GET /reports` for `readReports`. The second reads
 * the entity from all values of the query parameter `entity`. Both handlers answer 200 with
 * `handle(principal, entityId)`.
 *
 * Not checked: how a framework answers a bug or a throwing handler, except that the status is 500
 * or above without a challenge (many frameworks print the error in development); a handler's own
 * `Cache-Control`; logging; bodies and methods other than GET and HEAD; routers. If the server
 * rejects long header lines with 431 or 400, the overlong credential never reaches the adapter and
 * the test skips it. Headers that differ between equal requests, such as a request id, are not
 * compared. A service that takes more than 0.1 s per request, one at a time, is too slow.
 *
 * @param test Registers one test, given a name and an async function that throws if the adapter
 *   breaks a promise.
 * @param serve Starts the app; called once per test. Returns `{ url }`, such as
 *   `http://127.0.0.1:3000`, or `{ fetch }` if nothing needs to listen. Only a `url` keeps two
 *   header lines separate; `fetch` gets them joined. The suite calls `close`, if present, after the
 *   test.
 * @throws TypeError if either argument is not a function. A test throws a TypeError if `serve`
 *   returns neither `url` nor `fetch`, or a `url` on a runtime without `node:http`.
 * @example
 * adapterContract(test, ({ handle, ...options }) => {
 *   const guard = createGuard(options);
 *   const app = new Hono<Guarded>();
 *   const answer = (c: Context<Guarded>) => {
 *     return c.text(handle(c.get('principal'), c.get('entityId')));
 *   };
 *   app.get('/whoami', guard('whoami'), answer);
 *   app.get('/reports', guard('readReports', { entity: (c) => c.req.queries('entity') }), answer);
 *   return { fetch: app.fetch };
 * });
 */
export function adapterContract(test: RegisterTest, serve: ServeAdapter): void {
  assert(
    typeof test === 'function',
    "adapterContract: test is not a function. Pass your runner's test function first",
  );
  assert(
    typeof serve === 'function',
    'adapterContract: serve is not a function. Pass (setup) => ({ url }), which starts the app',
  );
  for (const [name, run, entityIds] of CONTRACT) {
    test(name, async () => {
      const service = createService(entityIds);
      const served = await serve(service.setup);
      try {
        await run(createAdapterFixture(service, served));
      } finally {
        await served?.close?.();
      }
    });
  }
  for (const [name, spoil] of Object.entries(REFUSED_AT_SET_UP)) {
    test(name, () => refusesToServe(serve, spoil));
  }
}

/** A test of the contract: the promise, and the function that checks it. */
type AdapterTest = readonly [
  name: string,
  run: (fixture: AdapterFixture) => Promise<void>,
  entityIds?: EntityIds,
];

const CONTRACT: readonly AdapterTest[] = [
  ['lets in a key with the scope and passes on its principal and entity', letsKeysIn],
  ['sends Cache-Control: no-store with every answer to a key', storesNoAnswer],
  ['denies a missing credential with exactly the bytes of toResponse', deniesWithoutCredential],
  ['denies other schemes and malformed credentials', deniesOtherCredentials],
  ['denies a credential of more than 16 KiB', deniesLongCredentials],
  ['denies two Authorization lines, whatever they contain', deniesTwoLines],
  ['ignores a key outside the Authorization header', readsOneHeader],
  ['ignores other headers that name a caller', believesNoOther],
  ['answers every refused key alike, whatever the reason', deniesAllKeysAlike],
  ['denies a key without the scope and names the scope in the challenge', deniesWithoutScope],
  ['passes the entity that it checked to the handler', handsOnTheEntity],
  ['passes ids of entities that are not UUIDs as they are', handsOnAnyId, 'text'],
  ['denies an entity that is inaccessible, repeated or malformed', deniesOtherEntities],
  ['answers 503 while the store is broken and does not blame the key', deniesWhileStoreIsBroken],
  ['lets nobody in after a bug and does not report it as a denial', failsOnBugs],
  ['runs a throwing handler once and does not report it as a denial', failsWithItsHandler],
  ['asks the keyring once per request, for the operation of the route', asksOnce],
  ['gives each of 20 concurrent handlers its own caller', keepsRequestsApart],
  ['denies HEAD like GET, without a body', deniesHead],
];

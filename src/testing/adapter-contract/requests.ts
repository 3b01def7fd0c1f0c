/** Tests that each request is one call to the keyring and gets its own caller. */
import { check, same } from '../assertions.js';
import type { AdapterFixture, Send } from './contract-client.js';
import { bearer, type HeaderLine } from './http-exchange.js';
import { FOREIGN, type Hooks, handlerText, OTHER, OWN } from './service.js';

/**
 * Sends requests with and without a credential, over one connection if the transport has any. Each
 * must be exactly one call to `admit`, for the operation of its route.
 *
 * Catches: a second guard on the app, cached decisions (per connection too), and denials that the
 * keyring never sees.
 */
export async function asksOnce(fixture: AdapterFixture): Promise<void> {
  const { asked } = fixture;
  const { key } = await fixture.issue([]);
  const basic: HeaderLine = ['Authorization', `Basic ${key}`];
  const requests = [
    { path: '/whoami', expected: 'admit whoami', lines: [bearer(key)] },
    { path: '/whoami', expected: 'admit whoami', lines: [bearer(key)] },
    { path: '/whoami', expected: 'admit whoami', lines: [] },
    { path: '/whoami', expected: 'admit whoami', lines: [basic] },
    { path: '/reports', expected: 'admit readReports', lines: [bearer(key)] },
    { path: '/reports?entity=1', expected: 'admit readReports', lines: [] },
  ];
  const askAll = async (send: Send) => {
    for (const { path, expected, lines } of requests) {
      asked.length = 0;
      await send('GET', path, ...lines);
      same(asked, [expected], `the calls to the keyring for GET ${path}`);
    }
  };
  // A proxy sends the requests of all its callers over one connection.
  await fixture.onOneConnection(askAll);
}

/** How many requests the next test sends at once. */
const AT_ONCE = 20;

/**
 * Sends 20 requests of different callers at once and delays their look-ups so that requests
 * overtake each other. Each handler must get its own caller and entity.
 *
 * Catches: storing the caller where the next request overwrites it.
 */
export async function keepsRequestsApart(fixture: AdapterFixture): Promise<void> {
  const { calls, hooks, send } = fixture;
  const one = await fixture.issue(['reports:read']);
  const other = await fixture.issue(['reports:read'], OTHER);
  const kinds = [
    { issued: one, path: '/reports', entityId: OWN },
    { issued: one, path: `/reports?entity=${OTHER}`, entityId: OTHER },
    { issued: other, path: '/reports', entityId: OTHER },
  ];
  hooks.lookUp = waitForOneAnother();
  const rounds = Array.from({ length: Math.ceil(AT_ONCE / kinds.length) }, () => kinds);
  const requests = rounds.flat().slice(0, AT_ONCE);
  const asking = requests.map(async ({ issued, path, entityId }) => {
    const { status, body } = await send('GET', path, bearer(issued.key));
    const expected = { status: 200, body: handlerText(issued.keyId, entityId) };
    same({ status, body }, expected, `${AT_ONCE} concurrent requests: the caller of a handler`);
  });
  await Promise.all(asking);
  const ran = calls.length;
  const problem = `${AT_ONCE} concurrent requests must run ${AT_ONCE} handlers, but ${ran} ran`;
  check(ran === AT_ONCE, problem);
}

/** How long to wait for another request before resuming the look-ups, in milliseconds. */
const QUIET_MS = 50;

/**
 * Makes look-ups wait until all concurrent requests have arrived, then resumes them some turns
 * apart, so that requests interleave and end in a different order. If an app serves fewer requests
 * at a time, a timer resumes them.
 */
function waitForOneAnother(): Hooks['lookUp'] {
  let lookUps = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waiting: (() => void)[] = [];
  const resumeAll = () => {
    for (const resume of waiting) {
      resume();
    }
    waiting = [];
  };
  return async () => {
    const turns = lookUps % 5;
    lookUps += 1;
    const resumed = new Promise<void>((resolve) => waiting.push(resolve));
    clearTimeout(timer);
    if (waiting.length === AT_ONCE) {
      resumeAll();
    } else {
      timer = setTimeout(resumeAll, QUIET_MS);
    }
    await resumed;
    for (let turn = 0; turn < turns; turn++) {
      await undefined;
    }
  };
}

/**
 * Sends HEAD where the adapter denies GET. If the framework serves HEAD at all, the answer must
 * have the same status and no body.
 *
 * Catches: a body in an answer to HEAD, and letting in HEAD where GET is denied.
 */
export async function deniesHead(fixture: AdapterFixture): Promise<void> {
  const none = await fixture.issue([]);
  const read = await fixture.issue(['reports:read']);
  const expectDenial = async (status: number, what: string, path: string, lines: HeaderLine[]) => {
    const answer = await fixture.send('HEAD', path, ...lines);
    // If GET routes do not serve HEAD, there is nothing to protect.
    const unserved = answer.status === 404 || answer.status === 405;
    const right = unserved || answer.status === status;
    check(right, `HEAD with ${what}: the status must be ${status}, not ${answer.status}`);
    check(answer.body === '', `HEAD with ${what}: the answer must have no body`);
    check(fixture.calls.length === 0, `HEAD with ${what}: the handler must not run`);
  };
  const elsewhere = `/reports?entity=${FOREIGN}`;
  await expectDenial(401, 'no credential', '/reports', []);
  await expectDenial(403, 'a key without the scope', '/reports', [bearer(none.key)]);
  await expectDenial(403, 'an entity that the key cannot address', elsewhere, [bearer(read.key)]);
}

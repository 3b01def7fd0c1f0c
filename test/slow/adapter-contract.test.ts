/**
 * That the contract of adapters has teeth: one with one fault fails it, and no test of it is there
 * for show.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { parse } from 'node:querystring';
import type { Admission, DenialResponse } from 'keyscope';
import { AccessError, isAccessError, isStoreError, toResponse } from 'keyscope';
import type { AdapterSetup, ServeAdapter } from 'keyscope/testing';
import { adapterContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { close, listen } from '../http/harness.ts';

type Operation = 'whoami' | 'readReports';
type Input = { readonly operation: Operation; readonly entityUuid: unknown };

const challengeOf = ({ realm, resourceMetadata }: AdapterSetup) => ({ realm, resourceMetadata });
const queryOf = (req: IncomingMessage) => new URL(req.url ?? '/', 'http://localhost').searchParams;
const admit = ({ keyring, policy }: AdapterSetup, request: unknown, input: Input) =>
  keyring.admit(request as IncomingMessage, { policy, ...input });

/** A right adapter in parts, each of which a wrong one can have otherwise. */
const RIGHT = {
  /** When the route is declared. */
  declare(setup: AdapterSetup, operation: Operation): void {
    if (!setup.keyring?.admit) throw new TypeError('pass a keyring');
    toResponse(undefined, challengeOf(setup));
    setup.policy.requires(operation);
  },
  /** Before anything is asked. */
  headers: { 'Cache-Control': 'no-store' } as Readonly<Record<string, string>>,
  /** Whether the guard is passed by. */
  passes: (_req: IncomingMessage): boolean => false,
  entity: (req: IncomingMessage): unknown => queryOf(req).getAll('entity'),
  /** What the keyring reads the credential from. */
  request: (req: IncomingMessage): unknown => req,
  admit: (
    setup: AdapterSetup,
    request: unknown,
    input: Input,
    _req: IncomingMessage,
  ): Promise<Admission> => admit(setup, request, input),
  /** A denial, or another answer to what was thrown; throws what is for somebody else. */
  deny(error: unknown, setup: AdapterSetup, _req: IncomingMessage): DenialResponse | null {
    if (!isAccessError(error) && !isStoreError(error)) throw error;
    return toResponse(error, challengeOf(setup));
  },
  handle: async ({ handle }: AdapterSetup, { principal, entityUuid }: Admission): Promise<string> =>
    handle(principal, entityUuid),
  /** What answers an error that nobody else did. */
  fail: (res: ServerResponse, _error: unknown, _setup: AdapterSetup): unknown =>
    res.writeHead(500).end(),
};
type Parts = typeof RIGHT;

async function respond(
  parts: Parts,
  setup: AdapterSetup,
  operation: Operation,
  req: IncomingMessage,
  res: ServerResponse,
) {
  for (const [name, value] of Object.entries(parts.headers)) res.setHeader(name, value);
  let admission = { principal: {}, entityUuid: '' } as Admission;
  try {
    const entityUuid = operation === 'readReports' ? parts.entity(req) : undefined;
    if (!parts.passes(req))
      admission = await parts.admit(setup, parts.request(req), { operation, entityUuid }, req);
  } catch (error) {
    const answer = parts.deny(error, setup, req);
    if (answer !== null) return void res.writeHead(answer.status, answer.headers).end(answer.body);
  }
  res.end(await parts.handle(setup, admission));
}

const serveWith =
  (change: () => Partial<Parts>): ServeAdapter =>
  async (setup) => {
    // Anew for each app, for the tests run side by side.
    const parts = { ...RIGHT, ...change() };
    for (const operation of ['whoami', 'readReports'] as const) parts.declare(setup, operation);
    // Large enough for a credential that is too long.
    const server = createServer({ maxHeaderSize: 65_536 }, (req, res) => {
      const operation = req.url?.startsWith('/whoami') ? 'whoami' : 'readReports';
      respond(parts, setup, operation, req, res).catch((error) => parts.fail(res, error, setup));
    });
    return { url: `http://127.0.0.1:${await listen(server)}`, close: () => close(server) };
  };

/** The tests that an adapter fails, sorted. */
async function failures(serve: ServeAdapter): Promise<readonly string[]> {
  const tests: (readonly [string, () => Promise<void>])[] = [];
  adapterContract((name, run) => tests.push([name, run]), serve);
  const failed = tests.map(([name, run]) =>
    run().then(
      () => [],
      () => [name],
    ),
  );
  return (await Promise.all(failed)).flat().sort();
}

// The tests of the contract.
const LET_IN = 'a key that holds the scope is let in, with its principal and its entity';
const NO_STORE = 'an answer to a key is not to be stored';
const NONE = 'no credential is denied, byte for byte as toResponse says';
const OTHER = 'another scheme and a malformed credential are denied';
const LONG = 'a credential of more than 16 KiB is denied';
const TWO = 'two Authorization lines are denied, whatever they are';
const ELSEWHERE = 'a key anywhere else is no credential';
const NAMED = 'no other header says who is calling';
const ALIKE = 'keys that are refused are answered alike, whatever the reason';
const SCOPE = 'a key without the scope is denied, and the challenge names it';
const ENTITY = 'the entity that was checked is handed to the handler';
const BAD_ENTITY = 'an entity that is not accessible, repeated or malformed is denied';
const BROKEN = 'a broken store is 503, and no bad key';
const BUG = 'a bug lets nobody in, and is no denial';
const THROWS = 'a handler that throws runs once, and is no denial';
const ONCE = 'the keyring is asked once a request, for the operation of the route';
const APART = '20 requests at once: each handler has its own caller';
const HEAD = 'HEAD is denied as GET is, without a body';
const OPERATION = 'an operation that the policy lacks is refused at set-up';
const REALM = 'a realm that no header can carry is refused at set-up';
const KEYRING = 'a guard without a keyring is refused at set-up';

const DENIALS = [NONE, OTHER, LONG, TWO, ELSEWHERE, NAMED, ALIKE, SCOPE, BAD_ENTITY, BROKEN];
/** Of these, the ones that have to have a challenge. */
const CHALLENGED = DENIALS.filter((name) => name !== BROKEN);

/** A denial with something changed. */
const denyWith = (
  change: (answer: DenialResponse, error: unknown) => DenialResponse,
): Partial<Parts> => ({
  deny: (error, setup, req) => change(RIGHT.deny(error, setup, req) as DenialResponse, error),
});
const withHeaders = (answer: DenialResponse, headers: Record<string, string>): DenialResponse => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
});
const without = (name: string) =>
  denyWith((answer) => ({
    ...answer,
    headers: Object.fromEntries(Object.entries(answer.headers).filter(([each]) => each !== name)),
  }));
/** A denial with another status. */
const unauthorized = (setup: AdapterSetup): DenialResponse => ({
  ...toResponse(undefined, challengeOf(setup)),
  status: 401,
});
const asked = (input: Input) => [input.entityUuid].flat();

/** A key that is read from another place too. */
const readsToo = (find: (req: IncomingMessage) => string | null | undefined): Partial<Parts> => ({
  request: (req) =>
    req.headers.authorization === undefined && find(req) ? `Bearer ${find(req)}` : req,
});

/** What an adapter gets wrong, and the tests that say so. */
const WRONG: Readonly<Record<string, readonly [() => Partial<Parts>, readonly string[]]>> = {
  'passes the headers, which hide a second line': [
    () => ({ request: (req) => req.headers }),
    [TWO],
  ],
  'passes the last of two lines': [
    () => ({ request: ({ headersDistinct: { authorization } }) => authorization?.at(-1) }),
    [TWO],
  ],
  'forgets to await': [
    () => ({
      admit: async (setup, request, input) => {
        admit(setup, request, input).catch(() => {});
        return {} as Admission;
      },
    }),
    [...DENIALS, LET_IN, ENTITY, BUG, APART, HEAD],
  ],
  'copies the principal': [
    () => ({ admit: async (...args) => structuredClone(await RIGHT.admit(...args)) }),
    [LET_IN],
  ],
  'hands on no principal': [
    () => ({
      admit: async (...args) => ({
        ...(await RIGHT.admit(...args)),
        principal: {} as Admission['principal'],
      }),
    }),
    [LET_IN, NAMED, ENTITY, BROKEN, APART],
  ],
  'answers JSON of its own': [
    () => denyWith((answer) => ({ ...answer, body: JSON.stringify({ error: 'denied' }) })),
    DENIALS,
  ],
  'adds a charset': [
    () =>
      denyWith((answer) =>
        withHeaders(answer, { 'Content-Type': 'application/problem+json; charset=utf-8' }),
      ),
    DENIALS,
  ],
  'writes the challenge by hand': [
    () => denyWith((answer) => withHeaders(answer, { 'WWW-Authenticate': 'Bearer realm="acme"' })),
    DENIALS,
  ],
  'names no metadata': [
    () => ({
      deny: (error, { realm, ...setup }, req) =>
        RIGHT.deny(error, { ...setup, realm, resourceMetadata: undefined as never }, req),
    }),
    CHALLENGED,
  ],
  'leaves the challenge out': [() => without('WWW-Authenticate'), CHALLENGED],
  'leaves Retry-After out': [() => without('Retry-After'), [BROKEN]],
  'forgets no-store': [() => ({ headers: {} }), [NO_STORE]],
  'lets denials be stored': [
    () => ({ headers: {}, ...without('Cache-Control') }),
    [NO_STORE, ...DENIALS],
  ],
  'takes the first of a repeated entity': [
    () => ({ entity: (req) => queryOf(req).get('entity') }),
    [BAD_ENTITY],
  ],
  'reads 1,000 parameters': [
    () => ({ entity: (req) => [Object(parse(req.url?.split('?')[1] ?? '')).entity ?? []].flat() }),
    [BAD_ENTITY],
  ],
  'takes the last of a repeated entity': [
    () => ({ entity: (req) => queryOf(req).getAll('entity').at(-1) }),
    [BAD_ENTITY],
  ],
  'takes a repeated entity once': [
    () => ({ entity: (req) => [...new Set(queryOf(req).getAll('entity'))] }),
    [BAD_ENTITY],
  ],
  'takes an empty entity for none': [
    () => ({ entity: (req) => queryOf(req).getAll('entity').filter(Boolean) }),
    [BAD_ENTITY],
  ],
  'folds the case of an entity': [
    () => ({
      entity: (req) =>
        queryOf(req)
          .getAll('entity')
          .map((each) => each.toLowerCase()),
    }),
    [BAD_ENTITY],
  ],
  'trims an entity': [
    () => ({
      entity: (req) =>
        queryOf(req)
          .getAll('entity')
          .map((each) => each.trim()),
    }),
    [BAD_ENTITY],
  ],
  'ignores the entity': [() => ({ entity: () => undefined }), [ENTITY, BAD_ENTITY, APART, HEAD]],
  "hands on the key's own entity": [
    () => ({
      admit: async (...args) => {
        const { principal } = await RIGHT.admit(...args);
        return { principal, entityUuid: principal.entityUuid };
      },
    }),
    [ENTITY, APART],
  ],
  'hands on the entity unchecked': [
    () => ({
      admit: async (setup, request, input) => {
        const { principal } = await admit(setup, request, { ...input, entityUuid: undefined });
        return { principal, entityUuid: String(asked(input)[0] ?? principal.entityUuid) };
      },
    }),
    [BAD_ENTITY, HEAD],
  ],
  'ignores the entity of HEAD': [
    () => ({ entity: (req) => (req.method === 'HEAD' ? undefined : RIGHT.entity(req)) }),
    [HEAD],
  ],
  'hands on the entity of a header': [
    () => ({
      admit: async (setup, request, input, req) => {
        const admission = await admit(setup, request, input);
        return {
          ...admission,
          entityUuid: String(req.headers['x-entity-uuid'] ?? admission.entityUuid),
        };
      },
    }),
    [NAMED],
  ],
  'believes a header that it is called from within': [
    () => ({ passes: (req) => req.headers['x-internal'] !== undefined }),
    [NAMED],
  ],
  'keeps the caller in a variable of the module': [
    () => {
      let caller = {} as Admission;
      return {
        admit: async (...args) => {
          caller = await RIGHT.admit(...args);
          return caller;
        },
        handle: async (setup) => RIGHT.handle(setup, caller),
      };
    },
    [APART],
  ],
  'takes whoever is admitted next for the one who waits longest': [
    () => {
      const waiting: ((admission: Admission) => void)[] = [];
      return {
        admit: (...args) =>
          new Promise((resolve, reject) => {
            waiting.push(resolve);
            RIGHT.admit(...args).then(
              (admission) => waiting.shift()?.(admission),
              (error) => {
                waiting.splice(waiting.indexOf(resolve), 1);
                reject(error);
              },
            );
          }),
      };
    },
    [APART],
  ],
  'takes every error for a bad key': [
    () => ({ deny: (_error, setup) => unauthorized(setup) }),
    [...DENIALS, BUG, HEAD],
  ],
  'takes a bug for a bad key': [
    () => ({
      deny: (error, setup, req) =>
        isAccessError(error) || isStoreError(error)
          ? RIGHT.deny(error, setup, req)
          : unauthorized(setup),
    }),
    [BUG],
  ],
  'lets in where there is a bug': [
    () => ({
      deny: (error, setup, req) =>
        isAccessError(error) || isStoreError(error) ? RIGHT.deny(error, setup, req) : null,
    }),
    [BUG],
  ],
  'lets in where what is thrown is no error': [
    () => ({ deny: (error, setup, req) => (error ? RIGHT.deny(error, setup, req) : null) }),
    [BUG],
  ],
  'takes a code for a brand': [
    () => ({
      deny: (error, setup, req) =>
        Object(error).code === 'invalid_token'
          ? unauthorized(setup)
          : RIGHT.deny(error, setup, req),
    }),
    [ALIKE, BUG],
  ],
  'runs the handler where there is a bug': [
    () => ({
      deny(error, setup, req) {
        if (!isAccessError(error) && !isStoreError(error))
          setup.handle({} as Admission['principal'], '');
        return RIGHT.deny(error, setup, req);
      },
    }),
    [BUG],
  ],
  'adds a challenge to errors of its own': [
    () => ({
      fail: (res) => res.writeHead(500, { 'WWW-Authenticate': 'Bearer realm="acme"' }).end(),
    }),
    [BUG, THROWS],
  ],
  'takes an outage for a bad key': [
    () => ({
      deny: (error, setup, req) =>
        isStoreError(error) ? unauthorized(setup) : RIGHT.deny(error, setup, req),
    }),
    [BROKEN],
  ],
  'lets in while the store is broken': [
    () => ({
      deny: (error, setup, req) => (isStoreError(error) ? null : RIGHT.deny(error, setup, req)),
    }),
    [BROKEN],
  ],
  'says what the driver said': [
    () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': String(Object(error.cause).message).slice(0, 31) })
          : answer,
      ),
    [BROKEN],
  ],
  'says the digest that the driver said': [
    () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': String(Object(error.cause).message).slice(-64) })
          : answer,
      ),
    [BROKEN],
  ],
  'says the reason': [
    () =>
      denyWith((answer, error) =>
        isAccessError(error) ? withHeaders(answer, { 'X-Reason': error.reason }) : answer,
      ),
    [ALIKE],
  ],
  'says the key': [
    () => ({
      deny: (error, setup, req) =>
        withHeaders(RIGHT.deny(error, setup, req) as DenialResponse, {
          'X-Got': req.headers.authorization?.slice(0, 200) ?? '',
        }),
    }),
    [OTHER, LONG, TWO, ALIKE, SCOPE, BAD_ENTITY, BROKEN, ONCE, HEAD],
  ],
  'admits twice': [
    () => ({
      admit: async (...args) => {
        await RIGHT.admit(...args);
        return RIGHT.admit(...args);
      },
    }),
    [ONCE],
  ],
  'keeps what was admitted with the connection': [
    () => {
      const known = new WeakMap<object, Promise<Admission>>();
      return {
        admit(setup, request, input, req) {
          const found = known.get(req.socket);
          if (found !== undefined && input.operation === 'whoami') return found;
          const admission = admit(setup, request, input);
          if (input.operation === 'whoami') known.set(req.socket, admission);
          return admission;
        },
      };
    },
    [ONCE],
  ],
  'keeps what was admitted': [
    () => {
      const kept = new Map<string, Promise<Admission>>();
      return {
        admit: (setup, request, input, req) => {
          const name = JSON.stringify([req.rawHeaders, input]);
          const admission = kept.get(name) ?? admit(setup, request, input);
          kept.set(name, admission);
          return admission;
        },
      };
    },
    [BROKEN, ONCE],
  ],
  'asks nobody where there is no credential': [
    () => ({
      admit: async (setup, request, input, req) => {
        if (req.headers.authorization === undefined)
          throw new AccessError('missing_credentials', 'no_header');
        return admit(setup, request, input);
      },
    }),
    [ONCE],
  ],
  'authorizes by itself': [
    () => ({
      admit: async ({ keyring, policy }, request, { operation, entityUuid }) => {
        const principal = await keyring.authenticate(request as IncomingMessage);
        return { principal, entityUuid: policy.authorize(principal, operation, { entityUuid }) };
      },
    }),
    [BUG, ONCE],
  ],
  'authenticates alone': [
    () => ({
      admit: (setup, request, input) => admit(setup, request, { ...input, operation: 'whoami' }),
    }),
    [SCOPE, ONCE, HEAD],
  ],
  'takes the errors of handlers for denials': [
    () => ({ fail: (res, _error, setup) => res.writeHead(401, unauthorized(setup).headers).end() }),
    [BUG, THROWS],
  ],
  'runs a handler again that throws': [
    () => ({
      handle: (setup, admission) =>
        RIGHT.handle(setup, admission).catch(() => RIGHT.handle(setup, admission)),
    }),
    [THROWS],
  ],
  'answers the error of a handler with 200': [
    () => ({ handle: (setup, admission) => RIGHT.handle(setup, admission).catch(() => 'failed') }),
    [THROWS],
  ],
  'compares the scheme by case': [
    () => ({
      request: (req) => (/^bearer /.test(req.headers.authorization ?? '') ? undefined : req),
    }),
    [LET_IN],
  ],
  'takes any scheme': [
    () => ({
      request: (req) =>
        req.headers.authorization === undefined
          ? req
          : `Bearer ${req.headers.authorization.split(' ').at(-1)}`,
    }),
    [OTHER, TWO, ELSEWHERE],
  ],
  'takes a key as the name of a user': [
    () => ({
      request: (req) => {
        const [, basic = ''] = req.headers.authorization?.split('Basic ') ?? [];
        const [user = ''] = Buffer.from(basic, 'base64').toString('latin1').split(':');
        return user.startsWith('acme_') ? `Bearer ${user}` : req;
      },
    }),
    [OTHER],
  ],
  'cuts a credential': [
    () => ({
      request: (req) =>
        Number(req.headers.authorization?.length) > 16_384
          ? req.headers.authorization?.slice(0, 100)
          : req,
    }),
    [LONG],
  ],
  'reads the query too': [() => readsToo((req) => queryOf(req).get('access_token')), [ELSEWHERE]],
  'reads X-API-Key too': [() => readsToo((req) => req.headers['x-api-key'] as string), [ELSEWHERE]],
  'reads Api-Key too': [() => readsToo((req) => req.headers['api-key'] as string), [ELSEWHERE]],
  'reads X-API-Key beside another scheme': [
    () => ({
      request: (req) =>
        req.headers.authorization?.startsWith('Basic') && req.headers['x-api-key']
          ? `Bearer ${req.headers['x-api-key']}`
          : req,
    }),
    [ELSEWHERE],
  ],
  'reads cookies too': [
    () => readsToo((req) => /token=(\w+)/.exec(req.headers.cookie ?? '')?.[1]),
    [ELSEWHERE],
  ],
  'denies and goes on': [
    () => ({
      deny(error, setup, req) {
        const answer = RIGHT.deny(error, setup, req);
        setup.handle({} as Admission['principal'], '');
        return answer;
      },
    }),
    [...DENIALS, HEAD],
  ],
  'runs a handler twice': [
    () => ({
      handle: (setup, admission) =>
        RIGHT.handle(setup, admission).then(() => RIGHT.handle(setup, admission)),
    }),
    [LET_IN, NAMED, ENTITY, BROKEN, APART],
  ],
  'lets HEAD pass': [() => ({ passes: (req) => req.method === 'HEAD' }), [HEAD]],
  'looks operations up when it is asked': [
    () => ({ declare: (setup) => RIGHT.declare(setup, 'whoami') }),
    [OPERATION],
  ],
  'writes the first challenge when somebody is denied': [
    () => ({
      declare: (setup, operation) => RIGHT.declare({ ...setup, realm: 'acme' }, operation),
    }),
    [REALM],
  ],
  'looks for its keyring when it is asked': [
    () => ({
      declare: (setup, operation) =>
        RIGHT.declare({ ...setup, keyring: { admit } as never }, operation),
    }),
    [KEYRING],
  ],
  'says at set-up that it cannot, with another error': [
    () => ({
      declare(setup, operation) {
        try {
          RIGHT.declare(setup, operation);
        } catch {
          throw new Error('cannot');
        }
      },
    }),
    [OPERATION, REALM, KEYRING],
  ],
};

describe('the contract of adapters', () => {
  test('is passed by a right one', async () => {
    expect(await failures(serveWith(() => ({})))).toEqual([]);
  });

  test.each(Object.entries(WRONG))('notices one that %s', async (_name, [change, expected]) => {
    expect(await failures(serveWith(change))).toEqual([...expected].sort());
  });

  test('has no test that none of these fails', async () => {
    const noticed = new Set(Object.values(WRONG).flatMap(([, names]) => names));
    const names: string[] = [];
    adapterContract(
      (name) => names.push(name),
      serveWith(() => ({})),
    );
    expect(names.filter((name) => !noticed.has(name))).toEqual([]);
  });
});

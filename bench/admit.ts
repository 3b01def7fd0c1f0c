/**
 * From Node's request to an operation on an entity: `node bench/admit.ts`. The same beside the
 * contract floor, with the fewest header lines and with those of a browser, each request an
 * `IncomingMessage` of its own.
 */
import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createKeyring, definePolicy } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { measureApart, type Pairs } from './apart.ts';
import { ContractFloor } from './contract-floor.ts';
import { type Case, drawer, type Figure } from './harness.ts';
import {
  anotherKey,
  catalog,
  ENTITY,
  EXPIRES,
  fill,
  HeaderValues,
  NEEDED,
  newKeys,
  PEPPERS,
  PREFIX,
  recordOf,
} from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 100;
const KEYS = 1_000;
const CALLS = 160;
const LIST = 16;
const FLOOR = 'contract floor';
const OURS = 'keyscope';

const FEW: readonly string[] = ['Host', 'api.acme.example'];
/** With these and its credential, a request has 20 lines. */
const BROWSER: readonly string[] = [
  ...FEW,
  ...['Connection', 'keep-alive', 'Pragma', 'no-cache', 'Cache-Control', 'no-cache'],
  ...['sec-ch-ua', '"Chromium";v="131"', 'sec-ch-ua-mobile', '?0'],
  ...['sec-ch-ua-platform', '"Linux"', 'Upgrade-Insecure-Requests', '1'],
  ...['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0.0.0'],
  ...['Accept', 'application/json', 'Sec-Fetch-Site', 'same-origin', 'Sec-Fetch-Mode', 'cors'],
  ...['Sec-Fetch-Dest', 'empty', 'Referer', 'https://acme.example/threats'],
  ...['Accept-Encoding', 'gzip, deflate, br', 'Accept-Language', 'en-US,en;q=0.9'],
  ...['Cookie', 'theme=dark', 'X-Request-Id', '7f3c', 'If-None-Match', 'W/"a1"', 'DNT', '1'],
];

const socket = new Socket();

/** As the parser of `node:http` leaves it. */
function requestOf(lines: readonly string[], authorization: string): IncomingMessage {
  const request = new IncomingMessage(socket);
  request.rawHeaders = [...lines, 'Authorization', authorization];
  return request;
}

interface Door {
  readonly values: HeaderValues;
  readonly admit: (request: IncomingMessage) => Promise<{ readonly entityUuid: string }>;
}

const NEEDS: readonly string[] = [NEEDED];

function floorDoor(): Door {
  const values = new HeaderValues(newKeys(KEYS), KEYS);
  const records = Array.from({ length: KEYS }, (_, index) => recordOf(index, values.key(index)));
  const floor = new ContractFloor(PREFIX, records);
  return { values, admit: ({ rawHeaders }) => floor.admit(rawHeaders, NEEDS) };
}

function ourDoor(): Door {
  const { store, values } = fill(KEYS);
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  return {
    values,
    admit: (request) => keyring.admit(request, { policy, operation: 'listThreats' }),
  };
}

/** Issued under a pepper, so sealed. */
async function sealedDoor(): Promise<Door> {
  const store = memoryStore();
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: PEPPERS });
  const keys: string[] = [];
  for (let index = 0; index < KEYS; index++) {
    const input = { name: 'bench', scopes: [NEEDED], expiresAt: new Date(EXPIRES) } as const;
    const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
    keys.push(key);
  }
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  return {
    values: new HeaderValues(keys, KEYS),
    admit: (request) => keyring.admit(request, { policy, operation: 'listThreats' }),
  };
}

async function caseOf(
  name: string,
  lines: readonly string[],
  { values, admit }: Door,
): Promise<Case<readonly IncomingMessage[]>> {
  const draw = drawer(3);
  const make = (index: number) => requestOf(lines, values.headers(index).authorization);
  async function admitAll(requests: readonly IncomingMessage[]): Promise<string> {
    let last = '';
    for (const request of requests) last = (await admit(request)).entityUuid;
    return last;
  }
  // Each key has been seen once.
  for (let index = 0; index < KEYS; index++) await admit(make(index));
  return {
    name,
    over: FLOOR,
    calls: CALLS,
    batch: LIST,
    async check() {
      assert.equal((await admit(make(7))).entityUuid, ENTITY);
      const { authorization } = values.headers(8);
      await assert.rejects(async () => admit(requestOf(lines, anotherKey(authorization))));
      const twice = requestOf([...lines, 'authorization', authorization], authorization);
      await assert.rejects(async () => admit(twice));
    },
    prepare: () => Array.from({ length: LIST }, () => make(draw(KEYS))),
    run: admitAll,
  };
}

const LINES: Readonly<Record<string, readonly string[]>> = {
  '2 header lines': FEW,
  '20 header lines': BROWSER,
};
const DOORS: Readonly<Record<string, () => Door | Promise<Door>>> = {
  [OURS]: ourDoor,
  'keyscope, pepper and seal': sealedDoor,
};

const pairs: Record<string, Pairs[string]> = {};
for (const [group, lines] of Object.entries(LINES)) {
  for (const [name, open] of Object.entries(DOORS)) {
    pairs[`${group}: ${name}`] = async () => [
      await caseOf(FLOOR, lines, floorDoor()),
      await caseOf(name, lines, await open()),
    ];
  }
}

const figures = await measureApart(import.meta.url, pairs, ROUNDS);
if (figures !== null) {
  const of = (group: string, name: string): readonly Figure[] =>
    figures.get(`${group}: ${name}`) ?? [];
  const speed = (group: string) => 1 / (of(group, OURS)[1]?.ratio ?? Number.NaN);
  publish({
    name: 'admit',
    title: 'Admit: from a request to an operation on an entity',
    about:
      'Reads the credential out of the raw header lines, verifies the key, requires the scope ' +
      'and the entity and notes the use. The contract floor does so by hand, in one module.',
    unit: 'ops/s',
    base: FLOOR,
    rows: Object.keys(LINES).flatMap((group) => {
      const ours = Object.keys(DOORS).flatMap((name) => of(group, name).slice(1));
      return [...of(group, OURS).slice(0, 1), ...ours].map((figure) =>
        rowOf(figure, 'ops/s', { name: figure.name, group, ours: figure.name !== FLOOR }),
      );
    }),
    aims: Object.keys(LINES).map((group) =>
      aim(`${group}, of the contract floor`, speed(group), '≥', 0.65, '×'),
    ),
  });
}

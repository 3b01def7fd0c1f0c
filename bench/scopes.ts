/**
 * One scope check, once it is known who is calling: `node bench/scopes.ts`. Over several callers
 * and scopes in turn, so that no answer can be folded away. Peers are built once for a caller, as
 * their documentation says.
 */
import assert from 'node:assert/strict';
import {
  createKeyring,
  definePolicy,
  hasScopes,
  isAccessError,
  type Principal,
  requireScopes,
} from 'keyscope';
import { measureApart, type Pairs } from './apart.ts';
import { type Case, keep } from './harness.ts';
import { catalog, fill, LACKING, NEEDED, PREFIX, SCOPES } from './keys.ts';
import { load, missing } from './peers/load.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 100;
const ANSWER = 'A boolean, held and not held in turn';
const GUARD = 'A guard that throws, held';
const SET = 'Set.has';

interface Asked {
  readonly scope: string;
  readonly resource: string;
  readonly action: string;
}

function askedOf(scope: string): Asked {
  const [resource = '', action = ''] = scope.split(':');
  return { scope, resource, action };
}
const ALL = catalog.all.map(askedOf);
const HELD = SCOPES.map(askedOf);

const { store, values } = fill(16);
const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
const principals: Principal[] = [];
for (let i = 0; i < values.count; i++) {
  principals.push(await keyring.authenticate(values.headers(i)));
}
const policy = definePolicy(catalog, { listThreats: [NEEDED] });

/** One check of a caller of whatever kind. */
type Ask<Caller> = (caller: Caller, asked: Asked) => boolean;
const REPEAT = 8;

/** `calls`: some milliseconds' worth. */
function answering<Caller>(
  name: string,
  calls: number,
  callers: readonly Caller[],
  ask: Ask<Caller>,
): Case {
  function count(): number {
    let held = 0;
    for (const caller of callers) {
      for (const asked of ALL) if (ask(caller, asked)) held += 1;
    }
    return held;
  }
  return {
    name: `${ANSWER}: ${name}`,
    over: `${ANSWER}: ${SET}`,
    calls,
    batch: REPEAT * callers.length * ALL.length,
    check: () => assert.equal(count(), callers.length * SCOPES.length),
    prepare: () => undefined,
    run() {
      for (let i = 0; i < REPEAT; i++) keep(count());
    },
  };
}

function guarding<Caller>(
  name: string,
  calls: number,
  callers: readonly Caller[],
  guard: (caller: Caller, asked: Asked) => unknown,
): Case {
  return {
    name: `${GUARD}: ${name}`,
    over: `${GUARD}: ${SET}`,
    calls,
    batch: REPEAT * callers.length * HELD.length,
    check() {
      for (const caller of callers) {
        for (const asked of HELD) guard(caller, asked);
      }
      // A policy's operation is its own; every other guard refuses what was not granted.
      if (name.startsWith('policy')) return;
      assert.throws(() => guard(callers[0] as Caller, askedOf(LACKING)), name);
    },
    prepare: () => undefined,
    run() {
      for (let i = 0; i < REPEAT; i++) {
        for (const caller of callers) {
          for (const asked of HELD) keep(guard(caller, asked));
        }
      }
    },
  };
}

// ── Peers ────────────────────────────────────────────────────────────────────────────────────────

interface Ability {
  can(action: string, subject: string): boolean;
}

interface Rule {
  readonly action: string;
  readonly subject: string;
}

interface Casl {
  createMongoAbility(rules: readonly Rule[]): Ability;
}

interface AccessControl {
  lock(): this;
  can(role: string): { do(action: string, resource: string): { readonly granted: boolean } };
}

async function casl(): Promise<readonly Case[]> {
  const { createMongoAbility } = (await load('@casl/ability')) as Casl;
  const rules = HELD.map(({ action, resource }) => ({ action, subject: resource }));
  const abilities = principals.map(() => createMongoAbility(rules));
  // Not its `ForbiddenError.from(ability)`, which makes an error before it knows whether it wants
  // one.
  return [
    answering('@casl/ability', 16, abilities, (ability, { action, resource }) =>
      ability.can(action, resource),
    ),
  ];
}

async function accessControl(): Promise<readonly Case[]> {
  const library = (await load('accesscontrol')) as {
    AccessControl: new (grants: object) => AccessControl;
  };
  const grants = HELD.map(({ action, resource }) => ({
    role: 'integration',
    action,
    resource,
    attributes: ['*'],
  }));
  const control = new library.AccessControl(grants).lock();
  const roles = principals.map(() => 'integration');
  const ask: Ask<string> = (role, { action, resource }) =>
    control.can(role).do(action, resource).granted;
  return [answering('accesscontrol', 1, roles, ask)];
}

// ── Cases ────────────────────────────────────────────────────────────────────────────────────────

const sets = principals.map(({ scopes }) => new Set(scopes));
const texts = principals.map(({ scopes }) => scopes.join(' '));

function requireMember(set: ReadonlySet<string>, { scope }: Asked): void {
  if (!set.has(scope)) throw new Error('Forbidden');
}

assert.throws(() => requireScopes(principals[0] as Principal, LACKING), isAccessError);

const inSet = answering(SET, 64, sets, (set, { scope }) => set.has(scope));
const guardedBySet = guarding(SET, 64, sets, requireMember);

/** Beside `Set.has`; alone, and so not measured, where a library is not installed. */
async function besideSet(peer: Promise<readonly Case[]>): Promise<readonly Case[]> {
  return [inSet, ...((await peer.catch(missing)) ?? [])];
}

const PAIRS: Pairs = {
  hasScopes: () => [
    inSet,
    answering('keyscope, hasScopes', 64, principals, (principal, { scope }) =>
      hasScopes(principal, scope),
    ),
  ],
  split: () => [
    inSet,
    answering("text.split(' ').includes", 8, texts, (text, { scope }) =>
      text.split(' ').includes(scope),
    ),
  ],
  casl: () => besideSet(casl()),
  accesscontrol: () => besideSet(accessControl()),
  requireScopes: () => [
    guardedBySet,
    guarding('keyscope, requireScopes', 64, principals, (principal, { scope }) =>
      requireScopes(principal, scope),
    ),
  ],
  authorize: () => [
    guardedBySet,
    guarding('policy.authorize of keyscope', 64, principals, (principal) =>
      policy.authorize(principal, 'listThreats'),
    ),
  ],
};

const figures = await measureApart(import.meta.url, PAIRS, ROUNDS);
if (figures !== null) {
  const timeOf = (name: string): number | undefined => figures.get(name)?.[1]?.ratio ?? undefined;
  const rows = Array.from(figures, ([name, [set, other]]) => {
    // `Set.has` once for each group, from its first pair.
    const isFirst = name === 'hasScopes' || name === 'requireScopes';
    return isFirst ? [set, other] : [other];
  });
  publish({
    name: 'scopes',
    title: 'One scope check',
    about:
      'Whether a caller who is known holds a scope: of four that were granted. Nanoseconds of ' +
      'one check; less is better.',
    unit: 'ns',
    base: SET,
    rows: rows.flat().flatMap((figure) => {
      if (figure === undefined) return [];
      const [group = '', name = ''] = figure.name.split(': ');
      return [rowOf(figure, 'ns', { name, group, ours: name.includes('keyscope') })];
    }),
    aims: [
      aim('hasScopes, time of Set.has', timeOf('hasScopes'), '≤', 1.5, '×'),
      aim('requireScopes, time of Set.has', timeOf('requireScopes'), '≤', 1.5, '×'),
    ],
  });
}

/**
 * Scopes and patterns: vectors through every function, the laws of the algebra, and every small
 * set.
 */
import fc from 'fast-check';
import {
  coversScopes,
  createKeyring,
  definePolicy,
  defineScopes,
  equalScopes,
  formatScopes,
  hasScopes,
  intersectScopes,
  normalizeScopes,
  type Principal,
  parseScopes,
  requireScopes,
  unionScopes,
} from 'keyscope';
import { issueInputSchema, meSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Algebra,
  brokenLaws,
  disagreements,
  MINIMAL,
  ours,
  PATTERNS,
  patternSet,
  SETS,
} from '../support/algebra.ts';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { complaint } from '../support/complaint.ts';
import { runs } from '../support/runs.ts';
import { concat, failures, type Json, readVectors, uuid, type Vector } from '../support/vectors.ts';

type Parts = Parameters<typeof concat>[0];
type ScopeVector = Vector & {
  readonly input?: Json;
  readonly generate?: Parts;
  readonly result: 'concrete' | 'pattern' | 'malformed';
};
type ListVector = Vector & {
  readonly list?: Json;
  readonly text?: string;
  readonly generateText?: Parts;
  readonly result: readonly string[] | 'malformed';
};
const { tests, lists } = readVectors<{
  tests: readonly ScopeVector[];
  lists: readonly ListVector[];
}>('scopes');
const inputOf = ({ input, generate }: ScopeVector) =>
  generate ? concat(generate) : (input as string);
const listOf = ({ list, text, generateText }: ListVector) =>
  generateText ? concat(generateText) : ((text ?? list) as string);

const KEY = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
const SECRET = KEY.slice(5);
const catalog = defineScopes({
  threats: { read: 'Read threats.' },
  users: { read: 'Read users.' },
});
const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
const authority = { entityId: uuid(1), scopes: 'all' } as const;
let principal: Principal;

beforeAll(async () => {
  const { key } = await keyring.issue(
    { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' },
    authority,
  );
  principal = await keyring.verify(key);
});

/** Every function that takes a list of patterns, with `set` as each such argument. */
const readers = (set: readonly string[]): Readonly<Record<string, () => unknown>> => ({
  normalizeScopes: () => normalizeScopes(set),
  formatScopes: () => formatScopes(set),
  'coversScopes, granted': () => coversScopes(set, []),
  'coversScopes, required': () => coversScopes(['*:*'], set),
  'unionScopes, first': () => unionScopes(set, []),
  'unionScopes, second': () => unionScopes([], set),
  'intersectScopes, first': () => intersectScopes(set, []),
  'intersectScopes, second': () => intersectScopes([], set),
  'equalScopes, first': () => equalScopes(set, []),
  'equalScopes, second': () => equalScopes([], set),
});

describe('an intersection', () => {
  const wildcards = (count: number) => Array.from({ length: count }, (_, i) => `r${i}:*`);
  const actions = (count: number) => Array.from({ length: count }, (_, i) => `*:a${i}`);

  it('is refused beyond 100,000 combinations', () => {
    expect(intersectScopes(wildcards(250), actions(400))).toHaveLength(100_000);
    const act = () => intersectScopes(wildcards(251), actions(400));
    expect(complaint(act)).toBe('scopes: too many to intersect; narrow one of the sets first');
    // Concrete scopes only need look-ups, so any number is fine.
    const scopes = Array.from({ length: 1000 }, (_, i) => `r${i}:a`);
    expect(intersectScopes(scopes, scopes)).toHaveLength(1000);
  });
});

describe('the vectors of scopes', () => {
  it('are at least 120 texts, 100 of them malformed', () => {
    expect(tests.length).toBeGreaterThanOrEqual(120);
    expect(tests.filter(({ result }) => result === 'malformed').length).toBeGreaterThanOrEqual(100);
  });

  it('hold for every function on a list of one element', async () => {
    const failed = await failures(tests, (vector) => {
      const element = inputOf(vector);
      const set = [element];
      for (const [name, read] of Object.entries({
        ...readers(set),
        parseScopes: () => parseScopes(set),
      })) {
        if (vector.result === 'malformed') expect(complaint(read), name).toMatch(/^scopes: /);
        else read();
      }
      if (vector.result === 'malformed') return;
      expect(parseScopes(set)).toEqual(set);
      expect(parseScopes(element)).toEqual(set);
    });
    expect(failed).toEqual([]);
  });

  it('hold with a character beyond ASCII in any position, which refuses the whole list', () => {
    for (const text of ['users:kiosks', '*:disk', 'tasks:*'].flatMap(beyondAscii)) {
      for (const [name, read] of Object.entries(readers(['a:b', text])))
        expect(complaint(read), name).toMatch(/^scopes: /);
      expect(complaint(() => parseScopes(`a:b ${text}`))).toMatch(/^scopes: /);
    }
  });

  it('hold for the concrete scopes that are granted to a key and required of it', async () => {
    const failed = await failures(tests, async (vector) => {
      const element = inputOf(vector);
      const concrete = vector.result === 'concrete';
      const guards = [
        () => hasScopes(principal, element),
        () => requireScopes(principal, 'threats:read', element),
      ];
      const isKnown = element === 'threats:read' || element === 'users:read';
      for (const guard of isKnown ? [] : guards)
        expect(complaint(guard)).toMatch(/^scopes: .*name scopes of the catalog/);
      if (isKnown) expect(hasScopes(principal, element)).toBe(element === 'threats:read');
      const table = { operation: [element] } as unknown as { operation: [] };
      if (!concrete)
        expect(complaint(() => definePolicy(catalog, table))).toMatch(/^definePolicy: /);
      if (vector.result !== 'malformed') return;
      const input = {
        name: 'ci',
        scopes: [element as 'threats:read'],
        expiresAt: 'never',
      } as const;
      await expect(keyring.issue(input, authority)).rejects.toThrow(/^scopes: /);
      await expect(
        keyring.issue({ ...input, scopes: [] }, { ...authority, scopes: [element] }),
      ).rejects.toThrow(/^scopes: /);
    });
    expect(failed).toEqual([]);
  });

  it('hold for the names of a catalog, which are concrete', async () => {
    const failed = await failures(tests, (vector) => {
      const element = inputOf(vector);
      if (typeof element !== 'string' || element.split(':').length !== 2) return;
      const [resource, action] = element.split(':') as [string, string];
      const define = () => defineScopes({ [resource]: { [action]: 'A sentence.' } });
      // As a computed name, `__proto__` is an ordinary field, so the grammar refuses it.
      if (vector.result === 'concrete') expect(define().all).toEqual([element]);
      else expect(complaint(define)).toMatch(/^defineScopes: /);
    });
    expect(failed).toEqual([]);
  });

  it('hold for the zod schemas', async () => {
    const failed = await failures(tests, (vector) => {
      const scopes = [inputOf(vector)];
      const body = { name: 'ci', scopes, expiresAt: 'never' };
      const me = { entity_uuid: uuid(1), key_id: uuid(2), scopes, accessible_entities: [uuid(1)] };
      expect(issueInputSchema.safeParse(body).success).toBe(vector.result !== 'malformed');
      expect(meSchema.safeParse(me).success).toBe(vector.result === 'concrete');
    });
    expect(failed).toEqual([]);
  });

  it('hold for lists and texts: read as the minimal set, or refused as a whole', async () => {
    const failed = await failures(lists, (vector) => {
      const input = listOf(vector);
      if (vector.result === 'malformed') {
        expect(complaint(() => parseScopes(input))).toMatch(/^scopes: /);
        // The functions on sets accept longer lists than a key can have, but no texts.
        if (vector.flags.includes('Size')) return;
        for (const [name, read] of Object.entries(readers(input as unknown as string[]))) {
          expect(complaint(read), name).toMatch(/^scopes: /);
        }
        return;
      }
      const parsed = parseScopes(input);
      expect(parsed).toEqual(vector.result);
      expect(Object.isFrozen(parsed)).toBe(true);
      if (Array.isArray(input)) expect(normalizeScopes(input)).toEqual(vector.result);
      // 256 long scopes are within the limit of lists, but beyond that of texts.
      if (vector.result.join(' ').length <= 4096)
        expect(parseScopes(formatScopes(parsed))).toEqual(parsed);
      else expect(complaint(() => formatScopes(parsed))).toMatch(/4096 characters/);
    });
    expect(failed).toEqual([]);
  });
});

describe('the algebra', () => {
  it('keeps every law', () => {
    expect(brokenLaws(ours, runs(1000))).toEqual([]);
  });

  it('agrees with a model on all 512 sets of 9 patterns against all 48 minimal ones', () => {
    expect([PATTERNS.length, SETS.length, MINIMAL.length]).toEqual([9, 512, 48]);
    expect(disagreements(ours)).toEqual([]);
  });

  it('reads its own output back: the minimal set, sorted and frozen', () => {
    fc.assert(
      fc.property(patternSet, (set) => {
        const minimal = normalizeScopes(set);
        expect(parseScopes(formatScopes(set))).toEqual(minimal);
        expect(parseScopes(set)).toEqual(minimal);
        expect(formatScopes(parseScopes(formatScopes(set)))).toBe(formatScopes(set));
        expect([...minimal].sort()).toEqual(minimal);
        expect(minimal.every((one) => set.includes(one))).toBe(true);
      }),
    );
  });

  it('returns frozen lists, and does not change its arguments', () => {
    fc.assert(
      fc.property(patternSet, patternSet, (a, b) => {
        const before = JSON.stringify([a, b]);
        for (const result of [normalizeScopes(a), unionScopes(a, b), intersectScopes(a, b)]) {
          expect(Object.isFrozen(result)).toBe(true);
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        }
        expect(JSON.stringify([a, b])).toBe(before);
      }),
      { numRuns: runs(200) },
    );
  });

  // Wrong on purpose, each in a way that real code has been.
  const matchBy = (matches: (granted: string, required: string) => boolean): Algebra => {
    const covers: Algebra['covers'] = (granted, required) =>
      required.every((pattern) => granted.some((held) => matches(held, pattern)));
    const minimal = (set: readonly string[]) => {
      const all = [...new Set(set)];
      const isCovered = (one: string) => all.some((other) => other !== one && matches(other, one));
      return all.filter((one) => !isCovered(one)).sort();
    };
    return {
      covers,
      normalize: minimal,
      union: (a, b) => minimal([...a, ...b]),
      intersect: (a, b) =>
        minimal([...a.filter((one) => covers(b, [one])), ...b.filter((one) => covers(a, [one]))]),
      equal: (a, b) => covers(a, b) && covers(b, a),
    };
  };
  const isWider = (granted: string, required: string) => {
    const [resource, action] = granted.split(':');
    const [wantedResource, wantedAction] = required.split(':');
    const coversResource = resource === '*' || resource === wantedResource;
    const coversAction = action === '*' || action === wantedAction;
    return coversResource && coversAction;
  };
  const widen = (set: readonly string[]): readonly string[] => {
    const both = set.filter((one) => /:(x|xy|a|b)$/.test(one)).map((one) => one.split(':')[0]);
    const isRepeated = (resource: string | undefined, index: number) =>
      both.indexOf(resource) !== index && resource !== '*';
    const full = both.find(isRepeated);
    return normalizeScopes(full === undefined ? set : [...set, `${full}:*`]);
  };
  const wrong: Readonly<Record<string, Algebra>> = {
    'matches by prefix': matchBy(
      (held, pattern) => isWider(held, pattern) || pattern.startsWith(held.replace(/\*$/, '')),
    ),
    'matches by substring': matchBy(
      (held, pattern) => isWider(held, pattern) || pattern.includes(held.replaceAll('*', '')),
    ),
    'minimises two actions to a wildcard': {
      ...ours,
      normalize: widen,
      union: (a, b) => widen([...a, ...b]),
      equal: (a, b) => equalScopes(widen(a), widen(b)),
    },
    'takes a required wildcard as any of them': {
      ...ours,
      covers: (granted, required) =>
        required.every((pattern) =>
          granted.some((held) => isWider(held, pattern) || isWider(pattern, held)),
        ),
    },
    'forgets that wildcards meet': matchBy(isWider),
    'takes nothing as everything': {
      ...ours,
      covers: (granted, required) => granted.length === 0 || coversScopes(granted, required),
    },
    'looks at the resource alone': matchBy(
      (held, pattern) => held === '*:*' || held.split(':')[0] === pattern.split(':')[0],
    ),
  };

  it.each(Object.entries(wrong))(
    'is checked by laws and a model that detect one that %s',
    (_, algebra) => {
      expect(brokenLaws(algebra, 300)).not.toEqual([]);
      expect(disagreements(algebra)).not.toEqual([]);
    },
  );
});

describe('every function on scopes', () => {
  it('refuses a key instead of a scope, and does not quote it', () => {
    const odd = [
      KEY,
      SECRET,
      `${KEY}:read`,
      `threats:${SECRET}`,
      `${KEY} threats:read`,
      `\n${KEY}`,
      KEY.repeat(3),
    ];
    for (const element of odd) {
      const calls = {
        ...readers(['threats:read', element]),
        parseScopes: () => parseScopes(['threats:read', element]),
        'parseScopes, text': () => parseScopes(`threats:read ${element}`),
        hasScopes: () => hasScopes(principal, element),
        requireScopes: () => requireScopes(principal, element),
        expand: () => catalog.expand([element]),
        describe: () => catalog.describe(element),
        defineScopes: () => defineScopes({ [element]: { read: 'A sentence.' } }),
        definePolicy: () => definePolicy(catalog, { whoami: [element as 'threats:read'] }),
      };
      for (const [name, call] of Object.entries(calls))
        expect(complaint(call), name).not.toContain(SECRET);
    }
  });

  it('quotes unusual characters as escapes, and only the length of a long text', () => {
    const message = complaint(() => parseScopes(['a:\u001b[31m\r\n\u0430']));
    expect(message).toMatch(/^[ -~]*$/);
    expect(message).toContain('\\u001b');
    expect(message).toContain('\\u0430');
    expect(complaint(() => normalizeScopes(['x'.repeat(1e6)]))).toMatch(
      /a text of 1000000 characters/,
    );
    // The longest scope has 129 characters, so misspelt scopes are still quoted.
    expect(complaint(() => normalizeScopes(['a b'.repeat(43)]))).toMatch(/not "a ba b/);
    expect(complaint(() => normalizeScopes([`${'a b'.repeat(43)}.`]))).toMatch(
      /a text of 130 characters/,
    );
  });

  it('refuses to require an empty list', () => {
    expect(complaint(() => requireScopes(principal))).toMatch(/^scopes: name at least one/);
    expect(complaint(() => hasScopes(principal))).toMatch(/^scopes: name at least one/);
  });

  it('refuses a sparse list, an array-like object and an iterable', () => {
    const sparse: string[] = ['a:b'];
    sparse.length = 3;
    for (const set of [sparse, new Set(['a:b']), { 0: 'a:b', length: 1 }, 'a:b', undefined]) {
      for (const [name, read] of Object.entries(readers(set as string[])))
        expect(complaint(read), name).toMatch(/^scopes: /);
    }
    expect(complaint(() => parseScopes(undefined as unknown as string))).toMatch(/^scopes: /);
  });

  it('measures a text before it splits it, and a list before it reads it', () => {
    let read = 0;
    const list = new Proxy(new Array<string>(1_000_000).fill('a:b'), {
      get(target, name, receiver) {
        if (name !== 'length') read += 1;
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
    expect(complaint(() => parseScopes(list))).toMatch(/at most 256/);
    expect(read).toBe(0);
    expect(complaint(() => parseScopes('a:b '.repeat(250_000)))).toMatch(/at most 4096/);
  });
});

describe('formatScopes', () => {
  it('writes a text of up to 4,096 characters', () => {
    // 32 scopes of 127 characters with 31 spaces in between, and then one and two characters more.
    const scopes = (more: number) =>
      Array.from(
        { length: 32 },
        (_, i) => `${'a'.repeat(60 + (i === 0 ? more : 0))}${i + 10}:${'b'.repeat(64)}`,
      );
    expect(formatScopes(scopes(1))).toHaveLength(4096);
    expect(() => formatScopes(scopes(2))).toThrow('longer than 4096 characters');
  });
});

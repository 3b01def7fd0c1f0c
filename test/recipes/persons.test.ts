/** The recipe for personal keys: who owns a key, and that no key is left when its owner leaves. */
import type { Authority, IssuedKey, IssueInput, KeyInfo, Keyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  denied,
  inputError,
  OTHER,
  OWN,
  PLAIN,
  type RingOptions,
  setUp,
  tampering,
  untypedInput,
  wrap,
} from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Person {
  readonly id: string;
  readonly entityId: string;
  readonly scopes: readonly string[];
}
interface Printed {
  issueFor(keyring: Keyring, person: Person, input: IssueInput): Promise<IssuedKey>;
  keysOf(keyring: Keyring, person: Person): AsyncGenerator<KeyInfo>;
  revokeAllOf(keyring: Keyring, person: Person, authority: Authority): Promise<void>;
}

const ADA: Person = { id: 'ada', entityId: OWN, scopes: ['threats:read'] };
const BOB: Person = { id: 'bob', entityId: OWN, scopes: ['threats:*'] };
/** The same person in another organization. */
const ADA_ELSEWHERE: Person = { ...ADA, entityId: OTHER };
const ADMIN: Authority = { entityId: OWN, actor: 'admin', reason: 'left the company' };

let recipes: Recipes;
let printed: Printed;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['persons.ts']);
  printed = (await recipes.load('persons.ts')) as Printed;
});
afterAll(() => recipes.remove());

const start = (options: RingOptions = {}) => setUp(options).keyring as Keyring;

async function idsOf(keyring: Keyring, person: Person): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { keyId } of printed.keysOf(keyring, person)) ids.push(keyId);
  return ids;
}

const isIn = (keyring: Keyring, { key }: IssuedKey): Promise<boolean> =>
  keyring.verify(key).then(
    () => true,
    () => false,
  );

describe("a person's key", () => {
  test('belongs to the organization and names its owner', async () => {
    const keyring = start();
    const { key, info } = await printed.issueFor(keyring, ADA, PLAIN);
    expect(info).toMatchObject({ entityId: OWN, createdBy: 'ada', metadata: { person: 'ada' } });
    expect((await keyring.verify(key)).metadata).toEqual({ person: 'ada' });
  });

  test("belongs to the session's user, whatever the request says", async () => {
    const keyring = start();
    const input = untypedInput({ metadata: { person: 'bob', networks: '0.0.0.0/0' } });
    const { info } = await printed.issueFor(keyring, ADA, input);
    expect(info.metadata).toEqual({ person: 'ada' });
    for (const over of [{ entityId: OTHER }, { actor: 'bob' }, { createdBy: 'bob' }]) {
      await inputError(() => printed.issueFor(keyring, ADA, untypedInput(over)), 'input', /./);
    }
  });

  test('has no scope that the person lacks', async () => {
    const issuing = () => printed.issueFor(start(), ADA, { ...PLAIN, scopes: ['threats:write'] });
    await denied(issuing, 'ceiling_exceeded', 'scopes_beyond_authority');
  });

  test('keeps its owner when another person rotates it', async () => {
    const keyring = start();
    const { info } = await printed.issueFor(keyring, ADA, PLAIN);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, { ...ADMIN, scopes: 'all' });
    expect(next.info.createdBy).toBe('admin');
    const ids = await idsOf(keyring, ADA);
    expect([...ids].sort()).toEqual([next.info.keyId, info.keyId].sort());
  });
});

describe('the keys of a person', () => {
  test("are found on any number of pages, without others' keys", async () => {
    const store = memoryStore();
    const asked: unknown[] = [];
    // Pages of two.
    const small = wrap(store, (method, args, call) => {
      if (method === 'list') asked.push(args[0]);
      return call();
    });
    const keyring = start({ store: small });
    const paged: Keyring = {
      ...keyring,
      list: ((input: object, authority: Authority) =>
        keyring.list({ ...input, limit: 2 }, authority)) as Keyring['list'],
    };
    const wanted: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      wanted.push((await printed.issueFor(keyring, ADA, PLAIN)).info.keyId);
      await printed.issueFor(keyring, BOB, PLAIN);
      await printed.issueFor(keyring, ADA_ELSEWHERE, PLAIN);
      await keyring.issue(PLAIN, { entityId: OWN, scopes: 'all' });
    }
    expect([...(await idsOf(paged, ADA))].sort()).toEqual(wanted.sort());
    expect(asked.length).toBeGreaterThan(4);
  });

  test("end with the person, while others' keys stay", async () => {
    const keyring = start();
    const first = await printed.issueFor(keyring, ADA, PLAIN);
    const second = await printed.issueFor(keyring, ADA, PLAIN);
    const rotated = await keyring.rotate(
      second.info.keyId,
      { overlapMs: 60_000 },
      { entityId: OWN, scopes: 'all' },
    );
    const suspended = await printed.issueFor(keyring, ADA, PLAIN);
    await keyring.suspend(suspended.info.keyId, ADMIN);
    const bobs = await printed.issueFor(keyring, BOB, PLAIN);
    const elsewhere = await printed.issueFor(keyring, ADA_ELSEWHERE, PLAIN);
    const ofAda = [first, second, rotated, suspended];

    await printed.revokeAllOf(keyring, ADA, ADMIN);
    for (const { info } of ofAda) {
      const now = await keyring.get(info.keyId, ADMIN);
      expect(now).toMatchObject({
        state: 'revoked',
        endedBy: 'admin',
        endReason: 'left the company',
      });
    }
    for (const issued of ofAda) expect(await isIn(keyring, issued)).toBe(false);
    expect(await isIn(keyring, bobs)).toBe(true);
    expect(await isIn(keyring, elsewhere)).toBe(true);
    await denied(() => keyring.resume(suspended.info.keyId, ADMIN), 'conflict', 'already_ended');
    await printed.revokeAllOf(keyring, ADA, ADMIN);
  });

  // The successor is newer than the page that was read.
  test('end even if one is rotated in the meantime', async () => {
    const keyring = start();
    const { info } = await printed.issueFor(keyring, ADA, PLAIN);
    let successor: IssuedKey | undefined;
    const racing: Keyring = {
      ...keyring,
      list: (async (input: object, authority: Authority) => {
        const page = await keyring.list(input, authority);
        const all = { ...ADMIN, scopes: 'all' } as const;
        successor ??= await keyring.rotate(info.keyId, { overlapMs: 60_000 }, all);
        return page;
      }) as Keyring['list'],
    };
    await printed.revokeAllOf(racing, ADA, ADMIN);
    if (successor === undefined) throw new Error('nothing was rotated');
    expect(await isIn(keyring, successor)).toBe(false);
  });

  test('are found despite an unreadable row', async () => {
    const store = memoryStore();
    const intact = start({ store });
    const kept = await printed.issueFor(intact, ADA, PLAIN);
    const broken = await printed.issueFor(intact, BOB, PLAIN);
    const edit = (row: { keyId: string }) =>
      row.keyId === broken.info.keyId ? { ...row, scopes: 'x' } : row;
    const keyring = start({ store: tampering(store, edit) });
    expect(await idsOf(keyring, ADA)).toEqual([kept.info.keyId]);
    expect(await idsOf(keyring, BOB)).toEqual([]);
  });
});
